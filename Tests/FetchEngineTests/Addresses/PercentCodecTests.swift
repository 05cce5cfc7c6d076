import FetchEngine
import HTTPTypes
import Testing

@Suite struct PercentCodecTests {
    /// RFC 3986 §2.2: gen-delims and sub-delims.
    static let reserved = ":/?#[]@!$&'()*+,;="

    // Proves: ENC-2.
    @Test func `a component escapes every reserved character and nothing unreserved`() throws {
        for character in Self.reserved {
            let escaped = PercentCodec.component(String(character))
            let byte = try #require(character.asciiValue)
            #expect(escaped == "%" + String(byte, radix: 16, uppercase: true))
            #expect(try PercentCodec.decode(escaped) == String(character))
        }
        #expect(PercentCodec.component("AZaz09-._~") == "AZaz09-._~")
        #expect(PercentCodec.component("é €") == "%C3%A9%20%E2%82%AC")
    }

    // Proves: ENC-1.
    @Test func `encoding always escapes what no URL may have`() {
        #expect(PercentCodec.encode("a\u{0}\u{1F}\u{7F} b") == "a%00%1F%7F%20b")
        #expect(PercentCodec.encode("100% \"<>\\^`{|}") == "100%25%20%22%3C%3E%5C%5E%60%7B%7C%7D")
        #expect(PercentCodec.encode(Self.reserved) == Self.reserved)
        #expect(PercentCodec.encode("ü") == "%C3%BC")
    }

    // Proves: ENC-1.
    @Test func `encoding escapes the characters it is told to besides`() {
        #expect(PercentCodec.encode("a=1&b=2", escaping: "&=") == "a%3D1%26b%3D2")
        #expect(PercentCodec.encode("é/ä", escaping: "/é") == "%C3%A9%2F%C3%A4")
    }

    // Proves: ENC-1.
    @Test func `the bytes of any encoding can be escaped and had back`() throws {
        let latin1: [UInt8] = [0x66, 0xFC, 0x72]
        #expect(PercentCodec.encode(bytes: latin1) == "f%FCr")
        #expect(try PercentCodec.decodedBytes("f%FCr") == latin1)
    }

    // Proves: ENC-6.
    @Test func `every byte comes back from its escape`() throws {
        let all = (UInt8.min...UInt8.max).map { $0 }
        #expect(try PercentCodec.decodedBytes(PercentCodec.encode(bytes: all)) == all)
        let escapes = all.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(try PercentCodec.decodedBytes(escapes) == all)
    }

    // Proves: ENC-6.
    @Test func `decoding keeps the escapes it is told to keep`() throws {
        #expect(try PercentCodec.decode("a%26b%2Fc%2fd%20", keeping: "/&") == "a%26b%2Fc%2fd ")
        #expect(try PercentCodec.decode("%41+%2B") == "A++")
    }

    // Proves: ENC-6.
    @Test(arguments: ["%", "a%2", "%zz", "%2g", "100%", "%%41"])
    func `a percent sign without two digits is reported`(_ text: String) {
        #expect(throws: URLRecord.Failure.self) { try PercentCodec.decode(text) }
    }

    // Proves: ENC-6.
    @Test(arguments: ["%FF", "%C3", "%C3%28", "%ED%A0%80", "a%80b"])
    func `what is not UTF-8 is reported, never replaced`(_ text: String) throws {
        do {
            let decoded = try PercentCodec.decode(text)
            Issue.record("decoded as \(decoded)")
        } catch {
            #expect(error.rule == "notUTF8")
        }
    }
}

@Suite struct QueryItemTests {
    // Proves: ENC-3.
    @Test func `an escaped ampersand stays in its value`() throws {
        let items = try URLRecord("http://h/?a=1%262&b=3").queryItems
        #expect(items == [QueryItem("a", "1&2"), QueryItem("b", "3")])
    }

    // Proves: ENC-3.
    @Test func `an escaped equals sign stays in its name`() throws {
        #expect(try URLRecord("http://h/?a%3Db=c=d").queryItems == [QueryItem("a=b", "c=d")])
    }

    // Proves: ENC-3.
    @Test func `fields without a value, with an empty one, and empty ones are told apart`() throws {
        #expect(
            try URLRecord("http://h/?a&b=&&=c").queryItems
                == [QueryItem("a", nil), QueryItem("b", ""), QueryItem("", "c")])
        #expect(try URLRecord("http://h/").queryItems == [])
        #expect(try URLRecord("http://h/?").queryItems == [])
    }

    // Proves: ENC-3.
    @Test func `only the fields of a form read a plus sign as a space`() throws {
        let url = try URLRecord("http://h/?a+b=c%2Bd+e")
        #expect(try url.queryItems == [QueryItem("a+b", "c+d+e")])
        #expect(try url.formItems == [QueryItem("a b", "c+d e")])
    }

    // Proves: ENC-6.
    @Test func `a field that cannot be decoded is reported`() throws {
        #expect(throws: URLRecord.Failure.self) { try URLRecord("http://h/?a=%FF").queryItems }
    }

    // Proves: ENC-4.
    @Test func `a value cannot add a field`() throws {
        let items = [QueryItem("q", "x&admin=1"), QueryItem("r", "a b+c#d"), QueryItem("s", nil)]
        let url = try URLRecord("http://h/p?old=1#end").replacingQuery(with: items)
        #expect("\(url)" == "http://h/p?q=x%26admin%3D1&r=a%20b%2Bc%23d&s#end")
        #expect(try url.queryItems == items)
        #expect(try url.formItems == items)
        #expect("\(try url.replacingQuery(with: []))" == "http://h/p#end")
    }
}

@Suite struct FormTests {
    // Proves: ENC-5.
    @Test func `a form is joined by ampersands, spaces are plus signs`() {
        let form = PercentCodec.form([QueryItem("first name", "Ada & Co"), QueryItem("b", "1+1=2")])
        #expect(form == "first+name=Ada+%26+Co&b=1%2B1%3D2")
        #expect(PercentCodec.form([]) == "")
        #expect(PercentCodec.form([QueryItem("a", nil)]) == "a=")
    }

    // Proves: ENC-5.
    @Test func `a form leaves letters, digits and four signs as they are`() {
        let printable = String(String.UnicodeScalarView((0x20...0x7E).compactMap(Unicode.Scalar.init)))
        let expected =
            "+%21%22%23%24%25%26%27%28%29*%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D"
            + "%5E_%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D%7E"
        #expect(PercentCodec.form([QueryItem(printable, "é\r\n")]) == expected + "=%C3%A9%0D%0A")
    }

    // Proves: ENC-5.
    @Test func `a form request has the content and says what it is`() throws {
        var request = Request(url: try URLRecord("http://h/"), method: .post)
        request.setForm([QueryItem("a", "b c")])
        guard case .bytes(let bytes)? = request.body else {
            Issue.record("it has no body in memory")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "a=b+c")
        #expect(request.headerFields[.contentType] == "application/x-www-form-urlencoded")
    }
}
