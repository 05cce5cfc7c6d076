import FetchJobs

/// A request, as programs in several languages make it.
struct RequestSample {
    enum Body {
        case json(OpenAPINode)
        case text(String)
        /// Bytes that a file holds.
        case file
    }

    let method: String
    /// The path, with the values of its parameters, and the query.
    let target: String
    let headers: [(name: String, value: String)]
    let body: Body?

    /// The programs, each with the name of its language.
    var programs: [(language: String, text: String)] {
        [("curl", curl), ("Python", python), ("TypeScript", typeScript), ("Swift", swift)]
    }

    // MARK: curl

    private var curl: String {
        var lines = ["curl" + (method == "GET" ? "" : method == "HEAD" ? " --head" : " -X \(method)")]
        lines[0] += " \"$FETCHD_URL\(target)\""
        for (name, value) in headers {
            lines.append(value.contains("$") ? "-H \"\(name): \(value)\"" : "-H '\(name): \(value)'")
        }
        switch body {
        case .json(let value): lines.append("-d '\(value.pretty().replacing("'", with: "'\\''"))'")
        case .text(let text): lines.append("--data-binary '\(text.replacing("'", with: "'\\''"))'")
        case .file: lines.append("--data-binary @file")
        case nil: break
        }
        return lines.joined(separator: " \\\n  ")
    }

    // MARK: Python

    private var python: String {
        var lines = ["import json", "import os", "import urllib.request", ""]
        switch body {
        case .json(let value): lines.append("body = json.dumps(\(value.pretty(words: Self.pythonWords))).encode()")
        case .text(let text): lines.append("body = \(OpenAPINode.quoted(text)).encode()")
        case .file: lines.append("body = open(\"file\", \"rb\").read()")
        case nil: lines.removeFirst()
        }
        lines.append("request = urllib.request.Request(")
        lines.append("    os.environ[\"FETCHD_URL\"] + \"\(target)\",")
        lines.append("    method=\"\(method)\",")
        if body != nil { lines.append("    data=body,") }
        lines.append("    headers={")
        lines += headers.map { name, value in
            let known = "\"Bearer \" + os.environ[\"FETCHD_KEY\"]"
            return "        \"\(name)\": \(value.contains("$") ? known : OpenAPINode.quoted(value)),"
        }
        lines.append("    },")
        lines += [")", "with urllib.request.urlopen(request) as response:"]
        lines.append("    print(response.status, response.read().decode())")
        return lines.joined(separator: "\n")
    }

    // MARK: TypeScript

    private var typeScript: String {
        var lines = ["const response = await fetch(`${process.env.FETCHD_URL}\(target)`, {"]
        lines.append("  method: \"\(method)\",")
        lines.append("  headers: {")
        lines += headers.map { name, value in
            "    \"\(name)\": \(value.contains("$") ? "`Bearer ${process.env.FETCHD_KEY}`" : OpenAPINode.quoted(value)),"
        }
        lines.append("  },")
        switch body {
        case .json(let value): lines.append("  body: JSON.stringify(\(value.pretty(indent: 2))),")
        case .text(let text): lines.append("  body: \(OpenAPINode.quoted(text)),")
        case .file: lines.append("  body: await (await import(\"node:fs/promises\")).readFile(\"file\"),")
        case nil: break
        }
        lines += ["});", "console.log(response.status, await response.text());"]
        return lines.joined(separator: "\n")
    }

    // MARK: Swift

    private var swift: String {
        var lines = ["import Foundation", ""]
        lines.append("let settings = ProcessInfo.processInfo.environment")
        lines.append("var request = URLRequest(url: URL(string: settings[\"FETCHD_URL\"]! + \"\(target)\")!)")
        lines.append("request.httpMethod = \"\(method)\"")
        lines += headers.map { name, value in
            let known = "\"Bearer \\(settings[\"FETCHD_KEY\"]!)\""
            let text = value.contains("$") ? known : "#\"\(value)\"#"
            return "request.setValue(\(text), forHTTPHeaderField: \"\(name)\")"
        }
        switch body {
        case .json(let value):
            lines.append("request.httpBody = Data(#\"\"\"\n\(value.pretty())\n\"\"\"#.utf8)")
        case .text(let text):
            lines.append("request.httpBody = Data(#\"\"\"\n\(text)\n\"\"\"#.utf8)")
        case .file: lines.append("request.httpBody = try Data(contentsOf: URL(filePath: \"file\"))")
        case nil: break
        }
        lines.append("let (data, response) = try await URLSession.shared.data(for: request)")
        lines.append("print((response as! HTTPURLResponse).statusCode, String(decoding: data, as: UTF8.self))")
        return lines.joined(separator: "\n")
    }

    // MARK: Values

    /// What Python calls the words of JSON.
    private static let pythonWords = ["true": "True", "false": "False", "null": "None"]
}

extension OpenAPINode {
    /// The value as JSON with a member a line; what is short stays on one.
    ///
    /// - Parameter words: What is written for the words of JSON, in another language.
    func pretty(indent: Int = 0, words: [String: String] = [:]) -> String {
        let (inner, outer) = (String(repeating: " ", count: indent + 2), String(repeating: " ", count: indent))
        if !members.isEmpty {
            let lines = members.map { name, node in
                "\(inner)\(Self.quoted(name)): \(node.pretty(indent: indent + 2, words: words))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(outer)}"
        }
        if !elements.isEmpty {
            let lines = elements.map { inner + $0.pretty(indent: indent + 2, words: words) }
            return "[\n\(lines.joined(separator: ",\n"))\n\(outer)]"
        }
        return words[json] ?? json
    }
}
