import Testing

@testable import FetchEngine

@Suite struct KerberosPrincipalTests {
    @Test(
        arguments: [
            ("jafar@CAVE.TEST", "jafar", "CAVE.TEST"),
            ("HTTP/lamp.cave.test@CAVE.TEST", "HTTP/lamp.cave.test", "CAVE.TEST"),
            ("HOST$@CORP.EXAMPLE", "HOST$", "CORP.EXAMPLE"), ("a.b_c-d+e@X", "a.b_c-d+e", "X"), ("jafar", "jafar", nil),
        ] as [(String, String, String?)])
    func `a plain principal is a name and a realm`(text: String, name: String, realm: String?) throws {
        let principal = try #require(KerberosPrincipal(text))
        #expect(principal.name == name && principal.realm == realm)
    }

    // The library reads a backslash and a letter as one character, which it sends as it is.
    @Test(arguments: [
        "", "@", "a@", "@CAVE.TEST", #"flush_all\n@CAVE.TEST"#, "flush_all\n@CAVE.TEST", #"a@CAVE.TEST\n"#,
        "a\0b@CAVE.TEST",
        "a b@CAVE.TEST", "a@b@CAVE.TEST", #"a\@b@CAVE.TEST"#, "a//b@CAVE.TEST", "a/b/c/d@CAVE.TEST", "a@CAVE..TEST",
        "a@.TEST", "a@CAVE/TEST", "a:b@CAVE.TEST", "ä@CAVE.TEST", "a@127.0.0.1:88", #"CAVE\a"#, "a\t@CAVE.TEST",
        String(repeating: "a", count: 256) + "@X",
    ])
    func `anything else is refused`(text: String) {
        #expect(KerberosPrincipal(text) == nil)
    }

    private func failure(_ text: String, _ rules: String...) throws -> String? {
        var policy = TargetPolicy.publicOnly
        for rule in rules { try policy.allow(rule) }
        do throws(KerberosRealms.Failure) {
            _ = try KerberosRealms(text, allowedBy: policy)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `realms are named with the addresses of their centres`() throws {
        #expect(try failure("A.EXAMPLE=8.8.8.8, B.EXAMPLE = 8.8.4.4:1088 [2606:4700::1111]:88 2606:4700::1112") == nil)
        let realms = try KerberosRealms("A.EXAMPLE=8.8.8.8", allowedBy: .publicOnly)
        #expect(realms.contains("A.EXAMPLE") && !realms.contains("a.example") && !realms.contains("B.EXAMPLE"))
        for text in ["A.EXAMPLE", "=8.8.8.8", "A.EXAMPLE=", "A B=8.8.8.8", "A=8.8.8.8,A=8.8.4.4", "A=8.8.8.8:0"] {
            #expect(try failure(text) != nil, "\(text)")
        }
        #expect(try failure("A.EXAMPLE=kdc.a.example")?.contains("names are not looked up") == true)
    }

    @Test func `a centre is judged by the guard`() throws {
        let refused = try #require(try failure("A.EXAMPLE=10.0.0.5"))
        #expect(refused == "10.0.0.5:88 is not a public address; GUARD_ALLOW=10.0.0.5:88 opens it")
        #expect(try failure("A.EXAMPLE=10.0.0.5", "10.0.0.5:88") == nil)
        #expect(try failure("A.EXAMPLE=[::1]:1088", "[::1]:1088") == nil)
        #expect(try failure("A.EXAMPLE=[::1]:1088", "[::1]:1089") != nil)
    }
}
