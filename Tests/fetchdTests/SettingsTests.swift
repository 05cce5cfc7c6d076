import ArgumentParser
import FetchAPI
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Foundation
import TestSupport
import Testing

@testable import fetchd

/// Settings: their values, their errors, and how they are shown.
@Suite struct SettingsTests {
    private static var numbers: [String] { Settings.table.filter { $0.edges != nil }.map(\.variable) }
    private static var secrets: [String] { Settings.table.filter(\.isSecret).map(\.variable) }

    private func setting(_ variable: String) throws -> Setting {
        try #require(Settings.table.first { $0.variable == variable })
    }

    private func settings(_ environment: [String: String], flags: [String: String] = [:]) throws -> Settings {
        try Settings(SettingSources(flags: flags, environment: environment))
    }

    // MARK: Rules

    @Test(arguments: numbers)
    func `a number is taken from its least to its greatest value, and not beyond`(_ variable: String) throws {
        let setting = try setting(variable)
        let edges = try #require(setting.edges)
        for value in edges.inside {
            var settings = Settings()
            try setting.apply(value, to: &settings)
            #expect(setting.value(in: settings) == value)
        }
        for value in edges.outside {
            var settings = Settings()
            let failure = #expect(throws: Settings.Failure.self) { try setting.apply(value, to: &settings) }
            #expect(failure?.description == "\(variable): \"\(value)\" is not \(setting.rule)")
        }
    }

