import Foundation
import Glibc

/// A Kerberos realm on loopback: MIT's key distribution centre with two users and the services `HTTP/localhost` and
/// `web/localhost`.
package final class KerberosRealm: Sendable {
    package static let name = "CAVE.TEST"
    /// The keys of the services.
    package let serviceKeys: [UInt8]
    private let directory: TemporaryDirectory
    private let centre: LoopbackServer

    package static var isInstalled: Bool {
        ["krb5kdc", "kdb5_util", "kadmin.local"].allSatisfy { LoopbackServer.installed($0) != nil }
    }

    /// Makes the realm and starts its centre.
    package init() async throws {
        let directory = try TemporaryDirectory()
        let port = try LoopbackServer.freePort()
        try directory.write(Self.clientConfiguration(port), to: "krb5.conf")
        try directory.write(Self.centreConfiguration(directory.path, port), to: "kdc.conf")
        let environment = Self.environment(directory)
        try await Self.run("kdb5_util", ["create", "-r", Self.name, "-s", "-P", "master"], environment)
        for command in [
            "addprinc -pw \"\(Cave.password)\" \(Cave.user)", "addprinc -pw \"sim sala bim\" jafar",
            "addprinc -randkey HTTP/localhost", "ktadd -k \(directory.file("http.keytab")) HTTP/localhost",
            "addprinc -randkey web/localhost", "ktadd -k \(directory.file("http.keytab")) web/localhost",
            "ktadd -k \(directory.file("jafar.keytab")) -norandkey jafar",
        ] {
            try await Self.run("kadmin.local", ["-r", Self.name, "-q", command], environment)
        }
        serviceKeys = directory.contents(of: "http.keytab")
        centre = try await LoopbackServer(
            in: directory, port: port, log: "kdc.log", environment: environment,
            [LoopbackServer.installed("krb5kdc") ?? "krb5kdc", "-n", "-r", Self.name, "-P", directory.file("pid")])
        self.directory = directory
    }

    /// The environment of programs of the realm.
    package var environment: [String: String] { Self.environment(directory) }

    /// Where its centre listens.
    package var address: String { "127.0.0.1:\(centre.port)" }

    /// The setting by which a service knows the realm.
    package var setting: String { "\(Self.name)=\(address)" }

    /// The lines of its log about tickets for a service, such as `web/localhost`.
    package func tickets(for service: String) -> [Substring] {
        directory.text(of: "kdc.log").split(separator: "\n").filter { $0.contains("ISSUE") && $0.contains(service) }
    }

    /// The keys of jafar.
    package var keytabOfJafar: String { directory.file("jafar.keytab") }

    /// Makes this process a client of the realm, until the next call.
    ///
    /// The library reads the path of its configuration from the environment, and nowhere else.
    ///
    /// - Parameter asJafar: Whether the process itself gets tickets, those of jafar; else it has none.
    package func enter(asJafar: Bool = false) {
        setenv("KRB5_CONFIG", directory.file("krb5.conf"), 1)
        setenv("KRB5CCNAME", "FILE:" + directory.file(asJafar ? "tickets" : "no-tickets"), 1)
        setenv("KRB5_CLIENT_KTNAME", asJafar ? keytabOfJafar : directory.file("no-keys"), 1)
    }

    private static func environment(_ directory: TemporaryDirectory) -> [String: String] {
        [
            "KRB5_CONFIG": directory.file("krb5.conf"), "KRB5_KDC_PROFILE": directory.file("kdc.conf"),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        ]
    }

    private static func run(_ name: String, _ arguments: [String], _ environment: [String: String]) async throws {
        let path = LoopbackServer.installed(name) ?? name
        try await Program.run([path] + arguments, environment: environment)
    }

    private static func clientConfiguration(_ port: UInt16) -> String {
        """
        [libdefaults]
            default_realm = \(name)
            dns_lookup_realm = false
            dns_lookup_kdc = false
            dns_canonicalize_hostname = false
            rdns = false
            udp_preference_limit = 1
        [realms]
            \(name) = {
                kdc = 127.0.0.1:\(port)
            }
        [domain_realm]
            localhost = \(name)
        """
    }

    private static func centreConfiguration(_ path: String, _ port: UInt16) -> String {
        """
        [realms]
            \(name) = {
                database_name = \(path)/principal
                key_stash_file = \(path)/stash
                acl_file = \(path)/acl
                kdc_listen = 127.0.0.1:\(port)
                kdc_tcp_listen = 127.0.0.1:\(port)
            }
        [logging]
            kdc = FILE:\(path)/kdc.log
        """
    }
}
