import Testing

@testable import FetchEngine

@Suite struct DataURLTests {
    /// A URL, the type that its data has, and the data as text; a nil type for a URL that holds nothing.
    static let cases: [(String, String?, String)] = [
        ("data:,hello", "text/plain;charset=US-ASCII", "hello"),
        ("data:,", "text/plain;charset=US-ASCII", ""),
        ("DATA:,A", "text/plain;charset=US-ASCII", "A"),
        ("data:,a,b", "text/plain;charset=US-ASCII", "a,b"),
        ("data:,a#b", "text/plain;charset=US-ASCII", "a"),
        ("data:,a?b=c&d", "text/plain;charset=US-ASCII", "a?b=c&d"),
        ("data:,a%20b%", "text/plain;charset=US-ASCII", "a b%"),
        ("data:,%E2%82%AC", "text/plain;charset=US-ASCII", "€"),
        ("data://host/,A", "text/plain;charset=US-ASCII", "A"),
        ("data:TEXT/Plain,A", "text/plain", "A"),
        ("data:text/plain; ,A", "text/plain", "A"),
        ("data: text/html ,A", "text/html", "A"),
        ("data:text/html;charset=utf-8,%3Cp%3E", "text/html;charset=utf-8", "<p>"),
        ("data:;charset=utf-8,A", "text/plain;charset=utf-8", "A"),
        ("data:;x=y;z=\"q\",A", "text/plain;x=y;z=q", "A"),
        ("data:nonsense,A", "text/plain;charset=US-ASCII", "A"),
        ("data:text/%61,A", "text/%61", "A"),
        ("data:text/plain;a=\"x,y\",A", "text/plain;a=x", "y\",A"),
        ("data:;base64,aGVsbG8=", "text/plain;charset=US-ASCII", "hello"),
        ("data:image/png;base64,aGVsbG8", "image/png", "hello"),
        ("data:image/png; BASE64,aGVsbG8=", "image/png", "hello"),
        ("data:image/png;base64 ,aGVsbG8=", "image/png", "hello"),
        ("data:a/b;base64;c=d,aGVsbG8=", "a/b;c=d", "aGVsbG8="),
        ("data:a/b;c=d;base64,aGVsbG8=", "a/b;c=d", "hello"),
        ("data:a/b;notbase64,aGVsbG8=", "a/b", "aGVsbG8="),
        ("data:base64,aGVsbG8=", "text/plain;charset=US-ASCII", "aGVsbG8="),
        ("data:;base64,aGVs%20bG8%3D", "text/plain;charset=US-ASCII", "hello"),
        ("data:;base64,aGVs\tbG 8=", "text/plain;charset=US-ASCII", "hello"),
        ("data:;base64,", "text/plain;charset=US-ASCII", ""),
        ("data:;base64,aGVsbG9", "text/plain;charset=US-ASCII", "hello"),
        ("data:", nil, ""),
        ("data:text/plain", nil, ""),
        ("data:text/plain;base64", nil, ""),
        ("data:;base64,a", nil, ""),
        ("data:;base64,aGVsbG8==", nil, ""),
        ("data:;base64,aGVsbG8===", nil, ""),
        ("data:;base64,aGVs-G8=", nil, ""),
        ("data:;base64,aG=sbG8=", nil, ""),
    ]

    // Proves: NET-4.
    @Test(arguments: cases)
    func `a data URL holds what it says`(_ text: String, _ type: String?, _ data: String) throws {
        let url = try URLRecord(text)
        guard let type else {
            #expect(throws: LoadError.self) { try DataURL(url) }
            return
        }
        let content = try DataURL(url)
        #expect(content.mediaType.description == type)
        #expect(String(decoding: content.data, as: UTF8.self) == data)
    }

    // Proves: NET-4.
    @Test func `every byte can be had by percent and by base64`() throws {
        let all = (UInt8.min...UInt8.max).map { $0 }
        #expect(try DataURL(URLRecord("data:,\(PercentCodec.encode(bytes: all, escaping: "#"))")).data == all)
        #expect(try DataURL(URLRecord("data:;base64,\(Self.base64(all))")).data == all)
        #expect(try DataURL(URLRecord("data:;base64,\(Self.base64(all.dropLast()))")).data == all.dropLast())
    }

    private static func base64(_ bytes: some Collection<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let bits = bytes.map { byte in
            let digits = String(byte, radix: 2)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
        return stride(from: 0, to: bits.count, by: 6).map { start in
            let sextet = bits.dropFirst(start).prefix(6)
            let padded = sextet + String(repeating: "0", count: 6 - sextet.count)
            return String(alphabet[Int(padded, radix: 2)!])
        }.joined()
    }
}
