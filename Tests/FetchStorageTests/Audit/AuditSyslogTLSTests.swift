import FetchJobs
import FetchStorage
import Foundation
import Glibc
import TestSupport
import Testing

/// The audit log to a syslog receiver by TLS (RFC 5425).
@Suite struct AuditSyslogTLSTests {
    private func entries(_ count: Int) -> [AuditEntry] {
        (1...count).map { number in
            AuditEntry(
                id: AuditEntry.ID(), chain: Tenant.ID(rawValue: 1), tenant: "t", sequence: Int64(number), at: .now,
                until: nil, count: 1, actor: "cli", key: nil, signIn: nil, client: nil, request: nil,
                action: "dashboard.signIn", object: String(repeating: "o", count: 200), details: nil,
                hash: [UInt8](repeating: 0, count: 32))
        }
    }

    /// Why a batch has not arrived; nil when it has.
    private func failure(
        _ text: String, _ files: SyslogTLS, count: Int = 3
    ) async throws -> String? {
        let sink = AuditSyslog(try #require(SyslogAddress(text)), files: files)
        do throws(AuditSinkFailure) {
            try await sink.write(entries(count))
            return nil
        } catch { return error.description }
    }

    @Test(.enabled(if: LoopbackServer.rsyslogdTLS != nil))
    func `a syslog daemon that asks for a certificate gets every entry`() async throws {
        let directory = try TemporaryDirectory()
        let authority = try await TestAuthority()
        let (server, client) = (try await authority.issue("server"), try await authority.issue("client"))
        let port = try LoopbackServer.freePort()
        let daemon = try await LoopbackServer.rsyslogd(in: directory, port: port, server, of: authority)
        var files = SyslogTLS(issuers: authority.certificatePath)
        // Both forms of a host, and more than a record has.
        for (host, expected) in [("localhost", 400), ("127.0.0.1", 800)] {
            (files.certificate, files.key) = (client.certificatePath, client.keyPath)
            #expect(try await failure("tls://\(host):\(port)", files, count: 400) == nil)
            func lines() -> [Substring] { directory.text(of: LoopbackServer.syslogFile).split(separator: "\n") }
            try await until { lines().count == expected }
            #expect(lines().allSatisfy { $0.hasPrefix("audit\tnotice\tfetchd\t") && $0.hasSuffix("}") })
        }
        (files.certificate, files.key) = (nil, nil)
        #expect(try await failure("tls://localhost:\(port)", files) != nil)
        // Nothing is sent in clear to who does not speak TLS.
        #expect(try await failure("tcp://localhost:\(port)", SyslogTLS()) != nil)
        #expect(directory.text(of: LoopbackServer.syslogFile).split(separator: "\n").count == 800)
        withExtendedLifetime(daemon) {}
    }

    @Test func `a receiver whose certificate is not right is sent nothing`() async throws {
        let directory = try TemporaryDirectory()
        let authority = try await TestAuthority()
        let issuers = SyslogTLS(issuers: authority.certificatePath)
        for (name, alternatives, validity, host, reason) in [
            ("right", "DNS:localhost,IP:127.0.0.1", .now, "localhost", nil),
            ("name", "DNS:other.example", .now, "localhost", "hostname mismatch"),
            ("address", "DNS:localhost", .now, "127.0.0.1", "IP address mismatch"),
            ("old", "DNS:localhost", .past, "localhost", "has expired"),
        ] as [(String, String, TestAuthority.Validity, String, String?)] {
            let leaf = try await authority.issue(name, alternatives: alternatives, valid: validity)
            let receiver = try TLSReceiver(leaf, into: directory.file(name))
            let found = try await failure("tls://\(host):\(receiver.port)", issuers)
            if let reason {
                #expect(found?.contains(reason) == true && found?.contains("refused") == true, "\(found ?? "")")
                #expect(directory.text(of: name).isEmpty)
            } else {
                #expect(found == nil)
                try await until { directory.text(of: name).hasSuffix("}") }
                // Each message behind its count of octets.
                let text = directory.text(of: name)
                let count = try #require(Int(text.prefix { $0 != " " }))
                #expect(text.dropFirst("\(count) ".count + count).hasPrefix("\(count) <109>1 "))
            }
        }
        // One of an issuer that is not known; the system knows none of ours.
        let leaf = try await authority.issue("unknown")
        let receiver = try TLSReceiver(leaf, into: directory.file("unknown"))
        let found = try await failure("tls://localhost:\(receiver.port)", SyslogTLS())
        #expect(found?.contains("local issuer certificate") == true, "\(found ?? "")")
        let plain = try WireOrigin { connection in _ = try? connection.receiveHead() }
        #expect(try await failure("tls://localhost:\(plain.port)", issuers) != nil)
    }

    @Test func `a receiver that refuses the certificate, or has none to look at, has not got the batch`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let authority = try await TestAuthority()
        let other = try await TestAuthority(name: "Other")
        let server = try await authority.issue("server")
        let receiver = try TLSReceiver(
            server, into: directory.file("got"),
            options: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificatePath])
        let (right, wrong) = (try await authority.issue("client"), try await other.issue("client"))
        for (leaf, isTaken) in [(nil, false), (wrong, false), (right, true)] as [(TestAuthority.Leaf?, Bool)] {
            let files = SyslogTLS(
                issuers: authority.certificatePath, certificate: leaf?.certificatePath, key: leaf?.keyPath)
            let found = try await failure("tls://localhost:\(receiver.port)", files)
            #expect((found == nil) == isTaken, "\(found ?? "taken")")
        }
        try await until { directory.text(of: "got").contains("<109>1 ") }
    }

    @Test func `files that cannot be used are told`() async throws {
        let authority = try await TestAuthority()
        let (one, two) = (try await authority.issue("one"), try await authority.issue("two"))
        let sealed = authority.directory.file("encrypted.key")
        _ = try await authority.encryptedKey(one, passphrase: "secret")
        let issuers = authority.certificatePath
        for (files, fault) in [
            (SyslogTLS(), nil),
            (SyslogTLS(issuers: issuers, certificate: one.certificatePath, key: one.keyPath), nil),
            (SyslogTLS(issuers: "/nowhere"), .issuers), (SyslogTLS(issuers: one.keyPath), .issuers),
            (SyslogTLS(certificate: one.keyPath, key: one.keyPath), .certificate),
            (SyslogTLS(certificate: one.certificatePath, key: two.keyPath), .key),
            (SyslogTLS(certificate: one.certificatePath, key: "/nowhere"), .key),
            (SyslogTLS(certificate: one.certificatePath, key: sealed), .key),
        ] as [(SyslogTLS, SyslogTLS.Fault.File?)] {
            do throws(SyslogTLS.Fault) {
                try files.check()
                #expect(fault == nil, "\(files)")
            } catch {
                #expect(error.file == fault && !error.reason.isEmpty, "\(error)")
            }
        }
    }
}

