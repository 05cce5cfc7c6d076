import FetchEngine
import Testing

/// A small generator with a fixed seed, so that a failure comes back (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

// Hostile text traps nothing, and accepted text has one meaning.
@Suite struct URLMutationTests {
    static let texts = [
        "http://u:p@example.com:80/a/../b?q#f", "file:///C:/x/..", "web+x:/.//p", "http://[::ffff:1.2.3.4]/",
        "http://0x7f.1/", "data:x  #f", "//a@b:1/..", "http://xn--bcher-kva.de/ü", "..//%2e%2E/./x",
    ]
    private static let alphabet = Array("ahtps:/\\?#@[]%.0127xf|CüX \t-_;=&~^`{}<>\"'\u{0}\u{7F}…。１".unicodeScalars)
    private static let bases = ["http://h/a/b?q", "file:///C:/x", "web+x:/.//p", "web+x://h/p", "data:x"]

    static func mutated(_ text: String, with generator: inout SeededGenerator) -> String {
        var scalars = Array(text.unicodeScalars)
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let index = Int.random(in: 0...scalars.count, using: &generator)
            let scalar = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            switch Int.random(in: 0..<3, using: &generator) {
            case 1 where index < scalars.count: scalars.remove(at: index)
            case 2 where index < scalars.count: scalars[index] = scalar
            default: scalars.insert(scalar, at: index)
            }
        }
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    private static func parts(_ url: URLRecord) -> [String?] {
        [
            url.scheme, url.username, url.password, url.host, url.port.map { "\($0)" }, url.path, url.query,
            url.fragment, url.redacted,
        ]
    }

    // Proves: SEC-1, SEC-28.
    @Test(arguments: texts)
    func `an accepted URL reads the same when its text is parsed again`(text: String) throws {
        var generator = SeededGenerator(state: 7)
        for round in 0..<2000 {
            let candidate = Self.mutated(text, with: &generator)
            let base = try URLRecord(Self.bases[round % Self.bases.count])
            guard let url = try? base.resolve(candidate) else { continue }
            for variant in [url, url.withoutFragment(), url.withoutCredentials()] {
                let again = try URLRecord(variant.description)
                #expect(again == variant)
                #expect(Self.parts(again) == Self.parts(variant))
            }
        }
    }

    // Proves: SEC-1, SEC-28.
    @Test(arguments: texts)
    func `an accepted target is an http URL with a host that is public`(text: String) throws {
        var generator = SeededGenerator(state: 11)
        let judge = TargetGuard(policy: .publicOnly)
        for _ in 0..<2000 {
            guard let url = try? judge.target(Self.mutated(text, with: &generator)) else { continue }
            #expect(url.isHTTP)
            try judge.judge(url)
            if let address = IPAddress(url.host ?? "") { try judge.judge(address, port: url.effectivePort ?? 0) }
        }
    }
}
