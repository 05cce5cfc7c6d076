import FetchStorage
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// How much is stored of answers, and where.
@Suite(.timeLimit(.minutes(3))) struct CacheRoomTests {
    private func isHit(_ job: [String: Any]) -> Bool? { member(job, "response", "fromCache") }

    private func origin(_ size: Int) throws -> WireOrigin {
        let body = String(decoding: pattern(size).map { $0 % 26 + 97 }, as: UTF8.self)
        let small = answer("200 OK", "Cache-Control: max-age=9999", body: "small")
        let large = answer("200 OK", "Cache-Control: max-age=9999", body: body)
        return try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(head.hasPrefix("GET /small ") ? small : large)
            }
        }
    }

    private func number(_ query: Query, _ place: ServiceProcess.Place) async throws -> Int64 {
        try #require(try await place.database.client.query(query).first).decode(at: 0)
    }

    // Of two services: the memory of the second is empty, so that it takes its responses from the database.
    // Proves: CCH-16.
    @Test func `rows and blobs of a tenant stay below its room, and what was used last stays`() async throws {
        let (room, size) = (4_000_000, 150_000)
        let origin = try origin(size)
        let settings = ["CACHE_CAPACITY_BYTES": "\(room)"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            func used() async throws -> Int64 {
                try await number("SELECT coalesce(sum(cost), 0)::bigint FROM cache_entries", place)
            }
            let first = try await ServiceProcess.start(place, key: key)
            for path in ["/small", "/old", "/used"] { #expect(isHit(try await first.fetch(origin.url(path))) == false) }
            #expect(try await number("SELECT count(*) FROM cache_entries WHERE body IS NOT NULL", place) == 1)
            #expect(try await number("SELECT count(*) FROM cache_entries WHERE blob_id IS NOT NULL", place) == 2)
            #expect(try await first.stop() == 0)
            // Each use within a minute of the one before counts as the same.
            try await place.database.client.query("UPDATE cache_entries SET used_at = used_at - interval '2 minutes'")
            let second = try await ServiceProcess.start(place, key: key)
            #expect(isHit(try await second.fetch(origin.url("/used"))) == true)
            // As many as make the oldest one too much.
            for number in 0..<(room / size - 2) { _ = try await second.fetch(origin.url("/\(number)")) }
            try await until {
                try await number("SELECT count(*) FROM cache_entries WHERE url LIKE '%/old'", place) == 0
            }
            #expect(isHit(try await second.fetch(origin.url("/used"))) == true)
            #expect(try await number("SELECT count(*) FROM cache_entries WHERE url LIKE '%/used'", place) == 1)
            for number in 0..<12 {
                _ = try await second.fetch(origin.url("/more/\(number)"))
                try await until { try await used() <= room }
            }
            #expect(try await used() > room / 2, "no more is removed than has to be")
            #expect(try await second.stop() == 0)
        }
    }

    // Proves: CCH-16.
    @Test func `the memory of a node has its room too, and what was used last stays there`() async throws {
        let (room, size) = (800_000, 4000)
        let origin = try origin(size)
        let settings = ["CACHE_MEMORY_BYTES": "\(room)"]
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) {
            service async throws in
            let memory = #", "configuration": {"cache": {"storagePolicy": "allowedInMemoryOnly"}}"#
            func fetch(_ path: String) async throws -> Bool? {
                isHit(try await service.fetch(origin.url(path), more: memory))
            }
            for path in ["/used", "/old"] { #expect(try await fetch(path) == false) }
            // An eighth of it is for one session.
            for number in 0..<(room / 8 / size) {
                #expect(try await fetch("/\(number)") == false)
                #expect(try await fetch("/used") == true)
            }
            #expect(try await fetch("/old") == false)
        }
    }

    // Neither its own rows nor those of a body that lies apart.
    // Proves: CCH-17.
    @Test func `what is for memory only never reaches the database`() async throws {
        let origin = try origin(150_000)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            func stored() async throws -> Int64 { try await number("SELECT count(*) FROM cache_entries", place) }
            /// Every write of a row, those that were removed again too.
            func written() async throws -> Int64 {
                let counts =
                    "SELECT n_tup_ins + n_tup_upd FROM pg_stat_user_tables WHERE relname = 'cache_entries'" as Query
                return try await number(counts, place)
            }
            for path in ["/small", "/large"] {
                let memory = #", "configuration": {"cache": {"storagePolicy": "allowedInMemoryOnly"}}"#
                for hit in [false, true] {
                    #expect(isHit(try await service.fetch(origin.url(path), more: memory)) == hit)
                }
            }
            // A response that may be stored is stored, so the other would have been seen.
            #expect(isHit(try await service.fetch(origin.url("/small?2"))) == false)
            try await until { try await stored() == 1 }
            #expect(try await service.stop() == 0)
            try await until { try await written() > 0 }
            #expect(try await written() == 1)
            #expect(try await stored() == 1)
            #expect(try await number("SELECT count(*) FROM cache_entries WHERE url LIKE '%small?2'", place) == 1)
        }
    }
}
