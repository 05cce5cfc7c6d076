package import FetchEngine

/// Whether another job could go on where a download has stopped, or would if it stopped now (DLD-13).
package enum Resumable: Sendable, Equatable {
    case yes
    /// Why not, as one word: one of the engine's about the response, `empty` or `discarded`.
    case no(reason: String)

    /// Nothing was received.
    package static let empty = no(reason: "empty")
    /// The received bytes are not kept.
    package static let discarded = no(reason: "discarded")

    private static let reasonName = "notResumableReason"

    package init(_ resumability: Resumability) {
        switch resumability {
        case .resumable: self = .yes
        case .notResumable(let reason): self = .no(reason: reason.rawValue)
        }
    }

    /// Reads the error of a job, which ``write(error:)`` wrote with the id of its resume data.
    init?(error: RawJSON) {
        guard case .object(let members)? = try? JSONParser.parse(error.bytes) else { return nil }
        if members.contains(where: { $0.name == "resumeData" }) {
            self = .yes
        } else if case .string(let reason)? = members.first(where: { $0.name == Self.reasonName })?.value {
            self = .no(reason: reason)
        } else {
            return nil
        }
    }

    /// Writes the members of a job.
    func write(_ writer: inout JSONWriter) {
        writer.member("resumable", self == .yes)
        write(error: &writer)
    }

    /// Writes its members of an error.
    package func write(error writer: inout JSONWriter) {
        if case .no(let reason) = self { writer.member(Self.reasonName, reason) }
    }
}
