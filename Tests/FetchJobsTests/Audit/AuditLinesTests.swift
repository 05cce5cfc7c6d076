import FetchJobs
import TestSupport
import Testing

/// Chains in files, without the database.
@Suite struct AuditLinesTests {
    private let tenant = Tenant.ID(rawValue: 7)

    /// Entries of a tenant's chain, and some of the service's between them.
    private func entries(_ count: Int) async throws -> [AuditEntry] {
        let log = MemoryAuditLog()
        for number in 1...count {
            let details = RawJSON(
                JSONWriter.object { $0.member("names", array: { $0.value("ä\"\\\n\u{7F}\(number)") }) })
            let actor = AuditActor(.dashboard, key: "key_a", signIn: "s", client: "192.0.2.1", request: "r\(number)")
            try await log.record(AuditEvent(.cancelJobs, "ü\t\(number)", of: tenant, details: details, by: actor))
            if number.isMultiple(of: 2) { try await log.record(AuditEvent(.replaceRules, by: .cli)) }
        }
        return log.all
    }

    private func check(_ entries: [AuditEntry]) -> AuditLines {
        var lines = AuditLines()
        for entry in entries { lines.read(entry.line) }
        return lines
    }

    private func fault(_ entries: [AuditEntry]) -> AuditChain.Break? {
        check(entries).reports.first { $0.chain == tenant }?.fault
    }

    private func own(_ entries: [AuditEntry]) -> [AuditEntry] { entries.filter { $0.chain == tenant } }

    @Test func `an entry is the same when its line was read`() async throws {
        for entry in try await entries(3) { #expect(AuditEntry(line: entry.line) == entry) }
    }

    @Test func `a file that has all is intact, from its beginning and from anywhere`() async throws {
        let all = try await entries(6)
        let reports = check(all).reports
        #expect(reports.map(\.chain) == [.service, tenant] && reports.allSatisfy { $0.fault == nil })
        #expect(reports.map(\.head.sequence) == [3, 6] && reports[1].head.hash == own(all).last?.hash)
        let later = check(Array(own(all).dropFirst(2))).reports
        #expect(later.map(\.anchor.sequence) == [2] && later.allSatisfy { $0.fault == nil })
    }

    @Test func `entries that come again are no fault, and have to be the same`() async throws {
        let all = own(try await entries(6))
        #expect(fault(all.prefix(4) + all.suffix(4)) == nil)
        let other = own(try await entries(6))
        #expect(fault(all.prefix(4) + other[2...3] + all.suffix(2)) == AuditChain.Break(sequence: 3, .changed))
    }

    @Test func `what is missing, changed or foreign is found`() async throws {
        let all = own(try await entries(6))
        #expect(fault(all.prefix(2) + all.suffix(3)) == AuditChain.Break(sequence: 3, .missing))
        var lines = AuditLines()
        for entry in all {
            let text = String(decoding: entry.line, as: UTF8.self)
            lines.read(Array((entry.sequence == 4 ? text.replacing("r4", with: "r5") : text).utf8))
        }
        #expect(lines.reports.first?.fault == AuditChain.Break(sequence: 4, .changed))
    }

    @Test(arguments: ["half", "{\"id\":", "{}", "[]", "null", "{\"id\":\"aud_0\",\"sequence\":1}"])
    func `a line that is no entry is left out and counted`(_ text: String) async throws {
        let all = own(try await entries(2))
        var lines = AuditLines()
        lines.read(all[0].line)
        lines.read(Array(text.utf8))
        lines.read([])
        lines.read(all[1].line)
        #expect(lines.brokenLines == 1 && lines.reports.map(\.fault) == [nil])
    }
}
