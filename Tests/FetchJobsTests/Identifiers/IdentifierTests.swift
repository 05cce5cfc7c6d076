import FetchJobs
import Testing

@Suite struct IdentifierTests {
    @Test func `an id reads back from its text`() {
        let id = Job.ID()
        #expect(Job.ID(id.description) == id)
        #expect(id.description.count == 30)
    }

    @Test(arguments: [
        "job_", "job_0000000000000000000000000", "job_00000000000000000000000000a", "job_0000000000000000000000000u",
        "job_80000000000000000000000000", "blb_00000000000000000000000000", "JOB_00000000000000000000000000",
    ])
    func `a text in another form is no id`(text: String) {
        #expect(Job.ID(text) == nil)
    }

    @Test func `texts sort as the times of creation do`() {
        let times = [0, 1, 1_000, 1_700_000_000_000, 1_700_000_000_001].map { Timestamp(microseconds: $0 * 1000) }
        let ids = times.map { Job.ID(UUIDv7(at: $0)) }
        #expect(ids.map(\.description) == ids.map(\.description).sorted())
        #expect(ids == ids.sorted())
    }

    // R37: jobs of one batch have an order.
    @Test func `ids that a process makes come in the order of their making, however fast`() {
        let ids = (0..<10_000).map { _ in Job.ID() }
        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func `version and variant are those of RFC 9562`() {
        let uuid = UUIDv7()
        #expect(uuid.high >> 12 & 0xF == 7)
        #expect(uuid.low >> 62 == 2)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_763_722_320_125_999, "2025-11-21T10:52:00.125Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
    ])
    func `a time is written as RFC 3339 in UTC`(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
    }
}
