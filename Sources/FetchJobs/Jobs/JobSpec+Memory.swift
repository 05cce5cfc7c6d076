import HTTPTypes

// How much memory a job takes that is read.

extension JobSpec {
    /// Any job takes so much by the way.
    private static let smallContent = 16 << 10

    /// About how many bytes its content takes with what is sent of it; 0 where that is little.
    package var bytesInMemory: Int {
        let bytes = request.bytesInMemory + callbacks.reduce(0) { $0 + $1.job.request.bytesInMemory }
        return bytes > Self.smallContent ? bytes : 0
    }
}

extension JobRequest {
    fileprivate var bytesInMemory: Int {
        let fields = headers.reduce(0) { $0 + 64 + $1.name.rawName.utf8.count + $1.value.utf8.count }
        return fields + (body?.bytesInMemory ?? 0)
    }
}

extension JobBody {
    /// Bytes are there as they are and as they are sent.
    fileprivate var bytesInMemory: Int {
        switch self {
        case .text(let text): 2 * text.utf8.count
        case .base64(let bytes): 2 * bytes.count
        case .json(let value): value.bytesInMemory
        case .form(let fields): fields.reduce(0) { $0 + 64 + 2 * ($1.name.utf8.count + $1.value.utf8.count) }
        case .multipart(let parts): parts.reduce(0) { $0 + $1.content.bytesInMemory }
        case .blob, .stream: 0
        }
    }
}

extension JobBody.Part.Content {
    fileprivate var bytesInMemory: Int {
        switch self {
        case .text(let text): 2 * text.utf8.count
        case .base64(let bytes): 2 * bytes.count
        case .blob: 0
        }
    }
}

extension JSONValue {
    /// Each value is an object of its own: a list of digits takes thirty times as much as its text.
    fileprivate var bytesInMemory: Int {
        switch self {
        case .null: 8
        case .bool: 48
        case .number(let number): 64 + 2 * number.text.utf8.count
        case .string(let text): 64 + 2 * text.utf8.count
        case .array(let elements): elements.reduce(96) { $0 + $1.bytesInMemory }
        case .object(let members):
            members.reduce(96) { $0 + 32 + 2 * $1.name.utf8.count + $1.value.bytesInMemory }
        }
    }
}
