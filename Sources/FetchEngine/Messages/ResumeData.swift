public import HTTPTypes

/// The data from which a stopped download continues, in this process or in another one.
///
/// It is opaque and versioned: keep ``bytes`` and make it again from them. It names the partial file, so it is of use on
/// the same machine only, and a program that stores it where others can write must sign it.
public struct ResumeData: Sendable, Hashable {
    /// The validator of the state of the resource.
    public enum Validator: Sendable, Hashable {
        /// A strong entity tag, with its quotes.
        case entityTag(String)
        /// A `Last-Modified` value that is strong enough (RFC 9110 §8.8.2.2), or the time of an FTP server instead.
        case lastModified(String)
    }

    /// The URL that the download was asked for, without credentials.
    public var url: URLRecord
    /// The URL that gave the bytes: the last one, after redirects.
    public var finalURL: URLRecord
    /// How many bytes of the file are there.
    public var byteCount: Int64
    /// The length of the whole resource, when it is known.
    public var totalCount: Int64?
    /// The resource's state.
    public var validator: Validator
    /// The content coding of the bytes that came, in lower case; empty for none.
    ///
    /// A coded response goes on only with the same coding.
    public var contentCoding: String
    /// The partial file.
    public var path: String
    /// A digest of the request beside its URL, so that another request does not continue this file.
    public var requestIdentity: [UInt8]
    /// The type and name of the resource in the first response, which the response with the rest may leave out.
    public var headerFields: HTTPFields

    init(
        url: URLRecord, finalURL: URLRecord, byteCount: Int64, totalCount: Int64?, validator: Validator,
        contentCoding: String, path: String, requestIdentity: [UInt8], headerFields: HTTPFields = [:]
    ) {
        self.url = url.withoutCredentials()
        self.finalURL = finalURL.withoutCredentials()
        self.byteCount = byteCount
        self.totalCount = totalCount
        self.validator = validator
        self.contentCoding = contentCoding
        self.path = path
        self.requestIdentity = requestIdentity
        self.headerFields = HTTPFields(headerFields.filter { Self.kept.contains($0.name) })
    }

    /// The fields that tell of a representation (RFC 9110 §8), and of its file; none of them is anybody's secret.
    private static let kept: Set<HTTPField.Name> = [
        .contentType, .contentDisposition, .contentLanguage, .contentLocation, .contentEncoding, .eTag, .lastModified,
        .expires, .cacheControl, .reprDigest,
    ]

    /// Whether nothing is missing, as far as the length tells.
    var hasWholeLength: Bool { byteCount > 0 && byteCount == totalCount }

    /// The response of the whole: the fields of the response with the rest, over those of the first (RFC 9110
    /// §15.3.7.3).
    ///
    /// - Parameters:
    ///   - rest: The response with the rest; nil when no request was needed.
    ///   - total: The length of the whole, when it is known.
    func whole(with rest: Response?, total: Int64?) -> Response {
        var fields = rest?.status == .partialContent ? rest?.headerFields ?? [:] : [:]
        fields[.contentRange] = nil
        fields[.contentLength] = total.map { "\($0)" }
        // The rest of a file has no type of its own (RFC 9111 §3.2).
        let isOfWhole: Set<HTTPField.Name> = [.contentType, .contentEncoding]
        for field in headerFields where isOfWhole.contains(field.name) || !fields.contains(field.name) {
            fields[field.name] = headerFields[field.name]
        }
        return Response(
            url: rest?.url ?? finalURL, status: .ok, headerFields: fields, httpVersion: rest?.httpVersion ?? "http/1.1",
            expectedContentLength: total)
    }
}

extension ResumeData {
    /// The version that is written; others are refused.
    static let version: UInt8 = 2
    private static let magic = Array("FRSM".utf8)

