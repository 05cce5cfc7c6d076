import FetchJobs

/// The parameters of a call behind its secret.
struct Aria2Arguments: Sendable {
    private let values: [JSONValue]

    init(_ values: [JSONValue]) { self.values = values }

    func value(_ index: Int) -> JSONValue? { index < values.count ? values[index] : nil }

    private func required<Value>(_ index: Int, _ value: Value?) throws(Aria2Failure) -> Value {
        guard let value else { throw .missing(index) }
        return value
    }

    func text(_ index: Int) throws(Aria2Failure) -> String {
        guard let text = try required(index, value(index)).text else { throw .wrongType(index) }
        return text
    }

    func list(_ index: Int) throws(Aria2Failure) -> [JSONValue] { try required(index, try optionalList(index)) }

    func optionalList(_ index: Int) throws(Aria2Failure) -> [JSONValue]? {
        guard let value = value(index) else { return nil }
        guard case .array(let elements) = value else { throw .wrongType(index) }
        return elements
    }

    func integer(_ index: Int, from minimum: Int64 = .min) throws(Aria2Failure) -> Int64 {
        try required(index, try optionalInteger(index, from: minimum))
    }

    func optionalInteger(_ index: Int, from minimum: Int64 = .min) throws(Aria2Failure) -> Int64? {
        guard let value = value(index) else { return nil }
        guard let integer = value.integer else { throw .wrongType(index) }
        guard integer >= minimum else { throw .tooSmall(index, minimum) }
        return integer
    }

    /// A place in a list.
    func optionalPosition(_ index: Int) throws(Aria2Failure) -> Int64? {
        guard let position = try optionalInteger(index) else { return nil }
        guard position >= 0 else { throw .position }
        return position
    }

    func options(_ index: Int) throws(Aria2Failure) -> Aria2Options { try required(index, try optionalOptions(index)) }

    func optionalOptions(_ index: Int) throws(Aria2Failure) -> Aria2Options? {
        guard let value = value(index) else { return nil }
        guard case .object(let members) = value else { throw .wrongType(index) }
        return try Aria2Options(members)
    }

    /// The members of a download that are asked for; nil for all.
    ///
    /// What is no text is passed over, and so is what could be the name of none.
    func keys(_ index: Int) throws(Aria2Failure) -> Set<String>? {
        guard let list = try optionalList(index), !list.isEmpty else { return nil }
        return Set(list.compactMap(\.text).filter(\.isStreamSafe))
    }
}
