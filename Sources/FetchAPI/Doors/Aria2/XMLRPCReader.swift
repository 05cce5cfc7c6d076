import FetchJobs
import FoundationEssentials

/// Reads a call of XML-RPC in one pass.
///
/// Of XML it knows elements, text, CDATA, comments, processing instructions, the five names of characters and their
/// numbers. A document type is refused: it could name what is not in the document, or make a little text a lot.
struct XMLRPCReader {
    struct Fault: Error {}

    private enum Token {
        case open(String)
        case close(String)
        case text(String)
        case end
    }

    /// How deep values may be in each other; calls need five.
    private static let maximumDepth = 32
    private static let maximumName = 64

    private let bytes: [UInt8]
    private var position = 0
    /// The end of an element that was empty: `<data/>`.
    private var pending: String?

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func call(in bytes: some Sequence<UInt8>) throws(Fault) -> (name: String, parameters: [JSONValue]) {
        var reader = Self(Array(bytes))
        return try reader.call()
    }

    // MARK: Calls

    private mutating func call() throws(Fault) -> (name: String, parameters: [JSONValue]) {
        try open("methodCall")
        var name = ""
        var parameters: [JSONValue] = []
        while let element = try next(in: "methodCall") {
            switch element {
            case "methodName": name = try text(in: element).trimmingWhiteSpace
            case "params":
                while let element = try next(in: "params") {
                    guard element == "param" else { throw Fault() }
                    try open("value")
                    parameters.append(try value(at: 1))
                    try close("param")
                }
            default: throw Fault()
            }
        }
        guard case .end = try tokenAfterSpace() else { throw Fault() }
        return (name, parameters)
    }

