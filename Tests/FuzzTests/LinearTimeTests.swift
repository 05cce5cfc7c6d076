import FetchJobs
import Testing

/// The time of readers of foreign bytes grows as their input does, and is never long.
///
/// The time is that of the thread alone, so other work of the machine is not in it.
@Suite struct LinearTimeTests {
    /// Ten times the input may cost so many times as much; a quadratic reader takes a hundred times.
    private static let margin = 25.0
    /// The lesser size; code that was not optimized has less to read.
    private static var size: Int {
        #if DEBUG
            5_000
        #else
            100_000
        #endif
    }

    /// Below this a difference says nothing.
    private static let floor = 0.02

    // Proves: ERR-7, SEC-28.
    @Test(arguments: HostileInput.all) func `ten times the input costs about ten times as much`(_ input: HostileInput) {
        let (small, large) = (input.bytes(Self.size), input.bytes(10 * Self.size))
        var ratio = Double.infinity
        // A second look, should the first have met a page that was not there.
        for _ in 0..<2 where ratio > Self.margin {
            let least = ThreadTime.seconds { input.target.run(small) }
            let most = ThreadTime.seconds { input.target.run(large) }
            ratio = most / max(least, Self.floor)
        }
        #expect(ratio <= Self.margin, "\(input)")
    }

    // Proves: ERR-7, SEC-28.
    @Test(arguments: HostileInput.all) func `no input takes long`(_ input: HostileInput) {
        let bytes = input.bytes(3 * Self.size)
        let seconds = ThreadTime.seconds { input.target.run(bytes) }
        #expect(seconds <= input.target.allowed, "\(input)")
    }

    /// A submission with a string in every place where there may be one.
    private static let submission = #"""
        {"kind": "upload", "session": "s", "group": "g", "flow": {"key": "k"}, "runAt": "t", "expiresAt": "t",
         "labels": {"a": "b"}, "resumeFrom": "b", "priority": "p",
         "request": {"url": "http://h.example/", "urlTemplate": "http://h.example/{a}", "variables": {"a": "b"},
                     "method": "PUT", "mainDocumentURL": "http://h.example/", "cachePolicy": "c", "sensitive": ["query"],
                     "headers": [{"name": "a", "value": "b"}],
                     "body": {"text": "x", "base64": "eA==", "json": {"a": "b"}, "form": {"a": "b"}, "blob": "b",
                              "multipart": [{"name": "a", "text": "x", "filename": "f", "contentType": "text/plain"}]}},
         "configuration": {"authentication": {"credential": {"user": "u", "password": "p", "token": "t", "id": "i",
                            "accessKeyID": "a", "secretAccessKey": "s", "region": "r", "service": "s"}, "methods": ["m"]},
                           "proxy": {"url": "http://p.example/", "noProxy": ["n"]}, "redirects": {"policy": "p",
                            "allowedHosts": ["h"]}, "serverTrust": {"policy": "p", "anchors": "a", "pins": ["p"]},
                           "destination": {"filename": "f", "checksum": "c"}, "cookies": {"jar": "j"},
                           "cache": {"userInfo": {"a": "b"}}, "response": {"decode": ["d"]}, "tls": {"alpn": ["a"]},
                           "retry": {"statuses": ["s"]}, "headers": [{"name": "a", "value": "b"}]},
         "webhook": {"endpoint": "e", "url": "https://h.example/", "events": ["e"]},
         "cron": "* * * * *", "timeZone": "UTC", "overlap": "o", "missedRuns": "m", "interval": "i", "user": "u",
         "password": "p", "protectionSpace": {"host": "h", "realm": "r", "protocol": "p", "authenticationMethod": "m"},
         "identifier": "i", "description": "d", "setCookie": ["a=b"], "name": "n", "value": "v", "domain": "d",
         "path": "p", "partition": "p", "expires": "e", "order": "o", "onFailure": "f", "secret": "s", "state": "s",
         "host": "h", "error": "e", "status": "s"}
        """#

    // Strings are compared in a normal form, which a run of marks makes quadratic.
    // Proves: ERR-7, SEC-28.
    @Test func `no string of a submission takes long, wherever it stands`() throws {
        let marks = String(repeating: "\u{315}\u{327}", count: 15_000)
        let letters = String(repeating: "x", count: marks.utf8.count)
        let document = try JSONParser.parse(Self.submission.utf8)
        // As a job is read, or a member of one.
        for depth in ["", "job", "request", "configuration"] {
            for place in 0..<document.stringCount {
                func seconds(_ text: String) -> Double {
                    let value = document.replacingString(place, by: text)
                    let whole = depth.isEmpty ? value : JSONValue.object([JSONMember(depth, value)])
                    let bytes = JSONWriter.value(whole)
                    return ThreadTime.seconds { FuzzTarget.jobJSON.run(bytes) }
                }
                let (usual, long) = (seconds(letters), seconds(marks))
                // One comparison alone takes twice as long as this.
                #expect(long <= 2 * usual + 0.1, "\(place) \(depth)")
            }
        }
    }
}

extension JSONValue {
    /// How many strings there are in it, names of members apart.
    fileprivate var stringCount: Int {
        switch self {
        case .string: 1
        case .array(let elements): elements.reduce(0) { $0 + $1.stringCount }
        case .object(let members): members.reduce(0) { $0 + $1.value.stringCount }
        case .null, .bool, .number: 0
        }
    }

    /// The value with another string in one place.
    fileprivate func replacingString(_ place: Int, by text: String) -> JSONValue {
        var place = place
        return replacingString(&place, by: text)
    }

    private func replacingString(_ place: inout Int, by text: String) -> JSONValue {
        switch self {
        case .string:
            defer { place -= 1 }
            return place == 0 ? .string(text) : self
        case .array(let elements): return .array(elements.map { $0.replacingString(&place, by: text) })
        case .object(let members):
            return .object(members.map { JSONMember($0.name, $0.value.replacingString(&place, by: text)) })
        case .null, .bool, .number: return self
        }
    }
}

extension JSONWriter {
    fileprivate static func value(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes
    }
}
