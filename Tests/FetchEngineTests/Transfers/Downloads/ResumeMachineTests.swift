import HTTPTypes
import Testing

@testable import FetchEngine

/// R13: nothing is joined that does not belong together.
@Suite struct ResumeMachineTests {
    // Proves: DLD-14.
    @Test(arguments: [
        (ResumeData.Validator.entityTag("\"v1\""), "\"v1\""),
        (.lastModified("Sat, 21 Nov 2026 17:00:00 GMT"), "Sat, 21 Nov 2026 17:00:00 GMT"),
    ])
    func `the rest is asked for with the validator`(validator: ResumeData.Validator, condition: String) throws {
        let machine = ResumeMachine(try .make(validator: validator, coding: "gzip"))
        let request = try #require(machine.request(Request(url: try URLRecord("http://h.example/"))))
        #expect(request.headerFields[.range] == "bytes=100-")
        #expect(request.headerFields[.ifRange] == condition)
        #expect(request.headerFields[.acceptEncoding] == "gzip")
    }

    // Proves: DLD-12, DLD-14.
    @Test(arguments: ["bytes 100-999/1000", "bytes 100-999/*", "BYTES 100-999/1000"])
    func `the right rest is appended`(range: String) throws {
        var machine = ResumeMachine(try .make())
        #expect(machine.received(try response(range: range)) == .resume(offset: 100, total: 1000))
    }

    // Proves: DLD-14.
    @Test(arguments: [
        "bytes 99-999/1000", "bytes 101-999/1000", "bytes 0-999/1000", "bytes 100-998/1000", "bytes 100-1000/1000",
        "bytes 100-999/1001", "bytes 100-99/1000", "octets 100-999/1000", "bytes */1000", "bytes 100-999", "", "x",
        "bytes 100-999999999999999999999/1000",
    ])
    func `another range than the one asked for is not believed`(range: String) throws {
        var machine = ResumeMachine(try .make())
        #expect(machine.received(try response(range: range)) == .askAgain)
        #expect(machine.request(Request(url: try URLRecord("http://h.example/"))) == nil)
        #expect(machine.received(try response(status: 200)) == .startOver)
    }

    // Proves: DLD-14.
    @Test func `a tag that changed, is weak now or is missing is not believed`() throws {
        for tag in ["\"v2\"", "W/\"v1\"", nil] {
            var machine = ResumeMachine(try .make())
            #expect(machine.received(try response(tag: tag)) == .askAgain)
        }
    }

    // Proves: DLD-14.
    @Test func `a rest in another coding, of another length or from another place is not believed`() throws {
        for fields in [[.contentEncoding: "gzip"], [:]] as [HTTPFields] {
            var machine = ResumeMachine(try .make(coding: fields.isEmpty ? "gzip" : ""))
            #expect(machine.received(try response(more: fields)) == .askAgain)
        }
        var machine = ResumeMachine(try .make())
        #expect(machine.received(try response(length: 899)) == .askAgain)
        machine = ResumeMachine(try .make())
        #expect(machine.received(try response(url: "http://h.example/other?x=1")) == .askAgain)
        machine = ResumeMachine(try .make())
        #expect(machine.received(try response(url: "http://mirror.example/file?x=1")) == .askAgain)
        machine = ResumeMachine(try .make(coding: "gzip"))
        #expect(machine.received(try response(more: [.contentEncoding: "GZip"])) == .resume(offset: 100, total: 1000))
    }

