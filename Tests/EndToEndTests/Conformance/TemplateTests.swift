import Foundation
import HTTPTypes
import TestSupport
import Testing

/// URLs that the service makes of a template and its variables.
@Suite(.sharedServiceAndHTTPBin) struct TemplateTests {
    /// A JSON object of texts.
    private func object(_ variables: [String: String]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: variables), as: UTF8.self)
    }

    /// The final state of a job whose URL is made of a template.
    private func fetch(_ template: String, _ variables: [String: String]) async throws -> [String: Any] {
        let body = #"{"request": {"urlTemplate": "\#(template)", "variables": \#(try object(variables))}}"#
        let answer = try await SharedService.current.service.request(
            .post, "/v1/jobs", body: body, headers: [.prefer: "wait=30"])
        try #require(answer.status == 201, "\(answer.text)")
        return answer.json
    }

    /// The arguments that httpbin received.
    private func arguments(_ template: String, _ variables: [String: String]) async throws -> [String: String]? {
        let rig = try SharedService.current
        let job = try await fetch(try rig.bin(template), variables)
        return member(try await rig.echo(of: job), "args")
    }

    /// RFC 3986 §2.2.
    private static let reserved = ":/?#[]@!$&'()*+,;="
    /// RFC 3986 §2.3.
    private static let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

    // Everything that is not unreserved is, in the path and in the query.
    // Proves: ENC-1.
    @Test func `what no URL may hold is escaped`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let ascii = (1...127).map { String(UnicodeScalar(UInt8($0))) }.joined()
        let text = ascii + "\u{80}\u{E9}\u{FF}\u{20AC}\u{1F600}"
        let escaped = text.utf8.map { byte in
            Self.unreserved.utf8.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + String(format: "%02X", Int(byte))
        }.joined()
        let job = try await fetch(play.url("{v}?q={v}"), ["v": text])
        #expect(member(job, "request", "url") == play.url("\(escaped)?q=\(escaped)"))
        let path = play.url("").replacing("http://127.0.0.1:\(rig.stage.port)", with: "")
        #expect(play.requests.first?.line == "GET \(path)\(escaped)?q=\(escaped) HTTP/1.1")
    }

    // Proves: ENC-2.
    @Test func `each reserved character of a variable reaches the origin`() async throws {
        let rig = try SharedService.current
        let names = Self.reserved.indices.map { "v\(Self.reserved.distance(from: Self.reserved.startIndex, to: $0))" }
        let values = Dictionary(uniqueKeysWithValues: zip(names, Self.reserved.map { "a\($0)b" }))
        let template = "/get?" + names.map { "\($0)={\($0)}" }.joined(separator: "&")
        #expect(try await arguments(template, values) == values)
        // In a path they separate nothing.
        let play = rig.stage.play(answer())
        _ = try await fetch(play.url("a/{v}/b"), ["v": Self.reserved])
        let escaped = "%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"
        #expect(play.requests.first?.line.hasSuffix("/a/\(escaped)/b HTTP/1.1") == true)
    }

    // The origin splits first and decodes then, and finds the values.
    // Proves: ENC-3.
    @Test func `an escaped separator stays in its value`() async throws {
        let values = ["a": "1&b=2", "b": "%26", "c": "x=y", "d": "1 + 1", "e": ""]
        #expect(try await arguments("/get?a={a}&b={b}&c={c}&d={d}&e={e}", values) == values)
    }

    // Nor a part of the path, nor a host.
    // Proves: ENC-4.
    @Test func `a variable cannot add a field`() async throws {
        let rig = try SharedService.current
        #expect(try await arguments("/get?q={q}", ["q": "x&admin=1"]) == ["q": "x&admin=1"])
        #expect(try await arguments("/get?q={q}", ["q": "x#y?z=1"]) == ["q": "x#y?z=1"])
        for (template, value, pointer) in [
            ("/a/{v}/b", "..", "/request/urlTemplate"), ("/a/{+v}", "x", "/request/urlTemplate"),
            ("/a", "x", "/request/variables/v"),
        ] {
            let body = #"{"request": {"urlTemplate": "\#(try rig.bin(template))", "variables": {"v": "\#(value)"}}}"#
            let refused = try await rig.service.request(.post, "/v1/jobs", body: body)
            #expect(refused.status == 422, "\(refused.text)")
            #expect(member(refused.json, "errors", "0", "pointer") == pointer, "\(refused.text)")
        }
    }
}
