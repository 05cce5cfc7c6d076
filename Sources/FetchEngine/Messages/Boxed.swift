/// A value that lies apart from those who hold it, and is copied when one of them changes it.
///
/// What every step of a load passes on is kept so: copying it costs one reference count whatever its size, and the
/// frames of functions that wait have room for a reference instead of for all of it.
struct Boxed<Value: Sendable>: Sendable {
    // @unchecked: changed by the one who alone holds it.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}
