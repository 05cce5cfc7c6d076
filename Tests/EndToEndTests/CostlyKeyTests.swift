import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Keys that take much work to decrypt.
@Suite(.timeLimit(.minutes(2))) struct CostlyKeyTests {
    private static func json(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing("\n", with: "\\n")
    }

    private func members(_ options: [String]) async throws -> String {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("client")
        let key = try await authority.encryptedKey(leaf, passphrase: "secret", pkcs8: options)
        return #""certificateChain": "\#(Self.json(leaf.certificate))", "privateKey": "\#(Self.json(key))", "#
            + #""passphrase": "secret""#
    }

    @Test func `a key that asks for too much is refused by its name, wherever it stands`() async throws {
        let identity = try await members(["-v2", "aes256", "-iter", "2000001"])
        let job =
            #"{"request": {"url": "https://a.example/"}, "#
            + #""configuration": {"authentication": {"credential": {\#(identity)}}}}"#
        try await ServiceProcess.with(allowing: []) { service in
            for (path, body, place) in [
                ("/v1/jobs", job, "/configuration/authentication/credential/privateKey"),
                (
                    "/v1/webhooks/endpoints",
                    #"{"url": "https://a.example/", "events": ["job.succeeded"], "clientCertificate": {\#(identity)}}"#,
                    "/clientCertificate/privateKey"
                ),
            ] {
                let answer = try await service.request(.post, path, body: body)
                #expect(answer.status == 422, "\(answer.text)")
                #expect(answer.text.contains(place) && answer.text.contains("2000000 rounds"), "\(answer.text)")
            }
        }
    }

    // The threads that answer are not those that derive.
    @Test func `while keys are decrypted the service answers`() async throws {
        let identity = try await members(["-v2", "aes256", "-iter", "1000000"])
        let job =
            #"{"request": {"url": "https://127.0.0.1:1/"}, "#
            + #""configuration": {"authentication": {"credential": {\#(identity)}}}}"#
        try await ServiceProcess.with(allowing: []) { service in
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        let answer = try await service.request(.post, "/v1/jobs", body: job)
                        #expect(answer.status == 202, "\(answer.text)")
                        return ContinuousClock.now
                    }
                }
                for _ in 0..<20 { #expect(try await service.request(.get, "/healthz").status == 200) }
                let answered = ContinuousClock.now
                // Eight keys, which are read two at a time, take longer than twenty short answers.
                let last = try await group.reduce(answered) { max($0, $1) }
                #expect(last > answered)
            }
        }
    }
}
