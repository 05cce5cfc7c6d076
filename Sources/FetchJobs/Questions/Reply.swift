/// A reply to a question: the answer with its secrets, and a note.
package struct Reply: Sendable, CustomStringConvertible {
    package let answer: Answer
    /// The answer as it came, with its secrets.
    private let json: JSONValue
    /// The reason, as the author wrote it.
    package let note: String?
    /// Nil when it is for this question alone.
    package let remember: Remembering?

    /// The most bytes of a reply.
    package static let maximumBytes = 65_536

    /// Reads a reply to one question: an answer with its members, and optionally a `note` and `remember`.
    package init(json: JSONValue, to asked: AskedQuestion) throws(InvalidInput) {
        try self.init(json: json, to: asked.kind) { reader, answer in
            Remembering(reader: reader, of: answer, to: asked)
        }
    }

    /// Reads a reply to any question of a kind: an answer with its members, and optionally a `note`.
    package init(json: JSONValue, to kind: Question.Kind) throws(InvalidInput) {
        try self.init(json: json, to: kind) { reader, _ in
            reader.refuse("must not be there: one question's answer is remembered, not that of many")
            return nil
        }
    }

    private init(
        json: JSONValue, to kind: Question.Kind, remembering: (JSONReader, Answer) -> Remembering?
    ) throws(InvalidInput) {
        let check = InputCheck()
        var answer = json
        var beside: [String: JSONReader] = [:]
        if case .object(let members) = json {
            // The members beside an answer depend on its word; these may stand beside any.
            let names: Set = ["note", "remember"]
            answer = .object(members.filter { !names.contains($0.name) })
            for member in members where names.contains(member.name) {
                beside[member.name] = JSONReader(member.value, pointer: "/\(member.name)", check: check)
            }
        }
        let read = Answer(reader: JSONReader(answer, check: check), to: kind, in: .reply)
        note = beside["note"]?.string(maximumLength: 1000)
        remember = read.flatMap { read in beside["remember"].flatMap { remembering($0, read) } }
        try check.finish()
        guard let read else { throw InvalidInput(pointer: "", message: "is no answer to \(kind.rawValue)") }
        self.answer = read
        self.json = answer
    }

    /// A reply that the service makes itself.
    package init(_ answer: Answer) {
        self.answer = answer
        var writer = JSONWriter()
        answer.write(&writer, .open)
        json = (try? JSONParser.parse(writer.bytes)) ?? .string(answer.word.rawValue)
        note = nil
        remember = nil
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
