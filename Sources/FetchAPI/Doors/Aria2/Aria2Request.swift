import FetchJobs
import FoundationEssentials

/// A request of JSON-RPC 2.0: one call, or a batch of them.
struct Aria2Request: Sendable {
    struct Item: Sendable {
        let id: JSONValue
        let call: Result<(name: String, parameters: [JSONValue]), Aria2Failure>

        private init(id: JSONValue, call: Result<(name: String, parameters: [JSONValue]), Aria2Failure>) {
            self.id = id
            self.call = call
        }

        init(id: JSONValue, failure: Aria2Failure) { self.init(id: id, call: .failure(failure)) }

        /// As aria2 does, members are looked at in this order, and what else there is counts for nothing.
        fileprivate init(_ members: [JSONMember]) {
            guard let id = members["id"] else {
                self.init(id: .null, failure: .invalidRequest)
                return
            }
            guard let name = members["method"]?.text else {
                self.init(id: id, failure: .invalidRequest)
                return
            }
            switch members["params"] {
            case nil: self.init(id: id, call: .success((name, [])))
            case .array(let parameters): self.init(id: id, call: .success((name, parameters)))
            default: self.init(id: id, failure: .invalidParameters)
            }
        }
    }

    let items: [Item]
    let isBatch: Bool

    private init(items: [Item], isBatch: Bool) {
        self.items = items
        self.isBatch = isBatch
    }

    init(reading text: some Sequence<UInt8>) {
        guard let json = try? JSONParser.parse(text) else {
            self.init(.parseError)
            return
        }
        self.init(json)
    }

    private init(_ failure: Aria2Failure) {
        self.init(items: [Item(id: .null, failure: failure)], isBatch: false)
    }

    private init(_ json: JSONValue) {
        switch json {
        case .object(let members): self.init(items: [Item(members)], isBatch: false)
        case .array(let elements):
            // What is no object is passed over.
            let items = elements.compactMap { if case .object(let members) = $0 { Item(members) } else { nil } }
            self.init(items: items, isBatch: true)
        case .string: self.init(.invalidRequest)
        case .null, .bool, .number: self.init(.parseError)
        }
    }

    /// By the parameters `method`, `id` and `params`, which is JSON in base64; without a method `params` is a batch.
    init(_ query: RawQuery) {
        let text = query.values("params").first
        let json = text.flatMap { Data(base64Encoded: $0) }.flatMap { try? JSONParser.parse($0) }
        guard let name = query.values("method").first else {
            guard case .array? = json, let json else {
                self.init(.invalidRequest)
                return
            }
            self.init(json)
            return
        }
        guard text == nil || json != nil else {
            self.init(.invalidRequest)
            return
        }
        var members = [JSONMember("method", .string(name))]
        if let id = query.values("id").first { members.append(JSONMember("id", .string(id))) }
        if let json { members.append(JSONMember("params", json)) }
        self.init(items: [Item(members)], isBatch: false)
    }
}
