import Foundation

/// What a job sends: the form its client chose, and the bytes that form stands for.
package enum JobBody: Sendable, Equatable {
    case text(String)
    case base64([UInt8])
    case json(JSONValue)
    /// `application/x-www-form-urlencoded` pairs in order (ENC-5).
    case form([FormField])

    package struct FormField: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// The bytes on the wire.
    package var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .base64(let bytes): bytes
        case .json(let value):
            {
                var writer = JSONWriter()
                writer.value(value)
                return writer.bytes
            }()
        case .form(let fields): FormSerializer.bytes(fields)
        }
    }

    /// The content type sent when the client named none.
    package var contentType: String? {
        switch self {
        case .text: "text/plain; charset=utf-8"
        case .base64: nil
        case .json: "application/json"
        case .form: "application/x-www-form-urlencoded"
        }
    }
}

extension JobBody {
    init?(reader: JSONReader) {
        guard let object = reader.object(of: ["text", "base64", "json", "form"]) else { return nil }
        let given = ["text", "base64", "json", "form"].compactMap { name in object[name].map { (name, $0) } }
        guard given.count == 1, let (name, member) = given.first else {
            reader.refuse("must have exactly one of text, base64, json, form")
            return nil
        }
        switch name {
        case "text":
            guard let text = member.string(maximumLength: 1 << 20) else { return nil }
            self = .text(text)
        case "base64":
            guard let text = member.string(maximumLength: 1 << 20) else { return nil }
            guard let data = Data(base64Encoded: text) else {
                member.refuse("must be base64 (RFC 4648 §4)")
                return nil
            }
            self = .base64(Array(data))
        case "json": self = .json(member.value)
        default:
            guard let fields = member.dictionary() else { return nil }
            self = .form(
                fields.compactMap { name, reader in reader.string().map { FormField(name: name, value: $0) } }
            )
        }
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
        }
    }
}

/// Writes `application/x-www-form-urlencoded` by the URL Standard's byte rules (ENC-5).
private enum FormSerializer {
    static func bytes(_ fields: [JobBody.FormField]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            append(field.name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(field.value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                bytes.append(byte)
            default: bytes.append(contentsOf: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
        }
    }
}
