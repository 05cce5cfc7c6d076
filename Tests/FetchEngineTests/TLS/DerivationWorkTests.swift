import Foundation
import Glibc
import TestSupport
import Testing

@testable import FetchEngine

/// How much work a client's encrypted key may ask for.
@Suite struct DerivationWorkTests {
    private static let most = DerivationWork.maximumRounds

    /// The error of reading a key, if any; the key must not be decrypted to find it.
    private static func refusal(
        _ read: () throws(LoadError) -> Void, _ location: SourceLocation = #_sourceLocation
    ) -> LoadError.Code? {
        let start = threadTime()
        defer { #expect(threadTime() - start < .seconds(5), sourceLocation: location) }
        do throws(LoadError) { try read() } catch { return error.code }
        return nil
    }

    /// How long this thread has worked, whatever else the machine does.
    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test(arguments: [
        (["-v2", "aes256", "-iter", "\(most)"], false), (["-v2", "aes256", "-iter", "\(most + 1)"], true),
        (["-v1", "PBE-SHA1-3DES", "-iter", "\(most)"], false),
        (["-v1", "PBE-SHA1-3DES", "-iter", "\(most + 1)"], true),
        (["-scrypt", "-scrypt_N", "16384", "-scrypt_p", "15"], false),
        (["-scrypt", "-scrypt_N", "16384", "-scrypt_p", "16"], true),
    ])
    func `a key may ask for so many rounds, and for no more`(options: [String], isRefused: Bool) async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("client")
        let key = try await authority.encryptedKey(leaf, passphrase: "secret", pkcs8: options)
        let code = Self.refusal { () throws(LoadError) in try DerivationWork.check(pem: key) }
        #expect(code == (isRefused ? .clientIdentityTooCostly : nil))
        guard isRefused else { return }
        // Several keys in one text are added up, whatever stands before them.
        let identity = Self.refusal { () throws(LoadError) in
            _ = try ClientIdentity(certificateChain: leaf.certificate, privateKey: leaf.key + key, passphrase: "secret")
        }
        #expect(identity == .clientIdentityTooCostly)
    }

    // The checksum, the certificates and the key each need a derivation, and the key's count lies in bytes that another
    // one decrypts.
    @Test(arguments: [("666666", false), ("666667", true)])
    func `all derivations of a PKCS 12 file are added up`(rounds: String, isRefused: Bool) async throws {
        let authority = try await TestAuthority()
        let file = try await authority.pkcs12(authority.issue("client"), passphrase: "secret", "-iter", rounds)
        let code = Self.refusal { () throws(LoadError) in
            try DerivationWork.check(pkcs12: file, passphrase: "secret")
        }
        #expect(code == (isRefused ? .clientIdentityTooCostly : nil))
    }

    @Test func `a count that would take a minute is refused before anything is derived`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("client")
        // A file that asks for more work without the work to make it: the bytes of 100 000 become those of 8 388 607.
        let (made, asked): ([UInt8], [UInt8]) = ([2, 3, 0x01, 0x86, 0xA0], [2, 3, 0x7F, 0xFF, 0xFF])
        let file = Self.replacing(
            made, with: asked, in: try await authority.pkcs12(leaf, passphrase: "secret", "-iter", "100000"))
        let code = Self.refusal { () throws(LoadError) in _ = try ClientIdentity(pkcs12: file, passphrase: "secret") }
        #expect(code == .clientIdentityTooCostly)
    }

    private static func replacing(_ old: [UInt8], with new: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var bytes = Data(bytes)
        while let place = bytes.range(of: Data(old)) { bytes.replaceSubrange(place, with: new) }
        return Array(bytes)
    }

    @Test func `a key that would take long to sign with is refused`() async throws {
        let directory = try TemporaryDirectory()
        let (key, certificate) = (directory.file("large.key"), directory.file("large.pem"))
        // Of five primes, which are found much sooner than two.
        try await TestAuthority.openssl([
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:8256", "-pkeyopt", "rsa_keygen_primes:5",
            "-out", key,
        ])
        try await TestAuthority.openssl(["req", "-x509", "-key", key, "-subj", "/CN=large", "-out", certificate])
        let code = Self.refusal { () throws(LoadError) in
            _ = try ClientIdentity(
                certificateChain: directory.contents(of: "large.pem"), privateKey: directory.contents(of: "large.key"))
        }
        #expect(code == .clientIdentityTooCostly)
    }
}
