import Foundation
import Glibc

/// An FTP server of one of three makers; their replies differ.
package enum FTPServerKind: String, Sendable, CaseIterable {
    case vsftpd
    case proftpd
    case pyftpdlib

    /// Whether the server is there; vsftpd is unpacked beside the checkout, for Debian's FTP servers exclude each
    /// other.
    package var path: String? {
        switch self {
        case .vsftpd:
            LoopbackServer.installed("vsftpd")
                ?? [FileManager.default.currentDirectoryPath + "/.rigs/usr/sbin/vsftpd"]
                .first { access($0, X_OK) == 0 }
        case .proftpd: LoopbackServer.installed("proftpd")
        case .pyftpdlib:
            [FileManager.default.currentDirectoryPath + "/.venv/bin/python"].first { access($0, X_OK) == 0 }
        }
    }

    /// The user that may log in; vsftpd, without root's rights, knows nobody else.
    package var user: String { self == .vsftpd ? "anonymous" : "user" }

    /// The code of a server's reply before the data comes.
    package var openingReply: Int { self == .pyftpdlib ? 125 : 150 }
}

extension LoopbackServer {
    /// How an FTP server speaks TLS.
    package enum FTPEncryption: Sendable {
        case none
        case explicit(TestAuthority.Leaf)
        case implicit(TestAuthority.Leaf)

        fileprivate var leaf: TestAuthority.Leaf? {
            switch self {
            case .none: nil
            case .explicit(let leaf), .implicit(let leaf): leaf
            }
        }
    }

