import FetchJobs
import Testing

@Suite struct AuditEventTests {
    @Test func `a tenant is not told the network of an operator`() {
        let actor = AuditActor(.operator, key: "key_a", client: "192.0.2.1")
        #expect(AuditEvent(.pauseQueue, of: Tenant.ID(rawValue: 1), by: actor).actor.client == nil)
        #expect(AuditEvent(.pauseQueue, by: actor).actor.client == "192.0.2.1")
    }

    @Test func `what an entry is about is cut to a length that cannot fill the log`() {
        let event = AuditEvent(.refuseTarget, String(repeating: "ä", count: 100_000) + "\0", by: .service)
        #expect((event.object?.utf8.count ?? 0) <= AuditEvent.maximumObject + 3)
        #expect(AuditEvent(.refuseTarget, "a\0b", by: .service).object == "a\u{FFFD}b")
    }
}
