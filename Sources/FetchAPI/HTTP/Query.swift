import FetchJobs

/// The parameters of a request's query, each there once.
struct Query: Sendable {
    /// No route knows so many, and they are looked for one by one.
    private static let maximumCount = 100

    private var items: [(name: String, value: String)] = []

    init() {}

    /// Reads `name=value&…` with `+` and percent escapes, as forms and clients write it.
    init(_ text: some StringProtocol) throws(Problem) {
        for pair in Array(text.utf8).split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = Self.unescaped(pair[..<end]), let value = Self.unescaped(pair[end...].dropFirst()) else {
                throw Problem(.invalidParameter, "The query is not percent-encoded UTF-8.")
            }
            // They are compared with each other and with what routes know.
            guard name.isStreamSafe, value.isStreamSafe else {
                throw Problem(.invalidParameter, "The query has more than 30 combining marks in a row.")
            }
            guard self[name] == nil else { throw Problem(parameter: name, "is there twice") }
            guard items.count < Self.maximumCount else {
                throw Problem(.invalidParameter, "The query has more than \(Self.maximumCount) parameters.")
            }
            items.append((name, value))
        }
    }

    var names: [String] { items.map(\.name) }

    /// The parameters that have a value: a form of a page sends its empty fields too.
    var withoutEmpty: Query {
        var query = self
        query.items.removeAll { $0.value.isEmpty }
        return query
    }

    subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// A whole number in a range.
    func integer(_ name: String, in range: ClosedRange<Int>, default standard: Int) throws(Problem) -> Int {
        guard let text = self[name] else { return standard }
        guard let value = Int(text), range.contains(value), !text.hasPrefix("+") else {
            throw Problem(parameter: name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// A case of an enumeration, by its raw value.
    func oneOf<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String,
        _ type: Choice.Type = Choice.self
    ) throws(Problem) -> Choice? {
        guard let text = self[name] else { return nil }
        guard let choice = Choice.allCases.first(where: { $0.rawValue.isSame(as: text) }) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(parameter: name, "must be one of \(known)")
        }
        return choice
    }

    /// The id of a thing.
    ///
    /// - Parameter description: The kind of thing in words, with an article and the form of its ids.
    func identifier<Kind: IdentifierKind>(_ name: String, _ description: String) throws(Problem) -> Identifier<Kind>? {
        guard let text = self[name] else { return nil }
        guard let id = Identifier<Kind>(text) else { throw Problem(parameter: name, "is not the id of \(description)") }
        return id
    }

    /// A text of so many characters at most.
    func text(_ name: String, maximumLength: Int) throws(Problem) -> String? {
        guard let text = self[name] else { return nil }
        guard text.unicodeScalars.count <= maximumLength else {
            throw Problem(parameter: name, "must have at most \(maximumLength) characters")
        }
        return text
    }

    /// A time (RFC 3339).
    func time(_ name: String) throws(Problem) -> Timestamp? {
        guard let text = self[name] else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw Problem(parameter: name, "must be a time as RFC 3339 writes it, such as 2026-11-21T10:52:00Z")
        }
        return time
    }

    /// `true` or `false`.
    func bool(_ name: String) throws(Problem) -> Bool? {
        switch self[name] {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw Problem(parameter: name, "must be true or false")
        }
    }

    /// Whether `include` asks for a member of the answer that it does not have unasked.
    func includes(_ member: String) throws(Problem) -> Bool {
        guard let text = self["include"] else { return false }
        guard text == member else { throw Problem(parameter: "include", "must be \(member)") }
        return true
    }

    /// Refuses a request that would match everything only because it has no filter.
    ///
    /// - Parameter filters: Those of its parameters that choose things.
    func requireFilter(_ filters: Set<String>) throws(Problem) {
        guard try bool("all") != true, filters.isDisjoint(with: names) else { return }
        let known = filters.sorted().joined(separator: ", ")
        throw Problem(parameter: "all", "must be true where nothing says which are meant, such as \(known)")
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String? {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        guard let text = String(validating: spaced, as: UTF8.self)?.percentDecoded, !text.utf8.contains(0)
        else { return nil }
        return text
    }

    // MARK: Writing

    /// Parameters to go on after others, each with an ampersand before it; those without a value are left out.
    static func text(_ items: [(name: String, value: String?)]) -> String {
        items.compactMap { name, value in value.map { "&\(name)=\($0.percentEncoded)" } }.joined()
    }
}

extension Query {
    /// The label that `label` names, written as ``JobSpec/Label/text``.
    func label() throws(Problem) -> JobSpec.Label? {
        guard let text = self["label"] else { return nil }
        guard let label = JobSpec.Label(text) else {
            throw Problem(parameter: "label", "must be a name, a colon and a value")
        }
        return label
    }

    /// The session that a request is about; the default one when it names none.
    func session() throws(Problem) -> TenantSession.ID {
        guard let text = self["session"] else { return .default }
        guard let session = TenantSession.ID(naming: text) else {
            throw Problem(parameter: "session", "is not the id of a session (ses_…) and not \"default\"")
        }
        return session
    }
}

extension JobSpec.Label {
    /// The label as queries write it: its name, a colon and its value.
    var text: String { "\(name):\(value)" }
}
