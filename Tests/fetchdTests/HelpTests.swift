import ArgumentParser
import Testing

@testable import fetchd

/// What a newcomer reads first.
@Suite struct HelpTests {
    private static let commands = Result { try CommandTree.parse(Fetchd._dumpHelp()).all }

    @Test func `paragraphs of help are broken by the terminal, and nothing else is wider than 80 columns`() throws {
        for command in try Self.commands.get() {
            let lines = (command.discussion ?? "").split(separator: "\n", omittingEmptySubsequences: false)
            for (line, next) in zip(lines, lines.dropFirst() + [""]) {
                let isText = !line.isEmpty && !line.hasPrefix(" ") && !line.hasSuffix(":")
                #expect(!isText || next.isEmpty || next.hasPrefix(" "), "\(command.path): \(line)")
                #expect(!line.hasPrefix(" ") || line.count <= 80, "\(command.path): \(line)")
            }
        }
        #expect(Settings.help.split(separator: "\n").allSatisfy { $0.hasPrefix("  ") })
    }

    @Test func `commands say what they do in the same form`() throws {
        for command in try Self.commands.get() where command.abstract != nil {
            let verb = command.abstract?.prefix { $0 != " " && $0 != "," } ?? ""
            #expect(verb.hasSuffix("s"), "\(command.path): \(command.abstract ?? "")")
        }
    }

    @Test(arguments: [
        (["-w", "%{http_code}", "a.example"], "-w: --json"), (["-qO-", "a.example"], "-q: -s"),
        (["-O-", "a.example"], "--: -o FILE"), (["--tries=3", "a.example"], "--tries: --retry"),
        (["-c", "a.example"], "-c: -C -"), (["--no-check-certificate", "a.example"], "certificate: Certificates are"),
    ])
    func `an option of curl or wget that is not there names what is`(arguments: [String], advice: String) throws {
        let error = try #require(throws: (any Error).self) { try GetCommand.parse(arguments) }
        let text = GetAdvice.text(arguments, GetCommand.fullMessage(for: error))
        #expect(text?.contains(advice) == true, "\(text ?? "none")")
    }

    @Test func `there is advice only about options that are not there`() {
        for name in GetAdvice.known.flatMap(\.names) where name != "--" {
            #expect(throws: (any Error).self, "\(name)") { try GetCommand.parse([name, "http://a.example"]) }
            #expect(throws: (any Error).self, "\(name)") { try GetCommand.parse([name, "1", "http://a.example"]) }
        }
        #expect(GetAdvice.text(["--bogus", "http://a.example"], "Unknown option '--bogus'") == nil)
        #expect(GetAdvice.text(["-o", "x", "--", "-w"], "") == nil)
    }

    @Test(arguments: [
        (["jobz"], "jobz"), (["version"], "version"), (["jobs"], nil), (["help"], nil), (["--help"], nil),
    ])
    func `a word that is no command is named`(arguments: [String], word: String?) {
        #expect(Fetchd.unknownCommand(arguments) == word)
    }
}
