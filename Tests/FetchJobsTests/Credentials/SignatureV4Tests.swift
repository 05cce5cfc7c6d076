import FetchEngine
import Foundation
import Testing

@testable import FetchJobs

/// The published test suite of AWS Signature Version 4; see the README beside the vectors.
@Suite struct SignatureV4Tests {
    private static let signature = SignatureV4(
        credentials: SignatureV4.Credentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: nil),
        region: "us-east-1",
        service: "service"
    )

    private static let directory = Bundle.module.resourceURL?.appending(path: "sigv4") ?? URL(filePath: "/")

    static let cases: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [])
        .filter { $0.hasPrefix("get-") || $0.hasPrefix("post-") }.sorted()

    private func text(_ name: String, _ kind: String) throws -> String {
        let url = Self.directory.appending(path: "\(name)/\(name).\(kind)")
        return try String(contentsOf: url, encoding: .utf8).replacing("\r\n", with: "\n")
    }

    /// The request of a vector: a request line, header lines that may be folded, and a body.
    private func message(_ text: String) throws -> SignatureV4.Message {
        let parts = text.split(separator: "\n\n", maxSplits: 1)
        var lines = parts[0].split(separator: "\n")
        let line = lines.removeFirst()
        let target = line.split(separator: " ").dropFirst().dropLast().joined(separator: " ")
        let (path, query) = (target.prefix { $0 != "?" }, target.drop { $0 != "?" }.dropFirst())
        var headers: [(name: String, value: String)] = []
        for line in lines {
            if line.first == " ", let last = headers.popLast() {
                headers.append((last.name, "\(last.value)\n\(line)"))
                continue
            }
            let colon = try #require(line.firstIndex(of: ":"))
            headers.append((String(line[..<colon]), String(line[line.index(after: colon)...])))
        }
        return SignatureV4.Message(
            method: String(line.prefix { $0 != " " }),
            path: path.split(separator: "/", omittingEmptySubsequences: false)
                .map { PercentCodec.component(String($0)) }.joined(separator: "/"),
            query: query.split(separator: "&").map { pair in
                let halves = pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
                return (halves[0], halves.count > 1 ? halves[1] : "")
            },
            headers: headers,
            payload: SignatureV4.hash(parts.count > 1 ? Array(parts[1].utf8) : [])
        )
    }

    // The example of Amazon S3's API reference, "Authenticating Requests: Using Query Parameters".
    @Test func `a URL is signed as the reference says`() throws {
        let signature = SignatureV4(
            credentials: SignatureV4.Credentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                sessionToken: nil),
            region: "us-east-1", service: "s3")
        let url = try signature.presigned(
            URLRecord("https://examplebucket.s3.amazonaws.com/test.txt"),
            at: Timestamp(microseconds: 1_369_353_600_000_000), for: 86_400)
        let expected = [
            "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256",
            "X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request",
            "X-Amz-Date=20130524T000000Z", "X-Amz-Expires=86400", "X-Amz-SignedHeaders=host",
            "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
        ]
        #expect(url.description == expected.joined(separator: "&"))
    }

    @Test func `there are vectors`() { #expect(Self.cases.count > 20) }

    @Test(arguments: cases)
    func `a request is signed as the vector says`(name: String) throws {
        let message = try message(try text(name, "req"))
        let date = try #require(message.headers.first { $0.name.lowercased() == "x-amz-date" }).value
        #expect(SignatureV4.canonicalRequest(message) == (try text(name, "creq")))
        #expect(Self.signature.stringToSign(message, date: date) == (try text(name, "sts")))
        #expect(Self.signature.authorization(for: message, date: date) == (try text(name, "authz")))
    }
}
