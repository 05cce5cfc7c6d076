import FetchJobs

/// A job's request as commands of a shell that make it again, without its secrets.
struct RequestCommands {
    let curl: String
    let fetchd: String

    /// The longest body that is part of a command, in bytes.
    private static let maximumBody = 4096

    init(_ spec: JSONValue?) {
        let request = spec?.member("request")
        let url = request?.member("writtenURL")?.text ?? request?.member("url")?.text ?? ""
        let method = request?.member("method")?.text ?? "GET"
        let fields = (request?.member("headers")?.elements ?? []).compactMap { field -> Fact? in
            guard let name = field.member("name")?.text, let value = field.member("value")?.text else { return nil }
            return Fact(name: name, value: value)
        }
        let isSecret = { (field: Fact) in field.value == Redaction.text || Redaction.hides(fieldNamed: field.name) }
        let shown = fields.filter { !isSecret($0) }
        let body = Self.body(request?.member("body"))
        var options = method == "GET" ? [] : ["-X \(Self.quoted(method))"]
        options += shown.map { "-H \(Self.quoted("\($0.name): \($0.value)"))" }
        if let type = body.type, !shown.contains(where: { $0.name.lowercased() == "content-type" }) {
            options.append("-H \(Self.quoted("Content-Type: \(type)"))")
        }
        let left = fields.filter(isSecret).map(\.name) + (body.isElsewhere ? ["the body"] : [])
        let note = left.isEmpty ? "" : "\n# Left out: \(left.map(VisibleText.cut).joined(separator: ", "))"
        func command(_ name: String, _ data: String) -> String {
            let all = options + (body.text.map { ["\(data) \(Self.quoted($0))"] } ?? [])
            return ([name + " " + Self.quoted(url)] + all).joined(separator: " \\\n  ") + note
        }
        curl = command("curl -L", "--data-raw")
        fetchd = command("fetchd get", "-d")
    }

    /// The text of a body, its type where curl would name another, and whether it is not in the job as a text.
    private static func body(_ body: JSONValue?) -> (text: String?, type: String?, isElsewhere: Bool) {
        guard let body else { return (nil, nil, false) }
        var text: String?
        var type: String?
        if let written = body.member("text")?.text, written != Redaction.text {
            (text, type) = (written, "text/plain; charset=utf-8")
        } else if let json = body.member("json") {
            (text, type) = (json.json, "application/json")
        } else if case .object(let fields)? = body.member("form") {
            text = fields.map { "\($0.name.percentEncoded)=\(($0.value.text ?? "").percentEncoded)" }
                .joined(separator: "&")
        }
        // `fetchd get -d @…` would read a file.
        guard let text, text.utf8.count <= maximumBody, !text.hasPrefix("@") else { return (nil, nil, true) }
        return (text, type, false)
    }

    /// A word of a shell that stands for a text, whatever is in it.
    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }
}
