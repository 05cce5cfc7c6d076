import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Where jobs are let to, seen by a sniffer in a network of its own.
@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: NetworkNamespace.isAllowed, "needs the right to make network namespaces (root)"))
struct GuardTests {
    /// An address that is public everywhere else: here it is the machine's own.
    private static let own = "9.9.9.9"

    private struct Scene: Sendable {
        let network: NetworkNamespace
        let sniffer: PacketSniffer
        let names: NameServer
        let origin: WireOrigin

        init() async throws {
            let network = try NetworkNamespace(addresses: ["10.0.0.5", own])
            self.network = network
            (sniffer, names, origin) = try await network.inside {
                (
                    try PacketSniffer(), try NameServer(addresses: []),
                    try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                )
            }
        }

        /// To where connections were begun, but for those of the test itself.
        func dialled(besides service: ServiceProcess) -> Set<String> {
            sniffer.destinations.filter { $0.hasPrefix("tcp ") }
                .subtracting(["tcp " + service.address])
        }
    }

    private static func error(of job: [String: Any]) -> String? { member(job, "error", "name") }

    // Proves: SEC-10, SEC-12, SEC-83.
    @Test func `a name with one address that is refused opens no connection`() async throws {
        let scene = try await Scene()
        let rule = "127.0.0.1:\(scene.origin.port)"
        try await ServiceProcess.with(allowing: [rule], in: scene.network) { service in
            let mixed: [[[UInt8]]] = [
                [[127, 0, 0, 1], [10, 0, 0, 5]], [[10, 0, 0, 5], [127, 0, 0, 1]], [[127, 0, 0, 1], [9, 9, 9, 9]],
                [[10, 0, 0, 5]],
            ]
            for (number, addresses) in mixed.enumerated() {
                scene.names.say(addresses)
                let job = try await service.fetch("http://mixed-\(number).example:\(scene.origin.port)/")
                #expect(Self.error(of: job) == "addressForbidden", "\(job)")
            }
            #expect(scene.dialled(besides: service) == [])
            scene.names.say([[127, 0, 0, 1]])
            let job = try await service.fetch("http://good.example:\(scene.origin.port)/")
            #expect(member(job, "response", "status") == 200, "\(job)")
            #expect(scene.dialled(besides: service) == ["tcp \(rule)"])
        }
    }

    // Nobody listens at any of them.
    // Proves: SEC-10.
    @Test func `of a name's addresses sixteen are tried, and no name server is waited for beyond its time`()
        async throws
    {
        let scene = try await Scene()
        let rules = (1...17).map { "127.0.1.\($0):\(scene.origin.port)" }
        try await ServiceProcess.with(allowing: rules, in: scene.network) { service in
            scene.names.say((1...17).map { [127, 0, 1, $0] })
            let once = #", "configuration": {"retry": {"maximumAttempts": 1}}"#
            let job = try await service.fetch("http://many.example:\(scene.origin.port)/", more: once)
            #expect(Self.error(of: job) == "cannotConnectToHost", "\(job)")
            #expect(scene.dialled(besides: service).count == 16)
            scene.names.fallSilent()
            let began = ContinuousClock.now
            let silent = try await service.fetch("http://silent.example/", more: once)
            #expect(Self.error(of: silent) == "dnsLookupFailed", "\(silent)")
            // Its resolver would ask for ten seconds.
            let took = ContinuousClock.now - began
            #expect(took > .seconds(4) && took < .seconds(9), "\(took)")
        }
    }

    // Proves: SEC-6.
    @Test func `the machine's own public addresses are refused, those that it gets later too`() async throws {
        let scene = try await Scene()
        try await ServiceProcess.with(allowing: [], in: scene.network) { service in
            scene.names.say([[9, 9, 9, 9]])
            for host in [Self.own, "own.example"] {
                let job = try await service.fetch("http://\(host):\(scene.origin.port)/")
                #expect(Self.error(of: job) == "addressForbidden", "\(job)")
            }
            try scene.network.add("9.9.9.10")
            try await until {
                let once = #", "configuration": {"retry": {"maximumAttempts": 1}}"#
                let job = try await service.fetch("http://9.9.9.10:\(scene.origin.port)/", more: once)
                return Self.error(of: job) == "addressForbidden"
            }
            #expect(!scene.dialled(besides: service).contains("tcp \(Self.own):\(scene.origin.port)"))
        }
    }

    @Test func `the error of a job names the address and the setting that would open it`() async throws {
        let scene = try await Scene()
        try await ServiceProcess.with(allowing: [], in: scene.network) { service in
            let place = "10.0.0.6:\(scene.origin.port)"
            let job = try await service.fetch("http://\(place)/")
            let message = member(job, "error", "message", as: String.self) ?? ""
            #expect(message == "\(place) is not a public address; GUARD_ALLOW=\(place) opens it.", "\(job)")
            #expect(scene.dialled(besides: service) == [])
        }
    }

    // Proves: SEC-30.
    @Test func `what a redirect names is told with the rule, and not as followed`() async throws {
        let scene = try await Scene()
        let origin = try await scene.network.inside {
            try WireOrigin(playing: "HTTP/1.1 302 F\r\nLocation: http://127.1:22/\r\nContent-Length: 0\r\n\r\n")
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"], in: scene.network) { service in
            let job = try await service.fetch(origin.url())
            #expect(Self.error(of: job) == "redirectTargetForbidden", "\(job)")
            #expect(member(job, "error", "message", as: String.self)?.contains("hostNonCanonicalIP") == true, "\(job)")
            #expect((member(job, "redirects", as: [Any].self) ?? []).isEmpty, "\(job)")
            #expect(scene.dialled(besides: service) == ["tcp 127.0.0.1:\(origin.port)"])
        }
    }

    // Proves: SEC-12.
    @Test func `a target that is refused asks no name server for a literal`() async throws {
        let scene = try await Scene()
        try await ServiceProcess.with(allowing: [], in: scene.network) { service in
            for url in ["http://10.0.0.5/", "http://[::1]/", "http://169.254.169.254/", "http://\(Self.own)/"] {
                let job = try await service.fetch(url)
                #expect(Self.error(of: job) == "addressForbidden")
            }
            #expect(scene.sniffer.destinations == ["tcp " + service.address])
        }
        #expect(scene.names.asked == [])
    }

    // Proves: SEC-35.
    @Test func `the endpoint of a webhook is judged when a message leaves, as it was when it was made`() async throws {
        let scene = try await Scene()
        scene.names.say([[10, 0, 0, 5]])
        try await ServiceProcess.with(allowing: [], in: scene.network) { service in
            let url = "https://hook.example:\(scene.origin.port)/hook"
            let made = try await service.request(.post, "/v1/webhooks/endpoints", body: #"{"url": "\#(url)"}"#)
            let endpoint = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            #expect(scene.names.asked == [], "a name is not looked up before something is sent to it")
            let sent = try await service.request(.post, "/v1/webhooks/endpoints/\(endpoint)/test")
            let delivery = try #require(member(sent.json, "id", as: String.self), "\(sent.text)")
            var tried: [String: Any] = [:]
            try await until {
                tried = try await service.request(.get, "/v1/webhooks/deliveries/\(delivery)").json
                return tried["attempts"].count ?? 0 > 0
            }
            #expect(member(tried, "attempts", "0", "error") == "addressForbidden", "\(tried)")
            #expect(scene.names.asked.contains("hook.example"))
            #expect(scene.dialled(besides: service) == [])
        }
    }
}
