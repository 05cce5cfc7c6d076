import FetchEngine
import TestSupport
import Testing

/// Reading client identities.
@Suite struct ClientIdentityTests {
    private static func expectInvalid(_ make: () throws(LoadError) -> ClientIdentity) {
        do throws(LoadError) {
            _ = try make()
            Issue.record("it was read")
        } catch {
            #expect(error.code == .clientIdentityInvalid)
        }
    }

    @Test func `an identity is read from PEM, chain and key`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("client")
        let identity = try ClientIdentity(
            certificateChain: leaf.certificate + authority.certificate, privateKey: leaf.key)
        #expect(identity.certificates.count == 2)
        #expect(identity.fingerprint == Fingerprint(of: identity.certificates[0]))
    }

    @Test func `an encrypted key needs its passphrase`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("client")
        let key = try await authority.encryptedKey(leaf, passphrase: "open sesame")
        _ = try ClientIdentity(certificateChain: leaf.certificate, privateKey: key, passphrase: "open sesame")
        Self.expectInvalid { () throws(LoadError) in
            try ClientIdentity(certificateChain: leaf.certificate, privateKey: key, passphrase: "wrong")
        }
        Self.expectInvalid { () throws(LoadError) in
            try ClientIdentity(certificateChain: leaf.certificate, privateKey: key)
        }
    }

    @Test func `a PKCS 12 file gives the same identity as its parts`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("client")
        let file = try await authority.pkcs12(leaf, passphrase: "pässword")
        let parts = try ClientIdentity(
            certificateChain: leaf.certificate + authority.certificate, privateKey: leaf.key)
        #expect(try ClientIdentity(pkcs12: file, passphrase: "pässword") == parts)
        Self.expectInvalid { () throws(LoadError) in try ClientIdentity(pkcs12: file, passphrase: "password") }
        Self.expectInvalid { () throws(LoadError) in try ClientIdentity(pkcs12: [1, 2, 3], passphrase: "") }
    }

    @Test func `a key of another certificate, or nothing at all, is refused`() async throws {
        let authority = try await TestAuthority()
        let (one, other) = (try await authority.issue("one"), try await authority.issue("other"))
        Self.expectInvalid { () throws(LoadError) in
            try ClientIdentity(certificateChain: one.certificate, privateKey: other.key)
        }
        Self.expectInvalid { () throws(LoadError) in try ClientIdentity(certificateChain: [], privateKey: one.key) }
        Self.expectInvalid { () throws(LoadError) in
            try ClientIdentity(certificateChain: one.certificate, privateKey: Array("nonsense".utf8))
        }
    }

    @Test func `an identity fits a server that names its authority, or none`() async throws {
        let (authority, other) = (try await TestAuthority(), try await TestAuthority(name: "Other"))
        let (leaf, foreign) = (try await authority.issue("client"), try await other.issue("client"))
        let identity = try ClientIdentity(certificateChain: leaf.certificate, privateKey: leaf.key)
        let stranger = try ClientIdentity(certificateChain: foreign.certificate, privateKey: foreign.key)
        let name = try #require(identity.issuers.first)
        #expect(identity.isIssued(byOneOf: [name]))
        #expect(identity.isIssued(byOneOf: []))
        #expect(!stranger.isIssued(byOneOf: [name]))
    }

    // Proves: SEC-52.
    @Test func `an identity does not print`() async throws {
        let leaf = try await TestAuthority().issue("client")
        let identity = try ClientIdentity(certificateChain: leaf.certificate, privateKey: leaf.key)
        #expect("\(identity)" == "<redacted>")
        #expect(!String(reflecting: identity).contains("BEGIN"))
        var dumped = ""
        dump(identity, to: &dumped)
        #expect(!dumped.contains("BEGIN"))
    }
}
