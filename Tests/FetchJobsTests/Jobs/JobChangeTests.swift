import FetchJobs
import Testing

/// Changes of jobs by clients.
@Suite struct JobChangeTests {
    private func change(_ text: String) throws -> JobChange { try JobChange(json: JSONParser.parse(text.utf8)) }

    // R17
    @Test func `how fast a job may be is changed alone, and taken away`() throws {
        let configuration = #"{"connections": {"maximumPerHost": 2}, "retry": {"maximumAttempts": 3}}"#
        let job = #"{"request": "http://origin.example/", "configuration": \#(configuration)}"#
        let spec = try JobSpec(json: JSONParser.parse(job.utf8))
        let slower = try change(#"{"configuration": {"connections": {"maximumBytesPerSecond": 4096}}}"#)
        var expected = spec
        expected.configuration.connections.maximumBytesPerSecond = 4096
        #expect(try slower.applied(to: spec) == expected)
        #expect(expected.pace == JobPace(priority: 0.5, maximumBytesPerSecond: 4096))
        let none = try change(#"{"configuration": {"connections": {"maximumBytesPerSecond": null}}}"#)
        #expect(try none.applied(to: expected) == spec)
        for empty in [#"{"configuration": {}}"#, #"{"configuration": {"connections": {}}}"#] {
            #expect(try change(empty) == JobChange())
        }
    }

    @Test(arguments: [
        (#"{"configuration": {"connections": {"maximumBytesPerSecond": 1023}}}"#, "maximumBytesPerSecond"),
        (#"{"configuration": {"connections": {"maximumPerHost": 2}}}"#, "maximumPerHost"),
        (#"{"configuration": {"connections": null}}"#, ""),
    ])
    func `what cannot be changed is refused by its name`(text: String, name: String) {
        #expect {
            _ = try change(text)
        } throws: { error in
            let pointer = "/configuration/connections" + (name.isEmpty ? "" : "/\(name)")
            return (error as? InvalidInput)?.violations.map(\.pointer) == [pointer]
        }
    }

    @Test func `the pace of a job can be changed until it is final`() throws {
        let slower = try change(#"{"configuration": {"connections": {"maximumBytesPerSecond": 4096}}}"#)
        #expect(slower.obstacle(in: .running) == nil && slower.obstacle(in: .suspended) == nil)
        #expect(slower.obstacle(in: .succeeded) != nil)
    }
}
