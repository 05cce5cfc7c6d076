/// A reference among the members of a value: two are equal when they are the same object, or both none.
struct SharedObject<Object: Sendable>: Sendable, Hashable {
    var object: Object?

    init(_ object: Object? = nil) { self.object = object }

    private var identity: ObjectIdentifier? { object.map { ObjectIdentifier($0 as AnyObject) } }

    static func == (left: SharedObject, right: SharedObject) -> Bool { left.identity == right.identity }

    func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
