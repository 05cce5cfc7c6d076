import Foundation
import HTTPTypes
import Testing

@testable import FetchEngine

/// One case of `content-disposition/vectors.json`.
struct DispositionVector: Decodable, CustomTestStringConvertible {
    let header: String
    let grammatical: Bool
    let disposition: String
    let filename: String?

    var testDescription: String { header }

    /// Its characters are the bytes of ISO 8859-1.
    var bytes: [UInt8] { header.unicodeScalars.map { UInt8($0.value) } }

    static func all() throws -> [DispositionVector] {
        let url = Bundle.module.url(forResource: "Resources/content-disposition/vectors", withExtension: "json")
        return try JSONDecoder().decode([DispositionVector].self, from: Data(contentsOf: #require(url)))
    }
}

@Suite struct ContentDispositionTests {
    /// The vectors are of an age in which bytes outside ASCII were ISO 8859-1 even where they can only be UTF-8.
    private static func name(_ name: String, in vector: DispositionVector) -> String {
        guard vector.header.contains("filename=") else { return name }
        let bytes = name.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        return bytes.count == name.unicodeScalars.count ? String(validating: bytes, as: UTF8.self) ?? name : name
    }

    // Proves: DLD-4.
    @Test(arguments: try DispositionVector.all())
    func `type and name are read as the vectors say`(_ vector: DispositionVector) {
        let disposition = ContentDisposition(vector.bytes)
        #expect(disposition.type == vector.disposition)
        #expect(disposition.filename == vector.filename.map { Self.name($0, in: vector) })
    }

    // Proves: DLD-4, SEC-47.
    @Test(arguments: try DispositionVector.all())
    func `whatever the field says, the suggested name is harmless`(_ vector: DispositionVector) throws {
        let name = try suggestedFilename(vector.header)
        #expect(!name.isEmpty && name.utf8.count <= 200)
        #expect(!name.contains { "/\\\0".contains($0) } && !name.hasPrefix(".") && name != "..")
        #expect(!name.unicodeScalars.contains { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) })
    }

    // Proves: DLD-4, RSP-3, FN-55.
    @Test(arguments: [
        ("attachment; filename=plain.txt; filename*=UTF-8''%E2%82%AC.txt", "€.txt"),
        ("attachment; filename=plain.txt", "plain.txt"),
        ("attachment; filename=\"caf\u{C3}\u{A9}.txt\"", "café.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("attachment; filename=\"C:\\\\dir\\\\a.txt\"", "a.txt"),
        ("attachment; filename=\"..\"", "from-url.bin"),
        ("attachment", "from-url.bin"),
    ])
    func `the extended name wins, then the plain one, then the URL`(field: String, name: String) throws {
        #expect(try suggestedFilename(field) == name)
    }

    // Proves: DLD-4, RSP-3.
    @Test(arguments: [
        ("http://h.example/a/b.txt?x=/y", "text/html", "b.txt"), ("http://h.example/a/b/", "text/html", "b"),
        ("http://h.example/", "text/html; charset=utf-8", "download.html"), ("http://h.example/", nil, "download"),
        ("http://h.example/%E2%82%AC%20.pdf", nil, "€ .pdf"), ("http://h.example/a%2F..%2F.x", nil, "x"),
        ("http://h.example/%FF.txt", nil, "%FF.txt"), ("http://h.example/", "application/x-nonsense", "download"),
    ])
    func `without the field the URL names the file, and then its type`(
        url: String, type: String?, name: String
    ) throws {
        var fields = HTTPFields()
        fields[.contentType] = type
        let response = Response(url: try URLRecord(url), status: .ok, headerFields: fields)
        #expect(response.suggestedFilename == name)
    }

    private func suggestedFilename(_ field: String) throws -> String {
        var fields = HTTPFields()
        let bytes = field.unicodeScalars.map { UInt8($0.value) }
        fields.append(HTTPField(name: .contentDisposition, lenientValue: bytes))
        return Response(
            url: try URLRecord("http://h.example/from-url.bin"), status: .ok, headerFields: fields
        ).suggestedFilename
    }
}
