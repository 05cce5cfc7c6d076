import Testing

@testable import FetchEngine

@Suite struct CacheStatusTests {
    // RFC 9211 §2, as a structured field writes it.
    // Proves: CCH-20.
    @Test func `the status is written as its field has it`() {
        var status = CacheStatus(forward: nil)
        status.timeToLive = 376
        #expect(status.description == "FetchEngine;hit;ttl=376")
        #expect(status.isHit)
        status = CacheStatus(forward: .stale)
        status.forwardStatus = 304
        status.timeToLive = -5
        status.isStored = true
        status.isCollapsed = true
        status.detail = "stale-if-error"
        #expect(
            status.description
                == "FetchEngine;fwd=stale;fwd-status=304;ttl=-5;stored;collapsed;detail=stale-if-error")
        for forward in CacheStatus.Forward.allCases {
            #expect(CacheStatus(forward: forward).description == "FetchEngine;fwd=\(forward.rawValue)")
        }
    }
}
