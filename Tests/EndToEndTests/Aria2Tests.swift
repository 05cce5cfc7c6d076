import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The requests of aria2, up to the files that are downloaded.
@Suite(
    .timeLimit(.minutes(2)), .sharedService(settings: ["ARIA2_LISTEN": "127.0.0.1:0", "ARIA2_TENANT": "aria2-open"]))
struct Aria2Tests {
    private func run(_ script: String, _ arguments: String...) async throws -> (status: Int32, text: String) {
        let python = try #require(LoopbackServer.python("python"))
        let path = FileManager.default.currentDirectoryPath + "/Tests/Aria2/\(script)"
        return try await onThread {
            let program = try Program([python, path] + arguments, readsOutput: true, readsErrors: true)
            let (output, errors) = (program.output(), program.errors())
            return (program.waitForEnd(), output + errors)
        }
    }

    @Test func `the client of PyPI adds, follows, pauses and removes downloads`() async throws {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "aria2")
        let file = rig.stage.play(answer(body: "hello"))
        let gone = rig.stage.play(answer("404 Not Found"))
        let client = try await run("client.py", rig.service.base, key, file.url("a"), gone.url("a"))
        #expect(client.status == 0, "\(client.text)")
        #expect(!rig.service.logged.contains(key))
    }

    @Test func `aria2c and the service answer the same calls alike, with the differences that are named`() async throws
    {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "aria2-compared")
        let plays = ["404 Not Found", "401 Unauthorized", "503 Busy"].map { rig.stage.play(answer($0)) }
        let file = rig.stage.play(answer(body: "hello"))
        let loop = rig.stage.play(answer("302 Found", "Location: again"))
        let end = try await run(
            "compare.py", rig.service.base, key, file.url("a"), plays[0].url("a"), plays[1].url("a"), plays[2].url("a"),
            loop.url("a"))
        #expect(end.status == 0, "\(end.text)")
        #expect(end.text.contains("same: aria2.tellStatus"))
    }

    @Test
    func `clients call by WebSocket and are told of their downloads, and nobody is held up by who breaks its rules`()
        async throws
    {
        let rig = try SharedService.current
        _ = try await rig.place.key(tenant: "aria2-open")
        let key = try await rig.place.key(tenant: "aria2-socket")
        let other = try await rig.place.key(tenant: "aria2-other")
        let port = try #require(rig.service.logged.firstMatch(of: /listening for clients of aria2.*server\.port=(\d+)/))
        let file = rig.stage.play(answer(body: "hello"))
        let gone = rig.stage.play(answer("404 Not Found"))
        let slow = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh")
            _ = try connection.receiveHead()
        }
        let end = try await run(
            "sockets.py", rig.service.base, "http://127.0.0.1:\(port.output.1)", key, other, file.url("a"),
            gone.url("a"), slow.url("a"))
        #expect(end.status == 0, "\(end.text)")
        #expect(!rig.service.logged.contains(key))
    }

    @Test func `a file that was added is the body of its job, which its tenant alone can read`() async throws {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "aria2-file")
        let service = rig.service.speaking(with: key)
        let play = rig.stage.play(answer(body: "hello"))
        let gid = "00000000000000aa"
        let options = #"{"gid": "\#(gid)", "header": ["X-A: 1"], "http-user": "u", "http-passwd": "p"}"#
        func call(_ method: String, _ parameters: String, _ token: String) async throws -> ServiceProcess.Answer {
            let body = #"{"id": 1, "method": "aria2.\#(method)", "params": ["token:\#(token)", \#(parameters)]}"#
            return try await rig.service.request(.post, "/jsonrpc", body: body)
        }
        let added = try await call("addUri", #"["\#(play.url("f.txt"))"], \#(options)"#, key)
        #expect(member(added.json, "result") == gid, "\(added.text)")
        let list = try await service.request(.get, "/v1/jobs?label=aria2.gid:\(gid)")
        let jobs = member(list.json, "data", as: [[String: Any]].self) ?? []
        let id = try #require(jobs.first.flatMap { member($0, "id", as: String.self) }, "\(list.text)")
        #expect(member(try await service.end(of: id), "state") == "succeeded")
        #expect(try await service.request(.get, "/v1/jobs/\(id)/body").text == "hello")
        let request = try #require(play.requests.first)
        #expect(request.values("x-a") == ["1"] && request.values("authorization") == ["Basic dTpw"])
        let told = try await call("tellStatus", #""\#(gid)", ["status", "errorCode"]"#, key)
        #expect(told.text.contains(#""status":"complete""#) && told.text.contains(#""errorCode":"0""#), "\(told.text)")
        let other = try await rig.place.key(tenant: "other")
        let hidden = try await call("tellStatus", #""\#(gid)""#, other)
        #expect(hidden.text.contains("GID \(gid) is not found"), "\(hidden.text)")
        #expect(try await rig.service.speaking(with: other).request(.get, "/v1/jobs/\(id)").status == 404)
    }
}