    @Test(arguments: [
        "abc", "1GB", "-1", "+1", "nan", "inf", "1e9", "0x10", " 5", "5 ", "1,5", "1_000", "\u{665}", ".",
    ])
    func `what is no plain number is refused wherever one is wanted`(_ value: String) throws {
        for variable in Self.numbers {
            var settings = Settings()
            #expect(throws: Settings.Failure.self, "\(variable)") {
                try setting(variable).apply(value, to: &settings)
            }
        }
    }

    @Test(arguments: [
        ("DATABASE_MIGRATE", "maybe"), ("LOG_LEVEL", "loud"), ("DATA_DIRECTORY", "here"), ("FETCHD_BOOTSTRAP_KEY", "k"),
        ("FETCHD_NODE_URL", "10.0.0.7:8080"), ("FETCHD_NODE_URL", "http://10.0.0.7:8080/"), ("DATABASE_URL", ""),
        ("S3_ENDPOINT", "s3.example"), ("SERVER_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("ARIA2_ALLOWED_ORIGINS", "https://a.example/x"), ("ARIA2_LISTEN", "0.0.0.0:6800"),
        ("ARIA2_LISTEN", "fetchd.example:6800"), ("GUARD_ALLOW", "10.0.0.0/99"),
        ("GUARD_NAT64_PREFIXES", "64:ff9b::/95"), ("GUARD_NODE_ADDRESSES", "10.0.0.0/8"),
        ("GUARD_ALLOW_LOOPBACK", "2"), ("GUARD_ALLOW_METADATA", "on"), ("GUARD_ALLOW_PROXIES", "all"),
        ("WORKER_PROXY", "proxy.example:3128"), ("WORKER_PROXY", "ftp://proxy.example"),
        ("WORKER_PROXY", "http://10.0.0.1:3128"), ("WORKER_PROXY", "http://proxy.example:3128"),
        ("WORKER_NO_PROXY", "a.example"),
        ("KERBEROS_REALMS", "A.EXAMPLE"), ("AUDIT_SYSLOG", "udp://a:514"), ("AUDIT_FILE", "audit"),
        ("AUDIT_SYSLOG_ISSUERS", "ca.pem"), ("AUDIT_SYSLOG", "tls://a"),
        ("DATABASE_PREPARED_STATEMENTS", "false"), ("DATABASE_MAXIMUM_CONNECTIONS", "0"),
    ])
    func `a wrong value is refused by name`(_ variable: String, _ value: String) throws {
        let failure = #expect(throws: Settings.Failure.self) { try settings([variable: value]) }
        #expect(failure?.description.hasPrefix("\(variable): ") == true)
    }

    @Test(arguments: [
        ("GUARD_ALLOW_LOOPBACK", "true", "http://127.0.0.1:8080/", true),
        ("GUARD_ALLOW_LOOPBACK", "true", "http://169.254.169.254/", false),
        ("GUARD_ALLOW_METADATA", "true", "http://169.254.169.254/", true),
        ("GUARD_ALLOW_METADATA", "true", "http://127.0.0.1:8080/", false),
        ("GUARD_NAT64_PREFIXES", "2600:64::/96, 64:ff9b::/96", "http://[64:ff9b::808:808]/", true),
        ("GUARD_NAT64_PREFIXES", "2600:64::/96, 64:ff9b::/96", "http://[2600:64::a00:1]/", false),
        ("GUARD_NODE_ADDRESSES", "8.8.8.8 2600::1", "http://8.8.8.8/", false),
        ("GUARD_NODE_ADDRESSES", "8.8.8.8 2600::1", "http://8.8.4.4/", true),
    ])
    func `the switches of the address guard do what they say`(
        _ variable: String, _ value: String, _ url: String, _ isAllowed: Bool
    ) throws {
        let targets = TargetGuard(policy: try settings([variable: value]).targetPolicy)
        let refusal = Result { () throws(TargetRefusal) in _ = try targets.target(url) }
        if case .failure(let refusal) = refusal { #expect(!isAllowed, "\(refusal)") } else { #expect(isAllowed) }
    }

    @Test func `a proxy is one that jobs may use, for names too, and its credential is not shown`() throws {
        let some = ["GUARD_ALLOW": "10.0.0.1:3128", "WORKER_PROXY": "http://u:canary@10.0.0.1:3128"]
        let proxies = try settings(some.merging(["WORKER_NO_PROXY": "<local>, *.internal.example"]) { $1 })
            .tenantSession.proxies
        guard case .proxy(let proxy)? = proxies.rules.first?.routes.first else {
            throw Settings.Failure("WORKER_PROXY", "none")
        }
        #expect(proxy.description == "http://10.0.0.1:3128" && proxy.credential?.user == "u")
        #expect(proxies.exclusions.count == 2)
        #expect(try settings([:]).tenantSession.proxies == .none)
        for (name, value) in [
            ("WORKER_PROXY", "socks5://u:canary@10.0.0.1:3128"), ("WORKER_PROXY", "http://u:canary@10.0.0.1:3129"),
            ("WORKER_NO_PROXY", "a b:x"),
        ] {
            let failure = #expect(throws: Settings.Failure.self) { try settings(some.merging([name: value]) { $1 }) }
            #expect(
                failure?.description.hasPrefix("\(name): ") == true && failure?.description.contains("canary") == false)
        }
        let open = ["GUARD_ALLOW_PROXIES": "true", "WORKER_PROXY": "socks5h://proxy.example"]
        #expect(try settings(open).tenantSession.proxies != .none)
    }

    @Test func `an object store is named whole`() throws {
        let whole = [
            "S3_ENDPOINT": "https://s3.example:443", "S3_BUCKET": "b", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": "s",
        ]
        #expect(try settings(whole).s3?.origin == "https://s3.example:443")
        #expect(try settings([:]).s3 == nil)
        for missing in whole.keys {
            #expect(throws: Settings.Failure.self) { try settings(whole.filter { $0.key != missing }) }
        }
        let found = ["S3_ENDPOINT": "https://s3.example:443", "S3_BUCKET": "b", "S3_CREDENTIALS": "aws"]
        guard case .environment? = try settings(found).s3?.keys else {
            throw Settings.Failure("S3_CREDENTIALS", "none")
        }
        #expect(throws: Settings.Failure.self) { try settings(whole.merging(found) { $1 }) }
        #expect(throws: Settings.Failure.self) { try settings(["S3_CREDENTIALS": "aws"]) }
        let key = ["S3_KMS_KEY": "k"]
        let managed = try settings(whole.merging(key) { $1 }.merging(["S3_ENCRYPTION": "aws:kms"]) { $1 })
        #expect(managed.s3?.encryption == .managedKey("k"))
        let failure = #expect(throws: Settings.Failure.self) { try settings(whole.merging(key) { $1 }) }
        #expect(failure?.description.hasPrefix("S3_KMS_KEY: ") == true)
    }

    @Test func `files for a syslog daemon are for one with TLS, and a certificate has its key beside it`() throws {
        let tls = ["AUDIT_SYSLOG": "tls://logs.example:6514"]
        let files = ["AUDIT_SYSLOG_CERTIFICATE": "/a.pem", "AUDIT_SYSLOG_KEY": "/a.key"]
        #expect(try settings(tls).auditSinks.count == 1)
        let whole = try settings(tls.merging(files) { $1 }.merging(["AUDIT_SYSLOG_ISSUERS": "/ca.pem"]) { $1 })
        #expect(whole.auditSyslogFiles == SyslogTLS(issuers: "/ca.pem", certificate: "/a.pem", key: "/a.key"))
        for (name, value) in files {
            let failure = #expect(throws: Settings.Failure.self) { try settings(tls.merging([name: value]) { $1 }) }
            #expect(failure?.description.hasPrefix("AUDIT_SYSLOG_CERTIFICATE: ") == true)
        }
        for address in ["", "tcp://logs.example:601", "unix:/dev/log"] {
            let plain = ["AUDIT_SYSLOG": address, "AUDIT_SYSLOG_ISSUERS": "/ca.pem"]
            let failure = #expect(throws: Settings.Failure.self) { try settings(plain) }
            #expect(failure?.description.hasPrefix("AUDIT_SYSLOG: ") == true)
        }
    }

    private static let provider = [
        "OIDC_ISSUER": "https://login.example/realms/r", "OIDC_CLIENT_ID": "fetchd",
        "DASHBOARD_URL": "https://fetchd.example", "OIDC_OPERATORS": "fetchd operators, ops",
    ]

    @Test func `a provider is named whole, and what is not said of it has a default`() throws {
        let policy = try #require(try settings(Self.provider).server.openID)
        #expect(policy.issuer == "https://login.example/realms/r" && policy.clientID == "fetchd")
        #expect(policy.clientSecret == nil && policy.scopes == "openid" && policy.name == "login.example")
        #expect(policy.owner == .tenant("default") && policy.roleClaim == "groups")
        #expect(policy.values == [.operator: ["fetchd operators", "ops"]])
        let more = [
            "OIDC_CLIENT_SECRET": "s3cret", "OIDC_SCOPES": "openid groups", "OIDC_NAME": "Example", "OIDC_ADMINS": "a",
            "OIDC_TENANT_CLAIM": "org", "OIDC_ROLE_CLAIM": "roles", "OIDC_ISSUER": "http://127.0.0.1:9000",
        ]
        let other = try #require(try settings(Self.provider.merging(more) { $1 }).server.openID)
        #expect(other.clientSecret == "s3cret" && other.scopes == "openid groups" && other.name == "Example")
        #expect(other.owner == .claim("org") && other.roleClaim == "roles" && other.values[.admin] == ["a"])
        #expect(!"\(other)".contains("s3cret"))
        #expect(try settings(["DASHBOARD_URL": "https://fetchd.example"]).server.openID == nil)
        try withFile(Array("s3cret\n".utf8)) { path in
            let read = try settings(Self.provider.merging(["OIDC_CLIENT_SECRET_FILE": path]) { $1 })
            #expect(read.server.openID?.clientSecret == "s3cret")
        }
    }

    @Test(arguments: [
        ("OIDC_CLIENT_ID", "", "OIDC_CLIENT_ID: OIDC_ISSUER needs it"),
        ("OIDC_ISSUER", "", "OIDC_ISSUER: the other settings of OIDC_… need it"),
        ("DASHBOARD_URL", "", "DASHBOARD_URL: OIDC_ISSUER needs it"),
        ("OIDC_OPERATORS", "", "OIDC_VIEWERS: OIDC_ISSUER needs it, or OIDC_OPERATORS"),
        ("OIDC_ISSUER", "http://login.example", "OIDC_ISSUER: \"http://login.example\" is not an https URL"),
        ("OIDC_ISSUER", "https://u:p@login.example", "OIDC_ISSUER: "),
        ("OIDC_ISSUER", "https://a.example/?x", "OIDC_ISSUER: "),
        ("OIDC_ISSUER", "https://a.example/#x", "OIDC_ISSUER: "), ("OIDC_ISSUER", "login.example", "OIDC_ISSUER: "),
        ("OIDC_SCOPES", "profile email", "OIDC_SCOPES: "), ("OIDC_SCOPES", "openid \"x\"", "OIDC_SCOPES: "),
        ("OIDC_VIEWERS", "a,,b", "OIDC_VIEWERS: "), ("OIDC_ADMINS", " , ", "OIDC_ADMINS: "),
        ("OIDC_TENANT_CLAIM", "org", "OIDC_TENANT: it and OIDC_TENANT_CLAIM exclude each other"),
        ("OIDC_ISSUERS", "https://a.example", "OIDC_ISSUERS: there is no such setting; is it OIDC_ISSUER?"),
    ])
    func `half a provider, and a wrong one, is refused by name`(
        _ variable: String, _ value: String, _ reason: String
    ) throws {
        let environment = Self.provider.merging([variable: value, "OIDC_TENANT": "default"]) { $1 }
        let failure = #expect(throws: Settings.Failure.self) { try settings(environment) }
        #expect(failure?.description.hasPrefix(reason) == true, "\(failure?.description ?? "none")")
    }

    // MARK: Names

    @Test(arguments: [
        ("WORKER_CONCURENCY", "WORKER_CONCURRENCY"), ("SERVER_MAX_CONNECTIONS", "SERVER_MAXIMUM_CONNECTIONS"),
        ("RETENTION_DAY", "RETENTION_DAYS"), ("DATA_DIR", "DATA_DIRECTORY"),
        ("FETCHD_MASTER_KEY", "FETCHD_MASTER_KEYS"),
        ("FETCHD_NODE_ULR", "FETCHD_NODE_URL"), ("GUARD_ALOW", "GUARD_ALLOW"), ("FETCHD_WORKERS", ""),
    ])
    func `a name that is nearly one of ours is refused`(_ name: String, _ meant: String) throws {
        let failure = #expect(throws: Settings.Failure.self) { try settings([name: "1"]) }
        #expect(
            failure?.description
                == "\(name): there is no such setting" + (meant.isEmpty ? "" : "; is it \(meant)?"))
    }

    @Test(arguments: [
        "PATH", "WORKER_NAME", "DATABASE_NAME", "DATABASE_HOST", "POSTGRES_PASSWORD", "LOG_FILE", "SERVER_SOFTWARE",
        "FETCHD_PORT", "FETCHD_SERVICE_HOST", "FETCHD_SERVICE_PORT_HTTP", "FETCHD_PORT_8080_TCP",
        "FETCHD_PORT_8080_TCP_ADDR", "FETCHD_WEBHOOK_SECRET", "S3_KEY",
    ])
    func `names of others are left alone`(_ name: String) throws {
        #expect(throws: Never.self) { try settings([name: "tcp://10.0.0.1:80"]) }
    }

    @Test func `every setting is read from the variable that is told for it`() throws {
        for setting in Settings.table {
            let sources = try SettingSources(flags: [:], environment: [setting.variable: "value"])
            #expect(sources.value(of: setting)?.text == "value")
            #expect(sources.value(of: setting)?.origin == "environment")
        }
        #expect(Set(Settings.table.map(\.variable)).count == Settings.table.count)
    }

    @Test func `a flag counts for more than the environment, and what is empty is not set`() throws {
        let port = try setting("SERVER_PORT")
        let both = try SettingSources(flags: ["server.port": "1"], environment: ["SERVER_PORT": "2"])
        #expect(both.value(of: port)?.text == "1" && both.value(of: port)?.origin == "--port")
        #expect(try Settings(both).server.port == 1)
        #expect(try settings(["SERVER_PORT": ""]).server.port == 8080)
    }

    // MARK: Secrets

    // Proves: SEC-52.
    @Test(arguments: secrets)
    func `the value of a secret is not shown, and not told when it is wrong`(_ variable: String) throws {
        let setting = try setting(variable)
        var settings = Settings()
        let key = "fk_" + String(repeating: "0", count: 40)
        do {
            try setting.apply(key, to: &settings)
            #expect(setting.value(in: settings) == "<redacted>")
        } catch {
            #expect(!error.description.contains(key))
        }
        #expect(!"\(settings)".contains(key))
    }

    /// Writes a file of its own directory, which goes when the test ends.
    private func withFile<T>(_ bytes: [UInt8], mode: Int = 0o600, _ body: (String) throws -> T) throws -> T {
        let directory = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "DATABASE_URL").path
        try Data(bytes).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return try body(path)
    }

    private static let secret = "postgresql://canary@db.example/x"

    @Test(arguments: ["", "\n", "\r\n"])
    func `a secret is read from the file that is named, without the line break at its end`(_ end: String) throws {
        try withFile(Array((Self.secret + end).utf8), mode: 0o440) { path in
            let named = try SettingSources(flags: [:], environment: ["DATABASE_URL_FILE": path])
            #expect(try Settings(named).databaseURL == Self.secret)
            #expect(try named.value(of: setting("DATABASE_URL"))?.origin == "file \(path)")
            let directory = URL(filePath: path).deletingLastPathComponent().path
            let credential = try SettingSources(flags: [:], environment: ["CREDENTIALS_DIRECTORY": directory])
            #expect(try Settings(credential).databaseURL == Self.secret)
            let flag = ["database.url": "postgresql://other"]
            #expect(try settings(["DATABASE_URL_FILE": path], flags: flag).databaseURL == "postgresql://other")
        }
    }

    // Proves: SEC-53.
    @Test(
        arguments: [
            ([], 0o600, "is empty"), ([10], 0o600, "is empty"),
            (Array("a\nb".utf8), 0o600, "must hold one line of UTF-8"),
            ([0xFF], 0o600, "must hold one line of UTF-8"), (Array("a".utf8), 0o604, "may be read or written"),
            (Array("a".utf8), 0o602, "may be read or written"),
            ([UInt8](repeating: 97, count: 65_537), 0o600, "has more than 65536 bytes"),
        ] as [([UInt8], Int, String)])
    func `a file that cannot be used is refused by name and rule`(_ bytes: [UInt8], _ mode: Int, _ rule: String) throws
    {
        try withFile(bytes, mode: mode) { path in
            let failure = #expect(throws: Settings.Failure.self) { try settings(["DATABASE_URL_FILE": path]) }
            #expect(failure?.description.hasPrefix("DATABASE_URL_FILE: \(path) \(rule)") == true)
        }
    }

    @Test func `what is no file is refused, and not waited for`() throws {
        try withFile([97]) { path in
            #expect(mkfifo(path + ".pipe", 0o600) == 0)
            let directory = URL(filePath: path).deletingLastPathComponent().path
            let cases = [
                (path + ".pipe", "is no file"), (directory, "is no file"), (path + ".none", "cannot be opened"),
                ("secret", "is not an absolute path"), (path + "/x", "cannot be opened"),
            ]
            for (place, rule) in cases {
                let failure = #expect(throws: Settings.Failure.self) { try settings(["DATABASE_URL_FILE": place]) }
                #expect(failure?.description.hasPrefix("DATABASE_URL_FILE: \(place) \(rule)") == true)
            }
        }
    }

    @Test func `a secret that is given twice is refused, and a file of what is no secret`() throws {
        try withFile(Array(Self.secret.utf8)) { path in
            let directory = URL(filePath: path).deletingLastPathComponent().path
            let twice = [
                ["DATABASE_URL": "postgresql://canary", "DATABASE_URL_FILE": path],
                ["DATABASE_URL": "postgresql://canary", "CREDENTIALS_DIRECTORY": directory],
                ["DATABASE_URL_FILE": path, "CREDENTIALS_DIRECTORY": directory],
            ]
            for environment in twice {
                let failure = #expect(throws: Settings.Failure.self) { try settings(environment) }
                #expect(failure?.description.contains("DATABASE_URL is given twice") == true)
                #expect(failure?.description.contains("canary") == false)
            }
            #expect(throws: Settings.Failure.self) { try settings(["LOG_LEVEL_FILE": path]) }
            #expect(throws: Settings.Failure.self) { try settings(["DATABASE_ULR_FILE": path]) }
            let none = try settings(["DATABASE_URL_FILE": "", "CREDENTIALS_DIRECTORY": "/none"])
            #expect(none.databaseURL == nil)
        }
    }

    // MARK: Documentation

    @Test func `every setting is in the help of serve and in the table of the manual`() throws {
        let help = ServeCommand.helpMessage()
        for setting in Settings.table { #expect(help.contains(setting.variable)) }
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let manual = try String(contentsOf: root.appending(path: "deploy/README.md"), encoding: .utf8)
        #expect(manual.contains(Settings.markdown), "fetchd config list prints the table")
    }

    @Test func `every command is in the page of commands`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let page = try String(contentsOf: root.appending(path: "docs/cli.md"), encoding: .utf8)
        func names(_ command: any ParsableCommand.Type, below path: String) -> [String] {
            let path = path + (path.isEmpty ? "" : " ") + command._commandName
            let inner = command.configuration.subcommands
            return inner.isEmpty ? [path] : inner.flatMap { names($0, below: path) }
        }
        for name in names(Fetchd.self, below: "") where !name.contains("supervise") {
            #expect(page.contains("`\(name)"), "\(name)")
        }
    }

    @Test func `every metric is in the page of metrics`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let page = try String(contentsOf: root.appending(path: "docs/metrics.md"), encoding: .utf8)
        #expect(page.contains(MetricName.markdown), "fetchd config metrics prints the table")
    }
}
