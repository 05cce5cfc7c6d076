import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The operators' lists of targets, by the whole service.
@Suite(.timeLimit(.minutes(3))) struct EgressTests {
    private static let path = "/v1/admin/egress"
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    /// A service over a database, with the keys of a tenant and an operator.
    private struct Scene: Sendable {
        let place: ServiceProcess.Place
        let service: ServiceProcess
        let admin: String

        static func with(
            allowing rules: [String], in network: NetworkNamespace? = nil, _ body: (Scene) async throws -> Void
        ) async throws {
            try await ServiceProcess.Place.with(allowing: rules) { place in
                var place = place
                place.network = network
                let service = try await ServiceProcess.start(place, key: try await place.key())
                let scene = Scene(place: place, service: service, admin: try await place.key(scopes: .all))
                do { try await body(scene) } catch {
                    try await service.stop()
                    throw error
                }
                #expect(try await service.stop() == 0, "\(service.logged)")
            }
        }

        func set(_ document: String, at path: String = EgressTests.path, on node: ServiceProcess? = nil) async throws {
            let answer = try await (node ?? service).request(.put, path, body: document, key: admin)
            try #require(answer.status == 200, "\(answer.text)")
        }

        func explain(_ url: String, dry: Bool = true) async throws -> [String: Any] {
            let body = #"{"request": {"url": "\#(url)"}, "dryRun": \#(dry)}"#
            let answer = try await service.request(.post, "/v1/explain", body: body)
            return try #require(member(answer.json, "target"), "\(answer.text)")
        }

        /// What `fetchd guard` says, where the service is.
        func judge(_ url: String, _ more: String...) async throws -> (status: Int32, verdict: [String: Any]) {
            let (arguments, environment) = (["guard", url] + more, place.environment)
            let run: @Sendable () throws -> (Int32, String, String) = {
                let program = try Program(
                    [ServiceProcess.program] + arguments, environment: environment, readsOutput: true,
                    readsErrors: true)
                let (output, errors) = (program.output(), program.errors())
                return (program.waitForEnd(), output, errors)
            }
            let end = if let network = place.network { try await network.inside(run) } else { try await onThread(run) }
            let json = try? JSONSerialization.jsonObject(with: Data(end.1.utf8))
            return (end.0, try #require(json as? [String: Any], "\(end.1) \(end.2)"))
        }

        func refusals(_ rule: String) async throws -> Int {
            let metrics = try await service.request(.get, "/metrics").text
            let line = metrics.split(separator: "\n").first {
                $0.hasPrefix("fetchd_targets_refused_total{rule=\"\(rule)\"}")
            }
            return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        }
    }

    private static func error(of job: [String: Any]) -> String? { member(job, "error", "name") }

    // Proves: SEC-13, SEC-61.
    @Test func `a target that a rule denies is refused, told, logged and counted, and every verdict agrees`()
        async throws
    {
        let origin = try WireOrigin(playing: Self.answer)
        try await Scene.with(allowing: ["127.0.0.1:\(origin.port)"]) { scene in
            let url = origin.url("/a?secret=1")
            for (document, code) in [
                (#"{"mode": "denyList", "deny": [{"name": "no port", "ports": [\#(origin.port)]}]}"#, "egressDenied"),
                (#"{"mode": "denyList", "deny": [{"addresses": ["127.0.0.0/8"]}]}"#, "egressDenied"),
                (#"{"mode": "denyList", "deny": [{"schemes": ["http"]}]}"#, "egressDenied"),
                (#"{"mode": "allowListOnly", "allow": [{"hosts": ["a.example"]}]}"#, "egressNotAllowed"),
                (#"{"mode": "allowListOnly", "allow": [{"addresses": ["127.0.0.2"]}]}"#, "egressNotAllowed"),
                (#"{"mode": "allowListOnly", "allow": [{"ports": [443]}]}"#, "egressNotAllowed"),
                (#"{"mode": "allowListOnly", "allow": [{"addresses": ["127.0.0.1"]}]}"#, nil),
                (#"{"mode": "allowListOnly", "allow": [{"ports": [\#(origin.port)]}]}"#, nil),
                (#"{"mode": "denyList", "allow": [{"hosts": ["a.example"]}], "deny": [{"ports": [443]}]}"#, nil),
            ] as [(String, String?)] {
                try await scene.set(document)
                let job = try await scene.service.fetch(url)
                #expect(Self.error(of: job) == code, "\(document) \(job)")
                #expect(member(job, "response", "status") == (code == nil ? 200 : Int?.none), "\(document) \(job)")
                let target = try await scene.explain(url)
                #expect(member(target, "allowed") == (code == nil) && member(target, "code") == code, "\(target)")
                let (status, verdict) = try await scene.judge(url)
                #expect(status == (code == nil ? 0 : 1) && member(verdict, "code") == code, "\(document) \(verdict)")
            }
            #expect(origin.connections.count { !$0.received.isEmpty } > 0)
            // The first was the one with a name.
            var entries: [[String: Any]] = []
            try await until {
                let log = try await scene.service.request(.get, "/v1/audit?action=targets.refuse&limit=100")
                entries = member(log.json, "data") ?? []
                return entries.contains { member($0, "details", "name") == "no port" }
            }
            let named = try #require(entries.first { member($0, "details", "name") == "no port" })
            #expect(member(named, "details", "code") == "egressDenied" && member(named, "object") == origin.url("/a"))
            #expect(try await scene.refusals("egressDenied") == 3)
            #expect(try await scene.refusals("egressNotAllowed") == 3)
            let changes = try await scene.service.request(.get, "/v1/admin/audit?action=egress.*", key: scene.admin)
            #expect(member(changes.json, "data", "0", "details", "mode") == "denyList", "\(changes.text)")
            #expect(member(changes.json, "data", "0", "actor", "kind") == "operator")
            #expect(try await !scene.service.request(.get, "/v1/audit").text.contains("secret"))
        }
    }

    @Test func `a rule that denies a target is named by the job's error`() async throws {
        try await Scene.with(allowing: []) { scene in
            try await scene.set(#"{"mode": "denyList", "deny": [{"name": "no b", "hosts": ["*.b.example"]}]}"#)
            for host in ["a.b.example", "A.B.EXAMPLE", "x.a.b.example"] {
                let job = try await scene.service.fetch("https://\(host)/")
                #expect(member(job, "error", "message") == "The operator's rule \"no b\" denies this target.", "\(job)")
                #expect(member(job, "attempts", "1", as: [String: Any].self) == nil, "\(job)")
            }
        }
    }

    // Proves: SEC-21.
    @Test func `a redirect leads to no denied host, and no connection that was made before is used`() async throws {
        let target = try WireOrigin(playing: Self.answer)
        let origin = try WireOrigin(
            playing: "HTTP/1.1 302 Found\r\nLocation: \(target.url("/next"))\r\nContent-Length: 0\r\n\r\n")
        let rules = ["127.0.0.1:\(origin.port)", "127.0.0.1:\(target.port)"]
        try await Scene.with(allowing: rules) { scene in
            let first = try await scene.service.fetch(origin.url())
            #expect(member(first, "response", "status") == 200, "\(first)")
            let count = target.count(of: "GET ")
            try await scene.set(#"{"mode": "denyList", "deny": [{"ports": [\#(target.port)]}]}"#)
            let job = try await scene.service.fetch(origin.url())
            #expect(Self.error(of: job) == "redirectTargetForbidden", "\(job)")
            #expect(member(job, "error", "message", as: String.self)?.contains("(egressDenied)") == true, "\(job)")
            let imagined = try await scene.service.request(
                .post, "/v1/explain",
                body: #"{"request": "\#(origin.url())", "#
                    + #""whatIf": [{"on": "willPerformHTTPRedirection", "to": "\#(target.url())"}]}"#)
            #expect(member(imagined.json, "whatIf", "0", "error") == "redirectTargetForbidden", "\(imagined.text)")
            let direct = try await scene.service.fetch(target.url())
            #expect(Self.error(of: direct) == "egressDenied", "\(direct)")
            #expect(target.count(of: "GET ") == count && target.connections.count == 1)
            #expect(try await scene.refusals("egressDenied") == 2)
            // Open again, on a connection of its own: the policy is another one.
            try await scene.set(#"{"mode": "denyList", "deny": [{"ports": [1]}]}"#)
            #expect(member(try await scene.service.fetch(target.url()), "response", "status") == 200)
            #expect(target.connections.count == 2)
        }
    }

    @Test func `a webhook goes to no denied host, whether it was there before or is new`() async throws {
        let receiver = try WebhookReceiver()
        try await Scene.with(allowing: [receiver.rule]) { scene in
            let (endpoint, _) = try await receiver.endpoint(of: scene.service)
            let port = receiver.rule.split(separator: ":").last ?? ""
            try await scene.set(#"{"mode": "denyList", "deny": [{"name": "no hooks", "ports": [\#(port)]}]}"#)
            let new = try await scene.service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "http://\#(receiver.rule)/b"}"#)
            #expect(new.status == 422 && new.text.contains("no hooks"), "\(new.text)")
            let job = try await scene.service.fetch("data:,x", more: receiver.announcing(endpoint))
            #expect(member(job, "state") == "succeeded", "\(job)")
            try await until {
                let list = try await scene.service.request(.get, "/v1/webhooks/deliveries")
                guard let id = member(list.json, "data", "0", "id", as: String.self) else { return false }
                let one = try await scene.service.request(.get, "/v1/webhooks/deliveries/\(id)")
                return one.text.contains("\"egressDenied\"")
            }
            #expect(try await scene.refusals("egressDenied") >= 2)
            try await scene.set(#"{"mode": "denyList"}"#)
            try await scene.place.retryDeliveries()
            _ = try await receiver.next()
        }
    }

    @Test func `a question goes to no denied host`() async throws {
        let (receiver, origin) = (try WebhookReceiver(), try WireOrigin(playing: Self.answer))
        try await Scene.with(allowing: [receiver.rule, "127.0.0.1:\(origin.port)"]) { scene in
            let (endpoint, _) = try await receiver.endpoint(of: scene.service)
            let port = receiver.rule.split(separator: ":").last ?? ""
            try await scene.set(#"{"mode": "denyList", "deny": [{"ports": [\#(port)]}]}"#)
            let job = try await scene.service.submit(
                origin.url(), asking: #"["didReceiveResponse"]"#, via: #""via": "webhook", "endpoint": "\#(endpoint)""#)
            try await until { try await scene.refusals("egressDenied") > 0 }
            try await scene.set(#"{"mode": "denyList"}"#)
            let message = try await receiver.next()
            #expect(String(decoding: message.body, as: UTF8.self).contains("job.question"))
            _ = try await scene.service.request(.post, "/v1/jobs/\(job)/cancel")
            #expect(member(try await scene.service.end(of: job), "state") == "cancelled")
        }
    }

    @Test func `a registered protocol is where the service may go, whatever its tenant's document says`() async throws {
        let receiver = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send(Self.answer)
            }
        }
        try await Scene.with(allowing: ["127.0.0.1:\(receiver.port)"]) { scene in
            let (path, spec) = ("/v1/admin/protocols/archive", #"{"scheme": "archive", "url": "\#(receiver.url())"}"#)
            let deny = #"{"mode": "denyList", "deny": [{"ports": [\#(receiver.port)]}]}"#
            let made = try await scene.service.request(.put, path, body: spec, key: scene.admin)
            try #require(made.status == 201, "\(made.text)")
            try await scene.set(deny, at: "/v1/admin/tenants/default/egress")
            let allowed = try await scene.service.fetch("archive://shelf/1")
            #expect(member(allowed, "state") == "succeeded", "\(allowed)")
            try await scene.set(deny)
            let job = try await scene.service.fetch("archive://shelf/2")
            #expect(Self.error(of: job) == "egressDenied", "\(job)")
            #expect(receiver.count(of: "POST ") == 1)
            let again = try await scene.service.request(.put, path, body: spec, key: scene.admin)
            #expect(again.status == 422, "\(again.text)")
        }
    }

    @Test func `a proxy is denied as a target is`() async throws {
        let proxy = try WireOrigin(playing: Self.answer)
        let origin = try WireOrigin(playing: Self.answer)
        try await Scene.with(allowing: ["127.0.0.1:\(proxy.port)", "127.0.0.1:\(origin.port)"]) { scene in
            try await scene.set(#"{"mode": "denyList", "deny": [{"ports": [\#(proxy.port)]}]}"#)
            let more = #", "configuration": {"proxy": {"url": "http://127.0.0.1:\#(proxy.port)"}}"#
            let job = try await scene.service.fetch(origin.url(), more: more)
            #expect(Self.error(of: job) == "proxyForbidden", "\(job)")
            #expect(proxy.connections.isEmpty && origin.connections.isEmpty)
            #expect(try await scene.refusals("egressDenied") == 1)
        }
    }

    @Test func `the jobs of one tenant go to what both documents allow, and those of others where they went`()
        async throws
    {
        let (own, all) = (try WireOrigin(playing: Self.answer), try WireOrigin(playing: Self.answer))
        try await Scene.with(allowing: ["127.0.0.1:\(own.port)", "127.0.0.1:\(all.port)"]) { scene in
            let other = try await scene.place.key(tenant: "crawler")
            func run(_ origin: WireOrigin, _ key: String? = nil) async throws -> String? {
                Self.error(of: try await scene.service.fetch(origin.url(), key: key))
            }
            #expect(try await run(all, other) == nil)
            let tenant = "/v1/admin/tenants/crawler/egress"
            try await scene.set(
                #"{"mode": "allowListOnly", "allow": [{"ports": [\#(own.port)]}]}"#, at: tenant)
            #expect(try await run(own, other) == nil)
            #expect(try await run(all, other) == "egressNotAllowed")
            #expect(try await run(all) == nil)
            let (status, verdict) = try await scene.judge(all.url(), "--tenant", "crawler")
            #expect(status == 1 && member(verdict, "code") == "egressNotAllowed", "\(verdict)")
            #expect(try await scene.judge(all.url()).status == 0)
            // What the service denies, no tenant's document allows.
            try await scene.set(#"{"mode": "denyList", "deny": [{"ports": [\#(own.port)]}]}"#)
            #expect(try await run(own, other) == "egressDenied")
            let removed = try await scene.service.request(.delete, tenant, key: scene.admin)
            #expect(removed.status == 204, "\(removed.text)")
            #expect(try await run(all, other) == nil)
        }
    }

    @Test func `the jobs of an ephemeral session go by the policy of the moment`() async throws {
        let origin = try WireOrigin(playing: Self.answer)
        try await Scene.with(allowing: ["127.0.0.1:\(origin.port)"]) { scene in
            let made = try await scene.service.request(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#)
            let session = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let more = #", "session": "\#(session)""#
            #expect(Self.error(of: try await scene.service.fetch(origin.url(), more: more)) == nil)
            try await scene.set(#"{"mode": "denyList", "deny": [{"ports": [\#(origin.port)]}]}"#)
            #expect(Self.error(of: try await scene.service.fetch(origin.url(), more: more)) == "egressDenied")
            #expect(origin.count(of: "GET ") == 1)
        }
    }

    @Test func `a document takes effect on all nodes, and outlives them`() async throws {
        let origin = try WireOrigin(playing: Self.answer)
        try await Scene.with(allowing: ["127.0.0.1:\(origin.port)"]) { scene in
            let second = try await ServiceProcess.start(scene.place, key: try await scene.place.key())
            let deny = #"{"mode": "denyList", "deny": [{"ports": [\#(origin.port)]}]}"#
            try await scene.set(deny)
            // The other node is told of it: no job of it is asked for that.
            try await until {
                let body = #"{"request": "\#(origin.url())"}"#
                let forecast = try await second.request(.post, "/v1/explain", body: body)
                return member(forecast.json, "target", "code") == "egressDenied"
            }
            #expect(Self.error(of: try await second.fetch(origin.url())) == "egressDenied")
            try await scene.set(#"{"mode": "denyList"}"#, on: second)
            second.send(SIGKILL)
            _ = try await second.waitForEnd()
            _ = try await scene.place.run("egress", "set", try await file(deny))
            try await until { try await scene.explain(origin.url(), dry: false)["code"] as? String == "egressDenied" }
            let third = try await ServiceProcess.start(scene.place, key: try await scene.place.key())
            #expect(Self.error(of: try await third.fetch(origin.url())) == "egressDenied")
            #expect(try await third.stop() == 0)
            #expect(origin.connections.isEmpty)
        }
    }

    private func file(_ text: String) async throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "egress-\(UUID()).json").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    // MARK: Names, in a network of their own

    // Proves: SEC-13.
    @Test(.enabled(if: NetworkNamespace.isAllowed, "needs the right to make network namespaces (root)"))
    func `a name is denied before it is looked up, and by its addresses then`() async throws {
        let network = try NetworkNamespace(addresses: ["9.9.9.9"])
        let (sniffer, names, origin) = try await network.inside {
            (
                try PacketSniffer(), try NameServer(addresses: [[127, 0, 0, 1]]),
                try WireOrigin(playing: Self.answer)
            )
        }
        try await Scene.with(allowing: ["127.0.0.1:\(origin.port)", "9.9.9.9"], in: network) { scene in
            let url = { (host: String) in "http://\(host):\(origin.port)/" }
            try await scene.set(
                #"{"mode": "denyList", "deny": [{"hosts": ["*.named.example", "bücher.example"]}, "#
                    + #"{"name": "block", "addresses": ["127.0.0.1"]}]}"#)
            for host in ["a.named.example", "A.NAMED.example", "xn--bcher-kva.example"] {
                #expect(Self.error(of: try await scene.service.fetch(url(host))) == "egressDenied")
                #expect(try await scene.judge(url(host)).status == 1)
            }
            #expect(names.asked == [])
            // Only the look-up tells: the first way is the only one that explain has without it.
            #expect(member(try await scene.explain(url("b.example"), dry: false), "allowed") == true)
            #expect(names.asked == [])
            let target = try await scene.explain(url("b.example"))
            #expect(member(target, "code") == "egressDenied" && member(target, "resolves") == true, "\(target)")
            let (status, verdict) = try await scene.judge(url("b.example"))
            #expect(status == 1 && member(verdict, "rule") == "block", "\(verdict)")
            #expect(member(verdict, "addresses") == ["127.0.0.1"], "\(verdict)")
            let job = try await scene.service.fetch(url("b.example"))
            #expect(member(job, "error", "message") == "The operator's rule \"block\" denies this target.", "\(job)")
            // One of several addresses is enough.
            names.say([[9, 9, 9, 9], [127, 0, 0, 1]])
            #expect(Self.error(of: try await scene.service.fetch(url("c.example"))) == "egressDenied")
            let dialled = Set(sniffer.destinations.filter { $0.hasPrefix("tcp ") })
            #expect(dialled.subtracting(["tcp " + scene.service.address]) == [])
            // A name that is not allowed is not looked up either.
            let asked = names.asked
            try await scene.set(
                #"{"mode": "allowListOnly", "allow": [{"hosts": ["d.example"]}, {"addresses": ["127.0.0.1"]}]}"#)
            #expect(Self.error(of: try await scene.service.fetch(url("e.example"))) == "egressNotAllowed")
            #expect(try await scene.judge(url("e.example")).status == 1)
            #expect(names.asked == asked)
            names.say([[127, 0, 0, 1]])
            #expect(member(try await scene.service.fetch(url("d.example")), "response", "status") == 200)
            #expect(try await scene.judge(url("d.example")).status == 0)
        }
    }

    @Test func `a document is tried before it is set`() async throws {
        let policy = try await file(#"{"mode": "denyList", "deny": [{"addresses": ["198.18.0.0/15", "8.8.8.8"]}]}"#)
        let map = try await file(#"{"a.example": ["8.8.4.4"], "b.example": ["8.8.8.8"]}"#)
        let broken = try await file(#"{"mode": "denyList", "deny": [{"hosts": []}]}"#)
        for (host, code) in [("a.example", nil), ("b.example", "egressDenied"), ("10.0.0.1", "addressForbidden")]
            as [(String, String?)]
        {
            let end = try await ProgramEnd.of(
                ["guard", "https://\(host)/", "--policy", policy, "--resolve-map", map])
            let verdict = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
            #expect(end.status == (code == nil ? 0 : 1) && verdict?["code"] as? String == code, "\(end)")
        }
        let wrong = try await ProgramEnd.of(["guard", "https://a.example/", "--policy", broken])
        #expect(wrong.status == 78 && wrong.errors.contains("/deny/0/hosts must not be empty"), "\(wrong)")
    }
}
