import FetchJobs

/// The page where jobs are written: as a form, as JSON, or from a curl command.
struct NewJobPage {
    /// A way to write a job.
    enum View: String, CaseIterable {
        case form, json, curl

        var title: String {
            switch self {
            case .form: "Form"
            case .json: "JSON"
            case .curl: "curl command"
            }
        }
    }

    /// What is done with what was written, besides showing it another way.
    enum Verb: String, CaseIterable {
        case submit, check, explain

        var title: String {
            switch self {
            case .submit: "Submit"
            case .check: "Validate"
            case .explain: "Explain"
            }
        }

        var hint: String {
            switch self {
            case .submit: "Stores the job, which then runs."
            case .check: "Says what is wrong, and changes nothing."
            case .explain: "Says how the job would be run, and changes nothing."
            }
        }
    }

    struct Tab {
        let name: String
        let title: String
        /// `true` for the one that is shown, otherwise `false`.
        let pressed: String
    }

    struct Fault {
        let member: String
        let message: String
        /// The field that shows the member; nil when none does.
        let anchor: String?
    }

    struct Button {
        let name: String
        let title: String
        let hint: String
        let isFirst: Bool
    }

    let frame: PageFrame
    let view: String
    let tabs: [Tab]
    let fields: [SheetPage.Field]
    let isForm: Bool
    let isJSON: Bool
    let isCurl: Bool
    /// The job as JSON, of which the form changes what it has fields for.
    let json: String
    let command: String
    let buttons: [Button]
    /// So many notes and faults are shown, each of them cut.
    private static let maximumLines = 20
    let notes: [String]
    let hasNotes: Bool
    let notice: String?
    let faults: [Fault]
    let hasFaults: Bool
    /// Whether there may be more faults than are told.
    let hasMoreFaults: Bool
    /// Why there is no job, where no member is to blame.
    let failure: String?
    let explanation: String?
    let verdict: String?

    /// What the visitor has written, and what came of it.
    struct Content {
        var view = View.form
        var job = JSONValue.object([])
        /// The text of the field, as it was written; nil for that of the job.
        var text: String?
        var command = ""
        var notes: [String] = []
        var notice: String?
        var problem: Problem?
        var explanation: JSONValue?
    }

    init(_ content: Content, frame: PageFrame) {
        self.frame = frame
        view = content.view.rawValue
        tabs = View.allCases.map {
            Tab(name: $0.rawValue, title: $0.title, pressed: $0 == content.view ? "true" : "false")
        }
        isForm = content.view == .form
        isJSON = content.view == .json
        isCurl = content.view == .curl
        let entries = (content.problem?.errors ?? []).prefix(Self.maximumLines)
        fields = isForm ? JobForm.fields(of: content.job, faults: Array(entries)) : []
        json = isForm ? JobForm.rest(of: content.job).json : content.text ?? IndentedJSON.whole(content.job)
        command = content.command
        buttons =
            content.view == .curl
            ? []
            : Verb.allCases.map { Button(name: $0.rawValue, title: $0.title, hint: $0.hint, isFirst: $0 == .submit) }
        let more = content.notes.count - Self.maximumLines
        notes =
            content.notes.prefix(Self.maximumLines).map(VisibleText.cut) + (more > 0 ? ["\(more) more."] : [])
        hasNotes = !notes.isEmpty
        notice = content.notice
        let isForm = isForm
        faults = entries.map { entry in
            let anchor = isForm ? JobForm.name(of: entry).map(JobForm.anchor) : nil
            let member =
                switch entry.place {
                case .member(let pointer): pointer.isEmpty ? "The job" : pointer
                case .parameter(let name): name
                }
            return Fault(member: VisibleText.cut(member), message: VisibleText.cut(entry.message), anchor: anchor)
        }
        hasFaults = !faults.isEmpty
        // Who reads a job stops at so many of them.
        hasMoreFaults = faults.count >= min(InvalidInput.maximumViolations, Self.maximumLines)
        failure = hasFaults ? nil : content.problem.map { VisibleText.cut($0.detail ?? $0.code.title) }
        explanation = content.explanation.map { IndentedJSON.text($0) }
        verdict = content.explanation.flatMap(Self.verdict)
    }

    /// Whether the job would be let out, in a sentence.
    private static func verdict(_ explanation: JSONValue) -> String? {
        guard let target = explanation.member("target") else { return nil }
        guard target.member("allowed") == .bool(false) else { return "The target is allowed." }
        let reason = target.member("reason")?.text ?? target.member("code")?.text ?? ""
        return "The target is refused: \(VisibleText.cut(reason))"
    }
}
