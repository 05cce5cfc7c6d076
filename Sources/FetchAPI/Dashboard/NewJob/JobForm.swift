import FetchJobs

/// The members of a job that the form has fields for, from JSON and into it.
///
/// Whatever else the JSON says stays as it is.
struct JobForm {
    /// How a body is written in the form.
    enum BodyForm: String, CaseIterable {
        case none, text, json, form
        /// One that the form has no field for.
        case other
    }

    /// The name of a field, its label, where the job has the member, and what an example is.
    private typealias Text = (name: String, label: String, path: [String], hint: String)

    private static let texts: [Text] = [
        ("runAt", "Not before", ["runAt"], "2026-11-21T10:52:00Z"),
        ("session", "Session", ["session"], "ses_… or default"),
        ("group", "Group", ["group"], "grp_…"),
        ("flow", "Flow", ["flow", "key"], "any name"),
        ("webhook", "Webhook", ["webhook", "url"], "https://…"),
    ]

    private static let kinds = JobSpec.Kind.allCases.map(\.rawValue)
    private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    // MARK: Fields

    /// - Parameter faults: What is wrong, by the pointer of the member.
    static func fields(of job: JSONValue, faults: [Problem.Entry]) -> [SheetPage.Field] {
        let request = job.member("request")
        let method = request?.member("method")?.text ?? "GET"
        let (form, body) = Self.body(of: request?.member("body"))
        // A URL alone stands for a request.
        let url = request?.text ?? request?.member("url")?.text ?? ""
        var fields: [SheetPage.Field] = [
            .text("url", "URL", url, hint: "https://example.com/", isRequired: !isTemplate(request)),
            choice("method", "Method", methods.contains(method) ? methods : methods + [method], method),
            choice("kind", "Kind", kinds, job.member("kind")?.text ?? kinds[0]),
            lines("headers", "Header fields, one a line", headers(of: request), 4, hint: "Accept: text/html"),
            choice(
                "bodyForm", "Body", BodyForm.allCases.filter { $0 != .other || form == .other }.map(\.rawValue),
                form.rawValue),
            lines("body", "Content of the body; of a form, name=value lines", body, 5),
            lines("labels", "Labels, one a line", labels(of: job), 2, hint: "team: search"),
        ]
        fields += texts.map { .text($0.name, $0.label, value(at: $0.path, in: job)?.text, hint: $0.hint) }
        return fields.map { field in
            var field = field
            field.anchor = anchor(field.name)
            field.fault = faults.first { name(of: $0) == field.name }.map { VisibleText.cut($0.message) }
            return field
        }
    }

    /// Whether a template stands in the place of the URL; it has no field.
    private static func isTemplate(_ request: JSONValue?) -> Bool { request?.member("urlTemplate") != nil }

    private static func choice(_ name: String, _ label: String, _ values: [String], _ chosen: String) -> SheetPage.Field
    {
        SheetPage.Field(
            name: name, label: label, options: values.map { .init(value: $0, title: $0, isChosen: $0 == chosen) })
    }

    private static func lines(
        _ name: String, _ label: String, _ value: String, _ lines: Int, hint: String? = nil
    ) -> SheetPage.Field {
        var field = SheetPage.Field.text(name, label, value, hint: hint)
        field.lines = lines
        return field
    }

    static func anchor(_ name: String) -> String { "field-\(name)" }

    /// The field that shows a member; nil when none does.
    static func name(of fault: Problem.Entry) -> String? {
        guard case .member(let pointer) = fault.place else { return nil }
        let path = pointer.split(separator: "/").map(String.init)
        if path.first == "request" {
            return ["url", "method", "headers", "body"].first { path.dropFirst().first == $0 }
        }
        guard let first = path.first else { return nil }
        if first == "kind" || first == "labels" { return first }
        return texts.first { $0.path.first == first }?.name
    }

    private static func headers(of request: JSONValue?) -> String {
        guard case .object(let members)? = request?.member("headers") else {
            return (request?.member("headers")?.elements ?? []).map { field in
                "\(field.member("name")?.text ?? ""): \(field.member("value")?.text ?? "")"
            }.joined(separator: "\n")
        }
        return members.flatMap { member in
            let values = if case .array(let values) = member.value { values } else { [member.value] }
            return values.map { "\(member.name): \($0.shown)" }
        }.joined(separator: "\n")
    }

    private static func labels(of job: JSONValue) -> String {
        guard case .object(let labels)? = job.member("labels") else { return "" }
        return labels.map { "\($0.name): \($0.value.shown)" }.joined(separator: "\n")
    }

    private static func body(of body: JSONValue?) -> (BodyForm, String) {
        guard let body else { return (.none, "") }
        if let text = body.member("text")?.text { return (.text, text) }
        if let json = body.member("json") { return (.json, IndentedJSON.whole(json)) }
        guard case .object(let fields)? = body.member("form") else { return (.other, "") }
        return (.form, fields.map { "\($0.name)=\($0.value.shown)" }.joined(separator: "\n"))
    }

    private static func value(at path: [String], in job: JSONValue) -> JSONValue? {
        path.reduce(Optional(job)) { $0?.member($1) }
    }

    // MARK: Job

