import FetchStorage
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Master keys that are exchanged while jobs with secrets run.
@Suite(.timeLimit(.minutes(3))) struct MasterKeyTests {
    /// Lets in who has the stored credential and the sensitive field of the job.
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isKnown = head.contains("Authorization: Basic dTpw\r\n")
                let status =
                    isKnown
                    ? head.contains("X-Own: canary\r\n") ? "200 OK" : "403 Forbidden"
                    : "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\""
                try connection.send("HTTP/1.1 \(status)\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    /// Runs jobs on some nodes for as long as something else takes, and expects them all to have their secrets.
    private static func load(
        _ nodes: [ServiceProcess], _ origin: WireOrigin, while change: () async throws -> Void
    ) async throws {
        let (isOver, count) = (Progress(), Progress())
        let own = #", "headers": [{"name": "X-Own", "value": "canary", "sensitive": true}]"#
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    while isOver.value == 0 {
                        let url = origin.url("/\(count.add(1))")
                        let job = try await nodes[number % nodes.count].fetch(url, request: own)
                        #expect(member(job, "response", "status") == 200, "\(job)")
                    }
                }
            }
            let before = count.value
            try await until { count.value > before + 20 }
            try await change()
            let after = count.value
            try await until { count.value > after + 20 }
            _ = isOver.add(1)
            try await group.waitForAll()
        }
    }

    // The new key is first one that opens, then the one that seals, and in the end the only one.
    // Proves: SEC-51.
    @Test func `the master key is exchanged beside a load that notices nothing`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let old = try #require(place.environment["FETCHD_MASTER_KEYS"])
            let new = "2:" + KeyRing.generate().dropFirst(2)
            func changed(_ keys: String) -> ServiceProcess.Place {
                ServiceProcess.Place(
                    database: place.database, directory: place.directory,
                    environment: place.environment.merging(["FETCHD_MASTER_KEYS": keys]) { $1 })
            }
            let key = try await place.key()
            var nodes: [ServiceProcess] = []
            for _ in 0..<2 { nodes.append(try await ServiceProcess.start(place, key: key)) }
            let space =
                #""host": "127.0.0.1", "port": \#(origin.port), "protocol": "http", "realm": "r", "#
                + #""authenticationMethod": "httpBasic""#
            let credential = try await nodes[0].request(
                .post, "/v1/credentials", body: #"{"protectionSpace": {\#(space)}, "user": "u", "password": "p"}"#)
            #expect(credential.status == 201, "\(credential.text)")
            for keys in ["\(old),\(new)", "\(new),\(old)", new] {
                for number in 0..<2 {
                    try await Self.load([nodes[1 - number]], origin) {
                        #expect(try await nodes[number].stop() == 0, "\(nodes[number].logged)")
                        nodes[number] = try await ServiceProcess.start(changed(keys), key: key)
                    }
                }
                guard keys.hasPrefix(new), keys != new else { continue }
                let wraps = Mutex("")
                try await Self.load(nodes, origin) {
                    let report = try await changed(keys).run("keys", "rewrap")
                    wraps.withLock { $0 = report }
                }
                let report = wraps.withLock { $0 }
                #expect(report.contains("master key 2 wraps: ") && !report.contains("master key 1 wraps"), "\(report)")
            }
            for node in nodes { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }
}
