import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The redirects of jobs, with the fields and bodies that they carry.
@Suite(.sharedServiceAndHTTPBin) struct RedirectTests {
    private static func redirect(_ status: Int = 302, to location: String, _ fields: String = "X: y") -> String {
        answer("\(status) Elsewhere", "Location: \(location)", fields, body: "old")
    }

    // The method that reaches the target, and whether the body goes along.
    // Proves: RED-9.
    @Test(arguments: [
        (301, "POST", "GET", false), (302, "POST", "GET", false), (303, "POST", "GET", false),
        (307, "POST", "POST", true), (308, "POST", "POST", true), (301, "PUT", "PUT", true),
        (303, "PUT", "GET", false), (308, "DELETE", "DELETE", true), (303, "HEAD", "HEAD", false),
    ])
    func `the status decides about method and body`(_ code: Int, _ method: String, _ next: String, _ keeps: Bool)
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            try connection.send(number == 0 ? Self.redirect(code, to: "next") : answer())
        }
        let body = method == "HEAD" ? "" : #", "body": {"json": 1}"#
        _ = try await rig.fetch(play.url("a"), #""method": "\#(method)"\#(body)"#)
        let last = try #require(play.requests.last)
        #expect(play.requests.count == 2 && last.line.hasPrefix("\(next) "))
        #expect(last.body == (keeps ? [UInt8(ascii: "1")] : []))
        #expect(last.values("content-type") == (keeps ? ["application/json"] : []))
    }

    // Proves: RED-9.
    @Test(arguments: [300, 304, 305, 306])
    func `a status that only looks like a redirect is the response`(_ code: Int) async throws {
        let rig = try SharedService.current
        let head = "HTTP/1.1 \(code) X\r\nLocation: next\r\n\(code == 304 ? "" : "Content-Length: 0\r\n")\r\n"
        let play = rig.stage.play(head)
        #expect(status(of: try await rig.fetch(play.url())) == code)
        #expect(play.requests.count == 1)
    }

    @Test func `a job whose answer is cut shows the head that came`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.cut("HTTP/1.1 203 Cut\r\nX-Head: came\r\nContent-Length: 9\r\n\r\npart")
        for kind in ["data", "download"] {
            let job = try await rig.fetch(
                play.url(kind), configuration: #""retry": {"maximumAttempts": 1}"#, more: #""kind": "\#(kind)""#)
            #expect(member(job, "state") == "failed" && errorName(of: job) == "networkConnectionLost")
            #expect(status(of: job) == 203)
            #expect(member(job, "response", "url") == play.url(kind) && job["body"] == nil)
        }
    }

    // The redirect is the response, with its own body.
    // Proves: RED-4, RED-8.
    @Test func `a redirect that is not followed is the response`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(Self.redirect(to: "next"))
        let job = try await rig.fetch(play.url(), configuration: #""redirects": {"policy": "return"}"#)
        #expect(member(job, "state") == "succeeded" && status(of: job) == 302)
        #expect(try await rig.text(of: job) == "old")
        #expect(play.requests.count == 1)
    }

    // The answer that cancels, said beforehand.
    // Proves: RED-5.
    @Test func `a job that is to meet no redirect fails at one`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(Self.redirect(to: "next"))
        let job = try await rig.fetch(play.url(), configuration: #""redirects": {"policy": "fail"}"#)
        #expect(errorName(of: job) == "redirectRefused" && play.requests.count == 1)
        #expect(member(job, "error", "failingURL") == play.url())
    }

    // Proves: RED-2, RED-6, RED-13.
    @Test func `redirects are followed up to a number, and twenty by default`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in try connection.send(Self.redirect(to: "\(number + 1)")) }
        let job = try await rig.fetch(play.url("0"))
        #expect(errorName(of: job) == "httpTooManyRedirects")
        #expect(play.requests.count == 21)
        let fifteen = rig.stage.serve { number, connection in
            try connection.send(number < 15 ? Self.redirect(to: "\(number + 1)") : answer())
        }
        let good = try await rig.fetch(fifteen.url("0"))
        #expect(status(of: good) == 200 && member(good, "redirects", as: [Any].self)?.count == 15)
    }

    // Proves: RED-14, TSK-13, LIF-4, RSP-2.
    @Test func `every hop can be read, from the first to the last`() async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(try rig.bin("/redirect-to?url=/basic-auth/u/p&status_code=307"))
        #expect(member(job, "request", "url") == (try rig.bin("/redirect-to?url=/basic-auth/u/p&status_code=307")))
        #expect(member(job, "redirects", "0", "status") == 307)
        #expect(member(job, "redirects", "0", "location") == (try rig.bin("/basic-auth/u/p")))
        #expect(member(job, "response", "url") == (try rig.bin("/basic-auth/u/p")) && status(of: job) == 401)
        let hops = try #require(member(job, "attempts", "0", "metrics", as: [[String: Any]].self))
        #expect(hops.map { $0["status"] as? Int } == [307, 401])
    }

    // Proves: RED-10.
    @Test(arguments: [
        ("../b/%2F?q=%7e", "b/%2F?q=%7e#top"), ("?x=1", "a/z?x=1#top"), ("next#own", "a/next#own"),
        ("./caf\u{E9}", "a/caf%C3%A9#top"),
    ])
    func `a location is resolved and its escapes kept`(_ location: String, _ target: String) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(Self.redirect(to: location), answer())
        let job = try await rig.fetch(play.url("a/z#top"))
        #expect(member(job, "response", "url") == play.url(target))
        #expect(member(job, "redirects", "0", "location") == play.url(target))
        let path = play.url(target).replacing("http://127.0.0.1:\(rig.stage.port)", with: "").prefix { $0 != "#" }
        #expect(play.requests.last?.line == "GET \(path) HTTP/1.1")
    }

    // A server of another age finds its own bytes again.
    // Proves: RED-10.
    @Test func `bytes of a location that are not UTF-8 go on byte for byte`() async throws {
        let rig = try SharedService.current
        let location = Array("/M".utf8) + [0xFC] + Array("nchen?q=".utf8) + [0xE4, 0x41, 0xFF]
        let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
        let play = rig.stage.serve { number, connection in
            let path = Array("b".utf8) + location
            try connection.send(number == 0 ? Array(head.utf8) + path + Array("\r\n\r\n".utf8) : Array(answer().utf8))
        }
        let job = try await rig.fetch(play.url("a"))
        let target = play.url("b/M%FCnchen?q=%E4A%FF")
        #expect(member(job, "redirects", "0", "location") == target && member(job, "response", "url") == target)
        #expect(play.requests.last?.line.hasSuffix("/b/M%FCnchen?q=%E4A%FF HTTP/1.1") == true)
    }

    // To the same origin they go, to another they do not.
    // Proves: RED-11, SEC-31.
    @Test func `what is for one origin is not carried to another`() async throws {
        let rig = try SharedService.current
        let fields = #"""
            "headers": [{"name": "Authorization", "value": "Bearer s"}, {"name": "Cookie", "value": "c=1"},
            {"name": "X-Plain", "value": "1"}]
            """#
        let there = rig.other.play(answer())
        _ = try await rig.fetch(rig.stage.play(Self.redirect(307, to: there.url())).url(), fields)
        let moved = try #require(there.requests.first)
        #expect(moved.values("authorization") == [] && moved.values("cookie") == [])
        #expect(moved.values("x-plain") == ["1"])
        let here = rig.stage.play(Self.redirect(307, to: "next"), answer())
        _ = try await rig.fetch(here.url(), fields)
        #expect(here.requests.last?.values("authorization") == ["Bearer s"])
    }

    // Proves: RED-12, SEC-30.
    @Test(arguments: [
        "file:///etc/passwd", "data:,x", "ftp://127.0.0.1/x", "http://169.254.169.254/", "http://10.0.0.1/",
    ])
    func `a redirect leads nowhere that a job must not go`(_ location: String) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(Self.redirect(to: location))
        let job = try await rig.fetch(play.url())
        #expect(member(job, "state") == "failed" && errorName(of: job) == "redirectTargetForbidden")
    }

    // Proves: RED-11, RED-12.
    @Test func `only the hosts that a job allows are gone to`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(Self.redirect(to: "http://other.example/"))
        let job = try await rig.fetch(play.url(), configuration: #""redirects": {"allowedHosts": ["127.0.0.1"]}"#)
        #expect(errorName(of: job) == "redirectTargetForbidden")
    }

    // Proves: RED-15.
    @Test func `a cookie of a redirect is sent to where it leads`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(Self.redirect(to: "next", "Set-Cookie: hop=1; Path=/"), answer())
        let session = try await rig.makeSession()
        _ = try await rig.fetch(play.url(), session: session)
        #expect(play.requests.last?.values("cookie") == ["hop=1"])
        let jar = try await rig.service.request(.get, "/v1/cookies?session=\(session)").json
        #expect(member(jar, "data", "0", "name") == "hop")
    }

    // Proves: RED-17.
    @Test func `a permanent redirect is answered from the cache`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            let isFirst = number == 0
            try connection.send(isFirst ? Self.redirect(301, to: "next", "Cache-Control: max-age=99") : answer())
        }
        let session = try await rig.makeSession()
        for _ in 0..<2 { #expect(status(of: try await rig.fetch(play.url(), session: session)) == 200) }
        #expect(play.requests.map { $0.line.contains("next") } == [false, true, true])
    }
}
