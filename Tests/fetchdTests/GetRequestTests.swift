import FetchEngine
import HTTPTypes
import Testing

@testable import fetchd

@Suite struct GetRequestTests {
    private let url: URLRecord

    init() throws { url = try URLRecord("http://origin.example/") }

    @Test func `without options it is a GET that says who asks`() throws {
        let request = try GetRequest().request(for: url)
        #expect(request.method == .get)
        #expect(request.headerFields == [.userAgent: "fetchd", .accept: "*/*"])
        #expect(request.body == nil)
    }

    @Test func `data makes it a POST of a form`() throws {
        let request = try GetRequest(data: ["a=b", "c=d"]).request(for: url)
        #expect(request.method == .post)
        #expect(request.headerFields[.contentType] == "application/x-www-form-urlencoded")
        guard case .bytes(let bytes) = request.body else { return #expect(request.body != nil) }
        #expect(String(decoding: bytes, as: UTF8.self) == "a=b&c=d")
    }

    @Test func `fields keep their order and repeats, and replace the defaults`() throws {
        let headers = ["x-b: 2", "X-A:1", "x-b:  3", "User-Agent: mine", "Accept:"]
        let fields = try GetRequest(headers: headers).request(for: url).headerFields
        #expect(
            fields.map { "\($0.name.rawName)=\($0.value)" }
                == ["x-b=2", "X-A=1", "x-b=3", "User-Agent=mine", "Accept="]
        )
    }

    @Test func `a file alone is sent from where it lies`() throws {
        let request = try GetRequest(method: "PUT", data: ["@/dev/null"]).request(for: url)
        guard case .file(let path) = request.body else { return #expect(request.body != nil) }
        #expect(path == "/dev/null")
        #expect(request.method == .put)
    }

    @Test func `a file that cannot be read is told by its name`() {
        #expect(throws: GetRequest.Fault.cannotRead("/no/such cannot be read: No such file or directory.")) {
            try GetRequest(data: ["@/no/such"]).request(for: url)
        }
        #expect(throws: GetRequest.Fault.self) { try GetRequest(data: ["a", "@/no/such"]).request(for: url) }
    }

    @Test(arguments: ["no colon", ": value", "bad name: x", "X: a\nY: b", "X: \u{7F}", ""])
    func `a field that is none is refused`(header: String) {
        #expect(throws: GetRequest.Fault.self) { try GetRequest(headers: [header]).validate() }
    }

    @Test(arguments: ["", "A B", "GET\n", "GÉT"])
    func `a method that is no token is refused`(method: String) {
        #expect(throws: GetRequest.Fault.self) { try GetRequest(method: method).validate() }
    }
}
