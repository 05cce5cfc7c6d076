import ArgumentParser
import FetchAPI
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
        ("S3_ENDPOINT", "s3.example"), ("SERVER_TRUSTED_PROXIES", "10.0.0.1/8"), ("GUARD_ALLOW", "10.0.0.0/99"),
        ("KERBEROS_REALMS", "A.EXAMPLE"), ("DATABASE_PREPARED_STATEMENTS", "false"),
    ])
    func `a wrong value is refused by name`(_ variable: String, _ value: String) throws {
        let failure = #expect(throws: Settings.Failure.self) { try settings([variable: value]) }
        #expect(failure?.description.hasPrefix("\(variable): ") == true)
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

    // MARK: Documentation

    @Test func `every setting is in the help of serve and in the table of the manual`() throws {
        let help = ServeCommand.helpMessage()
        for setting in Settings.table { #expect(help.contains(setting.variable)) }
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let manual = try String(contentsOf: root.appending(path: "deploy/README.md"), encoding: .utf8)
        #expect(manual.contains(Settings.markdown), "fetchd config list prints the table")
    }
}
