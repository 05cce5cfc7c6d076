package import FetchEngine
import HTTPTypes

/// The contract of every form of ``CookieStorage``.
package enum CookieStorageContract {
    private static let start = UnixTime(seconds: 1_800_000_000)

    private static func context(_ url: String, _ policy: CookieAcceptPolicy = .always) throws -> CookieContext {
        CookieContext(url: try URLRecord(url), acceptPolicy: policy)
    }

    /// Stores lines as though they had come in one response, and returns their verdicts.
    private static func receive(
        _ lines: [String], from url: String, in storage: any CookieStorage, at now: UnixTime = start
    ) async throws -> [CookieVerdict] {
        let context = try context(url)
        let fields = HTTPFields(lines.map { HTTPField(name: .setCookie, value: $0) })
        let verdicts = Cookie.verdicts(onResponseHeaderFields: fields, from: context, at: now)
        return try await storage.store(verdicts, from: context, at: now)
    }

    private static func sent(to url: String, by storage: any CookieStorage) async throws -> String {
        let cookies = try await storage.cookies(for: try context(url), at: start.advanced(by: .seconds(1)))
        return Cookie.requestHeaderFields(with: cookies)[.cookie] ?? ""
    }

    package static let clauses: [Clause<any CookieStorage>] = [
        Clause("what is stored is sent in the order of RFC 6265bis") { storage in
            let lines = ["a=1; Path=/", "b=2; Path=/x", "c=3; Path=/"]
            _ = try await receive(lines, from: "https://h.example/", in: storage)
            return compare("sent", try await sent(to: "https://h.example/x/", by: storage), "b=2; a=1; c=3")
        },
        Clause("each cookie of an answer has its own verdict") { storage in
            _ = try await receive(["s=1; Secure"], from: "https://h.example/", in: storage)
            let verdicts = try await receive(
                ["x=1; Domain=example", "s=2", "b=2"], from: "http://h.example/", in: storage)
            return compare("verdicts", verdicts.map(\.rejection), [.publicSuffix, .overwritesSecure, nil])
        },
        Clause("a cookie that is replaced keeps its creation time") { storage in
            _ = try await receive(["a=1"], from: "https://h.example/", in: storage)
            let later = start.advanced(by: .seconds(9))
            _ = try await receive(["a=2"], from: "https://h.example/", in: storage, at: later)
            let all = try await storage.cookies(at: later)
            return compare("values", all.map(\.value), ["2"]) + compare("times", all.map(\.creationTime), [start])
        },
        Clause("a cookie that is set expired removes the one before") { storage in
            _ = try await receive(["a=1", "b=1"], from: "https://h.example/", in: storage)
            _ = try await receive(["a=; Max-Age=0"], from: "https://h.example/", in: storage)
            return compare("cookies", try await storage.cookies(at: start).map(\.name), ["b"])
        },
        Clause("expired cookies are neither listed nor sent") { storage in
            _ = try await receive(["a=1; Max-Age=1", "b=1"], from: "https://h.example/", in: storage)
            let later = start.advanced(by: .seconds(1))
            return compare("cookies", try await storage.cookies(at: later).map(\.name), ["b"])
                + compare("sent", try await sent(to: "https://h.example/", by: storage), "b=1")
        },
        Clause("every byte of name and value is kept") { storage in
            let cookie = try Cookie(
                nameBytes: [0xE9], valueBytes: [0x22, 0x09, 0xFF], domain: "h.example", creationTime: start)
            try await storage.setCookie(cookie, at: start)
            return compare("cookies", try await storage.cookies(at: start), [cookie])
        },
        Clause("cookies are deleted one by one, since a time, and all") { storage in
            for second in 0..<4 {
                let now = start.advanced(by: .seconds(second))
                _ = try await receive(["c\(second)=1"], from: "https://h.example/", in: storage, at: now)
            }
            var names: [[String]] = []
            for step in 0..<3 {
                switch step {
                case 0: try await storage.deleteCookie(try Cookie(name: "c0", value: "x", domain: "h.example"))
                case 1: try await storage.removeCookies(since: start.advanced(by: .seconds(3)))
                default: try await storage.removeCookies(since: nil)
                }
                names.append(try await storage.cookies(at: start).map(\.name))
            }
            return compare("names", names, [["c1", "c2", "c3"], ["c1", "c2"], []])
        },
        Clause("a change of the policy counts from the next answer on") { storage in
            let before = try await receive(["a=1"], from: "https://h.example/", in: storage)
            try await storage.setCookieAcceptPolicy(.never)
            let after = try await receive(["b=1"], from: "https://h.example/", in: storage)
            try await storage.setCookie(try Cookie(name: "c", value: "1", domain: "h.example"), at: start)
            return compare("verdicts", (before + after).map(\.rejection), [nil, .neverAccepted])
                + compare("policy", try await storage.cookieAcceptPolicy(), .never)
                + compare("cookies", try await storage.cookies(at: start).map(\.name), ["a"])
        },
        Clause("readers are told of changes, late ones of the newest") { storage in
            var cookies = storage.cookiesChanged().makeAsyncIterator()
            var policies = storage.cookieAcceptPolicyChanged().makeAsyncIterator()
            _ = try await receive(["a=1"], from: "https://h.example/", in: storage)
            _ = try await receive(["b=1"], from: "https://h.example/", in: storage)
            try await storage.setCookieAcceptPolicy(.onlyFromMainDocumentDomain)
            try await storage.setCookieAcceptPolicy(.never)
            let isTold = await cookies.next() != nil
            try await storage.removeCookies(since: nil)
            let isToldAgain = await cookies.next() != nil
            return compare("told", [isTold, isToldAgain], [true, true])
                + compare("policy", await policies.next(), .never)
        },
    ]
}
