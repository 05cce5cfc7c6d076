import FetchEngine
import FetchJobs
import Testing

/// URLs of jobs that are made of a template and values.
@Suite struct URLTemplateTests {
    private func url(_ template: String, _ variables: [String: String]) throws -> String {
        let request = JSONWriter.object { writer in
            writer.member(
                "request",
                object: { writer in
                    writer.member("urlTemplate", template)
                    guard !variables.isEmpty else { return }
                    writer.member(
                        "variables",
                        object: { writer in
                            for (name, value) in variables { writer.member(name, value) }
                        })
                })
        }
        return try JobSpec(json: try JSONParser.parse(request)).request.url.description
    }

    @Test(
        arguments: [
            ("https://a.example/u/{id}", ["id": "x"], "https://a.example/u/x"),
            (
                "https://a.example/u/{id}?q={q}&r=1", ["id": "a/b", "q": "x&admin=1"],
                "https://a.example/u/a%2Fb?q=x%26admin%3D1&r=1"
            ),
            (
                "https://a.example/{x}", ["x": ":/?#[]@!$&'()*+,;="],
                "https://a.example/%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"
            ),
            ("https://a.example/{x}", ["x": "A-z0._~ \u{E9}%41\n"], "https://a.example/A-z0._~%20%C3%A9%2541%0A"),
            ("https://{region}.a.example/", ["region": "eu"], "https://eu.a.example/"),
            ("https://a.example/v{x}", ["x": ".."], "https://a.example/v.."),
            ("https://a.example/plain", [:], "https://a.example/plain"),
        ] as [(String, [String: String], String)])
    func `a value stands for itself and nothing else`(
        template: String, variables: [String: String], expected: String
    ) throws {
        #expect(try url(template, variables) == expected)
    }

    // Each value comes out as one item.
    @Test func `each reserved character comes back`() throws {
        let value = ":/?#[]@!$&'()*+,;=%"
        let made = try URLRecord(try url("https://a.example/?v={v}&w=2", ["v": value]))
        let items = try made.queryItems
        #expect(items.map(\.name) == ["v", "w"])
        #expect(items.first?.value == value)
    }

    @Test(
        arguments: [
            ("https://a.example/{id}/b", ["id": ".."], "/request/urlTemplate", "lead elsewhere"),
            ("https://a.example/{id}", ["id": "."], "/request/urlTemplate", "lead elsewhere"),
            ("https://a.example/{a}{b}", ["a": ".", "b": "."], "/request/urlTemplate", "lead elsewhere"),
            ("https://a.example/%2{x}", ["x": "e"], "/request/urlTemplate", "lead elsewhere"),
            ("https://{host}/", ["host": "a.example/evil"], "/request/urlTemplate", "hostPercentEncoded"),
            ("https://a.example/{+path}", ["path": "x"], "/request/urlTemplate", "level 1"),
            ("https://a.example/}", [:], "/request/urlTemplate", "level 1"),
            ("https://a.example/{id}", [:], "/request/variables/id", "is required"),
            ("https://a.example/{id}", ["id": "1", "x": "2"], "/request/variables/x", "is not in the urlTemplate"),
        ] as [(String, [String: String], String, String)])
    func `what would not be a value is refused`(
        template: String, variables: [String: String], pointer: String, rule: String
    ) throws {
        let failure = #expect(throws: InvalidInput.self) { try url(template, variables) }
        let violations = failure?.violations ?? []
        #expect(violations.contains { $0.pointer == pointer && $0.message.contains(rule) }, "\(violations)")
    }

    @Test func `a request has a URL or a template`() throws {
        for text in [
            #"{"request": {"url": "http://a.example", "urlTemplate": "http://a.example"}}"#,
            #"{"request": {"url": "http://a.example", "variables": {}}}"#,
        ] {
            #expect(throws: InvalidInput.self) { try JobSpec(json: try JSONParser.parse(text.utf8)) }
        }
    }
}
