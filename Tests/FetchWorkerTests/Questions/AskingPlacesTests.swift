import FetchJobs
import TestSupport
import Testing

@testable import FetchWorker

/// Which tenants' questions of parked loads are asked at once.
@Suite struct AskingPlacesTests {
    private func take(_ count: Int, for tenant: Tenant.ID, of places: inout AskingPlaces) -> Int {
        var taken = 0
        for _ in 0..<count where places.take(for: tenant) { taken += 1 }
        return taken
    }

    @Test func `a tenant has half of the places at most, and the next one half of the others`() {
        var places = AskingPlaces(count: 16)
        #expect(take(100, for: .first, of: &places) == 8)
        #expect(take(100, for: .second, of: &places) == 4)
        #expect(take(1, for: Tenant.ID(rawValue: 3), of: &places) == 1)
        #expect(!places.isFull)
    }

    @Test func `a place that is left is anybody's`() {
        var places = AskingPlaces(count: 2)
        #expect(take(2, for: .first, of: &places) == 1)
        #expect(take(2, for: .second, of: &places) == 1)
        #expect(places.isFull)
        places.leave(.first)
        #expect(take(2, for: .second, of: &places) == 0)
        #expect(take(2, for: Tenant.ID(rawValue: 3), of: &places) == 1)
        #expect(places.isFull)
    }
}
