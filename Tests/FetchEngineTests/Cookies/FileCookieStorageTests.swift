import Glibc
import TestSupport
import Testing

@testable import FetchEngine

@Suite struct FileCookieStorageTests {
    private static let later = UnixTime.now.advanced(by: .seconds(3600))

    private static func cookie(
        _ name: String, expires: UnixTime? = later, sameSite: Cookie.SameSite? = nil
    ) throws -> Cookie {
        try Cookie(
            nameBytes: Array(name.utf8), valueBytes: [0x22, 0xFF, 0x22], domain: ".example.org", path: "/p",
            expires: expires, isSecure: true, isHTTPOnly: true, sameSite: sameSite,
            partition: "https://top.example", creationTime: UnixTime(seconds: 1_700_000_000))
    }

    // Proves: COK-5, COK-6, COK-8, COK-9.
    @Test(arguments: CookieStorageContract.clauses)
    func `the file form keeps the contract`(_ clause: Clause<any CookieStorage>) async throws {
        let directory = try TemporaryDirectory()
        let storage = try FileCookieStorage(path: directory.file("cookies"))
        #expect(try await clause.differences(in: storage) == [])
    }

    // Proves: SES-2, COK-1.
    @Test func `cookies outlive the process with all their attributes, session cookies do not`() async throws {
        let directory = try TemporaryDirectory()
        let first = try FileCookieStorage(path: directory.file("cookies"))
        let kept = try Self.cookie("kept", sameSite: .noRestriction)
        try await first.setCookie(kept, at: .now)
        try await first.setCookie(try Self.cookie("session", expires: nil), at: .now)
        try await first.setCookie(try Self.cookie("gone"), at: .now)
        try await first.deleteCookie(try Self.cookie("gone"))
        #expect(await first.cookies(at: .now).map(\.name) == ["kept", "session"])
        let second = try FileCookieStorage(path: directory.file("cookies"))
        #expect(await second.cookies(at: .now) == [kept])
        #expect(try directory.names() == ["cookies"])
        var status = stat()
        #expect(stat(directory.file("cookies"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    // Proves: COK-10.
    @Test func `changes that come together are all in the file`() async throws {
        let directory = try TemporaryDirectory()
        let storage = try FileCookieStorage(path: directory.file("cookies"))
        try await withThrowingTaskGroup { group in
            for number in 0..<150 {
                group.addTask { try await storage.setCookie(try Self.cookie("c\(number)"), at: .now) }
            }
            try await group.waitForAll()
        }
        #expect(await (try FileCookieStorage(path: directory.file("cookies"))).cookies(at: .now).count == 150)
    }

    // Proves: COK-5.
    @Test func `a damaged file is refused, whatever bit of it is wrong`() throws {
        let bytes = CookieFile.bytes(of: [try Self.cookie("a"), try Self.cookie("b")])
        #expect(CookieFile.cookies(in: bytes)?.count == 2)
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(CookieFile.cookies(in: damaged) == nil)
            #expect(CookieFile.cookies(in: Array(bytes[..<index])) == nil)
        }
        let directory = try TemporaryDirectory()
        let path = try directory.write(Array(bytes.dropLast()), to: "cookies")
        #expect { try FileCookieStorage(path: path) } throws: { ($0 as? LoadError)?.code == .cannotDecodeRawData }
    }

    // Proves: COK-5.
    @Test func `a change that cannot be written fails, and the next one writes it too`() async throws {
        let directory = try TemporaryDirectory()
        let storage = try FileCookieStorage(path: directory.file("folder/cookies"))
        await expect(.cannotCreateFile) { try await storage.setCookie(try Self.cookie("a"), at: .now) }
        try directory.makeDirectory("folder")
        try await storage.setCookie(try Self.cookie("b"), at: .now)
        let second = try FileCookieStorage(path: directory.file("folder/cookies"))
        #expect(await second.cookies(at: .now).map(\.name) == ["a", "b"])
    }
}
