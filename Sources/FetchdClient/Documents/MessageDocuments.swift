import FetchEngine
import HTTPTypes

// The forms in which the API writes what the engine has types for.

struct FieldDocument: Codable {
    enum CodingKeys: String, CodingKey, CaseIterable { case name, value }

    let name: String
    let value: String
}

extension HTTPFields {
    init(_ documents: [FieldDocument]) {
        self.init()
        for document in documents {
            guard let name = HTTPField.Name(document.name) else { continue }
            append(HTTPField(name: name, value: document.value))
        }
    }
}

struct ResponseDocument: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable { case url, status, httpVersion, expectedContentLength, headers }

    let url: String
    let status: Int
    let httpVersion: String?
    let expectedContentLength: Int64?
    let headers: [FieldDocument]?

    func response() throws -> Response {
        Response(
            url: try URLRecord(url), status: HTTPResponse.Status(code: status, reasonPhrase: ""),
            headerFields: HTTPFields(headers ?? []), httpVersion: httpVersion ?? "http/1.1",
            expectedContentLength: expectedContentLength)
    }
}

struct RequestDocument: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable { case url, method, headers }

    let url: String
    let method: String?
    let headers: [FieldDocument]?

    func request() throws -> Request {
        Request(
            url: try URLRecord(url), method: method.flatMap { HTTPRequest.Method($0) } ?? .get,
            headerFields: HTTPFields(headers ?? []))
    }
}

struct ErrorDocument: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable { case code, name, message, failingURL, underlying }

    struct Underlying: Decodable {
        let domain: String?
        let code: Int?
        let text: String?
    }

    let code: Int
    let name: String
    let message: String
    let failingURL: String?
    let underlying: Underlying?

    var error: LoadError {
        LoadError(
            LoadError.Code(name, code), message, failingURL: failingURL.flatMap { try? URLRecord($0) },
            underlying: underlying.map { cause in
                .init(domain: cause.domain ?? "", number: cause.code ?? 0, text: cause.text ?? "")
            })
    }
}

struct SpaceDocument: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case host, port, `protocol`, realm, authenticationMethod, isProxy
    }

    let host: String
    let port: UInt16
    let `protocol`: String
    let realm: String?
    let authenticationMethod: String
    let isProxy: Bool

    var space: ProtectionSpace {
        ProtectionSpace(
            host: host, port: port, scheme: `protocol`, realm: realm,
            method: ProtectionSpace.Method(rawValue: authenticationMethod), isProxy: isProxy)
    }
}
