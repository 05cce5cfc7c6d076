import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct KeyRotationTests {
    private let old = "1:" + key(7)
    private let new = "2:" + key(8)

    private static func key(_ byte: UInt8) -> String { Data(repeating: byte, count: 32).base64EncodedString() }

    // Proves: SEC-51.
    @Test func `after a rotation everything opens with the new key alone`() async throws {
        try await TestDatabase.with(Schema.migrations) { database async throws in
            let client = database.client
            let space = ProtectionSpace(host: "h.example", port: 443, scheme: "https", method: .httpBasic)
            let credential = Credential(user: "u", password: "p", persistence: .permanent)
            let session = SessionAddress(tenant: Tenant.ID(rawValue: 1))
            let before = try KeyRing(old)
            let token = try await PostgresKeyStore(client: client, ring: before).create(name: "a", tenant: "default").1
            let stores = PostgresSessionResources(
                client: client, keys: TenantKeys(client: client, ring: before), node: Node.ID(),
                peers: Peers(), blobs: MemoryBlobStore(), logger: TestDatabase.logger)
            await stores.credentialStorage(of: session).setDefault(credential, for: space)
            let endpoint = WebhookEndpoint(
                tenant: session.tenant, url: try URLRecord("https://receiver.example/"), events: [.jobFinished])
            let store = PostgresWebhookStore(client: client, ring: before)
            try await store.add(endpoint)
            let rotated = SecretRotation().applied(to: endpoint, at: .now)
            #expect(try await store.update(rotated, rotation: nil) != nil)
            let archive = RegisteredProtocol(
                name: "archive", scheme: "archive", url: try URLRecord("https://archive.example/"))
            let protocols = PostgresProtocolStore(client: client, ring: before)
            _ = try await protocols.register(archive)
            let changed = try await protocols.rotate(SecretRotation(), ofProtocol: "archive")

            let both = try KeyRing("\(new),\(old)")
            let report = try await KeyRotation(client: client, ring: both).run()
            #expect(report == KeyRotation.Report(rewrapped: 6, uses: [2: 6]))
            #expect(try await KeyRotation(client: client, ring: both).run().rewrapped == 0)

            let after = try KeyRing(new)
            #expect(try await PostgresKeyStore(client: client, ring: after).authenticate(token) != nil)
            let later = PostgresSessionResources(
                client: client, keys: TenantKeys(client: client, ring: after), node: Node.ID(),
                peers: Peers(), blobs: MemoryBlobStore(), logger: TestDatabase.logger)
            #expect(await later.credentialStorage(of: session).defaultCredential(for: space) == credential)
            let webhooks = PostgresWebhookStore(client: client, ring: after)
            let read = try await webhooks.endpoint(endpoint.id, of: session.tenant)
            #expect(read?.secrets(at: .now) == [rotated.secret, endpoint.secret])
            let found = try await PostgresProtocolStore(client: client, ring: after).protocols()
            #expect(found.map { $0.secrets(at: .now) } == [[changed?.secret, archive.secret].compactMap(\.self)])
        }
    }
}

extension KeyRotation.Report {
    fileprivate init(rewrapped: Int, uses: [Int: Int64]) {
        self.init()
        self.rewrapped = rewrapped
        self.uses = uses
    }
}
