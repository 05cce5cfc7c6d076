import FetchJobs

/// The inbox: a page of the open questions, and the questions that ended last.
struct QuestionListPage {
    /// A question with its facts side by side.
    struct Row {
        let id: String
        let title: String
        let job: String
        let jobPage: String
        let host: String?
        let labels: String?
        let askedAt: String
        let age: String
        let deadline: String
        let left: String
        let fault: String?
        /// The request of the load.
        let request: [Fact]
        /// The facts that the answer depends on, without certificates.
        let facts: [Fact]
        /// The certificates of the server's chain, as PEM.
        let certificates: [String]
        let buttons: [Button]
        let takesLogin: Bool
        /// Offers to answer all of the same kind about the same host; nil when the page shows no other one.
        let alike: String?
    }

    struct Button {
        let word: String
        let text: String
        /// It is not the first choice, and looks so.
        let isQuiet: Bool
    }

    /// A question that is over.
    struct Ended {
        let title: String
        let job: String
        let jobPage: String
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
    let mayAnswer: Bool
    /// "All like this" means questions asked before this time: all that the page shows and, where the list goes on,
    /// all that were asked before the page was made.
    let before: String
    /// Whose questions these are, where they are another tenant's.
    var notice: String?
    /// The form in which operators choose a tenant.
    var search: SheetPage.Search?

    /// - Parameters:
    ///   - isFirst: The list begins with this page.
    ///   - next: The path of the next page; nil when the list ends with this one.
    ///   - now: A time before the questions were read.
    init(
        _ open: [StoredQuestion], isFirst: Bool, next: String?, ended: [StoredQuestion], view: DashboardView,
        mayAnswer: Bool, frame: PageFrame, now: Timestamp
    ) {
        self.frame = frame
        self.mayAnswer = mayAnswer
        self.next = next
        let last = open.map(\.askedAt).max()?.advanced(by: .microseconds(1))
        before = (next == nil ? last ?? now : now).exact
        questions = open.map { question in
            let count = open.count { $0.asked.kind == question.asked.kind && $0.asked.host == question.asked.host }
            let isWhole = isFirst && next == nil
            let alike = isWhole ? "for all \(count) like this" : "for all like this (\(count) on this page)"
            return Row(question, alike: question.asked.host != nil && count > 1 ? alike : nil, view: view, now: now)
        }
        isEmpty = open.isEmpty
        self.ended = ended.map { Ended($0, view: view, now: now) }
        hasEnded = !ended.isEmpty
    }
}

extension QuestionListPage.Row {
    fileprivate init(_ question: StoredQuestion, alike: String?, view: DashboardView, now: Timestamp) {
        let asked = question.asked
        id = asked.id.description
        title = asked.kind.title
        job = asked.job.description
        jobPage = view.job(asked.job)
        host = asked.host
        labels = asked.labels.isEmpty ? nil : asked.labels.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        askedAt = question.askedAt.description
        age = Age.text(since: question.askedAt, now: now)
        deadline = question.deadline.description
        left = Age.text(since: now, now: question.deadline)
        fault = question.fault
        // Content that cannot be read shows no facts; the question can still be answered.
        let content = try? JSONParser.parse(asked.content.bytes)
        request = content?.member("request")?.facts() ?? []
        let about = content?.member("facts")
        facts = about?.mapMember("chain", \.withoutCertificates).facts() ?? []
        certificates = about?.member("chain")?.elements.compactMap { $0.member("pem")?.text } ?? []
        buttons = asked.limits.words.filter { !$0.needsMore }.map {
            QuestionListPage.Button(word: $0.rawValue, text: $0.label, isQuiet: $0 != asked.limits.words.first)
        }
        takesLogin = asked.limits.takesLogin
        self.alike = alike
    }
}

extension QuestionListPage.Ended {
    fileprivate init(_ question: StoredQuestion, view: DashboardView, now: Timestamp) {
        title = question.asked.kind.title
        job = question.asked.job.description
        jobPage = view.job(question.asked.job)
        host = question.asked.host
        let answered = question.answer.flatMap { try? JSONParser.parse($0.value.bytes) }
        answer = answered.map { VisibleText.cut($0.shown) } ?? "none"
        by = question.answer?.by.name ?? question.reason?.rawValue ?? ""
        note = question.answer?.note
        endedAt = question.endedAt?.description ?? ""
        age = question.endedAt.map { Age.text(since: $0, now: now) } ?? ""
    }
}

extension JSONValue {
    /// The object with another value for one of its members.
    fileprivate func mapMember(_ name: String, _ change: (JSONValue) -> JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.name == name ? JSONMember(name, change($0.value)) : $0 })
    }

    /// A chain without the PEM text of its certificates.
    fileprivate var withoutCertificates: JSONValue {
        .array(
            elements.map { certificate in
                guard case .object(let members) = certificate else { return certificate }
                return .object(members.filter { $0.name != "pem" })
            })
    }

    /// The values with their paths as names; an element of an array that is a header field has the name of the field.
    fileprivate func facts(_ name: String = "") -> [Fact] {
        switch self {
        case .null: [Fact(name: name, value: "null")]
        case .bool(let value): [Fact(name: name, value: value ? "yes" : "no")]
        case .number(let number): [Fact(name: name, value: number.text)]
        case .string(let text): [Fact(name: name, value: text)]
        case .array(let elements):
            if elements.allSatisfy({ $0.text != nil }) {
                [Fact(name: name, value: elements.compactMap(\.text).joined(separator: ", "))]
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

    /// The value as a header field; nil when it is none.
    ///
    /// A field without its value is a secret one.
    private var field: Fact? {
        member("name")?.text.map { Fact(name: $0, value: member("value")?.text ?? Redaction.text) }
    }
}

extension Answer.Word {
    /// An answer with this word needs more than the word, which a button cannot give.
    fileprivate var needsMore: Bool { [.useCredential, .useBody, .useRequest].contains(self) }

    /// The text of its button.
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
    /// The question as a sentence for people.
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
