import ArgumentParser
import FetchJobs
import FoundationEssentials

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Shows and tests endpoints of a running service, shows deliveries, and checks signatures.",
        subcommands: [Endpoints.self, Deliveries.self, Replay.self, Test.self, Verify.self]
    )

    struct Verify: AsyncParsableCommand {
        /// The variable with the secret when no file has it.
        static let variable = "FETCHD_WEBHOOK_SECRET"

        static let configuration = CommandConfiguration(
            abstract: "Says whether a message is signed with a secret.",
            discussion: """
                The body is read from standard input, byte for byte as it came; the fields are given as they came. The \
                secret (whsec_…) is never an argument, since those can be seen by others: it is taken from \
                --secret-file or from \(variable).

                    fetchd webhooks verify --secret-file secret --id evt_… \\
                        --timestamp 1763722320 --signature v1,… < body

                Exit status: 0 valid, 1 not signed with this secret, 2 signed but too old or from the future, \
                64 wrong usage, 78 no usable secret.
                """
        )

        @Option(help: "The field webhook-id.")
        var id: String

        @Option(help: "The field webhook-timestamp.")
        var timestamp: Int64

        @Option(help: "The field webhook-signature, with all its signatures.")
        var signature: String

        @Option(help: "A file that holds the secret.")
        var secretFile: String?

        @Flag(help: "Accept a message of any age, such as one that was kept.")
        var anyAge = false

        func validate() throws {
            guard timestamp >= 0 else { throw ValidationError("--timestamp counts seconds since 1970.") }
        }

        func run() async throws {
            try await ExitError.reporting {
                let secret = try secret(ProcessInfo.processInfo.environment[Self.variable])
                let body = try FileContents.bytes(of: "-")
                switch verdict(on: body, with: secret, now: Timestamp.now.seconds) {
                case .valid: print("valid: signed with this secret")
                case .notSigned:
                    print("not valid: no signature was made with this secret for this id, timestamp and body")
                    throw ExitCode(1)
                case .stale:
                    print("not valid: signed with this secret, but more than \(WebhookSignature.tolerance) s from now")
                    throw ExitCode(2)
                }
            }
        }

        func verdict(on body: [UInt8], with secret: WebhookSecret, now: Int64) -> WebhookSignature.Verdict {
            let message = WebhookSignature(id: id, timestamp: timestamp)
            return message.verdict(on: signature, of: body, with: secret, now: anyAge ? timestamp : now)
        }

        private func secret(_ environment: String?) throws -> WebhookSecret {
            guard let text = try secretFile.map(Self.text) ?? environment else {
                throw ExitError(.configuration, "there is no secret: give --secret-file, or set \(Self.variable)")
            }
            guard let secret = WebhookSecret(text.trimmingWhiteSpace) else {
                throw ExitError(.configuration, "the secret is not whsec_ and base64")
            }
            return secret
        }

        private static func text(of path: String) throws -> String {
            do { return try String(contentsOfFile: path, encoding: .utf8) } catch {
                throw ExitError(.configuration, "\(path) cannot be read")
            }
        }
    }
}
