/// A value on the heap that its holders share, and that is copied when one of them changes it.
///
/// The values that every step of a load passes on are kept in it: a copy costs one reference count for any size, and the
/// frames of waiting functions hold a reference instead of the whole value.
package struct Boxed<Value: Sendable>: Sendable {
    // @unchecked: changed by the one who alone holds it.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    package init(_ value: Value) { storage = Storage(value) }

    package var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}
