import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The requests of aria2 on the routes alone, without downloads.
@Suite struct Aria2RoutesTests {
    private let server: TestServer

    init() async throws { server = try await TestServer() }

    /// A call with the key of the test as its secret.
    private func call(
        _ method: String, _ parameters: String = "", token: String? = nil, of calls: TestCalls
    ) async throws -> TestAnswer {
        let secret = #""token:\#(token ?? server.token.revealed)""#
        let all = parameters.isEmpty ? secret : "\(secret), \(parameters)"
        return try await calls.with("")(
            .post, "/jsonrpc", body: #"{"jsonrpc": "2.0", "id": "q", "method": "\#(method)", "params": [\#(all)]}"#)
    }

    private func add(_ options: String = "{}", of calls: TestCalls) async throws -> String {
        let answer = try await call("aria2.addUri", #"["https://a.example/file.iso"], \#(options)"#, of: calls)
        return try #require(answer.json?["result"]?.string, "\(answer.text)")
    }

    /// The job of a download, as `/v1` has it.
    private func job(_ gid: String, of calls: TestCalls) async throws -> JSONValue {
        let list = try await calls(.get, "/v1/jobs?label=aria2.gid:\(gid)").json
        let id = try #require(list?["data"]?[0]?["id"]?.string)
        return try #require(try await calls(.get, "/v1/jobs/\(id)").json)
    }

    private func message(_ answer: TestAnswer) -> String? { answer.json?["error"]?["message"]?.string }

    // MARK: JSON-RPC

    @Test(arguments: [
        ("{bad", 500, -32_700, "Parse error."), ("", 500, -32_700, "Parse error."), ("5", 500, -32_700, "Parse error."),
        (#""x""#, 400, -32_600, "Invalid Request."), (#"{"id": "1"}"#, 400, -32_600, "Invalid Request."),
        (#"{"method": "aria2.getVersion"}"#, 400, -32_600, "Invalid Request."),
        (#"{"id": "1", "method": 5}"#, 400, -32_600, "Invalid Request."),
        (#"{"id": "1", "method": "aria2.getVersion", "params": {}}"#, 500, -32_602, "Invalid params."),
        (#"{"id": "1", "method": "aria2.getVersion"}"#, 400, 1, "Unauthorized"),
        (#"{"id": "1", "method": "no.such"}"#, 400, 1, "Unauthorized"),
        (#"{"id": "1", "method": "aria2.getVersion", "params": ["token:wrong"]}"#, 400, 1, "Unauthorized"),
        (
            #"{"id": "1", "method": "system.multicall", "params": ["token:x"]}"#, 400, 1,
            "The parameter at 0 has wrong type."
        ),
        (#"{"id": "1", "method": "system.multicall"}"#, 400, 1, "The parameter at 0 is required but missing."),
    ])
    func `what is no call is refused with the status, the code and the text of aria2`(
        _ body: String, _ status: Int, _ code: Int64, _ text: String
    ) async throws {
        try await server.test { calls in
            let answer = try await calls.with("")(.post, "/jsonrpc", body: body)
            #expect(answer.status.code == status && answer.headers[.contentType] == "application/json-rpc")
            #expect(answer.json?["error"]?["code"]?.integer == code && message(answer) == text, "\(answer.text)")
            #expect(answer.json?["jsonrpc"]?.string == "2.0" && answer.json?["id"] != nil)
        }
    }

    @Test func `a batch and a multicall have a place for each call, with its result or its error`() async throws {
        try await server.test { calls in
            let token = server.token.revealed
            let version = #""method": "aria2.getVersion", "params": ["token:\#(token)"]"#
            let batch = try await calls.with("")(
                .post, "/jsonrpc",
                body:
                    #"[{"id": {"a": 1}, \#(version)}, 5, {"id": 9}, {"id": 1, "method": "no", "params": ["token:\#(token)"]}]"#
            )
            #expect(batch.status == .ok && batch.json?.count == 3, "\(batch.text)")
            #expect(batch.json?[0]?["id"]?["a"]?.integer == 1)
            #expect(batch.json?[0]?["result"]?["version"]?.string == "1.36.0")
            #expect(batch.json?[1]?["error"]?["code"]?.integer == -32_600)
            #expect(batch.json?[2]?["error"]?["message"]?.string == "No such method: no")
            #expect(try await calls.with("")(.post, "/jsonrpc", body: "[]").text == "[]")
            let inner = [
                #"{"methodName": "aria2.getVersion", "params": ["token:\#(token)"]}"#,
                #"{"methodName": "aria2.getVersion", "params": []}"#,
                #"{"methodName": "system.multicall", "params": [[]]}"#, "5", "{}",
                #"{"methodName": "system.listMethods"}"#,
                #"{"methodName": "aria2.tellStatus", "params": ["token:\#(token)", "0123456789abcdef"]}"#,
            ]
            let several = try await calls.with("")(
                .post, "/jsonrpc",
                body: #"{"id": 1, "method": "system.multicall", "params": [[\#(inner.joined(separator: ","))]]}"#)
            let results = several.json?["result"]
            #expect(several.status == .ok && results?.count == inner.count, "\(several.text)")
            #expect(results?[0]?[0]?["version"]?.string == "1.36.0")
            let texts = (1..<inner.count).map { results?[$0]?["message"]?.string }
            #expect(
                texts == [
                    "Unauthorized", "Recursive system.multicall forbidden.", "system.multicall expected struct.",
                    "Missing methodName.", nil, "GID 0123456789abcdef is not found",
                ])
            #expect(results?[5]?[0]?.elements.contains(.string("aria2.addUri")) == true)
        }
    }

    @Test func `a request has a hundred calls at most, in all its multicalls together`() async throws {
        try await server.test { calls in
            let one = #"{"methodName": "system.listMethods"}"#
            func several(_ count: Int) -> String {
                let all = Array(repeating: one, count: count).joined(separator: ",")
                return #"{"id": 1, "method": "system.multicall", "params": [[\#(all)]]}"#
            }
            #expect(try await calls(.post, "/jsonrpc", body: several(100)).json?["result"]?.count == 100)
            let refused = try await calls(.post, "/jsonrpc", body: several(101))
            #expect(message(refused) == "A request may have 100 calls.", "\(refused.text)")
            let two = try await calls(.post, "/jsonrpc", body: "[\(several(60)), \(several(60))]").json
            #expect(two?[1]?["result"]?[39]?.count == 1)
            #expect(two?[1]?["result"]?[40]?["message"]?.string == "A request may have 100 calls.")
            let batch = Array(repeating: #"{"id": 1, "method": "system.listMethods"}"#, count: 101)
            let whole = try await calls(.post, "/jsonrpc", body: "[\(batch.joined(separator: ","))]")
            #expect(whole.status == .badRequest && message(whole) == "A request may have 100 calls.")
        }
    }

    @Test func `of a request with several secrets only the first is looked at, and wrong ones are counted`()
        async throws
    {
        try await server.test { calls in
            let (_, other) = try await server.keys.create(name: "other", tenant: "crawler")
            func body(_ tokens: [String]) -> String {
                let all = tokens.map { #"{"methodName": "aria2.getVersion", "params": ["token:\#($0)"]}"# }
                return #"{"id": 1, "method": "system.multicall", "params": [[\#(all.joined(separator: ","))]]}"#
            }
            let own = server.token.revealed
            let mixed = try await calls.with("")(.post, "/jsonrpc", body: body([own, other.revealed, own])).json
            #expect(mixed?["result"]?[1]?["message"]?.string == "Unauthorized", "\(mixed?.json ?? "")")
            #expect(mixed?["result"]?[0]?.count == 1 && mixed?["result"]?[2]?.count == 1)
            for _ in 0..<9 {
                let wrong = try await calls.with("")(.post, "/jsonrpc", body: body(["fk_a", "fk_b", own]))
                #expect(wrong.status == .ok && !wrong.text.contains("fk_") && !wrong.text.contains("version"))
            }
            let tenth = try await call("aria2.getVersion", token: "fk_wrong", of: calls)
            #expect(tenth.status == .badRequest && message(tenth) == "Unauthorized", "\(tenth.text)")
            let eleventh = try await call("aria2.getVersion", token: "fk_wrong", of: calls)
            #expect(eleventh.status == .tooManyRequests && eleventh.headers[.retryAfter] != nil, "\(eleventh.text)")
            // A right one passes.
            #expect(try await call("aria2.getVersion", of: calls).status == .ok)
            let bearer = #"{"id": 1, "method": "aria2.getVersion"}"#
            #expect(try await calls(.post, "/jsonrpc", body: bearer).status == .ok)
        }
    }

    /// A run of combining marks: two of the kind are compared in a time that grows with the square of their length.
    private static func marks(_ count: Int) -> String { String(repeating: "\u{315}\u{327}", count: count / 4) }

    @Test func `the name of a method has 64 bytes at most, and is looked at before the key`() async throws {
        try await server.test { calls in
            let rule = "The name of a method has at most 64 bytes."
            let open = calls.with("")
            for name in [String(repeating: "x", count: 65), Self.marks(1 << 19)] {
                let alone = try await open(.post, "/jsonrpc", body: #"{"id": 1, "method": "\#(name)"}"#)
                #expect(alone.status == .badRequest && message(alone) == rule)
                let inner = #"{"methodName": "\#(name)"}"#
                let several = try await open(
                    .post, "/jsonrpc", body: #"{"id": 1, "method": "system.multicall", "params": [[\#(inner)]]}"#)
                #expect(several.json?["result"]?[0]?["message"]?.string == rule)
                let xml = try await open(
                    .post, "/rpc", body: "<methodCall><methodName>\(name)</methodName></methodCall>")
                #expect(xml.text.contains(rule))
            }
            let longest = String(repeating: "x", count: 64)
            let unknown = try await call(longest, of: calls)
            #expect(message(unknown) == "No such method: \(longest)")
        }
    }

    @Test func `a secret that is no text of any language is as wrong as another`() async throws {
        try await server.test { calls in
            let call = #"{"methodName": "aria2.getVersion", "params": ["\#(Self.marks(4096))"]}"#
            let other = #"{"methodName": "aria2.getVersion", "params": ["token:\#(Self.marks(4096))"]}"#
            let answer = try await calls.with("")(
                .post, "/jsonrpc",
                body: #"{"id": 1, "method": "system.multicall", "params": [[\#(call), \#(other), \#(other)]]}"#)
            #expect((0..<3).allSatisfy { answer.json?["result"]?[$0]?["message"]?.string == "Unauthorized" })
        }
    }

    // MARK: Downloads

    @Test func `a download is an ordinary job, and its options are what they say`() async throws {
        try await server.test { calls in
            let digest = String(repeating: "ab", count: 32)
            let options = """
                {"out": "x/y.iso", "dir": "/data", "header": ["X-A: 1", "X-B:2"], "user-agent": "ua", "referer": "*",
                 "http-user": "u", "http-passwd": "p", "max-tries": "2", "retry-wait": "7", "timeout": "30",
                 "connect-timeout": "5", "max-download-limit": "20K", "checksum": "sha-256=\(digest)", "pause": "true",
                 "gid": "0123456789ABCDEF", "allow-overwrite": "true", "all-proxy": "me:pw@proxy.example:3128",
                 "split": "16", "unknown": "x", "max-connection-per-server": 5}
                """
            let uris = #"["nonsense", "https://a.example/file.iso", "https://b.example/b"]"#
            let added = try await call("aria2.addUri", "\(uris), \(options)", of: calls)
            #expect(added.json?["result"]?.string == "0123456789abcdef", "\(added.text)")
            let job = try await job("0123456789abcdef", of: calls)
            #expect(job["state"]?.string == "suspended" && job["kind"]?.string == "download")
            #expect(job["request"]?["url"]?.string == "https://a.example/file.iso")
            let fields = (0..<5).map { job["request"]?["headers"]?[$0]?["name"]?.string }
            #expect(fields == ["X-A", "X-B", "User-Agent", "Referer", "Authorization"])
            #expect(job["request"]?["headers"]?[3]?["value"]?.string == "https://a.example/file.iso")
            #expect(job["request"]?["headers"]?[4]?["value"]?.string == "<redacted>")
            let configuration = job["configuration"]
            #expect(configuration?["destination"]?["filename"]?.string == "y.iso")
            #expect(configuration?["destination"]?["allowOverwrite"]?.bool == true)
            #expect(configuration?["destination"]?["checksum"]?.string?.hasPrefix("sha-256=:") == true)
            #expect(configuration?["retry"]?["maximumAttempts"]?.integer == 2)
            #expect(configuration?["retry"]?["backoff"]?["delays"]?[0]?.double == 7)
            #expect(configuration?["timeouts"]?["timeoutIntervalForRequest"]?.double == 30)
            #expect(configuration?["timeouts"]?["connect"]?.double == 5)
            #expect(configuration?["connections"]?["maximumBytesPerSecond"]?.integer == 20_480)
            #expect(configuration?["proxy"]?["url"]?.string == "http://proxy.example:3128")
            #expect(configuration?["proxy"]?["credential"]?.string == "sealed")
            let status = try await call("aria2.tellStatus", #""012345""#, of: calls).json?["result"]
            #expect(status?["status"]?.string == "paused" && status?["dir"]?.string == "/data/x")
            #expect(status?["files"]?[0]?["path"]?.string == "/data/x/y.iso")
            let known = status?["files"]?[0]?["uris"]
            #expect(known?.count == 2 && known?[1]?["uri"]?.string == "https://b.example/b")
            #expect(status?["errorCode"] == nil && status?["totalLength"]?.string == "0")
            let told = try await call("aria2.getOption", #""0123456789abcdef""#, of: calls)
            #expect(told.json?["result"]?["checksum"]?.string == "sha-256=\(digest)")
            #expect(told.json?["result"]?["user-agent"]?.string == "ua")
            #expect(told.json?["result"]?["retry-wait"]?.string == "7" && told.json?["result"]?["split"]?.string == "5")
            #expect(!told.text.contains("pw") && !told.text.contains("http-passwd") && !told.text.contains("dTpw"))
        }
    }

    @Test(arguments: [
        ("", "The parameter at 0 is required but missing."), ("[]", "URI is not provided."),
        ("[5]", "URI is not provided."),
        (#""https://a.example/""#, "The parameter at 0 has wrong type."), (#"["nonsense"]"#, "No URI to download."),
        (#"["https://a.example/"], []"#, "The parameter at 1 has wrong type."),
        (#"["https://a.example/"], {}, -1"#, "Position must be greater than or equal to 0."),
        (#"["https://a.example/"], {}, "x""#, "The parameter at 2 has wrong type."),
        (#"["magnet:?xt=1"]"#, "magnet is not supported by Fetchd"),
        (#"["sftp://a.example/"]"#, "sftp is not supported by Fetchd"),
        (
            #"["https://a.example/"], {"max-tries": "x"}"#,
            "We encountered a problem while processing the option '--max-tries'."
        ),
        (
            #"["https://a.example/"], {"pause": "maybe"}"#,
            "We encountered a problem while processing the option '--pause'."
        ),
        (
            #"["https://a.example/"], {"max-download-limit": "1x"}"#,
            "We encountered a problem while processing the option '--max-download-limit'."
        ),
        (
            #"["https://a.example/"], {"max-download-limit": "9223372036854775807M"}"#,
            "We encountered a problem while processing the option '--max-download-limit'."
        ),
        (
            #"["https://a.example/"], {"max-download-limit": "1000"}"#,
            "max-download-limit other than 0 and 1024 to 2^40 bytes a second is not supported by Fetchd"
        ),
        (#"["https://a.example/"], {"gid": "xyz"}"#, "We encountered a problem while processing the option '--gid'."),
        (
            #"["https://a.example/"], {"gid": "0000000000000000"}"#,
            "We encountered a problem while processing the option '--gid'."
        ),
        (
            #"["https://a.example/"], {"checksum": "md5=1"}"#,
            "We encountered a problem while processing the option '--checksum'."
        ),
        (
            #"["https://a.example/"], {"checksum": "adler32=00000000"}"#,
            "checksum=adler32 is not supported by Fetchd"
        ),
        (
            #"["https://a.example/"], {"check-certificate": "false"}"#,
            "check-certificate=false is not supported by Fetchd"
        ),
        (
            #"["https://a.example/"], {"pause": "\#(marks(256))"}"#,
            "We encountered a problem while processing the option '--pause'."
        ),
        (
            #"["https://a.example/"], {"file-allocation": "\#(marks(256))"}"#,
            "We encountered a problem while processing the option '--file-allocation'."
        ),
        (
            #"["https://a.example/"], {"header": "\#(marks(256))"}"#,
            "We encountered a problem while processing the option '--header'."
        ),
        (
            #"["https://a.example/"], {"header": "no colon"}"#,
            "We encountered a problem while processing the option '--header'."
        ),
    ])
    func `what cannot be added is refused, and nothing is stored`(_ parameters: String, _ text: String) async throws {
        try await server.test { calls in
            let answer = try await call("aria2.addUri", parameters, of: calls)
            #expect(answer.status == .badRequest && message(answer) == text, "\(answer.text)")
            #expect(try await calls(.get, "/v1/jobs").json?["data"]?.count == 0)
        }
    }

    @Test(arguments: [
        (#"{"header": "Host: b.example"}"#, "headerForbidden"), (#"{"out": ".."}"#, "filenameInvalid"),
        (#"{"all-proxy": "proxy.example:99999999"}"#, "proxyInvalid"), (#"{"header": "A b: c"}"#, "headerInvalid"),
    ])
    func `what a job may not have is refused by the rules of jobs`(_ options: String, _ word: String) async throws {
        try await server.test { calls in
            let answer = try await call("aria2.addUri", #"["https://a.example/"], \#(options)"#, of: calls)
            #expect(answer.status == .badRequest && message(answer)?.contains(word) == true, "\(answer.text)")
        }
    }

    @Test func `lists go by age from either end, with the members that are asked for`() async throws {
        try await server.test { calls in
            _ = try await server.queueJob()
            var gids: [String] = []
            for number in 0..<5 { gids.append(try await add(#"{"pause": "\#(number == 2)"}"#, of: calls)) }
            func waiting(_ parameters: String) async throws -> [String] {
                let answer = try await call("aria2.tellWaiting", parameters, of: calls)
                return answer.json?["result"]?.elements.map { $0["gid"]?.string ?? "?" } ?? [answer.text]
            }
            #expect(try await waiting(#"0, 1000, ["gid"]"#) == gids)
            #expect(try await waiting("1, 2") == Array(gids[1...2]))
            #expect(try await waiting("-1, 2") == [gids[4], gids[3]])
            #expect(try await waiting("-4, 9") == [gids[1], gids[0]])
            for beyond in ["5, 1", "-6, 1", "0, 0"] { #expect(try await waiting(beyond) == []) }
            let keys = try await call("aria2.tellWaiting", #"2, 1, ["status", "gid", "no", 5]"#, of: calls)
            #expect(keys.json?["result"]?[0]?.json == #"{"gid":"\#(gids[2])","status":"paused"}"#, "\(keys.text)")
            #expect(try await call("aria2.tellActive", of: calls).json?["result"]?.count == 0)
            for (parameters, text) in [
                ("", "The parameter at 0 is required but missing."), (#""0", 1"#, "The parameter at 0 has wrong type."),
                (
                    "0, -1",
                    "The integer parameter at 1 has invalid value: the value must be greater than or equal to 0."
                ),
                ("10001, 1", "The offset must be from -10000 to 10000."),
                ("-9223372036854775808, 1", "The offset must be from -10000 to 10000."),
            ] {
                #expect(message(try await call("aria2.tellWaiting", parameters, of: calls)) == text)
            }
            let figures = try await call("aria2.getGlobalStat", of: calls).json?["result"]
            #expect(figures?["numWaiting"]?.string == "5" && figures?["numStopped"]?.string == "0")
        }
    }

    @Test func `a download is paused, goes on, is removed, and its result goes away, each in its state alone`()
        async throws
    {
        try await server.test { calls in
            let gid = try await add(of: calls)
            func act(_ method: String) async throws -> String {
                let answer = try await call("aria2.\(method)", #""\#(gid)""#, of: calls)
                return answer.json?["result"]?.string ?? message(answer) ?? ""
            }
            #expect(try await act("unpause") == "GID#\(gid) cannot be unpaused now")
            #expect(try await act("pause") == gid)
            #expect(try await act("forcePause") == "GID#\(gid) cannot be paused now")
            #expect(try await act("unpause") == gid)
            #expect(try await act("getServers") == "No active download for GID#\(gid)")
            #expect(try await act("removeDownloadResult") == "Could not remove download result of GID#\(gid)")
            #expect(try await call("aria2.pauseAll", of: calls).json?["result"]?.string == "OK")
            #expect(try await job(gid, of: calls)["state"]?.string == "suspended")
            #expect(try await call("aria2.unpauseAll", of: calls).json?["result"]?.string == "OK")
            #expect(try await act("forceRemove") == gid)
            #expect(try await act("remove") == "Active Download not found for GID#\(gid)")
            let stopped = try await call("aria2.tellStopped", #"-1, 9, ["status", "errorCode"]"#, of: calls)
            #expect(stopped.json?["result"]?[0]?["status"]?.string == "removed", "\(stopped.text)")
            #expect(stopped.json?["result"]?[0]?["errorCode"]?.string == "31")
            #expect(
                message(try await call("aria2.changeOption", #""\#(gid)", {}"#, of: calls))
                    == "Cannot change option for GID#\(gid)")
            #expect(try await act("removeDownloadResult") == "OK")
            #expect(try await act("removeDownloadResult") == "GID \(gid) is not found")
            // The job is there for those who made it otherwise.
            #expect(try await job(gid, of: calls)["state"]?.string == "cancelled")
            let second = try await add(of: calls)
            _ = try await call("aria2.remove", #""\#(second)""#, of: calls)
            #expect(try await call("aria2.purgeDownloadResult", of: calls).json?["result"]?.string == "OK")
            #expect(try await call("aria2.tellStopped", "0, 9", of: calls).json?["result"]?.count == 0)
        }
    }

    @Test(arguments: [
        ("", "Invalid GID "), ("zz", "Invalid GID zz"), ("0123456789abcdef0", "Invalid GID 0123456789abcdef0"),
        ("01234", "GID 01234 is not unique"), ("fedcba", "GID fedcba is not found"),
        ("fedcba9876543210", "GID fedcba9876543210 is not found"), ("aaaaaa", "GID aaaaaa is not unique"),
        ("aaaaaaaaaaaaaaa2", nil), ("AAAAAABB", nil),
    ])
    func `a gid names one download, whole or by its first digits`(_ gid: String, _ text: String?) async throws {
        try await server.test { calls in
            for gid in ["aaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaa2", "aaaaaabbbbbbbbbb"] {
                #expect(try await add(#"{"gid": "\#(gid)"}"#, of: calls) == gid)
            }
            let again = try await call(
                "aria2.addUri", #"["https://a.example/"], {"gid": "aaaaaaaaaaaaaaa1"}"#, of: calls)
            #expect(message(again) == "GID#aaaaaaaaaaaaaaa1 is already used", "\(again.text)")
            let answer = try await call("aria2.tellStatus", #""\#(gid)", ["gid"]"#, of: calls)
            #expect(message(answer) == text, "\(answer.text)")
        }
    }

    @Test func `options are changed while a download waits, as far as they can be`() async throws {
        try await server.test { calls in
            let gid = try await add(of: calls)
            func change(_ options: String) async throws -> String? {
                let answer = try await call("aria2.changeOption", #""\#(gid)", \#(options)"#, of: calls)
                return answer.json?["result"]?.string ?? message(answer)
            }
            let all = #"{"max-download-limit": "1M", "dir": "/new", "out": "a.b", "timeout": "9", "unknown": "1"}"#
            #expect(try await change(all) == "OK")
            let options = try await call("aria2.getOption", #""\#(gid)""#, of: calls).json?["result"]
            #expect(options?["max-download-limit"]?.string == "1048576" && options?["dir"]?.string == "/new")
            #expect(options?["out"]?.string == "a.b" && options?["timeout"]?.string == "9")
            #expect(options?["max-tries"]?.string == "5")
            #expect(try await change(#"{"max-download-limit": "0"}"#) == "OK")
            #expect(try await job(gid, of: calls)["configuration"]?["connections"] == nil)
            #expect(try await change(#"{"user-agent": "x"}"#) == "A change of user-agent is not supported by Fetchd")
            #expect(try await change(#"{"out": ".."}"#)?.contains("filenameInvalid") == true)
            #expect(try await change(#"{"timeout": "0"}"#)?.hasSuffix("'--timeout'.") == true)
            let global = #"{"max-concurrent-downloads": "3", "max-overall-download-limit": "2M"}"#
            #expect(
                try await call("aria2.changeGlobalOption", global, of: calls).json?["result"]?.string == "OK")
            let told = try await call("aria2.getGlobalOption", of: calls).json?["result"]
            #expect(told?["max-concurrent-downloads"]?.string == "3")
            #expect(told?["max-overall-download-limit"]?.string == "2097152")
            #expect(try await calls(.get, "/v1/flows/aria2").json?["parallelism"]?.integer == 3)
        }
    }

    @Test func `what is not there says so, and a session is saved already`() async throws {
        try await server.test { calls in
            for method in ["addTorrent", "addMetalink", "shutdown", "forceShutdown"] {
                let answer = try await call("aria2.\(method)", of: calls)
                #expect(message(answer)?.hasSuffix("is not supported by Fetchd") == true, "\(answer.text)")
            }
            #expect(try await call("aria2.saveSession", of: calls).json?["result"]?.string == "OK")
            let session = try await call("aria2.getSessionInfo", of: calls).json?["result"]?["sessionId"]?.string
            #expect(session?.count == 40)
        }
    }

    @Test func `another tenant, and a key with bounds, see nothing that is not theirs`() async throws {
        try await server.test { calls in
            let gid = try await add(#"{"gid": "0123456789abcdef"}"#, of: calls)
            let (_, other) = try await server.keys.create(name: "other", tenant: "crawler")
            for method in ["tellStatus", "pause", "remove", "getOption", "getUris", "removeDownloadResult"] {
                let answer = try await call("aria2.\(method)", #""\#(gid)""#, token: other.revealed, of: calls)
                #expect(message(answer) == "GID \(gid) is not found", "\(answer.text)")
            }
            let list = try await call("aria2.tellWaiting", "0, 9", token: other.revealed, of: calls)
            #expect(list.json?["result"]?.count == 0)
            _ = try await call("aria2.pauseAll", token: other.revealed, of: calls)
            #expect(try await job(gid, of: calls)["state"]?.string == "queued")
            // The same gid is free for it.
            let theirs = try await call(
                "aria2.addUri", #"["https://b.example/"], {"gid": "0123456789abcdef"}"#, token: other.revealed,
                of: calls)
            #expect(theirs.json?["result"]?.string == gid, "\(theirs.text)")
            let (_, reader) = try await server.keys.create(name: "reader", tenant: "test", scopes: [.readJobs])
            let refused = try await call("aria2.pause", #""\#(gid)""#, token: reader.revealed, of: calls)
            #expect(refused.status == .forbidden && message(refused)?.contains("jobs:write") == true, "\(refused.text)")
            #expect(try await call("aria2.tellStatus", #""\#(gid)""#, token: reader.revealed, of: calls).status == .ok)
        }
    }

    // MARK: Mirrors

    @Test func `further URIs are mirrors, which are listed and changed while a download waits`() async throws {
        try await server.test { calls in
            let mixed = #"["magnet:?xt=1", "https://a.example/f", "ftp://b.example/f", "https://c.example/f"]"#
            let refused = try await call("aria2.addUri", mixed, of: calls)
            #expect(message(refused)?.contains("SCHEMES_FTP") == true, "\(refused.text)")
            let secret = try await call(
                "aria2.addUri", #"["https://a.example/f", "https://u:p@b.example/f"]"#, of: calls)
            #expect(message(secret)?.contains("must not hold a user name or password") == true, "\(secret.text)")
            let added = try await call(
                "aria2.addUri", #"["https://a.example/f", "https://b.example/f"], {"pause": "true"}"#, of: calls)
            let gid = try #require(added.json?["result"]?.string, "\(added.text)")
            func uris() async throws -> [String] {
                let list = try await call("aria2.getUris", #""\#(gid)""#, of: calls).json?["result"]?.elements ?? []
                return list.map { $0["uri"]?.string ?? "?" }
            }
            func change(_ parameters: String) async throws -> String {
                let answer = try await call("aria2.changeUri", #""\#(gid)", \#(parameters)"#, of: calls)
                return answer.json?["result"]?.json ?? message(answer) ?? ""
            }
            #expect(try await job(gid, of: calls)["request"]?["mirrors"]?[0]?.string == "https://b.example/f")
            #expect(try await uris() == ["https://a.example/f", "https://b.example/f"])
            #expect(
                try await change(#"1, ["https://b.example/f", "https://no.example/"], ["https://c.example/f"]"#)
                    == "[1,1]")
            #expect(try await change(#"1, [], ["https://d.example/f", "nonsense"], 0"#) == "[0,1]")
            #expect(try await uris() == ["https://d.example/f", "https://a.example/f", "https://c.example/f"])
            #expect(try await change("1, [], []") == "[0,0]")
            #expect(try await change("2, [], []") == "fileIndex is out of range")
            #expect(
                try await change("0, [], []")
                    == "The integer parameter at 1 has invalid value: the value must be greater than or equal to 1.")
            #expect(try await change("1, [], [], -1") == "Position must be greater than or equal to 0.")
            #expect(try await change("1, []") == "The parameter at 3 is required but missing.")
            let all = try await uris().map { "\"\($0)\"" }.joined(separator: ",")
            #expect(try await change("1, [\(all)], []") == "A download without a URI is not supported by Fetchd")
            #expect(try await change(#"1, [], ["https://u:p@e.example/"]"#).contains("password"))
            let many = (0..<20).map { "\"https://m\($0).example/\"" }.joined(separator: ",")
            #expect(try await change("1, [], [\(many)]").hasSuffix("is not supported by Fetchd"))
            #expect(try await uris().count == 3)
            _ = try await call("aria2.remove", #""\#(gid)""#, of: calls)
            #expect(try await change("1, [], []") == "Cannot remove URIs from GID#\(gid)")
        }
    }

    @Test func `a password of the first URI is never that of another server`() async throws {
        try await server.test { calls in
            for options in [#"{"http-user": "u", "http-passwd": "p"}"#, #"{"header": "X-Api-Key: k"}"#] {
                let answer = try await call("aria2.addUri", #"["https://a.example/f"], \#(options)"#, of: calls)
                let gid = try #require(answer.json?["result"]?.string)
                let moved = try await call(
                    "aria2.changeUri", #""\#(gid)", 1, [], ["https://evil.example/f"], 0"#, of: calls)
                #expect(message(moved)?.hasPrefix("Another server as the first") == true, "\(moved.text)")
                let behind = try await call(
                    "aria2.changeUri", #""\#(gid)", 1, [], ["https://b.example/f", "https://a.example/g"]"#, of: calls)
                #expect(behind.json?["result"]?.json == "[0,2]", "\(behind.text)")
            }
        }
    }

    // MARK: XML-RPC

    private func xml(_ method: String, _ parameters: String = "", of calls: TestCalls) async throws -> TestAnswer {
        let secret = "<param><value><string>token:\(server.token.revealed)</string></value></param>"
        return try await calls.with("")(
            .post, "/rpc",
            body: "<?xml version=\"1.0\"?><methodCall><methodName>\(method)</methodName>"
                + "<params>\(secret)\(parameters)</params></methodCall>")
    }

    @Test func `the same methods are called by XML-RPC, with answers and faults as aria2 writes them`() async throws {
        try await server.test { calls in
            let uri = "<value><array><data><value>https://a.example/x?a=1&amp;b=&#50;</value></data></array></value>"
            let options =
                "<value><struct><member><name>gid</name><value>0123456789abcdef</value></member>"
                + "<member><name>pause</name><value><string><![CDATA[true]]></string></value></member></struct></value>"
            let added = try await xml(
                "aria2.addUri", "<param>\(uri)</param><param>\(options)</param>", of: calls)
            #expect(added.status == .ok && added.headers[.contentType] == "text/xml")
            #expect(
                added.text == "<?xml version=\"1.0\"?><methodResponse><params><param><value><string>0123456789abcdef"
                    + "</string></value></param></params></methodResponse>")
            #expect(
                try await job("0123456789abcdef", of: calls)["request"]?["url"]?.string == "https://a.example/x?a=1&b=2"
            )
            let told = try await xml(
                "aria2.getUris", "<param><value>0123456789abcdef</value></param>", of: calls)
            #expect(
                told.text.contains(
                    "<param><value><array><data><value><struct><member><name>status</name><value><string>waiting</string>"
                        + "</value></member><member><name>uri</name><value><string>https://a.example/x?a=1&amp;b=2</string>"
                        + "</value></member></struct></value></data></array></value></param>"), "\(told.text)")
            let list = try await xml(
                "aria2.tellWaiting",
                "<param><value><int>0</int></value></param><param><value><i4>0</i4></value></param>", of: calls)
            #expect(list.text.contains("<param><value><array><data></data></array></value></param>"), "\(list.text)")
            let fault = try await xml("aria2.tellStatus", "<param><value>a&lt;</value></param>", of: calls)
            #expect(
                fault.status == .ok
                    && fault.text == "<?xml version=\"1.0\"?><methodResponse><fault><value><struct><member>"
                        + "<name>faultCode</name><value><int>1</int></value></member><member><name>faultString</name>"
                        + "<value><string>Invalid GID a&lt;</string></value></member></struct></value></fault></methodResponse>"
            )
            let two =
                "<value><array><data><value><struct><member><name>methodName</name><value>aria2.getVersion</value></member>"
                + "<member><name>params</name><value><array><data/></array></value></member></struct></value>"
                + "<value><int>5</int></value></data></array></value>"
            let several = try await calls.with("")(
                .post, "/rpc",
                body:
                    "<methodCall><methodName>system.multicall</methodName><params><param>\(two)</param></params></methodCall>"
            )
            #expect(several.text.contains("<name>faultString</name><value><string>Unauthorized</string>"))
            #expect(several.text.contains("system.multicall expected struct."), "\(several.text)")
        }
    }

    @Test(arguments: [
        "", "<", "<bad", "{}", "<methodCall>", "<methodCall/>x", "<other/>",
        "<methodCall><methodName>a</methodName></methodCall><x/>",
        "<methodCall><methodName><b/></methodName></methodCall>",
        "<methodCall><params><param><value><int>x</int></value></param></params></methodCall>",
        "<methodCall><params><param><value><boolean>2</boolean></value></param></params></methodCall>",
        "<methodCall><params><param><value><boolean>\(marks(256))</boolean></value></param></params></methodCall>",
        "<methodCall><params><param><value><struct><member><name>\(marks(256))</name><value/></member></struct>"
            + "</value></param></params></methodCall>",
        "<methodCall><params><param><value><double>nan</double></value></param></params></methodCall>",
        "<methodCall><params><param><value><base64>!!!</base64></value></param></params></methodCall>",
        "<methodCall><params><param><value><odd>1</odd></value></param></params></methodCall>",
        "<methodCall><params><param><value>&no;</value></param></params></methodCall>",
        "<methodCall><params><param><value>&#0;</value></param></params></methodCall>",
        "<methodCall><params><param><value>&#xD800;</value></param></params></methodCall>",
        "<!DOCTYPE x [<!ENTITY a \"b\">]><methodCall><methodName>&a;</methodName></methodCall>",
        "<methodCall><methodName>a</methodname></methodCall>", "<!-- <methodCall></methodCall>",
    ])
    func `what is no call of XML-RPC is refused with 400`(_ body: String) async throws {
        try await server.test { calls in
            let answer = try await calls.with("")(.post, "/rpc", body: body)
            #expect(answer.status == .badRequest && answer.headers[.contentType] == "text/xml", "\(answer.text)")
            #expect(answer.text.contains("<name>faultString</name>"))
        }
    }

    @Test func `XML that is deep, or long, takes a time that grows with its length alone`() async throws {
        try await server.test { calls in
            for (open, close) in [("<value><array><data>", "</data></array></value>"), ("<!--", "-->"), ("&amp;", "")] {
                let count = 1_000_000 / (open.count + close.count)
                let middle = String(repeating: open, count: count) + String(repeating: close, count: count)
                let body =
                    "<methodCall><methodName>a</methodName><params><param>\(middle)</param></params></methodCall>"
                let start = ContinuousClock.now
                let answer = try await calls.with("")(.post, "/rpc", body: body)
                #expect(answer.status == .badRequest && ContinuousClock.now - start < .seconds(5))
            }
        }
    }

    // MARK: A port of its own

    @Test func `an address of this machine alone is one to listen at`() {
        for text in ["127.0.0.1:6800", "127.9.8.7:0", "[::1]:6800"] {
            #expect(Aria2Listener(text)?.description == text)
        }
        for text in [
            "0.0.0.0:6800", "[::]:6800", "10.0.0.1:6800", "localhost:6800", "128.0.0.1:6800", "127.0.0.1", "127.1:6800",
            "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1:", ":6800", "127.0.0.1.example:6800", "*:6800", "",
        ] {
            #expect(Aria2Listener(text) == nil, "\(text)")
        }
    }

    @Test func `at a port of its own no secret is needed, and a request for another machine is refused`() async throws {
        try await server.test(openTo: "default") { calls in
            func ask(_ host: String, _ headers: HTTPFields = [:], _ path: String = "/jsonrpc") async throws
                -> TestAnswer
            {
                try await calls.with("")(
                    .post, path, headers: headers, host: host,
                    body: #"{"id": 1, "method": "aria2.addUri", "params": [["https://a.example/f"]]}"#)
            }
            for host in ["127.0.0.1:6800", "localhost", "LOCALHOST:1", "[::1]:6800"] {
                #expect(try await ask(host).status == .ok, "\(host)")
            }
            for host in ["evil.example", "127.0.0.1.evil.example", "127.0.0.1.", "10.0.0.1", "", "localhost.evil"] {
                let refused = try await ask(host)
                #expect(refused.status == .forbidden && message(refused)?.contains("Host") == true, "\(refused.text)")
            }
            #expect(try await ask("127.0.0.1", [.origin: "https://evil.example"]).status == .forbidden)
            #expect(try await ask("127.0.0.1", [.origin: "null"]).status == .forbidden)
            #expect(try await ask("127.0.0.1", [:], "/v1/jobs").status == .notFound)
            let script = try await calls.with("")(
                .get, "/jsonrpc?method=aria2.pauseAll&id=1&jsoncallback=f", host: "127.0.0.1")
            #expect(script.status == .methodNotAllowed)
            // A secret is neither wanted nor looked at.
            let body = #"{"id": 1, "method": "aria2.getGlobalStat", "params": ["token:fk_wrong"]}"#
            let told = try await calls.with("")(.post, "/jsonrpc", host: "127.0.0.1", body: body)
            #expect(told.json?["result"]?["numWaiting"]?.string == "4", "\(told.text)")
        }
        try await server.test(openTo: "nobody") { calls in
            let body = #"{"id": 1, "method": "aria2.getVersion"}"#
            let none = try await calls.with("")(.post, "/jsonrpc", host: "127.0.0.1", body: body)
            #expect(
                none.status == .serviceUnavailable && message(none)?.contains("ARIA2_TENANT") == true, "\(none.text)")
        }
    }

    // MARK: Pages

    @Test func `GET has a call in its query, and a script with a plain name for its function alone`() async throws {
        try await server.test { calls in
            func encoded(_ text: String) -> String {
                Data(text.utf8).base64EncodedString().addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            }
            let token = server.token.revealed
            let one = "method=aria2.getVersion&id=foo&params=\(encoded(#"["token:\#(token)"]"#))"
            let anonymous = calls.with("")
            let answer = try await anonymous(.get, "/jsonrpc?\(one)")
            #expect(answer.status == .ok && answer.json?["id"]?.string == "foo", "\(answer.text)")
            let script = try await anonymous(.get, "/jsonrpc?\(one)&jsoncallback=a.b_$1")
            #expect(script.headers[.contentType] == "text/javascript" && script.text.hasPrefix("a.b_$1({"))
            #expect(script.headers[.xContentTypeOptions] == "nosniff" && script.text.hasSuffix("})"))
            for name in ["alert(1)", "a;b", "%3Cscript%3E", "1a", "a..b", "", String(repeating: "a", count: 129)] {
                let refused = try await anonymous(.get, "/jsonrpc?\(one)&jsoncallback=\(name)")
                #expect(refused.status == .badRequest && refused.headers[.contentType] == "application/json-rpc")
                #expect(message(refused)?.contains("jsoncallback") == true && !refused.text.contains("version"))
            }
            let batch = encoded(#"[{"id": 1, "method": "system.listMethods"}]"#)
            #expect(try await anonymous(.get, "/jsonrpc?params=\(batch)").json?.count == 1)
            for query in ["", "?method=aria2.getVersion&id=1&params=!!!", "?method=aria2.getVersion", "?id=1"] {
                let refused = try await anonymous(.get, "/jsonrpc\(query)")
                #expect(refused.status == .badRequest && message(refused) == "Invalid Request.", "\(refused.text)")
            }
            #expect(try await anonymous(.head, "/jsonrpc?\(one)").status == .methodNotAllowed)
            #expect(try await anonymous(.put, "/jsonrpc").json?["error"]?["code"]?.integer == 1)
        }
    }

    @Test(arguments: [
        ([], "https://ariang.example", false), ([], "null", false), ([], "http://localhost", true),
        ([], "http://localhost:1", false), (["https://ariang.example"], "https://ariang.example", true),
        (["https://ariang.example"], "https://ariang.example.evil", false), (["*"], "null", true),
    ])
    func `a page of another origin is answered only where the operator allows it`(
        _ origins: [String], _ origin: String, _ isAllowed: Bool
    ) async throws {
        var server = server
        server.aria2Origins = Set(origins)
        try await server.test { calls in
            let fields: HTTPFields = [.origin: origin]
            let body = #"{"id": 1, "method": "system.listMethods"}"#
            let answer = try await calls(.post, "/jsonrpc", headers: fields, body: body)
            #expect(answer.status == (isAllowed ? .ok : .forbidden), "\(answer.text)")
            #expect(answer.headers[.accessControlAllowOrigin] == (isAllowed ? origin : nil))
            #expect(isAllowed || message(answer)?.contains("ARIA2_ALLOWED_ORIGINS") == true)
            let script = "/jsonrpc?method=system.listMethods&id=1"
            #expect(try await calls(.get, script, headers: fields).status == (isAllowed ? .ok : .forbidden))
            let preflight = try await calls.with("")(.options, "/jsonrpc", headers: fields)
            #expect(preflight.status == (isAllowed ? .noContent : .forbidden))
            #expect(preflight.headers[.accessControlAllowMethods] == (isAllowed ? "GET, POST" : nil))
        }
    }
}
