import FetchEngine
import Glibc
import HTTPTypes

/// The request that the options of `fetchd get` describe.
struct GetRequest {
    enum Fault: Error, Equatable {
        case usage(String)
        case cannotRead(String)
    }

    var method: String?
    var headers: [String] = []
    var data: [String] = []

    func request(for url: URLRecord) throws(Fault) -> Request {
        Request(url: url, method: try parsedMethod(), headerFields: try fields(), body: try body())
    }

    /// Checks everything that can be checked without opening a file.
    func validate() throws(Fault) {
        _ = try parsedMethod()
        _ = try fields()
    }

    private func parsedMethod() throws(Fault) -> HTTPRequest.Method {
        let text = method ?? (data.isEmpty ? "GET" : "POST")
        guard let method = HTTPRequest.Method(text) else { throw .usage("The method is not a token: \(text)") }
        return method
    }

    /// The fields given, and those that a program is expected to send where they are not.
    private func fields() throws(Fault) -> HTTPFields {
        var fields = HTTPFields()
        for header in headers { try fields.append(Self.field(header)) }
        if fields[.userAgent] == nil { fields[.userAgent] = "fetchd" }
        if fields[.accept] == nil { fields[.accept] = "*/*" }
        if !data.isEmpty, fields[.contentType] == nil { fields[.contentType] = "application/x-www-form-urlencoded" }
        return fields
    }

    private static func field(_ header: String) throws(Fault) -> HTTPField {
        guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
            throw .usage("A header field is written 'Name: value': \(header)")
        }
        let value = String(header[header.index(after: colon)...])
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw .usage("The value of \(name.rawName) has a control character.")
        }
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        return HTTPField(name: name, value: String(value.drop(while: isSpace)))
    }

    /// One file alone is sent from where it lies; everything else is joined in memory.
    private func body() throws(Fault) -> RequestBody? {
        guard let first = data.first else { return nil }
        if data.count == 1, first.hasPrefix("@"), first != "@-" {
            let path = String(first.dropFirst())
            guard access(path, R_OK) == 0 else { throw Self.cannotRead(path) }
            return .file(path: path)
        }
        var bytes: [UInt8] = []
        for (index, part) in data.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            if part.hasPrefix("@") {
                try bytes.append(contentsOf: Self.contents(of: String(part.dropFirst())))
            } else {
                bytes.append(contentsOf: part.utf8)
            }
        }
        return .bytes(bytes)
    }

    private static func contents(of path: String) throws(Fault) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw cannotRead(path) }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes.append(contentsOf: chunk[..<count])
            } else if errno != EINTR {
                throw cannotRead(path)
            }
        }
    }

    private static func cannotRead(_ path: String) -> Fault {
        .cannotRead("\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
}