    /// A value whose element is open.
    private mutating func value(at depth: Int) throws(Fault) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw Fault() }
        var text = ""
        while true {
            switch try token() {
            case .text(let part): text += part
            case .close("value"): return .string(text)
            case .open(let type):
                guard text.allSatisfy(\.isWhitespace) else { throw Fault() }
                let value = try value(of: type, at: depth)
                try close("value")
                return value
            case .close, .end: throw Fault()
            }
        }
    }

    private mutating func value(of type: String, at depth: Int) throws(Fault) -> JSONValue {
        switch type {
        case "array":
            try open("data")
            var elements: [JSONValue] = []
            while let element = try next(in: "data") {
                guard element == "value" else { throw Fault() }
                elements.append(try value(at: depth + 1))
            }
            try close("array")
            return .array(elements)
        case "struct":
            var members: [JSONMember] = []
            while let element = try next(in: "struct") {
                guard element == "member" else { throw Fault() }
                try open("name")
                let name = try text(in: "name")
                // As in JSON: names are compared.
                guard name.isStreamSafe else { throw Fault() }
                try open("value")
                members.append(JSONMember(name, try value(at: depth + 1)))
                try close("member")
            }
            return .object(members)
        default: return try scalar(of: type, try text(in: type))
        }
    }

    private func scalar(of type: String, _ text: String) throws(Fault) -> JSONValue {
        switch type {
        case "string", "dateTime.iso8601": return .string(text)
        case "nil": return .null
        case "int", "i4", "i8":
            guard let number = Int64(try word(text)) else { throw Fault() }
            return .number(JSONNumber(number))
        case "boolean":
            switch try word(text) {
            case "1": return .bool(true)
            case "0": return .bool(false)
            default: throw Fault()
            }
        case "double":
            guard let number = Double(try word(text)), number.isFinite,
                let value = try? JSONParser.parse("\(number)".utf8)
            else { throw Fault() }
            return value
        case "base64":
            guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters),
                let text = String(validating: data, as: UTF8.self)
            else { throw Fault() }
            return .string(text)
        default: throw Fault()
        }
    }

    /// The text of a number or a truth value, without the space around it; what is longer is neither.
    private func word(_ text: String) throws(Fault) -> String {
        let word = text.trimmingWhiteSpace
        guard word.utf8.count <= Self.maximumName else { throw Fault() }
        return word
    }

    // MARK: Elements

    private mutating func open(_ name: String) throws(Fault) {
        guard case .open(name) = try tokenAfterSpace() else { throw Fault() }
    }

    private mutating func close(_ name: String) throws(Fault) {
        guard case .close(name) = try tokenAfterSpace() else { throw Fault() }
    }

    /// The next element in an open one; nil when that ends.
    private mutating func next(in parent: String) throws(Fault) -> String? {
        switch try tokenAfterSpace() {
        case .open(let name): return name
        case .close(parent): return nil
        case .close, .text, .end: throw Fault()
        }
    }

    /// The text of an open element that has nothing else.
    private mutating func text(in element: String) throws(Fault) -> String {
        var text = ""
        while true {
            switch try token() {
            case .text(let part): text += part
            case .close(element): return text
            case .open, .close, .end: throw Fault()
            }
        }
    }

    private mutating func tokenAfterSpace() throws(Fault) -> Token {
        while true {
            let token = try token()
            guard case .text(let text) = token else { return token }
            guard text.allSatisfy(\.isWhitespace) else { throw Fault() }
        }
    }

    // MARK: Tokens

    private mutating func token() throws(Fault) -> Token {
        if let name = pending.take() { return .close(name) }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else { return .text(try characters()) }
            if starts(with: "<!--") {
                try skip(past: "-->")
            } else if starts(with: "<?") {
                try skip(past: "?>")
            } else if starts(with: "<![CDATA[") {
                return .text(try data())
            } else {
                return try tag()
            }
        }
        return .end
    }

    private func starts(with text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - position >= count else { return false }
        return text.withUTF8Buffer { text in text.indices.allSatisfy { bytes[position + $0] == text[$0] } }
    }

    /// Goes behind the next place of a text, and tells where that began.
    @discardableResult
    private mutating func skip(past text: StaticString) throws(Fault) -> Int {
        let first = text.withUTF8Buffer { $0.first }
        while position < bytes.count {
            if bytes[position] == first, starts(with: text) {
                defer { position += text.utf8CodeUnitCount }
                return position
            }
            position += 1
        }
        throw Fault()
    }

    private func string(_ range: Range<Int>) throws(Fault) -> String {
        guard let text = String(validating: bytes[range], as: UTF8.self) else { throw Fault() }
        return text
    }

    private mutating func data() throws(Fault) -> String {
        position += 9
        let start = position
        let end = try skip(past: "]]>")
        return try string(start..<end)
    }

    /// `<name …>`, `</name>` or `<name/>`; attributes say nothing here.
    private mutating func tag() throws(Fault) -> Token {
        position += 1
        let isEnd = position < bytes.count && bytes[position] == UInt8(ascii: "/")
        if isEnd { position += 1 }
        let start = position
        while position < bytes.count, Self.isOfName(bytes[position]) { position += 1 }
        guard position > start, position - start <= Self.maximumName else { throw Fault() }
        let name = try string(start..<position)
        var quote: UInt8?
        var isEmpty = false
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
                continue
            }
            switch byte {
            case UInt8(ascii: ">"):
                guard !(isEnd && isEmpty) else { throw Fault() }
                if isEmpty { pending = name }
                return isEnd ? .close(name) : .open(name)
            case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
            case UInt8(ascii: "<"): throw Fault()
            default: break
            }
            isEmpty = byte == UInt8(ascii: "/")
        }
        throw Fault()
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Text up to the next tag, with the characters that references stand for.
    private mutating func characters() throws(Fault) -> String {
        var text = ""
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "<"), bytes[position] != UInt8(ascii: "&") {
                position += 1
            }
            text += try string(start..<position)
            if position < bytes.count, bytes[position] == UInt8(ascii: "&") { text.append(try reference()) }
        }
        return text
    }

    private mutating func reference() throws(Fault) -> Character {
        let start = position + 1
        guard let end = bytes[start...].prefix(10).firstIndex(of: UInt8(ascii: ";")) else { throw Fault() }
        let name = try string(start..<end)
        position = end + 1
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let isHexadecimal = name.hasPrefix("#x")
            guard name.hasPrefix("#"),
                let number = UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10),
                let scalar = Unicode.Scalar(number), number > 0
            else { throw Fault() }
            return Character(scalar)
        }
    }
}
