/// A reply to a question: the answer with its secrets, and a note.
package struct Reply: Sendable, CustomStringConvertible {
    package let answer: Answer
    /// The answer as it came, with its secrets.
    private let json: JSONValue
    /// The reason, in the words of the author.
    package let note: String?

    /// The most bytes of a reply.
    package static let maximumBytes = 65_536

    /// Reads a reply: an answer, which may have a `note` beside what goes with it.
    package init(json: JSONValue, to kind: Question.Kind) throws(InvalidInput) {
        let check = InputCheck()
        var (answer, note) = (json, String?.none)
        if case .object(let members) = json {
            // What may stand beside an answer depends on its word; a note may stand beside any.
            answer = .object(members.filter { $0.name != "note" })
            if let member = members.first(where: { $0.name == "note" }) {
                note = JSONReader(member.value, pointer: "/note", check: check).string(maximumLength: 1000)
            }
        }
        let read = Answer(reader: JSONReader(answer, check: check), to: kind, in: .reply)
        try check.finish()
        guard let read else { throw InvalidInput(pointer: "", message: "is no answer to \(kind.rawValue)") }
        self.answer = read
        self.json = answer
        self.note = note
    }

    /// A reply that the service makes itself.
    package init(_ answer: Answer) {
        self.answer = answer
        var writer = JSONWriter()
        answer.write(&writer, .open)
        json = (try? JSONParser.parse(writer.bytes)) ?? .string(answer.word.rawValue)
        note = nil
    }

    /// As it is shown.
    package var shown: RawJSON {
        var writer = JSONWriter()
        answer.write(&writer, .redacted)
        return RawJSON(writer.bytes)
    }

    /// The whole answer, to be sealed; nil when it has no secrets: then ``shown`` says all.
    package var secretBytes: [UInt8]? {
        let hasSecrets =
            switch answer {
            case .useCredential(let credential): if case .stored = credential { false } else { true }
            case .follow(let change?), .useRequest(let change): change.headers != nil || change.body != nil
            case .useBody: true
            case .store(let storing): storing.body != nil
            default: false
            }
        guard hasSecrets else { return nil }
        var writer = JSONWriter()
        writer.value(json)
        return writer.bytes
    }

    package var description: String { "Reply(\(answer.word.rawValue))" }
}