    /// Starts an FTP server for the files in `files` of its directory; the password is `secret`.
    ///
    /// - Parameters:
    ///   - files: The content of the files by their paths.
    ///   - encryption: How TLS is spoken.
    ///   - rate: How many bytes a second it sends at most; vsftpd alone heeds it.
    ///   - host: Where it listens: 127.0.0.1 or ::1.
    package static func ftp(
        _ kind: FTPServerKind, files: [String: [UInt8]], encryption: FTPEncryption = .none, rate: Int? = nil,
        at host: String = "127.0.0.1"
    ) async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        try directory.makeDirectory("files", mode: 0o755)
        for (name, content) in files { try directory.write(content, to: "files/\(name)") }
        guard let path = kind.path else { throw DoesNotListen(description: "\(kind) is not installed") }
        let command =
            switch kind {
            case .vsftpd: try vsftpd(path, directory, (host, port), encryption, rate)
            case .proftpd: try await proftpd(path, directory, (host, port), encryption)
            case .pyftpdlib: try pyftpdlib(path, directory, (host, port), encryption)
            }
        return try await LoopbackServer(in: directory, port: port, log: "log", command)
    }

    private static func vsftpd(
        _ path: String, _ directory: TemporaryDirectory, _ place: (host: String, port: UInt16),
        _ encryption: FTPEncryption, _ rate: Int?
    ) throws -> [String] {
        let isIPv6 = place.host.contains(":")
        var lines = [
            isIPv6 ? "listen=NO" : "listen=YES", isIPv6 ? "listen_ipv6=YES" : "listen_ipv6=NO",
            "listen_address\(isIPv6 ? "6" : "")=\(place.host)", "listen_port=\(place.port)", "background=NO",
            "run_as_launching_user=YES", "anonymous_enable=YES", "local_enable=NO",
            "anon_root=\(directory.file("files"))", "allow_writeable_chroot=YES", "anon_world_readable_only=NO",
            "write_enable=YES", "anon_upload_enable=YES", "anon_mkdir_write_enable=YES",
            "anon_other_write_enable=YES", "anon_umask=022", "seccomp_sandbox=NO", "isolate=NO",
            "isolate_network=NO",
            // An anonymous user gives a mail address: one of these.
            "secure_email_list_enable=YES", "email_password_file=\(directory.file("passwords"))",
            "xferlog_enable=YES", "log_ftp_protocol=YES", "vsftpd_log_file=\(directory.file("log"))",
        ]
        if let leaf = encryption.leaf {
            lines += [
                "ssl_enable=YES", "allow_anon_ssl=YES", "rsa_cert_file=\(leaf.certificatePath)",
                "rsa_private_key_file=\(leaf.keyPath)", "ssl_ciphers=HIGH",
            ]
        }
        if case .implicit = encryption { lines.append("implicit_ssl=YES") }
        if let rate { lines.append("anon_max_rate=\(rate)") }
        try directory.write("secret\n", to: "passwords", mode: 0o600)
        return [path, try directory.write(lines.joined(separator: "\n") + "\n", to: "vsftpd.conf", mode: 0o600)]
    }

    private static func proftpd(
        _ path: String, _ directory: TemporaryDirectory, _ place: (host: String, port: UInt16),
        _ encryption: FTPEncryption
    ) async throws -> [String] {
        let user = getuid()
        let program = try Program([installed("openssl") ?? "openssl", "passwd", "-6", "secret"], readsOutput: true)
        let hash = try await onThread {
            defer { _ = program.waitForEnd() }
            return program.output().filter { !$0.isNewline }
        }
        let account = "user:\(hash):\(user):\(getgid())::\(directory.file("files")):/bin/sh\n"
        try directory.write(account, to: "accounts", mode: 0o600)
        var lines = [
            "ServerName test", "ServerType standalone", "Port \(place.port)", "DefaultAddress \(place.host)",
            "SocketBindTight on", "UseReverseDNS off", "PidFile \(directory.file("pid"))",
            "ScoreboardFile \(directory.file("scoreboard"))", "SystemLog \(directory.file("log"))",
            "TransferLog none", "WtmpLog off", "AuthOrder mod_auth_file.c",
            "AuthUserFile \(directory.file("accounts"))", "RequireValidShell off", "RootLogin on",
            "UseFtpUsers off", "AllowOverwrite on", "AllowStoreRestart on", "DelayEngine off",
            "ModulePath /usr/lib/proftpd", "TraceLog \(directory.file("trace"))", "Trace command:7",
        ]
        // Its configuration names the user to become; without root's rights there is none to choose.
        if let account = getpwuid(user), let group = getgrgid(getgid()) {
            lines += [
                "User \(String(cString: account.pointee.pw_name))", "Group \(String(cString: group.pointee.gr_name))",
            ]
        }
        if let leaf = encryption.leaf {
            lines += [
                "LoadModule mod_tls.c", "TLSEngine on", "TLSECCertificateFile \(leaf.certificatePath)",
                "TLSECCertificateKeyFile \(leaf.keyPath)", "TLSProtocol TLSv1.2 TLSv1.3", "TLSLog none",
            ]
        }
        if case .implicit = encryption { lines.append("TLSOptions UseImplicitSSL") }
        chmod(directory.file("log"), 0o600)
        return [path, "-n", "-c", try directory.write(lines.joined(separator: "\n") + "\n", to: "proftpd.conf")]
    }

    private static func pyftpdlib(
        _ path: String, _ directory: TemporaryDirectory, _ place: (host: String, port: UInt16),
        _ encryption: FTPEncryption
    ) throws -> [String] {
        let script = try directory.write(
            """
            import logging
            import sys
            from pyftpdlib.authorizers import DummyAuthorizer
            from pyftpdlib.handlers import FTPHandler
            from pyftpdlib.servers import FTPServer

            files, log, host, port, certificate, key = sys.argv[1:]
            logging.basicConfig(filename=log, level=logging.DEBUG)
            if certificate:
                from pyftpdlib.handlers import TLS_FTPHandler as FTPHandler

                FTPHandler.certfile, FTPHandler.keyfile = certificate, key
            FTPHandler.authorizer = DummyAuthorizer()
            FTPHandler.authorizer.add_user("user", "secret", files, perm="elradfmwMT")
            FTPHandler.auth_failed_timeout = 0
            FTPServer((host, int(port)), FTPHandler).serve_forever()

            """, to: "server.py")
        return [
            path, script, directory.file("files"), directory.file("log"), place.host, "\(place.port)",
            encryption.leaf?.certificatePath ?? "", encryption.leaf?.keyPath ?? "",
        ]
    }
}
