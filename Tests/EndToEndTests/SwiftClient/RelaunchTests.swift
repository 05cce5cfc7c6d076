import FetchEngine
import FetchdClient
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Clients of background sessions that are gone, and come again.
///
/// A client that is gone is one whose delegate does not return: it sends nothing any more.
@Suite(.timeLimit(.minutes(3))) struct RelaunchTests {
    private static let login = Challenge.Disposition.useCredential(Credential(user: "aladdin", password: "sesame"))

    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isKnown = head.contains("Basic YWxhZGRpbjpzZXNhbWU=")
                try connection.send(
                    isKnown
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                        : "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"cave\"\r\nContent-Length: 0\r\n\r\n"
                )
            }
        }
    }

    private static let configuration = RemoteURLSessionConfiguration.background(withIdentifier: "nightly")

    /// Begins a download with a client that is gone at one of its delegate's calls.
    private func begin(
        _ client: FetchdService, _ origin: WireOrigin, goneAt call: String
    ) async throws -> (ScriptedDelegate, RemoteURLSessionTask) {
        let gone = ScriptedDelegate(.init(challenge: Self.login, holdsAt: call))
        let session = RemoteURLSession(client, configuration: Self.configuration, delegate: gone)
        let task = session.downloadTask(with: try Request(origin.url("/iso")))
        task.taskDescription = "iso"
        task.resume()
        try await gone.happened(call)
        return (gone, task)
    }

    /// A client that comes again, once it was told of the end.
    private func comeAgain(_ client: FetchdService, for task: RemoteURLSessionTask) async throws -> ScriptedDelegate {
        let log = ScriptedDelegate(.init(challenge: Self.login))
        let session = RemoteURLSession(client, configuration: Self.configuration, delegate: log)
        let tasks = await session.allTasks
        #expect(tasks.count == 1 && tasks.first?.taskIdentifier == task.taskIdentifier)
        #expect(tasks.first?.taskDescription == "iso" && tasks.first?.kind == .download)
        try await log.happened("events finished")
        return log
    }

    private func expectOneEnd(_ logs: ScriptedDelegate...) {
        let ends = logs.flatMap(\.returned).filter { $0.hasPrefix("complete") }
        #expect(ends == ["complete well"])
        #expect(logs.last?.file == Array("hello".utf8))
        #expect(logs.last?.calls.contains("created") == false)
    }

    // Its delegate is the client, without a webhook.
    // Proves: BKG-1, BKG-3, BKG-9.
    @Test(arguments: ["challenge", "response", "file", "metrics", "complete"])
    func `a client that is gone at a call comes again, and every task ends once`(_ call: String) async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let (gone, task) = try await begin(service.client, origin, goneAt: call)
            let log = try await comeAgain(service.client, for: task)
            expectOneEnd(gone, log)
            let third = RemoteURLSession(service.client, configuration: Self.configuration)
            #expect(await third.allTasks.isEmpty)
            gone.letGo()
        }
    }

    @Test(arguments: ["challenge", "response", "file", "complete"])
    func `a service that is started anew meanwhile changes nothing of that`(_ call: String) async throws {
        let origin = try Self.origin()
        let settings = ["SERVER_PORT": "\(try LoopbackServer.freePort())"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let (gone, task) = try await begin(first.client, origin, goneAt: call)
            try await first.stop()
            let second = try await ServiceProcess.start(place, key: key)
            let log = try await comeAgain(second.client, for: task)
            expectOneEnd(gone, log)
            gone.letGo()
            try await second.stop()
        }
    }

    @Test func `a client that stays is told of the end although its service was started anew`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
        let settings = ["SERVER_PORT": "\(try LoopbackServer.freePort())"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let log = ScriptedDelegate()
            let session = RemoteURLSession(first.client, configuration: Self.configuration, delegate: log)
            session.downloadTask(with: try Request(origin.url())).resume()
            try await until { origin.received().contains("GET /") }
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            gate.open()
            let second = try await ServiceProcess.start(place, key: key)
            try await log.happened("events finished")
            #expect(log.calls.suffix(2) == ["complete well", "events finished"])
            #expect(log.calls.count { $0.hasPrefix("complete") } == 1 && log.file == Array("hello".utf8))
            try await second.stop()
        }
    }

    @Test func `an identifier is free again once its session was invalidated`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let log = ScriptedDelegate(.init(challenge: Self.login))
            let session = RemoteURLSession(service.client, configuration: Self.configuration, delegate: log)
            var request = try Request(origin.url())
            request.method = .put
            session.uploadTask(with: request, from: .bytes(Array("body".utf8))).resume()
            session.finishTasksAndInvalidate()
            try await log.happened("invalid")
            #expect(log.calls.suffix(3) == ["complete well", "events finished", "invalid"], "\(log.calls)")
            var states: [String] = []
            for try await session in service.client.sessions.list(identifier: "nightly") {
                states.append(session.state)
            }
            #expect(states == ["invalidated"])
            let again = RemoteURLSession(service.client, configuration: Self.configuration)
            #expect(await again.allTasks.isEmpty)
        }
    }
}
