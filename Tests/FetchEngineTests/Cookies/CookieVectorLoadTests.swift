import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The http-state vectors once more, through whole loads.
///
/// An origin that plays a proxy answers for every host, so that names, redirects and fields are those of the vectors.
@Suite struct CookieVectorLoadTests {
    // Proves: COK-2, COK-3, COK-4, COK-11, RED-15.
    @Test func `a session sends what the http-state vectors say`() async throws {
        let vectors = try CookieVector.all().filter(\.isTimeless)
        let answers = Dictionary(uniqueKeysWithValues: vectors.map { ("/cookie-parser?\($0.name)", $0.answer) })
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let target = try URLRecord(String(head.split(separator: " ")[1]))
                try connection.send(answers["\(target.path)?\(target.query ?? "")"] ?? Self.echo(head))
            }
        }
        let proxy = try #require(Proxy(.http, host: "127.0.0.1", port: origin.port))
        for vector in vectors {
            var configuration = SessionConfiguration()
            configuration.proxies = ProxyConfiguration(http: proxy)
            let request = Request(url: try URLRecord("http://home.example.org:8888/cookie-parser?\(vector.name)"))
            let (body, _) = try await Session(configuration: configuration).data(for: request)
            let expected = CookieVectorTests.changed[vector.name] ?? vector.expected
            #expect(String(decoding: body, as: UTF8.self) == expected, "\(vector.name)")
        }
        #expect(vectors.count > 200)
    }

    /// Answers with the cookies that came.
    private static func echo(_ head: String) -> [UInt8] {
        let line = head.split(separator: "\r\n").first { $0.hasPrefix("Cookie: ") }
        let cookies = Array((line?.dropFirst(8) ?? "").utf8)
        return Array("HTTP/1.1 200 OK\r\nContent-Length: \(cookies.count)\r\n\r\n".utf8) + cookies
    }
}

extension CookieVector {
    /// Whether it says the same today as in 2010: an expiry that meant "later" may be over.
    fileprivate var isTimeless: Bool {
        !fields[values: .setCookie].contains { $0.lowercased().contains("expires=") && !$0.contains("1980") }
    }

    /// A redirect that sets the cookies.
    fileprivate var answer: [UInt8] {
        var bytes = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n".utf8)
        if fields[.location] == nil { bytes += "Location: /cookie-parser-result?\(name)\r\n".utf8 }
        for field in fields {
            bytes += "\(field.name.rawName):".utf8
            field.withUnsafeBytesOfValue { bytes += $0 }
            bytes += "\r\n".utf8
        }
        return bytes + "\r\n".utf8
    }
}
