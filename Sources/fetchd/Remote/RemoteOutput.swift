import FetchJobs
import Glibc
import SystemPackage

extension RemoteOptions {
    /// Prints a list in the form that is asked for.
    func show(_ elements: [JSONValue], _ columns: [Column], nothing: String) {
        switch output {
        case .json: Self.write(JSONValue.object([JSONMember("data", .array(elements))]).json)
        case .ndjson: for element in elements { Self.write(element.json) }
        case .table, .wide:
            guard !elements.isEmpty else { return printError(nothing) }
            for line in TextTable(columns, isWide: output == .wide).lines(elements) { Self.write(line) }
        }
    }

    /// Prints an object: its members one a line, or as JSON.
    func show(_ object: JSONValue) {
        guard output.isForPeople, case .object(let members) = object else { return Self.write(object.json) }
        Self.write(Self.lines(of: members, indentation: ""))
    }

    /// Members one a line, those of objects below them.
    private static func lines(of members: [JSONMember], indentation: String) -> String {
        let width = members.map(\.name.count).max() ?? 0
        return members.map { member in
            let name = indentation + member.name + String(repeating: " ", count: width - member.name.count + 2)
            switch member.value {
            case .object(let inner) where !inner.isEmpty:
                return indentation + member.name + "\n" + lines(of: inner, indentation: indentation + "  ")
            case .array(let elements) where elements.contains { if case .object = $0 { true } else { false } }:
                let parts = elements.map { element -> String in
                    guard case .object(let inner) = element else { return TerminalText.plain(element.plain) }
                    return lines(of: inner, indentation: indentation + "    ")
                }
                return indentation + member.name + "\n"
                    + parts.map { "\(indentation)  -\n\($0)" }.joined(separator: "\n")
            default: return name + TerminalText.plain(member.value.plain)
            }
        }.joined(separator: "\n")
    }

    /// Writes a line to standard output at once, since another program may wait for it.
    static func write(_ line: String) {
        // Who reads no more wants no more.
        do { try FileDescriptor.standardOutput.writeAll((line + "\n").utf8) } catch { exit(EXIT_FAILURE) }
    }
}
