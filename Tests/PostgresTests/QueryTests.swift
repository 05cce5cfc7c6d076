import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct QueryTests {
    @Test func `values come back as they went, through binary parameters`() async throws {
        try await TestDatabase.with { database in
            let id = UUID()
            let date = Date(timeIntervalSinceReferenceDate: 812_345_678.123456)
            let bytes: [UInt8] = [0, 1, 0xFF, 0x5C]
            let row = try #require(
                await database.client.query(
                    """
                    SELECT \(Int16.min), \(Int32.max), \(Int64.min), \(42), \(true), \(-1.5), \("grüß 'dich'"),
                        \(bytes), \(id), \(date), \(JSONB(#"{"a": [1, null]}"#)), \(Duration.milliseconds(-90_500)),
                        \(Optional<Int64>.none)
                    """
                ).first)
            #expect(try row.decode(at: 0) == Int16.min)
            #expect(try row.decode(at: 1) == Int32.max)
            #expect(try row.decode(at: 2) == Int64.min)
            #expect(try row.decode(at: 3) == 42)
            #expect(try row.decode(at: 4) == true)
            #expect(try row.decode(at: 5) == -1.5)
            #expect(try row.decode(at: 6) == "grüß 'dich'")
            #expect(try row.decode(at: 7) == bytes)
            #expect(try row.decode(at: 8) == id)
            #expect(abs(try row.decode(Date.self, at: 9).timeIntervalSince(date)) < 0.000_001)
            #expect(try row.decode(JSONB.self, at: 10) == JSONB(#"{"a": [1, null]}"#))
            #expect(try row.decode(at: 11) == Duration.milliseconds(-90_500))
            #expect(try row.decode(Int64?.self, at: 12) == nil)
        }
    }

    @Test func `arrays come back as they went, empty ones and NULL elements too`() async throws {
        try await TestDatabase.with { database in
            let ids = [UUID(), UUID()]
            let row = try #require(
                await database.client.query(
                    """
                    SELECT \([Int64]()), \([1, 2, 3] as [Int64]), \(["a", nil, ""]), \([[1, 2], [], nil] as [[UInt8]?]),
                        \(ids), \([JSONB("1"), JSONB("{}")]), \([true, false]),
                        \([nil, nil] as [Int32?]), \([Duration.seconds(3)])
                    """
                ).first)
            #expect(try row.decode([Int64].self, at: 0) == [])
            #expect(try row.decode([Int64].self, at: 1) == [1, 2, 3])
            #expect(try row.decode([String?].self, at: 2) == ["a", nil, ""])
            #expect(try row.decode([[UInt8]?].self, at: 3) == [[1, 2], [], nil])
            #expect(try row.decode([UUID].self, at: 4) == ids)
            #expect(try row.decode([JSONB].self, at: 5) == [JSONB("1"), JSONB("{}")])
            #expect(try row.decode([Bool].self, at: 6) == [true, false])
            #expect(try row.decode([Int32?].self, at: 7) == [nil, nil])
            #expect(try row.decode([Duration].self, at: 8) == [.seconds(3)])
            #expect(throws: PostgresError.self) { try row.decode([String].self, at: 2) }
        }
    }

    @Test func `empty text and empty bytes are not NULL`() async throws {
        try await TestDatabase.with { database in
            let row = try #require(await database.client.query("SELECT \(""), \([UInt8]())").first)
            #expect(try row.decode(String?.self, at: 0) == "")
            #expect(try row.decode([UInt8]?.self, at: 1) == [])
        }
    }

    @Test func `an interpolated query brings its values and its place among the parameters`() async throws {
        try await TestDatabase.with { database in
            let filter: Query = "number > \(Int64(2)) AND number < \(Int64(9))"
            let rows = try await database.client.query(
                "SELECT number FROM generate_series(\(Int64(1)), \(Int64(20))) number WHERE \(filter) LIMIT \(3)")
            #expect(try rows.map { try $0.decode(Int64.self, at: 0) } == [3, 4, 5])
        }
    }

    // Proves: SEC-80.
    @Test func `a value is never text of the statement`() async throws {
        try await TestDatabase.with { database in
            let hostile = "'; DROP TABLE x; -- \" $1 \\"
            let row = try #require(await database.client.query("SELECT \(hostile)").first)
            #expect(try row.decode(at: 0) == hostile)
        }
    }

    @Test func `a column of another type, a NULL and a missing column are errors, not guesses`() async throws {
        try await TestDatabase.with { database in
            let row = try #require(await database.client.query("SELECT 'x'::text, NULL::int, 70000::int").first)
            let failures: [() throws -> Void] = [
                { _ = try row.decode(Int.self, at: 0) }, { _ = try row.decode(Int.self, at: 1) },
                { _ = try row.decode(Int.self, at: 3) }, { _ = try row.decode(Int16.self, at: 2) },
            ]
            for failure in failures {
                #expect { try failure() } throws: { ($0 as? PostgresError)?.code == .unexpectedResult }
            }
        }
    }

    @Test func `an enumeration of words is a value`() async throws {
        try await TestDatabase.with { database in
            let row = try #require(
                await database.client.query("SELECT \(Colour.red), \([Colour.blue]), 'pink'::text").first)
            #expect(try row.decode(at: 0) == Colour.red)
            #expect(try row.decode(at: 1) == [Colour.blue])
            #expect(throws: PostgresError.self) { try row.decode(Colour.self, at: 2) }
        }
    }

    @Test func `the number of affected rows is told`() async throws {
        try await TestDatabase.with { database in
            try await database.client.query("CREATE TABLE t (n bigint)")
            let inserted = try await database.client.query("INSERT INTO t SELECT * FROM unnest(\([1, 2, 3]))")
            #expect(inserted.affected == 3)
            #expect(try await database.client.query("DELETE FROM t WHERE n > \(1)").affected == 2)
        }
    }
}

private enum Colour: String, PostgresValue, PostgresArrayElement {
    case red, blue
}
