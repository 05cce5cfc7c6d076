import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Every error that a job can end with and that can be provoked from outside, by its name and number.
@Suite(.sharedService(settings: ["SCHEMES_FILE": "true", "GUARD_ALLOW_PROXIES": "true"])) struct ErrorTests {
    /// A job that fails, and the error that it must end with.
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let code: Int
        var isTransient = false
        var request = ""
        var configuration = ""
        var more = ""
        let url: @Sendable (Rig) throws -> String

        var testDescription: String { name }
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let quick = #""timeouts": {"timeoutIntervalForRequest": 0.2}"#

    static let faults: [Fault] = [
        Fault(name: "badURL", code: -1000) { _ in "data:text/plain;base64,!" },
        Fault(name: "timedOut", code: -1001, isTransient: true, configuration: quick) { rig in
            rig.stage.serve { _, connection in try connection.receiveToEnd() }.url()
        },
        Fault(name: "cannotFindHost", code: -1003, isTransient: true) { _ in "http://nothing.example/" },
        Fault(name: "cannotConnectToHost", code: -1004, isTransient: true) { _ in "http://127.0.0.1:9/" },
        Fault(name: "networkConnectionLost", code: -1005, isTransient: true) { rig in
            rig.stage.cut(ok + "Content-Length: 9\r\n\r\nfour").url()
        },
        Fault(name: "networkConnectionLost", code: -1005, isTransient: true) { rig in
            rig.stage.cut(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n").url()
        },
        Fault(name: "httpTooManyRedirects", code: -1007) { rig in
            rig.stage.play(answer("302 Found", "Location: again")).url()
        },
        Fault(
            name: "resourceUnavailable", code: -1008, isTransient: true,
            request: #""cachePolicy": "returnCacheDataDontLoad""#
        ) { rig in rig.stage.play(answer()).url() },
        Fault(name: "redirectToNonExistentLocation", code: -1010) { rig in
            rig.stage.play(answer("302 Found", "Location: http://a b/")).url()
        },
        Fault(name: "badServerResponse", code: -1011, isTransient: true, configuration: retry503) { rig in
            rig.stage.play(answer("503 Busy")).url()
        },
        Fault(name: "zeroByteResource", code: -1014, isTransient: true) { rig in
            rig.stage.cut(ok + "Content-Length: 9\r\n\r\n").url()
        },
        Fault(name: "cannotDecodeContentData", code: -1016) { rig in
            rig.stage.play(answer("200 OK", "Content-Encoding: gzip", body: "this is no gzip")).url()
        },
        Fault(name: "cannotParseResponse", code: -1017, isTransient: true) { rig in
            rig.stage.play(ok + "Transfer-Encoding: chunked\r\n\r\nnine\r\n").url()
        },
        Fault(name: "fileDoesNotExist", code: -1100) { _ in "file:///none.txt" },
        Fault(name: "fileIsDirectory", code: -1101) { rig in try rig.folder("folder") },
        Fault(name: "dataLengthExceedsMaximum", code: -1103, configuration: #""response": {"maximumBytes": 3}"#) {
            rig in
            rig.stage.play(answer(body: "four")).url()
        },
        Fault(name: "addressForbidden", code: -2000) { _ in "http://10.0.0.1/" },
        Fault(
            name: "cannotFindProxy", code: -1003,
            configuration: #""proxy": {"url": "http://nothing.example:3128"}"#
        ) { rig in rig.stage.play(answer()).url() },
        Fault(name: "hostForbidden", code: -2000) { _ in "http://printer.local/" },
        Fault(name: "portForbidden", code: -2000) { _ in "http://origin.example:25/" },
        Fault(
            name: "contentDigestMismatch", code: -1015, configuration: #""destination": {"checksum": "\#(digest)"}"#,
            more: #""kind": "download""#
        ) { rig in rig.stage.play(answer(body: "else")).url() },
        Fault(
            name: "downloadDecodingFailedMidStream", code: -3006, configuration: #""response": {"decode": ["gzip"]}"#,
            more: #""kind": "download""#
        ) { rig in
            let broken = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0xFF, count: 40)
            let head = "\(ok)Content-Type: application/gzip\r\nContent-Length: \(broken.count)\r\n\r\n"
            return rig.stage.play([Array(head.utf8) + broken]).url("a.gz")
        },
        Fault(
            name: "downloadDecodingFailedToComplete", code: -3007, configuration: #""response": {"decode": ["gzip"]}"#,
            more: #""kind": "download""#
        ) { rig in
            let short: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B]
            let head = "\(ok)Content-Type: application/gzip\r\nContent-Length: \(short.count)\r\n\r\n"
            return rig.stage.play([Array(head.utf8) + short]).url("a.gz")
        },
    ]

    private static let retry503 = #""retry": {"maximumAttempts": 1, "statuses": [503]}"#
    private static let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"

    // Proves: ERR-1, ERR-4, ERR-5, CON-3, NET-4, DCD-6.
    @Test(arguments: faults)
    func `what goes wrong has its name`(_ fault: Fault) async throws {
        let rig = try SharedService.current
        let url = try fault.url(rig)
        let job = try await rig.fetch(
            url, fault.request, configuration: fault.configuration, more: fault.more)
        #expect(member(job, "state") == "failed")
        #expect(member(job, "error", "domain") == "NSURLErrorDomain")
        #expect(errorName(of: job) == fault.name, "\(job["error"] ?? "")")
        #expect(member(job, "error", "code") == fault.code)
        #expect(member(job, "error", "retriable") == fault.isTransient)
        #expect(member(job, "error", "message", as: String.self)?.isEmpty == false)
        #expect(member(job, "attempts", "0", "error") == fault.name)
        let id = try #require(member(job, "id", as: String.self))
        // A job that failed for its status has the response, with the received part of the body.
        let status = fault.name == "badServerResponse" ? 200 : 404
        #expect(try await rig.service.request(.get, "/v1/jobs/\(id)/body").status == status)
        let found = try await rig.service.request(.get, "/v1/jobs?error=\(fault.name)&limit=100").json
        #expect(member(found, "data", as: [[String: Any]].self)?.contains { $0["id"] as? String == id } == true)
    }

    // A network with loopback alone has no route to anywhere.
    // Proves: ERR-4.
    @Test(.enabled(if: NetworkNamespace.isAllowed, "needs the right to make network namespaces (root)"))
    func `without a network a job is not connected to the internet`() async throws {
        let network = try NetworkNamespace()
        try await ServiceProcess.with(allowing: ["192.0.2.1:80"], in: network) { service in
            let job = try await service.fetch(
                "http://192.0.2.1/", more: #", "configuration": {"retry": {"maximumAttempts": 1}}"#)
            #expect(errorName(of: job) == "notConnectedToInternet", "\(job)")
            #expect(member(job, "error", "code") == -1009 && member(job, "error", "retriable") == true)
        }
    }

    // Proves: ERR-3, CON-11, URL-10, SEC-60.
    @Test func `an error names the URL that failed, without what is secret in it`() async throws {
        let rig = try SharedService.current
        let gone = rig.stage.cut()
        let job = try await rig.fetch(
            rig.stage.play(answer("307 There", "Location: \(gone.url("hop"))")).url()
                .replacing("http://", with: "http://u:canary@"))
        #expect(member(job, "error", "failingURL") == gone.url("hop"))
        #expect(!"\(job)".contains("canary") && !rig.service.logged.contains("canary"))
    }

    // The error of libcurl, where libcurl reported one.
    // Proves: ERR-6.
    @Test func `the cause below is told to operators, and to no tenant in any way`() async throws {
        let rig = try SharedService.current
        let hook = rig.other.play("HTTP/1.1 204 No Content\r\n\r\n")
        let endpoint = try await rig.service.request(
            .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(hook.url("hook"))"}"#)
        let name = try #require(member(endpoint.json, "id", as: String.self), "\(endpoint.text)")
        let job = try await rig.fetch("http://127.0.0.1:9/", more: #""webhook": {"endpoint": "\#(name)"}"#)
        let id = try #require(member(job, "id", as: String.self))
        try await until { !hook.requests.isEmpty }
        var told = ["\(job)", String(decoding: hook.requests[0].body, as: UTF8.self)]
        for path in ["/v1/jobs/\(id)", "/v1/jobs/\(id)/events", "/v1/jobs/export?error=cannotConnectToHost"] {
            told.append(try await rig.service.request(.get, path).text)
        }
        for text in told {
            #expect(text.contains("cannotConnectToHost") && text.contains("retriable"))
            #expect(!text.contains("underlying") && !text.contains("libcurl"), "\(text)")
        }
        for path in ["/v1/jobs/\(id)/har", "/v1/jobs/\(id)/explain"] {
            #expect(try await !rig.service.request(.get, path).text.contains("libcurl"), "\(path)")
        }
        let service = rig.service.speaking(with: try await rig.place.key(scopes: .all))
        let seen = try await service.request(.get, "/v1/jobs/\(id)").json
        #expect(errorName(of: seen) == "cannotConnectToHost")
        #expect(member(seen, "error", "underlying", "domain") == "libcurl")
        #expect(member(seen, "error", "underlying", "code") == 7)
        let own = try await rig.fetch("file:///none.txt")
        #expect(!"\(own)".contains(rig.place.directory))
    }

    // For all bytes of an origin, the service serves on.
    // Proves: ERR-7.
    @Test(arguments: [
        "", "\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 999999 X\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "\u{0}\u{1}\u{2}\u{FF}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n", "SSH-2.0-OpenSSH\r\n",
    ])
    func `a broken origin breaks nothing else`(_ bytes: String) async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(rig.stage.cut(bytes).url(), configuration: Self.quick)
        #expect(["failed", "succeeded"].contains(member(job, "state")))
        #expect(member(job, "error", "code") != -1, "\(job)")
        #expect(try await rig.service.request(.get, "/healthz").status == 200)
    }
}

extension Rig {
    /// The URL of a folder among the files of the tenant.
    fileprivate func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: "\(place.directory)/files/1/\(name)", withIntermediateDirectories: true)
        return "file:///\(name)/"
    }
}