/// OpenSSL's server as a receiver of one connection after the other, which writes down what it gets.
private final class TLSReceiver: Sendable {
    struct NotListening: Error {}

    let port: UInt16
    private let program: Program

    init(_ leaf: TestAuthority.Leaf, into file: String, options: [String] = []) throws {
        port = try LoopbackServer.freePort()
        let words = [
            "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-cert", leaf.certificatePath, "-key", leaf.keyPath,
        ]
        let openssl = LoopbackServer.installed("openssl") ?? "openssl"
        let command = ([openssl] + words + options).map { "'\($0)'" }.joined(separator: " ")
        program = try Program(["/bin/sh", "-c", "exec \(command) >'\(file)' 2>/dev/null"], holdsInput: true)
        try Self.waitForListener(port)
    }

    private static func waitForListener(_ port: UInt16) throws {
        // A connection would be one that it serves.
        let entry = "0100007F:" + String(format: "%04X", port) + " 00000000:0000 0A"
        for _ in 0..<1000 {
            guard let table = fopen("/proc/net/tcp", "r") else { break }
            defer { fclose(table) }
            var line = [CChar](repeating: 0, count: 512)
            while fgets(&line, Int32(line.count), table) != nil {
                if String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self).contains(entry) { return }
            }
            Thread.sleep(forTimeInterval: 0.01)
        }
        throw NotListening()
    }
}
