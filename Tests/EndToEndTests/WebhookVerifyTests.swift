import FetchJobs
import Foundation
import TestSupport
import Testing

/// R48: receivers of webhooks can verify their messages.
@Suite struct WebhookVerifyTests {
    private let secret = WebhookSecret(bytes: Array(repeating: 7, count: 32))

    private func verify(
        _ body: String,
        at timestamp: Int64,
        signedBy key: WebhookSecret,
        more: String = "",
        secret: String?
    ) async throws -> ProgramEnd {
        let signature = WebhookSignature(id: "evt_1", timestamp: timestamp).sign(Array("body".utf8), with: key)
        let command = """
            printf %s '\(body)' | '\(ServiceProcess.program)' webhooks verify --id evt_1 --timestamp \(timestamp) \
                --signature 'v1,AAAA \(signature)' \(more)
            """
        var environment = ProcessInfo.processInfo.environment
        environment["FETCHD_WEBHOOK_SECRET"] = secret
        let variables = environment
        return try await onThread {
            let program = try Program(
                ["/bin/sh", "-c", command], environment: variables, readsOutput: true, readsErrors: true)
            let (output, errors) = (program.output(), program.errors())
            return ProgramEnd(status: program.waitForEnd(), output: output, errors: errors)
        }
    }

    @Test func `a verdict is a word and an exit status`() async throws {
        let now = Timestamp.now.seconds
        let valid = try await verify("body", at: now, signedBy: secret, secret: secret.revealed)
        #expect(valid.status == 0 && valid.output.hasPrefix("valid"))
        let changed = try await verify("bodY", at: now, signedBy: secret, secret: secret.revealed)
        #expect(changed.status == 1 && changed.output.hasPrefix("not valid"))
        let other = try await verify("body", at: now, signedBy: WebhookSecret(), secret: secret.revealed)
        #expect(other.status == 1)
        let old = try await verify("body", at: now - 900, signedBy: secret, secret: secret.revealed)
        #expect(old.status == 2)
        let kept = try await verify("body", at: now - 900, signedBy: secret, more: "--any-age", secret: secret.revealed)
        #expect(kept.status == 0)
        #expect(try await verify("body", at: now, signedBy: secret, secret: nil).status == 78)
        #expect(try await verify("body", at: now, signedBy: secret, secret: "x").status == 78)
        #expect(try await verify("body", at: now, signedBy: secret, more: "--bogus", secret: "x").status == 64)
        for end in [valid, changed, old] { #expect(!(end.output + end.errors).contains(secret.revealed)) }
    }

    @Test func `the secret may be in a file`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("\(secret.revealed)\n".utf8).write(to: file)
        let end = try await verify(
            "body", at: Timestamp.now.seconds, signedBy: secret, more: "--secret-file '\(file.path)'", secret: nil)
        #expect(end.status == 0, "\(end.errors)")
    }
}
