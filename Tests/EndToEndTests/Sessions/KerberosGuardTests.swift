import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The packets of the Kerberos library for jobs, seen by a sniffer in a network of its own.
///
/// The name server there leads every realm to port 11211 of addresses inside.
@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: NetworkNamespace.isAllowed, "needs the right to make network namespaces (root)"))
struct KerberosGuardTests {
    private static let inside: [[UInt8]] = [[127, 0, 0, 1], [10, 0, 0, 5], [169, 254, 169, 254]]
    private static let challenge =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"

    private struct Scene: Sendable {
        let network: NetworkNamespace
        let sniffer: PacketSniffer
        let names: NameServer
        let origin: WireOrigin
        /// A key distribution centre that takes connections and says nothing.
        let centre: WireOrigin

        /// - Parameter hangs: Whether it keeps the connections open.
        init(hangs: Bool = true) async throws {
            let network = try NetworkNamespace(addresses: ["10.0.0.5", "169.254.169.254"])
            self.network = network
            (sniffer, names, origin, centre) = try await network.inside {
                (
                    try PacketSniffer(), try NameServer(addresses: inside), try WireOrigin(playing: challenge),
                    try WireOrigin { connection in if hangs { _ = try connection.receiveHead() } }
                )
            }
        }

        var rules: [String] { ["127.0.0.1:\(origin.port)", "127.0.0.1:\(centre.port)", "localhost"] }
        var realms: String { "HANGS.EXAMPLE=127.0.0.1:\(centre.port)" }
    }

    private static func credential(_ user: String) -> String {
        #", "configuration": {"authentication": {"credential": {"user": "\#(user)", "password": "p"}}}"#
    }

    @Test(arguments: [false, true])
    func `a job's realm leads to no name server and to no address inside`(hasRealms: Bool) async throws {
        let scene = try await Scene()
        let settings = hasRealms ? ["KERBEROS_REALMS": scene.realms] : [:]
        try await ServiceProcess.with(allowing: scene.rules, settings: settings, in: scene.network) { service in
            for user in ["x@EVIL.EXAMPLE", "x", #"flush_all\\n@EVIL.EXAMPLE"#, "x@127.0.0.1", "HTTP/a@hangs.example"] {
                for host in ["127.0.0.1", "localhost"] {
                    let job = try await service.fetch(
                        "http://\(host):\(scene.origin.port)/", more: Self.credential(user))
                    #expect(member(job, "response", "status") == 401, "\(user) \(job)")
                }
            }
            let service = "tcp " + service.address
            #expect(scene.sniffer.destinations == [service, "tcp 127.0.0.1:\(scene.origin.port)"])
        }
        #expect(scene.names.asked.isEmpty)
    }

    @Test func `a realm of the operator's is asked at the address that was named, and nowhere else`() async throws {
        let scene = try await Scene(hangs: false)
        let settings = ["KERBEROS_REALMS": scene.realms]
        try await ServiceProcess.with(allowing: scene.rules, settings: settings, in: scene.network) { service in
            let job = try await service.fetch(
                "http://localhost:\(scene.origin.port)/", more: Self.credential("x@HANGS.EXAMPLE"))
            #expect(member(job, "response", "status") == 401, "\(job)")
            let seen = scene.sniffer.destinations
            #expect(seen.contains("tcp 127.0.0.1:\(scene.centre.port)"))
            let others = seen.subtracting([
                "tcp 127.0.0.1:\(scene.centre.port)", "udp 127.0.0.1:\(scene.centre.port)",
                "tcp 127.0.0.1:\(scene.origin.port)", "tcp " + service.address,
            ])
            #expect(others == [])
        }
        #expect(scene.names.asked.isEmpty)
    }

    // The proof that the sniffer would have seen it.
    @Test(.enabled(if: LoopbackServer.installed("kinit") != nil, "kinit is not installed"))
    func `left to itself the library asks and dials`() async throws {
        let scene = try await Scene()
        let kinit = LoopbackServer.installed("kinit") ?? "kinit"
        _ = try await scene.network.inside {
            try Program([kinit, "x@EVIL.EXAMPLE"], environment: ["KRB5_CONFIG": "/dev/null"]).waitForEnd()
        }
        #expect(scene.names.asked.contains { $0.hasSuffix(".evil.example") })
        #expect(scene.sniffer.destinations.contains { $0.hasSuffix(" 10.0.0.5:11211") })
    }

    @Test func `a centre that hangs holds up its own realm's jobs alone, and those not for long`() async throws {
        let scene = try await Scene()
        let settings = ["KERBEROS_REALMS": scene.realms]
        try await ServiceProcess.with(allowing: scene.rules, settings: settings, in: scene.network) { service in
            let url = "http://127.0.0.1:\(scene.origin.port)/"
            let ended = Progress()
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask {
                        let job = try await service.fetch(url, more: Self.credential("x@HANGS.EXAMPLE"))
                        ended.add(1)
                        #expect(member(job, "response", "status") == 401, "\(job)")
                    }
                }
                try await until { !scene.centre.connections.isEmpty }
                let job = try await service.fetch("http://localhost:\(scene.origin.port)/")
                #expect(member(job, "response", "status") == 401, "\(job)")
                #expect(ended.value == 0)
                try await group.waitForAll()
            }
        }
    }

    @Test func `a principal that is not plain is refused where it is submitted`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            for user in [#"a\\n@CAVE.TEST"#, "a", "a b@CAVE.TEST", "a@b@CAVE.TEST"] {
                let space = #""protectionSpace": {"host": "a.example", "authenticationMethod": "negotiate"}"#
                for secret in [#""password": "p""#, #""keytab": "BQIA""#] {
                    let answer = try await service.request(
                        .post, "/v1/credentials", body: #"{\#(space), "user": "\#(user)", \#(secret)}"#)
                    #expect(answer.status == 422, "\(answer.text)")
                    #expect(answer.text.contains(#""pointer":"/user""#), "\(answer.text)")
                }
                let job = try await service.request(
                    .post, "/v1/jobs",
                    body: #"{"request": {"url": "https://a.example/"}, "configuration": {"authentication": "#
                        + #"{"credential": {"user": "\#(user)", "keytab": "BQIA"}}}}"#)
                #expect(job.status == 422, "\(job.text)")
                #expect(job.text.contains(#""pointer":"/configuration/authentication/credential/user""#), "\(job.text)")
            }
        }
    }
}
