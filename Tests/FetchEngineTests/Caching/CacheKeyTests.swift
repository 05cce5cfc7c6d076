import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct CacheKeyTests {
    // Proves: CCH-9, FN-35, URL-11.
    @Test func `method, scheme, host, port, path and query tell entries apart`() throws {
        let requests = [
            try Request.make(.get, "http://h.test/x?a=1"), try .make(.get, "http://h.test/x?a=2"),
            try .make(.get, "https://h.test/x?a=1"), try .make(.get, "http://h.test:81/x?a=1"),
            try .make(.post, "http://h.test/x?a=1"), try .make(.get, "http://h.test/X?a=1"),
            try .make(.get, "http://h.test/x"), try .make(.get, "http://h.test/x?"),
            try .make(.get, "http://i.test/x?a=1"), try .make(.get, "http://h.test/x%3Fa=1"),
        ]
        #expect(Set(requests.map(CacheKey.init)).count == requests.count)
    }

    // Proves: CCH-9.
    @Test func `credentials, fragment, default port and dot segments do not`() throws {
        let plain = CacheKey(try Request.make(.get, "http://h.test/x?a=1"))
        for url in ["http://u:p@h.test/x?a=1", "HTTP://H.test:80/y/../x?a=1#f"] {
            #expect(CacheKey(try Request.make(.get, url)) == plain)
        }
        #expect(CacheKey(try Request.make(.head, "http://h.test/x?a=1")) == plain)
    }

    // RFC 9111 §4.1.
    // Proves: CCH-8.
    @Test func `the fields that Vary names decide, with white space and line breaks undone`() throws {
        func selection(_ vary: String, _ lines: String...) -> CacheSelection? {
            CacheSelection(of: HTTPFields(lines: ["Vary: \(vary)"]), for: HTTPFields(lines: lines))
        }
        let chosen = selection("Accept, accept-language", "Accept: a", "Accept: b", "X: 1")!
        #expect(chosen.matches(HTTPFields(lines: ["accept: a, b"])))
        #expect(chosen.matches(HTTPFields(lines: ["X: 2", "Accept:  a, b "])))
        #expect(!chosen.matches(HTTPFields(lines: ["Accept: b, a"])))
        #expect(!chosen.matches(HTTPFields(lines: ["Accept: a, b", "Accept-Language: en"])))
        #expect(!chosen.matches(HTTPFields()))
        #expect(selection("Accept")!.matches(HTTPFields()))
        #expect(!selection("Accept")!.matches(HTTPFields(lines: ["Accept:"])))
        #expect(selection("*") == nil)
        #expect(selection("Accept, *") == nil)
        #expect(selection(" , ")! == .any)
    }

    // Proves: CCH-9.
    @Test func `what a user with credentials got is for the same credentials`() throws {
        let mine = CacheSelection(of: HTTPFields(), for: HTTPFields(lines: ["Authorization: Basic x"]))!
        #expect(mine.matches(HTTPFields(lines: ["Authorization: Basic x"])))
        #expect(!mine.matches(HTTPFields(lines: ["Authorization: Basic y"])))
        #expect(!mine.matches(HTTPFields()))
        #expect(!mine.digest.isEmpty && !String(describing: mine).contains("Basic"))
    }
}
