/// JSON for people: one member a line.
package enum IndentedJSON {
    /// The longest text of a page, in characters.
    private static let pageLength = 20_000

    /// An object; what is longer than a page can show is cut.
    package static func text(_ members: (inout JSONWriter) -> Void) -> String {
        // What the service writes it can read.
        guard let value = try? JSONParser.parse(JSONWriter.object(members)) else { return "" }
        return text(value)
    }

    /// The same for a value.
    package static func text(_ value: JSONValue) -> String {
        let text = indented(value, upTo: pageLength)
        return text.utf8.count <= pageLength ? text : String(text.prefix(pageLength)) + "\n…"
    }

    /// All of a value: one member a line, unless that is longer than a page can show, as it is of deep JSON.
    package static func whole(_ value: JSONValue) -> String {
        let text = indented(value, upTo: pageLength)
        return text.utf8.count <= pageLength ? text : value.json
    }

    /// One member a line.
    ///
    /// - Parameter limit: How many bytes are enough; what follows is left out.
    private static func indented(_ value: JSONValue, upTo limit: Int) -> String {
        var text = ""
        write(value, indentation: "", to: &text, upTo: limit)
        return text
    }

    private static func write(_ value: JSONValue, indentation: String, to text: inout String, upTo limit: Int) {
        let inner = indentation + "  "
        switch value {
        case .object(let members) where !members.isEmpty:
            text += "{\n"
            for (index, member) in members.enumerated() {
                guard text.utf8.count <= limit else { return }
                text += "\(inner)\(JSONValue.string(member.name).json): "
                write(member.value, indentation: inner, to: &text, upTo: limit)
                text += index == members.count - 1 ? "\n" : ",\n"
            }
            text += indentation + "}"
        case .array(let elements) where !elements.isEmpty:
            text += "[\n"
            for (index, element) in elements.enumerated() {
                guard text.utf8.count <= limit else { return }
                text += inner
                write(element, indentation: inner, to: &text, upTo: limit)
                text += index == elements.count - 1 ? "\n" : ",\n"
            }
            text += indentation + "]"
        default: text += value.json
        }
    }
}
