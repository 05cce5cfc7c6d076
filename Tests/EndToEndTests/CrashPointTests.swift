import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

// A release build has no points.
#if DEBUG
    /// What a node leaves that ends at a named point, and what the next one makes of it.
    ///
    /// A client does its work as ever: where it gets no answer, it asks the next node the same again.
    @Suite(.timeLimit(.minutes(3))) struct CrashPointTests {
        /// What ends at the point, or comes to it first.
        enum Kind: String, Sendable {
            case data, download
            /// A PUT, which may be repeated.
            case upload
            /// A POST, which may not, and one that may because its job says so.
            case post, allowedPost
            /// A message: its job loads nothing from the network.
            case webhook
            /// Data that the cache takes: into the blob store, and into the entry.
            case cached, shortCached

            var isCached: Bool { self == .cached || self == .shortCached }
            var sendsBlob: Bool { [.upload, .post, .allowedPost].contains(self) }
        }

        struct Trial: Sendable, CustomTestStringConvertible {
            let point: CrashPoint
            let kind: Kind
            /// How often the first node comes to the point.
            var count = 1

            init(_ point: CrashPoint, _ kind: Kind, count: Int = 1) {
                (self.point, self.kind, self.count) = (point, kind, count)
            }

            var testDescription: String { "\(kind) at \(point.rawValue)" }

            /// Whether the point is in the storing of the blob that the job sends.
            var isBeforeJob: Bool {
                kind.sendsBlob && count == 1 && [.blobWritten, .blobSynced, .blobNamed, .blobListed].contains(point)
            }

            /// How often the origin hears of the job, in the end.
            var requests: Int {
                switch point {
                case _ where kind == .webhook: 0
                case _ where isBeforeJob: 1
                case .beginCommitted, .transferStarted: kind == .post ? 0 : 1
                case .jobStored, .claimCommitted, .settleCommitted, .cacheCommitted: 1
                default: kind == .post ? 1 : 2
                }
            }

            /// Whether the job fails because a request may have left that is not repeated.
            var isLost: Bool {
                let before: [CrashPoint] = [.jobStored, .claimCommitted, .settleCommitted]
                return kind == .post && !before.contains(point) && !isBeforeJob
            }

            /// Whether the receiver has the message twice.
            var isToldTwice: Bool {
                kind == .webhook && [.requestSent, .responseHead, .responseBody, .webhookSent].contains(point)
            }
        }

        /// The points that everything comes to.
        private static let common: [CrashPoint] = [
            .jobStored, .claimCommitted, .transferStarted, .requestSent, .responseHead, .responseBody, .settleBefore,
            .settleCommitted,
        ]
        private static func trials(_ kind: Kind, _ points: [CrashPoint]) -> [Trial] { points.map { Trial($0, kind) } }

        static let jobs: [Trial] = [
            trials(.data, common + [.blobWritten, .blobSynced, .blobNamed, .retryCommitted]),
            trials(.upload, common + [.blobWritten, .blobSynced, .blobNamed, .blobListed, .retryCommitted]),
            trials(.post, common + [.beginCommitted]),
            // The second blob is the body of the answer.
            [Trial(.blobSynced, .post, count: 2), Trial(.blobNamed, .post, count: 2)],
            trials(.allowedPost, [.requestSent, .responseBody, .settleBefore]),
            trials(.webhook, common + [.webhookClaimed, .webhookSent, .webhookSettled]),
        ].flatMap(\.self)
        static let downloads = trials(
            .download,
            common + [
                .bytesWritten, .bytesCounted, .checkpointSynced, .checkpointStored,
                .blobSynced, .blobNamed, .blobListed, .retryCommitted,
            ])
        static let answers: [Trial] =
            trials(.cached, [.responseBody, .cacheWritten, .blobNamed, .cacheWhole, .cacheCommitted])
            + trials(.shortCached, [.responseBody, .cacheWhole, .cacheCommitted])

        // Proves: REL-17.
        @Test func `every point is tried`() {
            let tried = Set((Self.jobs + Self.downloads + Self.answers).map(\.point))
            #expect(tried.union([.uploadAppended]) == Set(CrashPoint.allCases))
        }

        // A POST is sent once at most, or twice where its job allows it.
        // Proves: LIF-13, REL-1, REL-6, REL-17.
        @Test(arguments: jobs)
        func `a job ends once and is told of under one id, wherever its node ends`(_ trial: Trial) async throws {
            try await run(trial) { _, _, _ in }
        }

        // Proves: DLD-14, REL-7, REL-17.
        @Test(arguments: downloads)
        func `a download has each of its bytes once, wherever its node ends`(_ trial: Trial) async throws {
            try await run(trial) { job, _, peer in
                guard member(job, "state") == "succeeded" else { return }
                #expect(member(job, "body", "digest") == SHA256Digest(of: peer.content).field)
                // What was in the catalog before has the name.
                let isSecond = [.blobListed, .settleBefore].contains(trial.point)
                #expect(member(job, "file", "filename") == (isSecond ? "f-1.bin" : "f.bin"))
                let last = try #require(peer.heads.last)
                // What no checkpoint has does not count.
                switch trial.point {
                case .bytesWritten, .checkpointSynced: #expect(!last.contains("Range:"), "\(last)")
                case .checkpointStored:
                    #expect(last.contains(/Range: bytes=[1-9]\d*-\r\nIf-Range: "v1"\r\n/), "\(last)")
                default: break
                }
            }
        }

        // Proves: CCH-21, REL-17.
        @Test(arguments: answers)
        func `a cached answer is whole or not there, wherever the node ends that stores it`(_ trial: Trial) async throws
        {
            try await run(trial) { job, node, peer in
                // Before the entry was stored, the next node has asked anew.
                #expect(member(job, "response", "fromCache") == (trial.point == .cacheCommitted))
                let again = try await node.fetch(peer.url(of: trial.kind))
                #expect(member(again, "response", "fromCache") == true)
                #expect(try await body(of: again, node) == peer.content)
                #expect(peer.heads.count == trial.requests)
            }
        }

        // Proves: REL-17.
        @Test func `an upload goes on from the bytes that were durable, whether or not its client was told`()
            async throws
        {
            let content = pattern(200_000)
            try await ServiceProcess.Place.with(allowing: []) { place in
                let key = try await place.key()
                let first = try await ServiceProcess.start(place.ending(at: .uploadAppended, count: 2), key: key)
                let begun = try await first.send(
                    .post, "/v1/blobs", .bytes(Array(content[..<70_000])),
                    headers: [.uploadComplete: "?0", .uploadLength: "200000"])
                let path = try #require(begun.headers[.location], "\(begun.text)")
                func append(_ range: Range<Int>, to node: ServiceProcess) async throws -> ServiceProcess.Answer {
                    try await node.send(
                        .patch, path, .bytes(Array(content[range])),
                        headers: [
                            .uploadComplete: range.upperBound == content.count ? "?1" : "?0",
                            .uploadOffset: "\(range.lowerBound)", .contentType: "application/partial-upload",
                        ])
                }
                await #expect(throws: LoadError.self) { try await append(70_000..<120_000, to: first) }
                #expect(try await first.waitForOwnEnd() == CrashPoint.exitStatus)
                let second = try await ServiceProcess.start(place, key: key)
                #expect(try await second.request(.head, path).headers[.uploadOffset] == "120000")
                let end = try await append(120_000..<200_000, to: second)
                #expect(end.status == 201, "\(end.text)")
                let href = try #require(member(end.json, "href", as: String.self))
                #expect(try await second.request(.get, href).body == content)
                #expect(try await second.stop() == 0)
            }
        }

        // MARK: A trial

        /// Has a client do its work at a node that ends at the point, and at the next one.
        ///
        /// - Parameter look: Checks the job at its end, at the second node.
        private func run(
            _ trial: Trial, _ look: (_ job: [String: Any], ServiceProcess, Peer) async throws -> Void
        ) async throws {
            let peer = try Peer(of: trial)
            try await ServiceProcess.Place.with(allowing: [peer.rule]) { place in
                let waits = trial.point == .claimCommitted
                // A job that waits is claimed; others start as they are stored.
                if waits { _ = try await place.run("queue", "pause") }
                let client = try await CrashClient(place, trial)
                let job = try await submit(trial, peer, by: client)
                if waits { _ = try await place.run("queue", "resume") }
                let node = try await client.nodeAfterEnd()
                peer.goOn()
                let end = try await node.end(of: job)
                try await check(end, trial, peer, node)
                try await look(end, node, peer)
                // Told of under one id, and stored so.
                let delivered: Query = "SELECT FROM webhook_deliveries WHERE state = 'delivered'"
                try await until { try await place.database.client.query(delivered).count == 1 }
                #expect(peer.messages.count >= (trial.isToldTwice ? 2 : 1), "\(peer.messages)")
                #expect(peer.messages.count <= 2 && Set(peer.messages).count == 1, "\(peer.messages)")
                #expect(try await node.stop() == 0)
                #expect(try await PostgresInvariants(client: place.database.client).violations() == [])
                #expect(place.sizesOfBlobs.allSatisfy { $0 == peer.content.count }, "\(place.sizesOfBlobs)")
            }
        }

        private func submit(_ trial: Trial, _ peer: Peer, by client: CrashClient) async throws -> String {
            let endpoint = try await client.create(
                CrashClient.endpoints, #"{"url": "\#(peer.origin.url("/hook"))"}"#)
            var request = #""url": "\#(peer.url(of: trial.kind))""#
            if trial.kind.sendsBlob {
                let blob = try await client.create("/v1/blobs", peer.content)
                request += #", "method": "\#(trial.kind == .upload ? "PUT" : "POST")", "body": {"blob": "\#(blob)"}"#
            }
            let kind = trial.kind == .download ? "download" : trial.kind.sendsBlob ? "upload" : "data"
            return try await client.create(
                "/v1/jobs",
                """
                {"kind": "\(kind)", "request": {\(request)}, "webhook": {"endpoint": "\(endpoint)"},
                "configuration": {"retry": {"replayUnsafe": \(trial.kind == .allowedPost), "statuses": [503],
                "backoff": {"initial": 0.01}}}}
                """)
        }

        private func check(_ job: [String: Any], _ trial: Trial, _ peer: Peer, _ node: ServiceProcess) async throws {
            // A head that has left is read, though whoever sent it is gone.
            try await until { peer.heads.count >= trial.requests }
            #expect(peer.heads.count == trial.requests, "\(peer.heads)")
            guard !trial.isLost else {
                #expect(member(job, "state") == "failed", "\(job)")
                #expect(member(job, "error", "name") == "networkConnectionLost", "\(job)")
                return
            }
            #expect(member(job, "state") == "succeeded", "\(job)")
            guard trial.kind != .webhook else { return }
            #expect(try await body(of: job, node) == peer.content)
            if trial.kind.sendsBlob { #expect(peer.lastBody == peer.content) }
        }

        private func body(of job: [String: Any], _ node: ServiceProcess) async throws -> [UInt8] {
            try await node.request(.get, try #require(member(job, "body", "href", as: String.self), "\(job)")).body
        }
    }

    /// A client that asks the next node again where the first one ended before it answered.
    private final class CrashClient {
        static let endpoints = "/v1/webhooks/endpoints"

        private let place: ServiceProcess.Place
        private let point: CrashPoint
        private let key: String
        private var node: ServiceProcess
        private var hasEnded = false

        init(_ place: ServiceProcess.Place, _ trial: CrashPointTests.Trial) async throws {
            self.place = place
            point = trial.point
            key = try await place.key()
            node = try await ServiceProcess.start(place.ending(at: trial.point, count: trial.count), key: key)
        }

        /// Makes something by a request that may be repeated, and returns its id.
        func create(_ path: String, _ body: String) async throws -> String {
            try await create(path, .bytes(Array(body.utf8)), "application/json")
        }

        func create(_ path: String, _ body: [UInt8]) async throws -> String {
            try await create(path, .bytes(body), "application/octet-stream")
        }

        private func create(_ path: String, _ body: RequestBody, _ type: String) async throws -> String {
            var fields: HTTPFields = [.contentType: type]
            // What shows a secret takes no key.
            if path != Self.endpoints { fields[.idempotencyKey] = "trial:\(path)" }
            let headers = fields
            func ask() async throws -> ServiceProcess.Answer {
                try await node.send(.post, path, body, headers: headers)
            }
            let answer: ServiceProcess.Answer
            do { answer = try await ask() } catch {
                _ = try await nodeAfterEnd()
                answer = try await ask()
            }
            return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
        }

        /// The node that follows the first one, once that has ended at its point.
        func nodeAfterEnd() async throws -> ServiceProcess {
            guard !hasEnded else { return node }
            #expect(try await node.waitForOwnEnd() == CrashPoint.exitStatus, "\(node.logged)")
            hasEnded = true
            try await place.endClaims()
            if point == .checkpointSynced || point == .checkpointStored {
                #expect(try place.hasCheckpoint == (point == .checkpointStored))
            }
            node = try await ServiceProcess.start(place, key: key)
            return node
        }
    }

    /// Where jobs go, and where they are told of.
    private final class Peer: Sendable {
        private struct Heard {
            var heads: [String] = []
            var lastBody: [UInt8] = []
            var messages: [String] = []
        }

        /// An object, so that the origin's threads have it.
        private final class Log: Sendable {
            let heard = Mutex(Heard())
        }

        let content: [UInt8]
        let origin: WireOrigin
        private let log = Log()
        private let gate: Gate?

        init(of trial: CrashPointTests.Trial) throws {
            let content = pattern(trial.kind == .shortCached ? 20_000 : 200_000)
            // The download is not over before its checkpoint is there.
            let gate = trial.point == .checkpointSynced || trial.point == .checkpointStored ? Gate() : nil
            let failsFirst = trial.point == .retryCommitted
            let caching = "Cache-Control: \(trial.kind.isCached ? "max-age=1000" : "no-store")\r\n"
            (self.content, self.gate) = (content, gate)
            origin = try WireOrigin { [log] connection in
                while let head = try connection.receiveHead() {
                    let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                    if head.hasPrefix("POST /hook ") {
                        let id = head.firstMatch(of: /(?i)webhook-id: (\S+)/).map { String($0.output.1) } ?? ""
                        log.heard.withLock { $0.messages.append(id) }
                        try connection.receive(length)
                        // With a body of more than one piece.
                        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n"
                        try connection.send(answer + String(repeating: "x", count: 40_000))
                        continue
                    }
                    let number = log.heard.withLock { heard in
                        heard.heads.append(head)
                        return heard.heads.count
                    }
                    let body = try connection.receive(length)
                    log.heard.withLock { $0.lastBody = body }
                    if failsFirst, number == 1 {
                        try connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
                        continue
                    }
                    let start = head.firstMatch(of: /Range: bytes=(\d+)-\r\nIf-Range: "v1"\r\n/)
                    let offset = start.flatMap { Int($0.output.1) } ?? 0
                    let (size, rest) = (content.count, content.count - offset)
                    let line =
                        switch offset {
                        case 0: "200 OK\r\n"
                        case size: "416 Range Not Satisfiable\r\nContent-Range: bytes */\(size)\r\n"
                        default: "206 Partial Content\r\nContent-Range: bytes \(offset)-\(size - 1)/\(size)\r\n"
                        }
                    try connection.send(
                        "HTTP/1.1 \(line)\(caching)ETag: \"v1\"\r\nContent-Length: \(rest)\r\n\r\n")
                    let middle = gate != nil && number == 1 ? size / 2 : size
                    try connection.send(Array(content[offset..<max(offset, middle)]))
                    if number == 1 { try gate?.wait() }
                    try connection.send(Array(content[max(offset, middle)...]))
                }
            }
        }

        var rule: String { "127.0.0.1:\(origin.port)" }
        /// The heads of all requests but messages.
        var heads: [String] { log.heard.withLock { $0.heads } }
        var lastBody: [UInt8] { log.heard.withLock { $0.lastBody } }
        /// The ids of the messages.
        var messages: [String] { log.heard.withLock { $0.messages } }

        func url(of kind: CrashPointTests.Kind) -> String { kind == .webhook ? "data:,x" : origin.url("/f.bin") }

        func goOn() { gate?.open() }
    }

    extension ServiceProcess.Place {
        /// The same for a node that ends at a point.
        fileprivate func ending(at point: CrashPoint, count: Int) -> Self {
            let more = [CrashPoint.variable: "\(point.rawValue):\(count)"]
            return Self(database: database, directory: directory, environment: environment.merging(more) { $1 })
        }

        /// Makes the claims of a node that is gone run out, on jobs and on messages.
        fileprivate func endClaims() async throws {
            try await database.client.query("UPDATE nodes SET lease_until = now() - interval '1 second'")
            try await database.client.query(
                """
                UPDATE webhook_deliveries
                SET next_attempt_at = next_attempt_at - interval '60 seconds',
                    last_attempt_at = last_attempt_at - interval '60 seconds'
                WHERE state = 'pending'
                """)
        }

        /// Whether the one download there has a checkpoint.
        fileprivate var hasCheckpoint: Bool {
            get throws {
                let downloads = "\(directory)/downloads"
                let names = try FileManager.default.contentsOfDirectory(atPath: downloads)
                return names.contains { FileManager.default.fileExists(atPath: "\(downloads)/\($0)/checkpoint") }
            }
        }

        /// How many bytes each file has that has the name of a blob.
        fileprivate var sizesOfBlobs: [Int] {
            let root = "\(directory)/blobs/blobs"
            let paths = (FileManager.default.subpaths(atPath: root) ?? []).map { "\(root)/\($0)" }
            return paths.compactMap { path in
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                return attributes?[.type] as? FileAttributeType == .typeRegular ? attributes?[.size] as? Int : nil
            }
        }
    }

    extension HTTPField.Name {
        fileprivate static let uploadComplete = Self("Upload-Complete")!
        fileprivate static let uploadOffset = Self("Upload-Offset")!
        fileprivate static let uploadLength = Self("Upload-Length")!
    }
#endif