    @Test func `a mirror gives the rest where it has the same validator and the same known length, and not else`()
        throws
    {
        func action(_ response: Response, total: Int64? = 1000) throws -> ResumeMachine.Action {
            var machine = ResumeMachine(try .make(total: total), acrossURLs: true)
            return machine.received(response)
        }
        let mirror = "http://mirror.example/other"
        #expect(try action(try response(url: mirror)) == .resume(offset: 100, total: 1000))
        #expect(try action(try response(url: mirror, range: "bytes 100-999/*")) == .askAgain)
        #expect(try action(try response(url: mirror), total: nil) == .askAgain)
        for tag in ["\"v2\"", "W/\"v1\"", nil] { #expect(try action(try response(url: mirror, tag: tag)) == .askAgain) }
        #expect(try action(try response(status: 200, url: mirror)) == .startOver)
    }

    // Proves: DLD-14.
    @Test func `a whole response starts over, a failed precondition asks again`() throws {
        var machine = ResumeMachine(try .make())
        #expect(machine.received(try response(status: 200)) == .startOver)
        #expect(machine.received(try response(status: 503)) == .startOver)
        #expect(machine.received(try response(status: 412)) == .askAgain)
    }

    // Proves: DLD-14.
    @Test func `a range behind the end means complete only when all is there`() throws {
        var machine = ResumeMachine(try .make(count: 1000))
        #expect(machine.received(try response(status: 416, range: "bytes */1000")) == .complete)
        for range in ["bytes */1001", "bytes */*", "", "bytes 0-1/1000"] {
            machine = ResumeMachine(try .make(count: 1000))
            #expect(machine.received(try response(status: 416, range: range)) == .askAgain)
        }
        machine = ResumeMachine(try .make(count: 1000))
        #expect(machine.received(try response(status: 416, range: "bytes */1000", tag: "\"v2\"")) == .askAgain)
        machine = ResumeMachine(try .make(count: 500, total: nil))
        #expect(machine.received(try response(status: 416, range: "bytes */500")) == .askAgain)
    }

    // Proves: DLD-13, DLD-14.
    @Test func `only a GET with a strong validator can be resumed`() throws {
        let url = try URLRecord("http://h.example/")
        func judge(
            _ fields: HTTPFields, _ request: Request? = nil, status: Int = 200,
            decoder: (any BodyDecoder.Type)? = nil
        ) -> Resumability {
            Resumability(
                request: request ?? Request(url: url),
                response: Response(url: url, status: .init(code: status), headerFields: fields), decoder: decoder)
        }
        let date = "Sat, 21 Nov 2026 17:00:00 GMT"
        let later = "Sat, 21 Nov 2026 17:00:01 GMT"
        #expect(judge([.eTag: "\"a\""]) == .resumable(.entityTag("\"a\"")))
        #expect(judge([.eTag: "\"a\"", .lastModified: date, .date: later]) == .resumable(.entityTag("\"a\"")))
        #expect(judge([.eTag: "W/\"a\"", .lastModified: date, .date: later]) == .resumable(.lastModified(date)))
        #expect(judge([.lastModified: date, .date: date]) == .notResumable(.validator))
        #expect(judge([.lastModified: date]) == .notResumable(.validator))
        #expect(judge([.eTag: "W/\"a\""]) == .notResumable(.validator))
        #expect(judge([.eTag: "a"]) == .notResumable(.validator))
        #expect(judge([:]) == .notResumable(.validator))
        #expect(judge([.eTag: "\"a\"", .acceptRanges: "none"]) == .notResumable(.ranges))
        #expect(judge([.eTag: "\"a\""], status: 404) == .notResumable(.status))
        #expect(judge([.eTag: "\"a\""], Request(url: url, method: .post)) == .notResumable(.method))
        #expect(judge([.eTag: "\"a\""], decoder: GzipDecoder.self) == .notResumable(.decoding))
        #expect(judge([.eTag: "\"a\""], decoder: BinHexDecoder.self) == .notResumable(.decoding))
    }

    private func response(
        status: Int = 206, url: String = "http://h.example/file?token=2", range: String = "bytes 100-999/1000",
        tag: String? = "\"v1\"", length: Int64? = nil, more: HTTPFields = [:]
    ) throws -> Response {
        var fields = more
        fields[.contentRange] = range
        fields[.eTag] = tag
        return Response(
            url: try URLRecord(url), status: .init(code: status), headerFields: fields, expectedContentLength: length)
    }
}
