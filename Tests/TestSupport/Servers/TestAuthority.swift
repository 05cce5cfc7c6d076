import Foundation
import Glibc

/// A private certificate authority, made with OpenSSL's own tools, for one test.
package final class TestAuthority: Sendable {
    /// A certificate and its key.
    package struct Leaf: Sendable {
        /// As PEM, the leaf alone.
        package let certificate: [UInt8]
        package let key: [UInt8]
        package let certificatePath: String
        package let keyPath: String
    }

    /// When a certificate is valid.
    package enum Validity: Sendable {
        case now
        case past
        case future

        fileprivate var dates: [String] {
            switch self {
            case .now: ["-startdate", "20200101000000Z", "-enddate", "20480101000000Z"]
            case .past: ["-startdate", "20200101000000Z", "-enddate", "20210101000000Z"]
            case .future: ["-startdate", "20470101000000Z", "-enddate", "20480101000000Z"]
            }
        }
    }

    package let directory: TemporaryDirectory
    /// Its own certificate as PEM.
    package let certificate: [UInt8]

    package init(name: String = "Test Authority") async throws {
        let directory = try TemporaryDirectory()
        try directory.write("", to: "index.txt")
        try directory.write("unique_subject = no\n", to: "index.txt.attr")
        try directory.write("1000\n", to: "serial")
        try directory.write("1000\n", to: "crlnumber")
        try directory.makeDirectory("new")
        try directory.write(Self.configuration(directory.path), to: "ca.cnf")
        self.directory = directory
        try await Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
            "-subj", "/CN=\(name)", "-config", directory.file("ca.cnf"), "-extensions", "authority",
            "-keyout", directory.file("ca.key"), "-out", directory.file("ca.pem"),
        ])
        certificate = directory.contents(of: "ca.pem")
    }

    /// The path of its own certificate.
    package var certificatePath: String { directory.file("ca.pem") }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - name: The common name, and the name of its files.
    ///   - alternatives: The alternative names, as `DNS:localhost,IP:127.0.0.1`.
    ///   - selfSigned: Whether it is signed by itself instead.
    package func issue(
        _ name: String, alternatives: String? = "DNS:localhost,IP:127.0.0.1", valid validity: Validity = .now,
        selfSigned: Bool = false
    ) async throws -> Leaf {
        let (key, certificate) = (directory.file("\(name).key"), directory.file("\(name).pem"))
        let request = [
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=\(name)",
            "-config", directory.file("ca.cnf"), "-keyout", key,
        ]
        if selfSigned {
            try await Self.openssl(
                request + [
                    "-x509", "-days", "3650", "-addext", "subjectAltName=\(alternatives ?? "")", "-out", certificate,
                ])
        } else {
            let (csr, extensions) = (directory.file("\(name).csr"), directory.file("\(name).ext"))
            try await Self.openssl(request + ["-out", csr])
            let names = alternatives.map { "subjectAltName=\($0)\n" } ?? "basicConstraints=CA:FALSE\n"
            try directory.write(names, to: "\(name).ext")
            try await Self.openssl(
                ["ca", "-batch", "-notext", "-config", directory.file("ca.cnf"), "-in", csr, "-out", certificate]
                    + ["-extfile", extensions] + validity.dates)
        }
        // A server that gave up root's rights reads its key as another user.
        chmod(key, 0o644)
        return Leaf(
            certificate: directory.contents(of: "\(name).pem"), key: directory.contents(of: "\(name).key"),
            certificatePath: certificate, keyPath: key)
    }

    /// Revokes a certificate and returns the list that says so, as PEM.
    package func revoke(_ leaf: Leaf) async throws -> [UInt8] {
        try await Self.openssl(["ca", "-config", directory.file("ca.cnf"), "-revoke", leaf.certificatePath])
        return try await revocationList()
    }

    /// The list of the certificates revoked so far, as PEM.
    package func revocationList() async throws -> [UInt8] {
        try await Self.openssl([
            "ca", "-config", directory.file("ca.cnf"), "-gencrl", "-crldays", "30", "-out", directory.file("crl.pem"),
        ])
        return directory.contents(of: "crl.pem")
    }

    /// A PKCS #12 file of a certificate and its key.
    ///
    /// - Parameter options: More options of `openssl pkcs12`.
    package func pkcs12(_ leaf: Leaf, passphrase: String, _ options: String...) async throws -> [UInt8] {
        try await Self.openssl(
            [
                "pkcs12", "-export", "-in", leaf.certificatePath, "-inkey", leaf.keyPath, "-certfile", certificatePath,
                "-passout", "pass:\(passphrase)", "-out", directory.file("identity.p12"),
            ] + options)
        return directory.contents(of: "identity.p12")
    }

    /// The key of a certificate, encrypted.
    package func encryptedKey(_ leaf: Leaf, passphrase: String) async throws -> [UInt8] {
        try await Self.openssl([
            "pkey", "-in", leaf.keyPath, "-aes256", "-passout", "pass:\(passphrase)",
            "-out", directory.file("encrypted.key"),
        ])
        return directory.contents(of: "encrypted.key")
    }

    /// The key of a certificate, encrypted as PKCS #8.
    ///
    /// - Parameter options: More options of `openssl pkcs8`: the cipher, and the work.
    package func encryptedKey(_ leaf: Leaf, passphrase: String, pkcs8 options: [String]) async throws -> [UInt8] {
        try await Self.openssl(
            [
                "pkcs8", "-topk8", "-in", leaf.keyPath, "-passout", "pass:\(passphrase)",
                "-out", directory.file("encrypted.key"),
            ] + options)
        return directory.contents(of: "encrypted.key")
    }

    /// The OCSP response of the authority about a certificate, DER, as a server staples it.
    package func stapledStatus(of leaf: Leaf) async throws -> String {
        let path = directory.file("status.der")
        try await Self.openssl([
            "ocsp", "-index", directory.file("index.txt"), "-CA", certificatePath, "-rsigner", certificatePath,
            "-rkey", directory.file("ca.key"), "-issuer", certificatePath, "-cert", leaf.certificatePath,
            "-ndays", "30", "-noverify", "-respout", path,
        ])
        return path
    }

    /// Runs a command of OpenSSL's to its end.
    package static func openssl(_ arguments: [String]) async throws {
        try await Program.run([LoopbackServer.installed("openssl") ?? "openssl"] + arguments)
    }

    private static func configuration(_ path: String) -> String {
        """
        [ca]
        default_ca = here
        [here]
        database = \(path)/index.txt
        serial = \(path)/serial
        crlnumber = \(path)/crlnumber
        new_certs_dir = \(path)/new
        certificate = \(path)/ca.pem
        private_key = \(path)/ca.key
        default_md = sha256
        policy = anything
        unique_subject = no
        [anything]
        commonName = supplied
        [req]
        distinguished_name = name
        prompt = no
        [name]
        [authority]
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign, digitalSignature
        subjectKeyIdentifier = hash
        """
    }
}
