import Foundation
import Synchronization
import TestSupport
import Testing

/// All secrets of a test, and the search for them.
final class Canaries: Sendable {
    /// A secret that was found.
    struct Finding: Hashable, CustomStringConvertible {
        let input: String
        let form: String
        /// The file that has it.
        let file: String

        var description: String { "\(input), \(form), in \(file)" }
    }

    private let planted = Mutex<[Canary]>([])
    /// What the service said, one file for each of its outputs.
    let outputs: TemporaryDirectory
    /// What servers were sent.
    private let sent: TemporaryDirectory

    init() throws { (outputs, sent) = (try TemporaryDirectory(), try TemporaryDirectory()) }

    /// How many there are.
    var count: Int { planted.withLock { $0.count } }

    /// Makes a secret for an input.
    ///
    /// - Parameter isSent: Whether a server is sent it.
    func callAsFunction(_ input: String, isSent: Bool = true) -> String {
        let text = Canary.text()
        add(input, Array(text.utf8), isSent: isSent)
        return text
    }

    /// Makes secrets known that the test has not chosen, such as those that the service makes.
    func add(_ input: String, _ bytes: [UInt8], isSent: Bool = false) {
        planted.withLock { $0.append(Canary(input: input, bytes: bytes, isSent: isSent)) }
    }

    /// The base64 text of a secret that the service has made, behind its prefix: as text, and as what it stands for.
    func add(_ input: String, base64 text: Substring) {
        add(input, Array(text.utf8))
        if let data = Data(base64Encoded: String(text)) { add("\(input), as bytes", Array(data)) }
    }

    /// Keeps an output for the search.
    func keep(_ text: String, as name: String) throws {
        try outputs.write(text, to: name.replacing("/", with: "|"))
    }

    /// Keeps what servers were sent.
    func keep(sent bytes: [UInt8], as name: String) throws { try sent.write(bytes, to: name) }

    /// The secrets that no server was sent although they had to be.
    func missing() async throws -> [String] {
        let found = Set(try await find(in: [sent.path]).map(\.input))
        return planted.withLock { $0.filter { $0.isSent && !found.contains($0.input) }.map(\.input) }
    }

    /// Writes each form of each secret into a file of its own, between bytes of no meaning; returns their names.
    func keepForms(in directory: TemporaryDirectory) throws -> Set<String> {
        var names: Set<String> = []
        let forms: [[UInt8]] = planted.withLock { planted in planted.flatMap { $0.forms.map(\.bytes) } }
        for (number, form) in forms.enumerated() {
            try directory.write([0, 255, 10, 0x61] + form + [0x61, 0, 10], to: "\(number)")
            names.insert("\(number)")
        }
        return names
    }

    /// Searches directories for all secrets in all forms.
    func find(in directories: [String]) async throws -> Set<Finding> {
        var names: [Data: (input: String, form: String)] = [:]
        for canary in planted.withLock({ $0 }) {
            for form in canary.forms { names[Data(form.bytes)] = (canary.input, form.name) }
        }
        let place = try TemporaryDirectory()
        try place.write(Array(Data(names.keys.joined(separator: [10]))), to: "patterns")
        // Files that go meanwhile are no fault, and neither are those of sockets.
        let script =
            #"cd "$0" && LC_ALL=C grep -rsaoZF -D skip -f patterns -- "$@" >found; [ $? -lt 2 ] || [ -s found ]"#
        try await Program.run(["/bin/sh", "-c", script, place.path] + directories)
        let found = Data(place.contents(of: "found")).split(separator: 10).compactMap { line -> Finding? in
            let parts = line.split(separator: 0, maxSplits: 1).map { Data($0) }
            guard parts.count == 2, let name = names[parts[1]] else { return nil }
            return Finding(input: name.input, form: name.form, file: String(decoding: parts[0], as: UTF8.self))
        }
        return Set(found)
    }
}
