package import FetchEngine
import FoundationEssentials

/// A load that waits for an answer and holds nothing but this (docs/delegate.md).
package struct ParkedLoad: Sendable {
    /// The longest one, in bytes.
    package static let maximumBytes = 128 * 1024

    /// Where it stands.
    package let position: LoadPosition
    /// The body of an answer that its request sends, where the position only says that there is one.
    package let body: JobBody?
    /// What was decided before, as a job shows it.
    package let decisions: RawJSON?
    /// How many choices it has come to, kept or not.
    package let decided: Int
    /// How many of them were asked.
    package let asked: Int
    /// As it is stored, with its secrets.
    package let bytes: [UInt8]

    /// Nil where the position cannot be written down, or is too large.
    ///
    /// - Parameter body: The last body of an answer whose bytes are not in the answer.
    package init?(_ position: LoadPosition, body: JobBody? = nil, decisions: RawJSON?, decided: Int, asked: Int) {
        guard let bytes = position.bytes, !position.needsContent || body != nil else { return nil }
        self.position = position
        let body = position.needsContent ? body : nil
        self.body = body
        self.decisions = decisions
        self.decided = decided
        self.asked = asked
        self.bytes = JSONWriter.object { writer in
            writer.member("position", Data(bytes).base64EncodedString())
            if let body { writer.member("body", object: body.write) }
            writer.member("decisions", decisions)
            writer.member("decided", decided)
            writer.member("asked", asked)
        }
        guard self.bytes.count <= Self.maximumBytes else { return nil }
    }

    /// Reads stored bytes.
    package init(bytes: [UInt8]) throws {
        let check = InputCheck()
        let reader = JSONReader(try JSONParser.parse(bytes), check: check)
        let object = reader.object(of: ["position", "body", "decisions", "decided", "asked"])
        let position = object?.required("position").flatMap { JobBody.base64($0) } ?? []
        body = object?["body"].flatMap { JobBody(reader: $0) }
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
