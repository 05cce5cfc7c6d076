import FetchJobs

/// The inbox: questions that wait for an answer, and those that were answered last.
struct QuestionListPage {
    /// A question with its facts side by side.
    struct Row {
        let id: String
        let kind: String
        let title: String
        let job: String
        let host: String?
        let labels: String?
        let askedAt: String
        let age: String
        let deadline: String
        let left: String
        let fault: String?
        /// What the load has asked for.
        let request: [Fact]
        /// What has come of it, or would be next.
        let facts: [Fact]
        let certificates: [String]
        let buttons: [Button]
        let takesLogin: Bool
        /// How many open ones of the page are of the same kind about the same host, if there are others.
        let alike: Int?
    }

    struct Button {
        let word: String
        let text: String
        /// One that lets nothing through.
        let isQuiet: Bool
    }

    /// A question that is over.
    struct Ended {
        let title: String
        let job: String
        let host: String?
        let answer: String
        let by: String
        let note: String?
        let endedAt: String
        let age: String
    }

    let frame: PageFrame
    let questions: [Row]
    let isEmpty: Bool
    let next: String?
    let ended: [Ended]
    let hasEnded: Bool
    /// When the page was made: what was asked since is not answered by "all like this".
    let now: String

    init(
        _ open: [StoredQuestion], ended: [StoredQuestion], next: String?, frame: PageFrame, now: Timestamp
    ) {
        self.frame = frame
        self.next = next
        self.now = now.description
        questions = open.map { question in
            let alike = open.count { $0.asked.kind == question.asked.kind && $0.asked.host == question.asked.host }
            return Row(question, alike: alike > 1 ? alike : nil, now: now)
        }
        isEmpty = open.isEmpty
        self.ended = ended.map { Ended($0, now: now) }
        hasEnded = !ended.isEmpty
    }
}

extension QuestionListPage.Row {
    fileprivate init(_ question: StoredQuestion, alike: Int?, now: Timestamp) {
        let asked = question.asked
        id = asked.id.description
        kind = asked.kind.rawValue
        title = asked.kind.title
        job = asked.job.description
        host = asked.host
        labels = asked.labels.isEmpty ? nil : asked.labels.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        askedAt = question.askedAt.description
        age = Age.text(since: question.askedAt, now: now)
        deadline = question.deadline.description
        left = Age.text(since: now, now: question.deadline)
        fault = question.fault
        var content: [String: JSONValue] = [:]
        if case .object(let members)? = try? JSONParser.parse(asked.content.bytes) {
            for member in members { content[member.name] = member.value }
        }
        request = content["request"].map { $0.facts() } ?? []
        let all = content["facts"].map { $0.facts() } ?? []
        facts = all.filter { !$0.name.hasSuffix("pem") }
        certificates = all.filter { $0.name.hasSuffix("pem") }.map(\.value)
        buttons = asked.limits.words.filter { !$0.needsMore }.map {
            QuestionListPage.Button(word: $0.rawValue, text: $0.label, isQuiet: $0 != asked.limits.words.first)
        }
        takesLogin = asked.limits.takesLogin
        self.alike = alike
    }
}

extension QuestionListPage.Ended {
    fileprivate init(_ question: StoredQuestion, now: Timestamp) {
        title = question.asked.kind.title
        job = question.asked.job.description
        host = question.asked.host
        answer = question.given.flatMap { VisibleText.preview(of: $0.answer.bytes, limit: 200) } ?? "none"
        by = question.given?.by.name ?? question.reason?.rawValue ?? ""
        note = question.given?.note
        endedAt = question.endedAt?.description ?? ""
        age = question.endedAt.map { Age.text(since: $0, now: now) } ?? ""
    }
}

extension JSONValue {
    /// The values with their paths, one a line; an element of an array that is a field has its name.
    fileprivate func facts(_ name: String = "") -> [Fact] {
        switch self {
        case .null: [Fact(name: name, value: "null")]
        case .bool(let value): [Fact(name: name, value: value ? "yes" : "no")]
        case .number(let number): [Fact(name: name, value: number.text)]
        case .string(let text): [Fact(name: name, value: text)]
        case .array(let elements):
            if elements.allSatisfy({ if case .string = $0 { true } else { false } }) {
                [
                    Fact(
                        name: name,
                        value: elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
                            .joined(separator: ", "))
                ]
            } else {
                elements.enumerated().flatMap { index, element in
                    element.field.map { [Fact(name: "\(name) \($0.name)", value: $0.value)] }
                        ?? element.facts("\(name) \(index + 1)")
                }
            }
        case .object(let members):
            members.flatMap { $0.value.facts(name.isEmpty ? $0.name : "\(name) \($0.name)") }
        }
    }

    /// A header field.
    private var field: Fact? {
        guard case .object(let members) = self,
            case .string(let name)? = members.first(where: { $0.name == "name" })?.value
        else { return nil }
        guard case .string(let value)? = members.first(where: { $0.name == "value" })?.value else {
            return Fact(name: name, value: Redaction.text)
        }
        return Fact(name: name, value: value)
    }
}

extension Answer.Word {
    /// It means nothing alone.
    fileprivate var needsMore: Bool { [.useCredential, .useBody, .useRequest].contains(self) }

    /// What its button says.
    fileprivate var label: String {
        switch self {
        case .performDefaultHandling: "As configured"
        case .follow: "Follow"
        case .returnResponse: "Keep the response"
        case .cancel: "Cancel"
        case .useCredential: "Use the credential"
        case .continueWithoutCredential: "Continue without"
        case .rejectProtectionSpace: "Try the next method"
        case .accept: "Accept this chain"
        case .reject: "Reject"
        case .allow: "Allow"
        case .becomeDownload: "Make it a download"
        case .yes: "Decode"
        case .no: "Leave as it is"
        case .use: "Use the name"
        case .useBody: "Send a body"
        case .store: "Store"
        case .doNotStore: "Do not store"
        case .continueLoading: "Load now"
        case .useRequest: "Load another request"
        }
    }
}

extension Question.Kind {
    /// What is asked, for people.
    fileprivate var title: String {
        switch self {
        case .willPerformHTTPRedirection: "Follow a redirect?"
        case .didCanonicalize: "Load the URL in another form?"
        case .didReceiveChallenge: "Log in?"
        case .didReceiveServerTrust: "Trust the server?"
        case .didReceiveResponse: "Take the response?"
        case .shouldDecodeSourceData: "Decode the file?"
        case .decideDestination: "Which file name?"
        case .needNewBodyStream: "Which body?"
        case .willCacheResponse: "Store the response?"
        case .willBeginDelayedRequest: "Load it now?"
        }
    }
}
