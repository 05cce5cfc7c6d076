import FetchEngine
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// The files that sessions leave on the disk, and those that they do not.
@Suite(.timeLimit(.minutes(1))) struct PersistenceTests {
    private static let answer =
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Max-Age=600\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: SES-2, SES-24.
    @Test func `a persistent session takes up the cookies and answers of the one before`() async throws {
        let (origin, directory) = (try WireOrigin(playing: Self.answer), try TemporaryDirectory())
        for path in ["/a", "/a", "/b"] {
            let configuration = try SessionConfiguration.persistent(
                in: directory.file("store"), memoryCapacity: 16_384, diskCapacity: 268_435_456)
            let session = Session(configuration: configuration)
            _ = try await session.data(for: Request(url: try URLRecord(origin.url(path))))
            session.finishTasksAndInvalidate()
            let cache = try #require(configuration.urlCache as? DiskResponseCache)
            #expect(cache.memoryCapacity == 16_384 && cache.diskCapacity == 268_435_456)
            await cache.flush()
        }
        let heads = origin.connections.map { String(decoding: $0.received, as: UTF8.self) }
        #expect(heads.count == 2)
        #expect(heads[0].hasPrefix("GET /a ") && !heads[0].contains("Cookie:"))
        #expect(heads[1].hasPrefix("GET /b ") && heads[1].contains("\r\nCookie: a=1\r\n"))
        #expect(try directory.names() == ["store"])
    }

    // Proves: SES-2.
    @Test func `a store of the program's keeps credentials for good, those that are to be kept`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.contains("Authorization: Basic ")
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
                        : "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let directory = try TemporaryDirectory()
        for (persistence, asked) in [(Credential.Persistence.permanent, [1, 0]), (.forSession, [1, 1])] {
            // The second session finds what the first one has left in the file.
            for count in asked {
                let delegate = ChallengeAnswerer { _ in
                    .useCredential(Credential(user: "u", password: "p", persistence: persistence))
                }
                var configuration = try SessionConfiguration.persistent(in: directory.file("store"))
                configuration.credentialStorage = CredentialFile(directory.file("\(persistence)"))
                let session = Session(configuration: configuration, delegate: delegate)
                let (_, response) = try await session.data(for: Request(url: try URLRecord(origin.url())))
                #expect(response.status == .ok && delegate.challenges.count == count)
                session.finishTasksAndInvalidate()
            }
        }
    }

    // Proves: SES-2.
    @Test func `a place that cannot be used, or cookies that cannot be read, are errors`() throws {
        let directory = try TemporaryDirectory()
        #expect { try SessionConfiguration.persistent(in: directory.file("no/such")) } throws: {
            ($0 as? LoadError)?.code == .cannotCreateFile
        }
        try directory.write("not cookies", to: "store/cookies")
        #expect { try SessionConfiguration.persistent(in: directory.file("store")) } throws: {
            ($0 as? LoadError)?.code == .cannotDecodeRawData
        }
    }

    // In a process of its own whose every usual place for files is empty before.
    // Proves: SES-3, CRD-7.
    @Test func `an ephemeral session leaves no byte of a body, cookie or credential on the disk`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            for name in ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"] { setenv(name, path, 1) }
            guard chdir(path) == 0, try await PersistenceTests.loadSecrets() else { exit(1) }
        }
        #expect(try Self.files(below: path).isEmpty)
    }

    // The same look finds the files of a session with stores on disk.
    // Proves: SES-3.
    @Test func `a session with stores on disk leaves both`() async throws {
        let directory = try TemporaryDirectory()
        #expect(try await Self.loadSecrets(storesIn: directory.path))
        let files = try Self.files(below: directory.path)
        let content = try files.map { try Data(contentsOf: URL(filePath: $0)) }.reduce(Data(), +)
        #expect(content.range(of: Data("marker-body".utf8)) != nil)
        #expect(content.range(of: Data("marker-cookie".utf8)) != nil)
        #expect(content.range(of: Data("marker-password".utf8)) == nil)
    }

    /// Loads a body, sets a cookie and answers a challenge; says whether all of it happened.
    fileprivate static func loadSecrets(storesIn directory: String? = nil) async throws -> Bool {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isWelcome = head.hasPrefix("GET /page ") || head.contains("Authorization: Basic ")
                try connection.send(
                    isWelcome
                        ? "HTTP/1.1 200 OK\r\nSet-Cookie: c=marker-cookie; Max-Age=600\r\n"
                            + "Cache-Control: max-age=600\r\nContent-Length: 11\r\n\r\nmarker-body"
                        : "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.urlCache = MemoryResponseCache()
        if let directory { configuration = try .persistent(in: directory) }
        let credential = Credential(user: "u", password: "marker-password", persistence: .permanent)
        let session = Session(
            configuration: configuration, delegate: ChallengeAnswerer { _ in .useCredential(credential) })
        var sources: [Response.Source] = []
        for path in ["/page", "/page", "/login"] {
            let (body, response) = try await session.data(for: Request(url: try URLRecord(origin.url(path))))
            guard response.status == .ok, body == Array("marker-body".utf8) else { return false }
            sources.append(response.source)
        }
        let cookies = try await configuration.httpCookieStorage?.cookies() ?? []
        await (configuration.urlCache as? DiskResponseCache)?.flush()
        session.finishTasksAndInvalidate()
        return sources == [.network, .cache, .network] && cookies.map(\.value) == ["marker-cookie"]
    }

    private static func files(below path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).map { path + "/" + $0 }.filter {
            var isDirectory = ObjCBool(false)
            return FileManager.default.fileExists(atPath: $0, isDirectory: &isDirectory) && !isDirectory.boolValue
        }
    }
}

/// A store as a program may have it: passwords of Basic, by host and realm, in a file that only its user may read.
private final class CredentialFile: CredentialStorage {
    private let path: String
    private let memory = MemoryCredentialStorage()

    init(_ path: String) {
        self.path = path
        for line in (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n") ?? [] {
            let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            memory.set(
                Credential(user: words[4], password: words[5], persistence: .permanent),
                for: ProtectionSpace(
                    host: words[0], port: UInt16(words[1]) ?? 0, scheme: words[2], realm: words[3], method: .httpBasic))
        }
    }

    private func save() {
        var text = ""
        for (space, credentials) in memory.allCredentials() {
            for credential in credentials.values where credential.persistence == .permanent {
                let words = [
                    space.host, "\(space.port)", space.scheme, space.realm ?? "", credential.user,
                    credential.password ?? "",
                ]
                text += words.joined(separator: "\t") + "\n"
            }
        }
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes))
    }

    func credentials(for space: ProtectionSpace) -> [String: Credential] { memory.credentials(for: space) }
    func allCredentials() -> [ProtectionSpace: [String: Credential]] { memory.allCredentials() }
    func defaultCredential(for space: ProtectionSpace) -> Credential? { memory.defaultCredential(for: space) }
    func changes() -> AsyncStream<ProtectionSpace> { memory.changes() }

    func set(_ credential: Credential, for space: ProtectionSpace) {
        memory.set(credential, for: space)
        save()
    }

    func setDefault(_ credential: Credential, for space: ProtectionSpace) {
        memory.setDefault(credential, for: space)
        save()
    }

    func remove(_ credential: Credential, for space: ProtectionSpace) {
        memory.remove(credential, for: space)
        save()
    }

    func removeAll() {
        memory.removeAll()
        save()
    }
}
