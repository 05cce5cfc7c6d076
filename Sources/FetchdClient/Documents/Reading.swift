import Foundation

/// What a document of the service is read to.
///
/// Members that this version does not know are ignored.
func decoded<Value: Decodable>(_ body: [UInt8], as type: Value.Type = Value.self) throws(FetchdError) -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let date = Date(timestamp: text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no time"))
        }
        return date
    }
    do { return try decoder.decode(Value.self, from: Data(body)) } catch let error as DecodingError {
        throw FetchdError(.answerInvalid, "The service's answer cannot be read: \(error.place)")
    } catch { throw FetchdError(.answerInvalid, "The service's answer cannot be read.") }
}

extension Date {
    /// Reads a time as RFC 3339 writes it, with a fraction or without.
    init?(timestamp text: String) {
        let style = Date.ISO8601FormatStyle()
        let read =
            (try? style.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .colon)
                .parse(text)) ?? (try? style.parse(text))
        guard let read else { return nil }
        self = read
    }

    var timestamp: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

extension DecodingError {
    /// The member that is wrong, and nothing of its value.
    fileprivate var place: String {
        let path =
            switch self {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: [any CodingKey]()
            }
        return path.isEmpty ? "it is no JSON of the API." : path.map { "/\($0.stringValue)" }.joined()
    }
}
