/// The schemes that answer a challenge with one field: the program's own, and the built-in ones behind them.
///
/// Schemes themselves cannot be compared, so two lists are equal when one is a copy of the other.
struct SchemeList: Sendable, Hashable {
    private final class Storage: Sendable {
        let schemes: [any AuthenticationScheme]

        init(_ schemes: [any AuthenticationScheme]) { self.schemes = schemes }
    }

    private static let builtIn: [any AuthenticationScheme] = [BearerScheme(), BasicScheme()]

    /// Nil without schemes of the program's own.
    private let storage: Storage?

    init(_ schemes: [any AuthenticationScheme] = []) { storage = schemes.isEmpty ? nil : Storage(schemes) }

    /// The program's own.
    var own: [any AuthenticationScheme] { storage?.schemes ?? [] }

    /// The scheme that a challenge names.
    func named(_ name: String) -> (any AuthenticationScheme)? {
        own.first { $0.name == name } ?? Self.builtIn.first { $0.name == name }
    }

    /// The scheme that answers for a method; nil for those that keep state, which the engine answers itself.
    subscript(_ method: ProtectionSpace.Method) -> (any AuthenticationScheme)? {
        own.first { $0.method == method } ?? Self.builtIn.first { $0.method == method }
    }

    /// Whether a credential can be expressed in a method.
    func accepts(_ credential: Credential, for method: ProtectionSpace.Method) -> Bool {
        self[method]?.accepts(credential) ?? credential.fits(method)
    }

    /// The program's preference for a scheme of its own: above every built-in one, the first highest; nil for the
    /// others.
    func preference(of method: ProtectionSpace.Method) -> Int? {
        own.firstIndex { $0.method == method }.map { 1000 + own.count - $0 }
    }

    static func == (left: SchemeList, right: SchemeList) -> Bool { left.storage === right.storage }

    func hash(into hasher: inout Hasher) { hasher.combine(storage.map { ObjectIdentifier($0) }) }
}
