import FoundationEssentials

/// The body of a job: the form that its client chose, and the bytes that it stands for.
package enum JobBody: Sendable, Equatable {
    case text(String)
    case base64([UInt8])
    case json(JSONValue)
    /// `application/x-www-form-urlencoded` pairs in order (ENC-5).
    case form([FormField])
    /// `multipart/form-data` parts in order (RFC 7578).
    case multipart([Part])
    /// Stored bytes.
    case blob(Blob.ID)
    /// A stream that the client sends while the job runs.
    case stream

    package struct FormField: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    package struct Part: Sendable, Equatable {
        package enum Content: Sendable, Equatable {
            case text(String)
            case base64([UInt8])
            case blob(Blob.ID)
        }

        package let name: String
        package let content: Content
        /// Makes a file of the part; parts that are no text are files by any name.
        package let filename: String?
        package let contentType: String?
    }

    /// The blobs it needs, and where they stand in the job.
    var blobs: [(id: Blob.ID, pointer: String)] {
        switch self {
        case .text, .base64, .json, .form, .stream: []
        case .blob(let id): [(id, "/request/body/blob")]
        case .multipart(let parts):
            parts.enumerated().compactMap { index, part in
                guard case .blob(let id) = part.content else { return nil }
                return (id, "/request/body/multipart/\(index)/blob")
            }
        }
    }
}

extension JobBody {
    private static let forms = ["text", "base64", "json", "form", "multipart", "blob", "stream"]
    private static let maximumParts = 100
    static let maximumText = 1 << 20

    init?(reader: JSONReader) {
        guard let object = reader.object(of: Set(Self.forms)) else { return nil }
        guard let (name, member) = Self.only(of: Self.forms, in: object, reader) else { return nil }
        switch name {
        case "text":
            guard let text = member.text(maximumLength: Self.maximumText) else { return nil }
            self = .text(text)
        case "base64":
            guard let bytes = Self.base64(member) else { return nil }
            self = .base64(bytes)
        case "json": self = .json(member.value)
        case "multipart":
            guard let parts = member.array(maximum: Self.maximumParts) else { return nil }
            self = .multipart(parts.compactMap { Part(reader: $0) })
        case "blob":
            guard let id = Self.blob(member) else { return nil }
            self = .blob(id)
        case "stream":
            guard member.bool() == true else {
                member.refuse("must be true")
                return nil
            }
            self = .stream
        default:
            guard let fields = member.dictionary() else { return nil }
            self = .form(
                fields.compactMap { name, reader in reader.text().map { FormField(name: name, value: $0) } }
            )
        }
    }

    /// The one member that is there of several that exclude each other.
    static func only(
        of names: [String],
        in object: JSONObjectReader,
        _ reader: JSONReader
    ) -> (String, JSONReader)? {
        let forms = names.compactMap { name in object[name].map { (name, $0) } }
        guard forms.count == 1 else {
            reader.refuse("must have exactly one of \(names.joined(separator: ", "))")
            return nil
        }
        return forms.first
    }

    static func base64(_ reader: JSONReader) -> [UInt8]? {
        guard let text = reader.string(maximumLength: maximumText) else { return nil }
        guard let data = Data(base64Encoded: text) else {
            reader.refuse("must be base64 (RFC 4648 §4)")
            return nil
        }
        return Array(data)
    }

    static func blob(_ reader: JSONReader) -> Blob.ID? {
        guard let text = reader.string(maximumLength: 64) else { return nil }
        guard let id = Blob.ID(text) else {
            reader.refuse("is not the id of a blob (blb_…)")
            return nil
        }
        return id
    }

    func write(_ writer: inout JSONWriter) {
        switch self {
        case .text(let text): writer.member("text", text)
        case .base64(let bytes): writer.member("base64", Data(bytes).base64EncodedString())
        case .json(let value):
            writer.name("json")
            writer.value(value)
        case .form(let fields):
            writer.member(
                "form",
                object: { writer in
                    for field in fields { writer.member(field.name, field.value) }
                }
            )
        case .multipart(let parts):
            writer.member("multipart", array: { writer in parts.forEach { writer.object($0.write) } })
        case .blob(let id): writer.member("blob", id.description)
        case .stream: writer.member("stream", true)
        }
    }
}

extension JobBody.Part {
    private static let contents = ["text", "base64", "blob"]

    fileprivate init?(reader: JSONReader) {
        guard let object = reader.object(of: Set(Self.contents + ["name", "filename", "contentType"])),
            let name = object.required("name")?.string(maximumLength: 256),
            let (form, member) = JobBody.only(of: Self.contents, in: object, reader)
        else { return nil }
        let content: Content? =
            switch form {
            case "text": member.text(maximumLength: 1 << 20).map { .text($0) }
            case "base64": JobBody.base64(member).map { .base64($0) }
            default: JobBody.blob(member).map { .blob($0) }
            }
        guard let content else { return nil }
        self.name = name
        self.content = content
        filename = object["filename"]?.string(maximumLength: 255)
        contentType = object["contentType"]?.string(maximumLength: 255)
        if contentType?.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) == false {
            object["contentType"]?.refuse("must be visible ASCII characters")
        }
        if form == "text", filename == nil, contentType != nil {
            object["contentType"]?.refuse("is for parts with a filename")
        }
    }

    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("name", name)
        switch content {
        case .text(let text): writer.member("text", text)
        case .base64(let bytes): writer.member("base64", Data(bytes).base64EncodedString())
        case .blob(let id): writer.member("blob", id.description)
        }
        writer.member("filename", filename)
        writer.member("contentType", contentType)
    }
}
