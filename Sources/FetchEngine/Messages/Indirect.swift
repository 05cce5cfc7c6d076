/// An optional value in a block of its own, so that those that have none have no room for it.
///
/// Loads and tasks are many, and most have neither a position to go on at nor a file to resume.
@propertyWrapper
package struct Indirect<Value> {
    fileprivate indirect enum Block { case value(Value) }

    private var block: Block?

    package init(wrappedValue: Value?) { block = wrappedValue.map { .value($0) } }

    package var wrappedValue: Value? {
        get {
            guard case .value(let value)? = block else { return nil }
            return value
        }
        set { block = newValue.map { .value($0) } }
    }
}

extension Indirect: Sendable where Value: Sendable {}

extension Indirect.Block: Sendable where Value: Sendable {}
