import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import fetchd

/// The file of profiles, and which service and key a command uses.
@Suite struct RemoteProfileTests {
    private static let text = """
        # Mine.
        [default]
        url = http://127.0.0.1:9090

        [production]
        url = https://fetchd.example
        key = fk_production
        """

    /// Writes a user's profiles, and runs a test with the environment of that user.
    private func with(
        _ text: String?, mode: Int = 0o600, _ body: (_ environment: [String: String], _ path: String) throws -> Void
    ) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/fetchd/profiles"
        try FileManager.default.createDirectory(
            atPath: directory.path + "/fetchd", withIntermediateDirectories: true)
        if let text {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        try body(["XDG_CONFIG_HOME": directory.path], path)
    }

    private func place(_ arguments: [String], _ environment: [String: String]) throws -> [String?] {
        let options = try RemoteOptions.parse(arguments)
        let place = try options.place(environment)
        return [place.url, place.key]
    }

    private func fault(_ arguments: [String], _ environment: [String: String]) -> String {
        do {
            _ = try place(arguments, environment)
            return ""
        } catch { return "\(error)" }
    }

    @Test func `a profile is chosen by flag, by variable, or as the default`() throws {
        try with(Self.text) { environment, _ throws in
            #expect(try place([], environment) == ["http://127.0.0.1:9090", nil])
            #expect(
                try place(["--profile", "production"], environment) == ["https://fetchd.example", "fk_production"])
            var named = environment
            named["FETCHD_PROFILE"] = "production"
            #expect(try place([], named) == ["https://fetchd.example", "fk_production"])
            #expect(try place(["--profile", "default"], named) == ["http://127.0.0.1:9090", nil])
        }
    }

    @Test func `a key never goes to a service that it was not given for`() throws {
        try with(Self.text) { environment, _ throws in
            // The variables are one choice, a profile is another.
            var both = environment.merging(["FETCHD_URL": "http://a.example", "FETCHD_KEY": "fk_variable"]) { $1 }
            #expect(try place([], both) == ["http://a.example", "fk_variable"])
            #expect(try place(["--profile", "default"], both) == ["http://127.0.0.1:9090", nil])
            both["FETCHD_PROFILE"] = "production"
            #expect(try place([], both) == ["https://fetchd.example", "fk_production"])
            #expect(try place(["--url", "http://b.example"], both) == ["http://b.example", "fk_variable"])
            let only = environment.merging(["FETCHD_KEY": "fk_variable"]) { $1 }
            #expect(try place([], only) == [RemoteOptions.standardURL, "fk_variable"])
            #expect(throws: (any Error).self) {
                try RemoteOptions.parse(["--profile", "production", "--url", "http://b.example"])
            }
        }
    }

    @Test func `a key of a profile may be in a file that only its owner uses`() throws {
        let directory = try TemporaryDirectory()
        let key = directory.path + "/key"
        try "fk_file\n".write(toFile: key, atomically: true, encoding: .utf8)
        try with("[a]\nurl = https://a.example\nkey-file = \(key)\n", mode: 0o644) { environment, _ throws in
            for (mode, isTaken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: key)
                if isTaken {
                    #expect(try place(["--profile", "a"], environment) == ["https://a.example", "fk_file"])
                } else {
                    #expect(fault(["--profile", "a"], environment).contains("chmod 600"))
                }
            }
        }
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o602])
    func `a file with a key that others may use is refused`(_ mode: Int) throws {
        try with(Self.text, mode: mode) { environment, path throws in
            let fault = fault(["--profile", "default"], environment)
            #expect(fault.contains("chmod 600 \(path)") && !fault.contains("fk_production"))
        }
    }

    @Test(arguments: [
        ("url = http://a.example", "line 1 is before the first [name]"), ("[a b]", "line 1 is not [name]"),
        ("[a]\nurl = http://a.example\n[a]", "line 3 has a name that is there already"),
        ("[a]\nurl", "line 2 is not name = value"), ("[a]\nurl =", "line 2 is not name = value"),
        ("[a]\nurl = http://a.example/path", "line 2 has a url that is not"),
        ("[a]\nurl = http://a.example\nurl = http://b.example", "line 3 says url again"),
        ("[a]\nkey = fk_canary\nkey-file = /x", "line 3 says key or key-file again"),
        ("[a]\nkey-file = x", "line 2 has a key-file that is no absolute path"),
        ("[a]\ntoken = fk_canary", "line 2 is none of url, key and key-file"), ("[a]\nkey = fk_canary", "has no url"),
    ])
    func `a file that breaks a rule is refused by its line and without its values`(
        _ text: String, _ rule: String
    ) throws {
        try with(text) { environment, path throws in
            let fault = fault(["--profile", "a"], environment)
            #expect(fault.contains("\(path): ") && fault.contains(rule) && !fault.contains("canary"), "\(fault)")
        }
    }

    @Test func `a profile that is not there is refused with those that are`() throws {
        try with(Self.text) { environment, path throws in
            let fault = fault(["--profile", "staging"], environment)
            #expect(fault.contains("staging") && fault.contains(path) && fault.contains("default, production"))
        }
        try with(nil) { environment, _ throws in
            #expect(try place([], environment) == [RemoteOptions.standardURL, nil])
            #expect(fault(["--profile", "a"], environment).contains("\"a\""))
        }
    }
}
