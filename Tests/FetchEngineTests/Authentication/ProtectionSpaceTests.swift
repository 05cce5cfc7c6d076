import Testing

@testable import FetchEngine

@Suite struct ProtectionSpaceTests {
    private static let kept = ProtectionSpace(
        host: "bank.example", port: 443, scheme: "https", realm: nil, method: .httpDigest)

    /// The space that asks, and whether a credential for the other one is sent.
    private static let asking: [(ProtectionSpace, Bool)] = [
        (kept, true), (changed { $0.realm = "vault" }, true), (changed { $0.method = .ntlm }, true),
        (changed { $0.host = "elsewhere.example" }, false), (changed { $0.port = 444 }, false),
        (changed { $0.scheme = "http" }, false), (changed { $0.isProxy = true }, false),
        (changed { $0.method = .httpBasic }, false),
    ]

    private static func changed(_ change: (inout ProtectionSpace) -> Void) -> ProtectionSpace {
        var space = kept
        change(&space)
        return space
    }

    @Test(arguments: asking)
    func `a space covers its own server, and no weaker method`(asked: ProtectionSpace, isCovered: Bool) {
        #expect(Self.kept.covers(asked) == isCovered)
    }

    @Test func `a realm that is named counts`() {
        var vault = Self.kept
        vault.realm = "vault"
        var other = Self.kept
        other.realm = "other"
        #expect(vault.covers(vault) && !vault.covers(other) && !vault.covers(Self.kept))
    }
}
