import HTTPTypes

@testable import FetchEngine

// Fields with a grammar of their own, and formats that are read piece by piece.
extension FuzzTarget {
    /// The resulting name is one component that is safe to create.
    static func contentDisposition(_ bytes: [UInt8]) {
        _ = ContentRange(String(decoding: bytes, as: UTF8.self))
        guard let name = ContentDisposition(bytes).filename.flatMap(Filename.init(sanitizing:)) else { return }
        precondition(!name.text.isEmpty && name.text.utf8.count <= 255 && !name.text.hasPrefix("."))
        precondition(name.text.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 >= 0x20 && $0 != 0x7F })
        precondition(Filename(sanitizing: name.text) == name)
    }

    /// Resume data reads as itself; the checksum is made to fit, for nothing gets past it otherwise.
    static func resumeData(_ bytes: [UInt8]) {
        _ = try? ResumeData(bytes: bytes)
        guard let data = try? ResumeData(bytes: sealed(Array("FRSM".utf8) + [ResumeData.version] + bytes)) else {
            return
        }
        precondition((try? ResumeData(bytes: data.bytes))?.bytes == data.bytes)
    }

    /// The same for uploads.
    static func uploadResumeData(_ bytes: [UInt8]) {
        _ = try? UploadResumeData(bytes: bytes)
        guard let data = try? UploadResumeData(bytes: sealed(UploadResumeData.magic + [1] + bytes)) else { return }
        precondition((try? UploadResumeData(bytes: data.bytes)) == data)
    }

    /// Cookies of a file read as themselves.
    static func cookieStore(_ bytes: [UInt8]) {
        _ = CookieFile.cookies(in: bytes)
        guard let cookies = CookieFile.cookies(in: sealed(CookieFile.magic + bytes)) else { return }
        precondition(CookieFile.cookies(in: CookieFile.bytes(of: cookies)) == cookies)
    }

    /// A host that is to be reached by https is that for a time that can be counted.
    static func strictTransport(_ text: String) {
        guard let policy = StrictTransport(field: text) else { return }
        precondition((.zero ... .seconds(CacheControl.maximumSeconds)).contains(policy.maximumAge))
        let store = StrictTransportStore()
        store.insert("h.example", for: policy.maximumAge, includesSubdomains: policy.includesSubdomains)
        precondition(store.includes("h.example") == (policy.maximumAge > .zero))
        precondition(store.includes("a.h.example") == (policy.maximumAge > .zero && policy.includesSubdomains))
    }

    /// Bytes with a checksum that fits, for nothing gets past it otherwise.
    private static func sealed(_ content: [UInt8]) -> [UInt8] { content + ContentDigest.sha256.digest(of: content) }

    /// Where the chunks break makes no difference.
    static func multipart(_ bytes: [UInt8]) {
        guard let type = MediaType("multipart/x-mixed-replace;boundary=b"), let boundary = MultipartBoundary(type)
        else { return }
        precondition(events(of: bytes, boundary, by: bytes.count) == events(of: bytes, boundary, by: 1))
    }

    /// The events of a parser, with neighbouring pieces of data put together; nil when it fails.
    private static func events(
        of bytes: [UInt8], _ boundary: MultipartBoundary, by size: Int
    ) -> [MultipartParser.Event]? {
        var parser = MultipartParser(boundary)
        var events: [MultipartParser.Event] = []
        var data: [UInt8] = []
        func take(_ event: MultipartParser.Event) {
            if case .data(let bytes) = event { return data += bytes }
            if !data.isEmpty { events.append(.data(data)) }
            data = []
            events.append(event)
        }
        do throws(LoadError) {
            for start in stride(from: 0, to: bytes.count, by: max(1, size)) {
                parser.append(bytes[start..<min(bytes.count, start + size)])
                while let event = try parser.next() { take(event) }
            }
        } catch {
            return nil
        }
        parser.finish().forEach(take)
        return events
    }

    /// The places where chunks break make no difference to the decoded file.
    static func decode<Decoder: BodyDecoder>(_ bytes: [UInt8], by type: Decoder.Type) {
        for isLabelled in [false, true] {
            _ = Decoder.recognizes(bytes, isComplete: true, isLabelled: isLabelled)
        }
        precondition(decoded(bytes, by: type, chunk: bytes.count) == decoded(bytes, by: type, chunk: 1))
    }

    private static func decoded<Decoder: BodyDecoder>(
        _ bytes: [UInt8], by type: Decoder.Type, chunk: Int
    ) -> [UInt8]? {
        var decoder = Decoder()
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: max(1, chunk)) {
            let piece = Array(bytes[start..<min(bytes.count, start + chunk)])
            guard let more = try? decoder.decode(piece) else { return nil }
            output += more
        }
        guard let rest = try? decoder.finish() else { return nil }
        return output + rest
    }
}
