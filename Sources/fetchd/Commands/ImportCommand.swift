import ArgumentParser
import FetchJobs
import HTTPTypes

/// Jobs from the commands of other programs.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Makes a job of another program's command.", subcommands: [Curl.self])

    struct Curl: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a curl command as a job in JSON, or submits that.",
            discussion: """
                  fetchd import curl "curl -L https://example.com/ -H 'Accept: text/html'"
                  pbpaste | fetchd import curl -
                  fetchd import curl --submit - < command.sh

                The command is read as a POSIX shell reads it, and nothing of it is run. An option that a job cannot \
                have is refused by its name, with a reason; options about the terminal and its files are left out, and \
                told. Without -L the job does not follow redirects, as curl does not.

                Other users of the machine can see arguments: give a command with secrets by standard input.

                EXIT CODES:
                \(RemoteFailure.table)
                """)

        @Argument(help: "The command, in quotes; - reads it from standard input.")
        var command: String
        @Flag(help: "Submits the job to a running service.")
        var submit = false
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                let job = try read()
                guard submit else {
                    return RemoteOptions.write(remote.output.isForPeople ? IndentedJSON.whole(job) : job.json)
                }
                remote.show(try await remote.service().ask(.post, "/v1/jobs", body: Array(job.json.utf8)))
            }
        }

        /// The job, after a look at all that can be said of it without a service.
        private func read() throws -> JSONValue {
            let read: CurlCommand
            do throws(CurlCommand.Fault) { read = try CurlCommand(try text()) } catch {
                throw RemoteFailure(.usage, error.description)
            }
            for note in read.notes { printError("fetchd: " + TerminalText.plain(note)) }
            do throws(InvalidInput) { _ = try JobSpec(json: read.job) } catch {
                let lines = error.violations.map { "  \($0.pointer) \($0.message)" }
                throw RemoteFailure(.usage, (["The command makes no valid job."] + lines).joined(separator: "\n"))
            }
            return read.job
        }

        private func text() throws(CurlCommand.Fault) -> String {
            guard command == "-" else { return command }
            do {
                let limit = CurlCommand.maximumLength + 1
                return String(decoding: try FileContents.bytes(of: "-", limit: limit), as: UTF8.self)
            } catch {
                throw CurlCommand.Fault("Standard input cannot be read.")
            }
        }
    }
}