    /// The data as bytes, to store.
    public var bytes: [UInt8] {
        var writer = FieldWriter(Self.magic + [Self.version])
        writer.append("\(url)")
        writer.append("\(finalURL)")
        writer.append("\(byteCount)")
        writer.append(totalCount.map { "\($0)" } ?? "")
        switch validator {
        case .entityTag(let tag): writer.append("e" + tag)
        case .lastModified(let date): writer.append("m" + date)
        }
        writer.append(contentCoding)
        writer.append(path)
        writer.append(requestIdentity)
        for field in headerFields {
            writer.append(field.name.rawName)
            writer.append(field.withUnsafeBytesOfValue { Array($0) })
        }
        return writer.bytes + ContentDigest.sha256.digest(of: writer.bytes)
    }

    /// Reads stored bytes.
    ///
    /// - Throws: `cannotDecodeRawData` when they are damaged, or of a version this library does not know.
    public init(bytes: [UInt8]) throws(LoadError) {
        let content = bytes.dropLast(ContentDigest.sha256.byteCount)
        let digest = bytes.suffix(ContentDigest.sha256.byteCount)
        guard content.starts(with: Self.magic + [Self.version]),
            ContentDigest.sha256.digest(of: content).elementsEqual(digest)
        else { throw Self.unreadable }
        var reader = FieldReader(content.dropFirst(Self.magic.count + 1))
        let url = try reader.url()
        let finalURL = try reader.url()
        guard let byteCount = Int64(try reader.text()), byteCount >= 0 else { throw Self.unreadable }
        let total = try reader.text()
        guard total.isEmpty || Int64(total).map({ $0 >= byteCount }) == true else { throw Self.unreadable }
        let validator = try Validator(stored: reader.text())
        let contentCoding = try reader.text()
        let path = try reader.text()
        let requestIdentity = try reader.bytes()
        var fields = HTTPFields()
        while !reader.isAtEnd {
            guard let name = HTTPField.Name(try reader.text()) else { throw Self.unreadable }
            fields.append(HTTPField(name: name, lenientValue: try reader.bytes()))
        }
        self.init(
            url: url, finalURL: finalURL, byteCount: byteCount, totalCount: Int64(total), validator: validator,
            contentCoding: contentCoding, path: path, requestIdentity: requestIdentity, headerFields: fields)
    }

    fileprivate static var unreadable: LoadError {
        LoadError(.cannotDecodeRawData, "The resume data is damaged or of another version.")
    }
}

extension ResumeData.Validator {
    fileprivate init(stored text: String) throws(LoadError) {
        let value = String(text.dropFirst())
        switch text.first {
        case "e": self = .entityTag(value)
        case "m": self = .lastModified(value)
        default: throw ResumeData.unreadable
        }
    }
}

/// Fields with their lengths before them, four bytes each, most significant first.
private struct FieldWriter {
    var bytes: [UInt8]

    init(_ head: [UInt8]) { bytes = head }

    mutating func append(_ text: String) { append(Array(text.utf8)) }

    mutating func append(_ field: [UInt8]) {
        let count = UInt32(clamping: field.count)
        bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        bytes += field
    }
}

private struct FieldReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes() throws(LoadError) -> [UInt8] {
        guard rest.count >= 4 else { throw ResumeData.unreadable }
        let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        guard rest.count >= count else { throw ResumeData.unreadable }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text() throws(LoadError) -> String {
        guard let text = String(validating: try bytes(), as: UTF8.self) else { throw ResumeData.unreadable }
        return text
    }

    mutating func url() throws(LoadError) -> URLRecord {
        do {
            return try URLRecord(try text())
        } catch {
            throw ResumeData.unreadable
        }
    }
}

extension Request {
    /// A digest of the request without its URL.
    ///
    /// Credentials are left out, because they are renewed, and so are the fields that ask for the rest.
    var resumeIdentity: [UInt8] {
        let skipped: Set<HTTPField.Name> = [
            .authorization, .proxyAuthorization, .cookie, .range, .ifRange, .acceptEncoding, .userAgent,
        ]
        let fields = headerFields.filter { !skipped.contains($0.name) }
            .map { "\($0.name.canonicalName):\($0.value)" }
        return ContentDigest.sha256.digest(of: ([method.rawValue] + fields.sorted()).joined(separator: "\n").utf8)
    }
}
