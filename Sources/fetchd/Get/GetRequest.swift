import FetchEngine
import FetchJobs
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
    /// Fields and files of a form, `name=value` or `name=@file`.
    var form: [String] = []
    /// The file that is put; `-` is standard input.
    var upload: String?
    /// The head alone is asked for.
    var isHead = false

    func request(for url: URLRecord) throws(Fault) -> Request {
        var request = Request(url: url, method: try parsedMethod(), headerFields: try fields(), body: try body())
        if !form.isEmpty {
            let form = try multipartForm()
            request.body = form.body
            if request.headerFields[.contentType] == nil { request.headerFields[.contentType] = form.contentType }
        }
        return request
    }

    /// Checks everything that can be checked without opening a file.
    func validate() throws(Fault) {
        _ = try parsedMethod()
        _ = try fields()
        for part in form where part.firstIndex(of: "=").map({ $0 > part.startIndex }) != true {
            throw .usage("A part of a form is written name=value, or name=@file: \(part)")
        }
        guard [!data.isEmpty, !form.isEmpty, upload != nil, isHead].count(where: { $0 }) <= 1 else {
            throw .usage("--data, --form, --upload-file and --head exclude each other.")
        }
    }

    private func parsedMethod() throws(Fault) -> HTTPRequest.Method {
        let standard = upload != nil ? "PUT" : isHead ? "HEAD" : data.isEmpty && form.isEmpty ? "GET" : "POST"
        let text = method ?? standard
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
        if let upload {
            if upload == "-" { return .bytes(try Self.contents(of: upload)) }
            guard access(upload, R_OK) == 0 else { throw Self.cannotRead(upload) }
            return .file(path: upload)
        }
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

    /// Files are read while they are sent; `;type=` and `;filename=` say what they are.
    private func multipartForm() throws(Fault) -> MultipartForm {
        var form = MultipartForm()
        for part in self.form {
            let (name, value) = (part.prefix { $0 != "=" }, part.drop { $0 != "=" }.dropFirst())
            if value.hasPrefix("@") {
                let words = value.dropFirst().split(separator: ";", omittingEmptySubsequences: false).map { String($0) }
                let option = { (key: String) in
                    words.dropFirst().first { $0.hasPrefix(key) }.map { String($0.dropFirst(key.count)) }
                }
                guard access(words[0], R_OK) == 0 else { throw Self.cannotRead(words[0]) }
                form.append(
                    String(name), file: words[0], filename: option("filename="), contentType: option("type="))
            } else if value.hasPrefix("<") {
                let bytes = try Self.contents(of: String(value.dropFirst()))
                form.append(String(name), String(decoding: bytes, as: UTF8.self))
            } else {
                form.append(String(name), String(value))
            }
        }
        return form
    }

    private static func contents(of path: String) throws(Fault) -> [UInt8] {
        do { return try FileContents.bytes(of: path) } catch { throw .cannotRead("\(path) cannot be read: \(error).") }
    }

    private static func cannotRead(_ path: String) -> Fault {
        .cannotRead("\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
}
