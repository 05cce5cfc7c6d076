import FetchJobs
import Foundation
import TestSupport
import Testing

@testable import fetchd

/// What "fetchd doctor" finds, and what it says to do.
@Suite struct ExaminationTests {
    @Test func `what is wrong has a word of advice, and what is right has none`() throws {
        let directory = try TemporaryDirectory()
        try Data().write(to: URL(filePath: directory.file("note")))
        let findings = [
            Examination.descriptors(100_000), Examination.descriptors(1024),
            Examination.directory(directory.file("x/y")),
            Examination.directory(directory.file("note/x")), Examination.guardian(Settings()),
            Examination.migrations([], migrates: true), Examination.migrations(["0001"], migrates: true),
            Examination.migrations(["0001"], migrates: false), Examination.timeZones("/usr/share/zoneinfo"),
            Examination.timeZones(directory.file("none")),
        ]
        let expected: [Examination.Verdict] = [
            .good, .remark, .good, .wrong, .good, .good, .remark, .wrong, .good, .wrong,
        ]
        #expect(findings.map(\.verdict) == expected)
        for finding in findings { #expect((finding.advice == nil) == (finding.verdict == .good), "\(finding.line)") }
        #expect(findings[3].line.hasPrefix("WRONG  data directory: \(directory.file("note"))"))
    }

    @Test func `a guard that is open is worth a note`() throws {
        let settings = try Settings(
            SettingSources(flags: [:], environment: ["GUARD_ALLOW": "10.0.0.0/8", "GUARD_ALLOW_METADATA": "true"]))
        let finding = Examination.guardian(settings)
        #expect(finding.verdict == .remark && finding.text.contains("GUARD_ALLOW_METADATA, GUARD_ALLOW=10.0.0.0/8"))
    }

    @Test func `keys that every user may read are found`() throws {
        let directory = try TemporaryDirectory()
        var settings = Settings()
        settings.dataDirectory = directory.path
        #expect(Examination.keyFiles(settings).isEmpty)
        let path = directory.file("master.keys")
        for (mode, verdict) in [(0o600, Examination.Verdict.good), (0o644, .wrong)] {
            #expect(
                FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: mode]))
            #expect(Examination.keyFiles(settings).map(\.verdict) == [verdict])
        }
    }
}
