import FetchEngine
import FetchJobs
import HTTPTypes

/// The JSON document of `fetchd get --json`, with the members a job has in the API.
struct GetReport {
    let task: DataTask
    let startedAt: Timestamp
    /// The bytes of the body that went to its destination, or were read and dropped.
    var bodyBytes: Int64 = 0
    var path: String?
    var error: LoadError?

    var json: [UInt8] {
        let metrics = task.metrics
        return JSONWriter.object { writer in
            writer.member("state", error == nil ? "succeeded" : "failed")
            writer.member("startedAt", startedAt.description)
            if let response = task.response { writer.member("response", object: response.write) }
            if let error { writer.member("error", object: { error.write(&$0) }) }
            writer.member(
                "redirects",
                array: { writer in
                    for redirect in task.redirects { writer.object { redirect.write(&$0) } }
                }
            )
            writer.member("body", object: writeBody)
            writer.member("duration", metrics.taskInterval.seconds)
            writer.member("metrics", StoredTransfers(metrics).named(since: startedAt))
        }
    }

    private func writeBody(_ writer: inout JSONWriter) {
        writer.member("bytes", bodyBytes)
        writer.member("file", path)
    }
}

/// A status line and header fields as text.
enum ResponseHead {
    static func text(_ response: Response) -> String {
        let version = response.httpVersion == "h2" ? "HTTP/2" : response.httpVersion.uppercased()
        let reason = response.status.reasonPhrase.isEmpty ? "" : " " + response.status.reasonPhrase
        let fields = response.headerFields.map { "\($0.name.rawName): \($0.value)\r\n" }
        return "\(version) \(response.status.code)\(reason)\r\n" + fields.joined() + "\r\n"
    }
}

/// Text from elsewhere, made safe for a terminal.
enum TerminalText {
    /// The text with control characters replaced, so that no message can control the terminal (SEC-60).
    static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }

    /// The same for a text that is ours and has lines.
    static func plainLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { plain(String($0)) }.joined(separator: "\n")
    }
}
