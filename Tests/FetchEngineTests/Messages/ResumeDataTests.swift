import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct ResumeDataTests {
    // Proves: DLD-14.
    @Test(arguments: [
        ResumeData.Validator.entityTag("\"a-b\""), .lastModified("Sat, 21 Nov 2026 17:00:00 GMT"),
    ])
    func `what is stored is what is read`(_ validator: ResumeData.Validator) throws {
        for total in [nil, 1000] as [Int64?] {
            let data = try ResumeData.make(validator: validator, total: total)
            #expect(try ResumeData(bytes: data.bytes) == data)
        }
    }

    // Proves: DLD-14.
    @Test func `no changed, cut or lengthened bytes are read`() throws {
        let bytes = try ResumeData.make().bytes
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: LoadError.self) { try ResumeData(bytes: changed) }
            #expect(throws: LoadError.self) { try ResumeData(bytes: Array(bytes[..<index])) }
        }
        #expect(throws: LoadError.self) { try ResumeData(bytes: bytes + [0]) }
    }

    // Proves: DLD-14.
    @Test func `no credentials are kept`() throws {
        var data = try ResumeData.make()
        #expect(!String(decoding: data.bytes, as: UTF8.self).contains("secret"))
        data = ResumeData(
            url: try URLRecord("http://u:secret@h.example/"), finalURL: try URLRecord("http://u:secret@h.example/"),
            byteCount: 0, totalCount: nil, validator: .entityTag("\"a\""), contentCoding: "", path: "",
            requestIdentity: [])
        #expect(!String(decoding: data.bytes, as: UTF8.self).contains("secret"))
    }

    // Proves: DLD-14.
    @Test func `the request's identity is its method and fields, without credentials and without their order`() throws {
        var request = Request(url: try URLRecord("http://h.example/"))
        let bare = request.resumeIdentity
        request.headerFields[.authorization] = "Basic x"
        request.headerFields[.range] = "bytes=1-"
        #expect(request.resumeIdentity == bare)
        request.headerFields[.accept] = "text/html"
        request.headerFields[.acceptLanguage] = "de"
        let other = Request(
            url: request.url, headerFields: [.acceptLanguage: "de", .accept: "text/html"])
        #expect(request.resumeIdentity == other.resumeIdentity)
        #expect(request.resumeIdentity != bare)
    }
}

extension ResumeData {
    static func make(
        validator: Validator = .entityTag("\"v1\""), count: Int64 = 100, total: Int64? = 1000, coding: String = ""
    ) throws -> ResumeData {
        let url = try URLRecord("http://h.example/file?x=1")
        return ResumeData(
            url: url, finalURL: url, byteCount: count, totalCount: total, validator: validator, contentCoding: coding,
            path: "/tmp/x.part", requestIdentity: [1, 2, 3],
            headerFields: [.contentType: "text/x", .eTag: "\"v1\"", .setCookie: "a=secret"])
    }
}
