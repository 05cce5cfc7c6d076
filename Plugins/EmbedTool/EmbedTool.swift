import Foundation
import Yams

/// `embed-tool OUTPUT FILE...` writes a Swift file in which each FILE is an entry of `Embedded.files`, name to text.
///
/// The build runs it (`EmbedFiles`). Beside a file of YAML there is one of JSON with the same content and the members in
/// the same order, so that the service has no reader of YAML in it. A text may hold anything but the delimiter `"""####`
/// on a line.
@main
enum EmbedTool {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let output = arguments.first else { throw Failure(message: "usage: embed-tool OUTPUT FILE...") }
        var entries: [(name: String, text: String)] = []
        for path in arguments.dropFirst() {
            let file = URL(filePath: path)
            let text = try String(contentsOf: file, encoding: .utf8)
            entries.append((file.lastPathComponent, text))
            guard file.pathExtension == "yaml" else { continue }
            guard let document = try Yams.compose(yaml: text) else { throw Failure(message: "\(path) is empty") }
            entries.append((file.deletingPathExtension().lastPathComponent + ".json", try json(document)))
        }
        let lines = entries.map { "        \"\($0.name)\": ####\"\"\"\n\($0.text)\n\"\"\"####,\n" }
        let source = """
            // Generated from files of this repository.
            enum Embedded {
                /// The text of each embedded file by its name.
                static let files: [String: String] = [
            \(lines.isEmpty ? "        :\n" : lines.joined())    ]
            }

            """
        try source.write(toFile: output, atomically: true, encoding: .utf8)
    }

    private struct Failure: Error, CustomStringConvertible {
        let message: String
        var description: String { message }
    }

    private static func json(_ node: Node) throws -> String {
        switch node {
        case .mapping(let members):
            let texts = try members.map { "\(try quoted($0.key.string ?? "")):\(try json($0.value))" }
            return "{\(texts.joined(separator: ","))}"
        case .sequence(let elements): return "[\(try elements.map(json).joined(separator: ","))]"
        case .scalar(let scalar):
            if node.tag.description == Tag.Name.null.rawValue { return "null" }
            return try isPlain(node, scalar.string) ? scalar.string : quoted(scalar.string)
        case .alias: throw Failure(message: "JSON has no aliases")
        }
    }

    /// Whether a scalar is a number or a truth value, and not text.
    ///
    /// YAML reads `on`, `yes` and dates as something else than text too, which JSON does not have.
    private static func isPlain(_ node: Node, _ text: String) -> Bool {
        switch node.tag.description {
        case Tag.Name.int.rawValue, Tag.Name.float.rawValue: true
        case Tag.Name.bool.rawValue: text == "true" || text == "false"
        default: false
        }
    }

    private static func quoted(_ text: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(text), as: UTF8.self)
    }
}
