/// A field of a query or of a form, decoded.
///
/// ```swift
/// let next = try url.replacingQuery(with: [QueryItem("page", "2"), QueryItem("all", nil)])  // ?page=2&all
/// ```
public struct QueryItem: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value; nil when there is no equals sign.
    public var value: String?

    /// Makes a field.
    public init(_ name: String, _ value: String?) {
        self.name = name
        self.value = value
    }
}

extension URLRecord {
    /// The fields of the query in their order; none when there is no query.
    ///
    /// The query is split at `&` and `=` first and each part decoded then, so that an escaped `&` stays in its value.
    /// A `+` is kept: only forms write a space so, see ``formItems``. Empty fields (`a=1&&b=2`) are left out.
    ///
    /// A failure of ``PercentCodec/decode(_:keeping:)`` is thrown.
    public var queryItems: [QueryItem] {
        get throws(URLRecord.Failure) { try Self.items(in: query) { text throws(URLRecord.Failure) in text } }
    }

    /// The fields of a query that a form made: as ``queryItems``, with every `+` read as a space.
    public var formItems: [QueryItem] {
        get throws(URLRecord.Failure) {
            try Self.items(in: query) { text throws(URLRecord.Failure) in
                String(text.map { $0 == "+" ? " " : $0 })
            }
        }
    }

    /// The same URL with another query, made of these fields; each name and value is escaped as one component.
    ///
    /// No fields: no query.
    public func replacingQuery(with items: [QueryItem]) throws(URLRecord.Failure) -> URLRecord {
        let fields = items.map { item in
            PercentCodec.component(item.name) + (item.value.map { "=" + PercentCodec.component($0) } ?? "")
        }
        let query = fields.isEmpty ? "" : "?" + fields.joined(separator: "&")
        return try URLRecord(withoutQuery + query + (fragment.map { "#" + $0 } ?? ""))
    }

    private static func items(
        in query: String?, reading: (String) throws(URLRecord.Failure) -> String
    ) throws(URLRecord.Failure) -> [QueryItem] {
        var items: [QueryItem] = []
        for field in (query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            let halves = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = try PercentCodec.decode(reading(String(Substring(halves[0]))))
            let value: String? = halves.count > 1 ? try PercentCodec.decode(reading(String(Substring(halves[1])))) : nil
            items.append(QueryItem(name, value))
        }
        return items
    }
}
