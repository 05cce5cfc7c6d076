import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Bodies, and the digests that origins state of them.
@Suite(.sharedService()) struct DigestRuleTests {
    private static func field(_ name: String, of body: String) -> String {
        "\(name): \(SHA256Digest(of: Array(body.utf8)).field)"
    }

    // R15
    // Proves: BEY-26.
    @Test(arguments: ["data", "download"], ["Repr-Digest", "Content-Digest"])
    func `a body that is not what its origin says fails the job`(_ kind: String, _ name: String) async throws {
        let rig = try SharedService.current
        let more = #""kind": "\#(kind)""#
        for (said, isRight) in [("hello", true), ("hellp", false)] {
            let play = rig.stage.play(answer("200 OK", Self.field(name, of: said), body: "hello"))
            let job = try await rig.fetch(play.url("f"), more: more)
            #expect(errorName(of: job) == (isRight ? nil : "contentDigestMismatch"), "\(job)")
            if !isRight {
                #expect(member(job, "resumable") != true && job["body"] == nil)
                let message = member(job, "error", "message", as: String.self)
                #expect(message?.contains("digest") == true)
            }
            let trusting = try await rig.fetch(
                play.url("f"), configuration: #""response": {"verifyDigests": false}"#, more: more)
            #expect(member(trusting, "state") == "succeeded")
        }
    }

    // RFC 7231 B: nobody knows which content it covers.
    @Test func `a Content-MD5 that differs fails nothing`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Content-MD5: yYMZBIPfFn0qOEFGPCqTQQ==", body: "hello"))
        #expect(member(try await rig.fetch(play.url("f")), "state") == "succeeded")
    }

    // R15: also of one that is too large for a row, and whose digest comes behind it.
    @Test(arguments: ["data", "download"]) func `a digest may come behind the body`(_ kind: String) async throws {
        let rig = try SharedService.current
        let body = String(repeating: "0123456789", count: 20_000)
        for (said, isRight) in [(body, true), (body + "!", false)] {
            let play = rig.stage.play(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Repr-Digest\r\n\r\n"
                    + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n"
                    + "\(Self.field("Repr-Digest", of: said))\r\n\r\n")
            let job = try await rig.fetch(play.url("f"), more: #""kind": "\#(kind)""#)
            #expect(errorName(of: job) == (isRight ? nil : "contentDigestMismatch"), "\(job)")
        }
    }

    // R15: no byte of the wrong body is in the right one.
    @Test(arguments: ["data", "download"]) func `another attempt begins anew`(_ kind: String) async throws {
        let rig = try SharedService.current
        let fields = ["ETag: \"a\"", "Accept-Ranges: bytes", Self.field("Repr-Digest", of: "hello")]
        let answers = ["hellp", "hello"].map { body in
            "HTTP/1.1 200 OK\r\n\(fields.joined(separator: "\r\n"))\r\nContent-Length: 5\r\n\r\n\(body)"
        }
        let play = rig.stage.play(answers[0], answers[1])
        let retry = #""retry": {"errors": ["contentDigestMismatch"], "backoff": {"initial": 0.01}}"#
        let job = try await rig.fetch(play.url("f"), configuration: retry, more: #""kind": "\#(kind)""#)
        #expect(try await rig.text(of: job) == "hello")
        #expect(play.requests.map { $0.values("range") } == [[], []])
        #expect(member(job, "attempts", "0", "error") == "contentDigestMismatch")
    }
}
