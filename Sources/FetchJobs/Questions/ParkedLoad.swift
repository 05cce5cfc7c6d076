package import FetchEngine
import Foundation

/// A load that waits for an answer and holds nothing but this (docs/delegate.md).
package struct ParkedLoad: Sendable {
    /// The longest one, in bytes.
    package static let maximumBytes = 128 * 1024

    /// Where it stands.
    package let position: LoadPosition
    /// What was decided before, as a job shows it.
    package let decisions: RawJSON?
    /// How many choices it has come to, kept or not.
    package let decided: Int
    /// How many of them were asked.
    package let asked: Int
    /// As it is stored, with its secrets.
    package let bytes: [UInt8]

    /// Nil where the position cannot be written down, or is too large.
    package init?(_ position: LoadPosition, decisions: RawJSON?, decided: Int, asked: Int) {
        guard let bytes = position.bytes else { return nil }
        self.position = position
        self.decisions = decisions
        self.decided = decided
        self.asked = asked
        self.bytes = JSONWriter.object { writer in
            writer.member("position", Data(bytes).base64EncodedString())
            writer.member("decisions", decisions)
            writer.member("decided", decided)
            writer.member("asked", asked)
        }
        guard self.bytes.count <= Self.maximumBytes else { return nil }
    }

    /// Reads what was stored.
    package init(bytes: [UInt8]) throws {
        let check = InputCheck()
        let reader = JSONReader(try JSONParser.parse(bytes), check: check)
        let object = reader.object(of: ["position", "decisions", "decided", "asked"])
        let position = object?.required("position").flatMap { JobBody.base64($0) } ?? []
        decisions = object?["decisions"].map { decisions in
            var writer = JSONWriter()
            writer.value(decisions.value)
            return RawJSON(writer.bytes)
        }
        decided = Int(object?.required("decided")?.integer(in: 0...Int64(Int32.max)) ?? 0)
        asked = Int(object?.required("asked")?.integer(in: 0...Int64(Int32.max)) ?? 0)
        try check.finish()
        self.position = try LoadPosition(bytes: position)
        self.bytes = bytes
    }
}
