import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct RedirectMachineTests {
    private static func answer(
        _ code: Int, _ location: String?, to request: Request,
        _ change: (inout RedirectConfiguration) -> Void = { _ in }
    ) -> RedirectMachine.Action {
        var configuration = RedirectConfiguration()
        change(&configuration)
        var machine = RedirectMachine(configuration: configuration)
        return machine.received(response(code, location, to: request), to: request)
    }

    private static func response(_ code: Int, _ location: String?, to request: Request) -> Response {
        var fields = HTTPFields()
        fields[.location] = location
        return Response(url: request.url, status: .init(code: code), headerFields: fields)
    }

    private static func proposal(_ action: RedirectMachine.Action) -> Request? {
        if case .propose(let request, _) = action { request } else { nil }
    }

    private static func isDelivered(_ action: RedirectMachine.Action) -> Bool {
        if case .deliver = action { true } else { false }
    }

    private static func failure(_ action: RedirectMachine.Action) -> LoadError.Code? {
        if case .fail(let error) = action { error.code } else { nil }
    }

    // Method sent, status, method of the next hop, and whether the body goes with it.
    // Proves: RED-9, FN-46.
    @Test(arguments: [
        ("POST", 301, "GET", false), ("POST", 302, "GET", false), ("PUT", 301, "PUT", true), ("PUT", 302, "PUT", true),
        ("POST", 303, "GET", false), ("PUT", 303, "GET", false), ("HEAD", 303, "HEAD", true), ("GET", 303, "GET", true),
        ("DELETE", 303, "GET", false), ("POST", 307, "POST", true), ("POST", 308, "POST", true),
        ("PATCH", 307, "PATCH", true), ("HEAD", 301, "HEAD", true),
    ])
    func `method and body follow the status`(_ sent: String, _ code: Int, _ next: String, _ keeps: Bool) throws {
        var request = Request(url: try URLRecord("http://a.example/x"))
        request.method = HTTPRequest.Method(sent)!
        request.body = .bytes([1])
        request.headerFields[.contentType] = "text/plain"
        request.headerFields[.accept] = "*/*"
        let proposed = try #require(Self.proposal(Self.answer(code, "/y", to: request)))
        #expect(proposed.method.rawValue == next)
        #expect((proposed.body != nil) == keeps)
        #expect((proposed.headerFields[.contentType] != nil) == keeps)
        #expect(proposed.headerFields[.accept] == "*/*")
    }

    @Test func `a POST is kept over 301 and 302 when asked`() throws {
        let request = Request(url: try URLRecord("http://a.example/x"), method: .post, body: .bytes([1]))
        let proposed = Self.proposal(Self.answer(302, "/y", to: request) { $0.preserveMethod = true })
        #expect(proposed?.method == .post)
        #expect(proposed?.body != nil)
    }

    // Proves: RED-9, FN-46.
    @Test(arguments: [200, 204, 300, 304, 305, 306, 404])
    func `other statuses are results`(_ code: Int) throws {
        let request = Request(url: try URLRecord("http://a.example/x"))
        #expect(Self.isDelivered(Self.answer(code, "/y", to: request)))
    }

    @Test func `a redirect without Location is a result`() throws {
        let request = Request(url: try URLRecord("http://a.example/x"))
        #expect(Self.isDelivered(Self.answer(302, nil, to: request)))
    }

    // Proves: RED-10, FN-44.
    @Test(arguments: [
        ("http://h/a/b/c#f", "d", "http://h/a/b/d#f"), ("http://h/a/b/c", "../d", "http://h/a/d"),
        ("http://h/a/b?q", "?r", "http://h/a/b?r"), ("http://h/a", "//i/j", "http://i/j"),
        ("http://h/a#f", "/b#g", "http://h/b#g"), ("http://h/a", "/x%2Fy", "http://h/x%2Fy"),
        ("http://h/a", "https://h/ü", "https://h/%C3%BC"),
    ])
    func `Location is resolved against the URL at hand`(_ base: String, _ location: String, _ target: String) throws {
        let request = Request(url: try URLRecord(base))
        #expect(Self.proposal(Self.answer(302, location, to: request))?.url.description == target)
    }

    // Scheme, host and port make the origin.
    // Proves: RED-11, SEC-31.
    @Test(arguments: [
        ("https://a.example/", false), ("http://b.example/", false), ("http://a.example:8080/", false),
        ("http://a.example/other", true), ("/other", true),
    ])
    func `credentials stay with their origin`(_ location: String, _ keeps: Bool) throws {
        var request = Request(url: try URLRecord("http://a.example/"))
        request.headerFields[.authorization] = "Bearer x"
        request.headerFields[.cookie] = "a=b"
        request.headerFields[.proxyAuthorization] = "Basic eDp5"
        request.headerFields[.userAgent] = "test"
        let proposed = try #require(Self.proposal(Self.answer(307, location, to: request)))
        #expect((proposed.headerFields[.authorization] != nil) == keeps)
        #expect((proposed.headerFields[.cookie] != nil) == keeps)
        #expect((proposed.headerFields[.proxyAuthorization] != nil) == keeps)
        #expect(proposed.headerFields[.userAgent] == "test")
    }

    // Proves: SEC-31.
    @Test(arguments: [("http://a.example/y", true), ("https://a.example/", false), ("http://b.example/", false)])
    func `sensitive fields stay with their origin, by name or by mark`(_ location: String, _ keeps: Bool) throws {
        var request = Request(url: try URLRecord("http://a.example/"))
        let (key, own) = (try #require(HTTPField.Name("X-API-Key")), try #require(HTTPField.Name("X-Own")))
        request.headerFields.append(HTTPField(name: key, value: "1"))
        request.headerFields.append(HTTPField(name: own, value: "2").markedSensitive)
        request.headerFields.append(HTTPField(name: own, value: "3"))
        let proposed = try #require(Self.proposal(Self.answer(307, location, to: request)))
        #expect(proposed.headerFields[values: key] == (keeps ? ["1"] : []))
        #expect(proposed.headerFields[values: own] == (keeps ? ["2", "3"] : ["3"]))
    }

    // By name, and never from https to http.
    // Proves: RED-11, SEC-31.
    @Test(arguments: [
        ("http://a.example/", "http://b.example/", true), ("http://a.example/", "https://b.example/", true),
        ("https://a.example/", "https://b.example:8443/", true), ("https://a.example/", "http://b.example/", false),
        ("https://a.example/", "https://c.example/", false), ("https://a.example/", "https://sub.b.example/", false),
    ])
    func `credentials go to another host when it is named`(_ from: String, _ to: String, _ keeps: Bool) throws {
        var request = Request(url: try URLRecord(from))
        request.headerFields[.authorization] = "Bearer x"
        request.headerFields[.cookie] = "a=b"
        let answer = Self.answer(307, to, to: request) {
            $0.forwardCredentialsToHosts = ["b.example"]
            $0.allowHTTPSToHTTP = true
        }
        let proposed = try #require(Self.proposal(answer))
        #expect((proposed.headerFields[.authorization] != nil) == keeps)
        #expect((proposed.headerFields[.cookie] != nil) == keeps)
    }

    // R28: https to http is a change too.
    // Proves: RED-12, SEC-30.
    @Test(arguments: [
        ("file:///etc/hostname", LoadError.Code.redirectTargetForbidden), ("ftp://h/x", .redirectTargetForbidden),
        ("data:,x", .redirectTargetForbidden), ("https://u:p@h/", .redirectTargetForbidden),
        ("http://a.example/", .redirectDowngrade), ("https://h:99999/", .redirectToNonExistentLocation),
    ])
    func `some targets are never followed`(_ location: String, _ code: LoadError.Code) throws {
        let request = Request(url: try URLRecord("https://a.example/"))
        #expect(Self.failure(Self.answer(302, location, to: request)) == code)
    }

    // A server's target passes the guard as text does.
    // Proves: SEC-30.
    @Test(
        arguments: [
            ("/b?c", nil), ("b", nil), ("//b.example/", nil), ("https://b.example:8443/", nil),
            ("//127.1/", "hostNonCanonicalIP"),
            ("https://2130706433/", "hostNonCanonicalIP"), ("https://ex%61mple.com/", "hostPercentEncoded"),
            ("https://b.example./", "hostTrailingDot"), ("https:b.example", "urlInvalid"),
            ("/\\b.example", "urlInvalid"),
            ("https:\\\\b.example/", "urlInvalid"), ("///b.example/", "urlInvalid"),
            ("https://10.0.0.1/", "addressForbidden"),
            ("https://[::ffff:10.0.0.1]/", "addressForbidden"), ("https://intra/", "hostSingleLabel"),
            ("https://db.internal/", "hostForbidden"), ("https://b.example:6379/", "portForbidden"),
            ("ftp://b.example/", "schemeForbidden"),
        ] as [(String, String?)])
    func `under a policy a location is read as strictly as a job's URL`(_ location: String, _ rule: String?) throws {
        let request = Request(url: try URLRecord("https://a.example/"))
        var machine = RedirectMachine(configuration: RedirectConfiguration())
        let response = Self.response(302, location, to: request)
        let action = machine.received(response, to: request, by: TargetGuard(policy: .publicOnly))
        guard let rule else {
            #expect(Self.proposal(action) != nil)
            return
        }
        guard case .fail(let error) = action else {
            Issue.record("\(location) is followed")
            return
        }
        #expect(error.code == .redirectTargetForbidden && error.message.contains("(\(rule))"), "\(error.message)")
        #expect(machine.followed == 0)
    }

    @Test func `https may lead to http when allowed`() throws {
        let request = Request(url: try URLRecord("https://a.example/"))
        let action = Self.answer(302, "http://a.example/", to: request) { $0.allowHTTPSToHTTP = true }
        #expect(Self.proposal(action) != nil)
    }

    @Test func `only allowed hosts are followed to`() throws {
        let request = Request(url: try URLRecord("https://a.example/"))
        for (host, code) in [("b.example", nil), ("c.example", LoadError.Code.redirectTargetForbidden)] {
            let action = Self.answer(302, "https://\(host)/", to: request) { $0.allowedHosts = ["b.example"] }
            #expect(Self.failure(action) == code)
        }
    }

    // Proves: RED-6.
    @Test func `the hop after the limit fails`() throws {
        let request = Request(url: try URLRecord("http://a.example/"))
        var machine = RedirectMachine(configuration: RedirectConfiguration(maximum: 2))
        let response = Self.response(302, "/", to: request)
        #expect(Self.proposal(machine.received(response, to: request)) != nil)
        #expect(Self.proposal(machine.received(response, to: request)) != nil)
        #expect(Self.failure(machine.received(response, to: request)) == .httpTooManyRedirects)
    }

    @Test func `the policies to return and to fail do so`() throws {
        let request = Request(url: try URLRecord("http://a.example/"))
        #expect(Self.isDelivered(Self.answer(302, "/", to: request) { $0.policy = .return }))
        #expect(Self.failure(Self.answer(302, "/", to: request) { $0.policy = .fail }) == .redirectRefused)
    }

    // An adviser that is asked may answer otherwise; a target that nobody may choose leaves it at the policy.
    @Test(arguments: [false, true])
    func `where somebody is asked, the policy holds for a target that is never followed`(_ isHandlers: Bool) throws {
        let request = Request(url: try URLRecord("https://a.example/"))
        let target = "http://a.example/"
        func action(_ policy: RedirectConfiguration.Policy) throws -> RedirectMachine.Action {
            var machine = RedirectMachine(configuration: RedirectConfiguration(policy: policy))
            let response = Self.response(302, target, to: request)
            guard isHandlers else { return machine.received(response, to: request, isAsking: true) }
            let proposed = Request(url: try URLRecord(target))
            return machine.received(response, from: request, proposing: proposed, isAsking: true)
        }
        #expect(Self.failure(try action(.follow)) == .redirectDowngrade)
        #expect(Self.isDelivered(try action(.return)))
        #expect(Self.failure(try action(.fail)) == .redirectRefused)
    }
}