    /// What a form keeps of a job beside its fields: the text of a field is in the page once.
    ///
    /// Of header fields it is which are sensitive, and of members with a field for one of theirs, that they are there.
    static func rest(of job: JSONValue) -> JSONValue {
        let request = job.member("request")
        var rest = job.setting(["request"], nil).setting(["kind"], nil).setting(["labels"], nil)
        if case .object(let members)? = request {
            let hasBodyField = body(of: request?.member("body")).0 != .other
            let others = members.filter { member in
                !["url", "method", "headers"].contains(member.name) && !(member.name == "body" && hasBodyField)
            }
            let marks = (request?.member("headers")?.elements ?? [])
                .filter { $0.member("sensitive") == .bool(true) }.compactMap { $0.member("name") }
                .map { JSONValue.object([JSONMember("name", $0), JSONMember("sensitive", .bool(true))]) }
            rest = rest.setting(
                ["request"], .object(others + (marks.isEmpty ? [] : [JSONMember("headers", .array(marks))])))
        }
        for text in texts where value(at: text.path, in: job)?.text != nil {
            rest = rest.setting(text.path, text.path.count == 1 ? nil : .string(""))
        }
        return rest
    }

    /// The job that the fields say, on top of what the JSON says that has no field.
    ///
    /// - Throws: ``InvalidInput`` for a field that cannot be a member.
    static func job(of form: Query, on base: JSONValue) throws(InvalidInput) -> JSONValue {
        var job = base
        if case .object = job.member("request") {} else { job = job.setting(["request"], .object([])) }
        let url = form["url"] ?? ""
        if !url.isEmpty || !isTemplate(base.member("request")) {
            job = job.setting(["request", "url"], .string(url))
        }
        job = job.setting(["request", "method"], form["method"].flatMap { $0 == "GET" ? nil : .string($0) })
        job = job.setting(["kind"], form["kind"].flatMap { $0 == kinds[0] ? nil : .string($0) })
        job = job.setting(["request", "headers"], try headers(form["headers"] ?? "", base))
        if let bodyForm = form["bodyForm"].flatMap(BodyForm.init), bodyForm != .other {
            job = job.setting(["request", "body"], try body(form["body"] ?? "", bodyForm))
        }
        let labels = try pairs(form["labels"] ?? "", ":", "/labels")
        job = job.setting(["labels"], labels.isEmpty ? nil : .object(labels.map { JSONMember($0, .string($1)) }))
        for text in texts {
            let value = form[text.name].flatMap { $0.isEmpty ? nil : JSONValue.string($0) }
            // The fields beside it, such as the events of a webhook, go with it.
            if value == nil, self.value(at: text.path, in: job) != nil {
                job = job.setting([text.path[0]], nil)
            } else if let value {
                job = job.setting(text.path, value)
            }
        }
        return job
    }

    private static func headers(_ text: String, _ base: JSONValue) throws(InvalidInput) -> JSONValue? {
        let known = base.member("request")?.member("headers")?.elements ?? []
        let marked = Set(
            known.filter { $0.member("sensitive") == .bool(true) }.compactMap { $0.member("name")?.text?.lowercased() })
        let fields = try pairs(text, ":", "/request/headers").map { name, value in
            var members = [JSONMember("name", .string(name)), JSONMember("value", .string(value))]
            if marked.contains(name.lowercased()) { members.append(JSONMember("sensitive", .bool(true))) }
            return JSONValue.object(members)
        }
        return fields.isEmpty ? nil : .array(fields)
    }

    private static func body(_ text: String, _ form: BodyForm) throws(InvalidInput) -> JSONValue? {
        // Browsers send the line breaks of a text area as CR LF.
        let text = text.replacing("\r\n", with: "\n")
        switch form {
        case .none, .other: return nil
        case .text: return .object([JSONMember("text", .string(text))])
        case .json:
            do throws(JSONParser.Failure) {
                return .object([JSONMember("json", try JSONParser.parse(text.utf8))])
            } catch {
                throw InvalidInput(
                    pointer: "/request/body/json", message: "is no JSON: at byte \(error.offset), \(error.message)")
            }
        case .form:
            let fields = try pairs(text, "=", "/request/body/form")
            return .object([JSONMember("form", .object(fields.map { JSONMember($0, .string($1)) }))])
        }
    }

    /// Lines of a name, a sign and a value.
    private static func pairs(
        _ text: String, _ sign: Character, _ pointer: String
    ) throws(InvalidInput) -> [(String, String)] {
        var pairs: [(String, String)] = []
        for line in text.replacing("\r\n", with: "\n").split(separator: "\n") {
            let parts = line.split(separator: sign, maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw InvalidInput(
                    pointer: pointer,
                    message: "has a line that is not a name, “\(sign)” and a value: \(pairs.count + 1)")
            }
            let value = sign == ":" ? parts[1].drop { $0 == " " } : parts[1]
            pairs.append((String(parts[0]), String(value)))
        }
        return pairs
    }
}

extension JSONValue {
    /// The value with another one at a place, or with none when that is nil; objects on the way there are made.
    fileprivate func setting(_ path: [String], _ value: JSONValue?) -> JSONValue {
        guard let name = path.first else { return value ?? .null }
        var members: [JSONMember] = if case .object(let members) = self { members } else { [] }
        let rest = Array(path.dropFirst())
        let index = members.firstIndex { $0.name.isSame(as: name) }
        guard let value else {
            guard let index else { return self }
            if rest.isEmpty {
                members.remove(at: index)
            } else {
                members[index] = JSONMember(name, members[index].value.setting(rest, nil))
            }
            return .object(members)
        }
        let old = index.map { members[$0].value } ?? .object([])
        let member = JSONMember(name, rest.isEmpty ? value : old.setting(rest, value))
        if let index { members[index] = member } else { members.append(member) }
        return .object(members)
    }
}
