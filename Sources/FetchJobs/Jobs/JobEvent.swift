package import FetchEngine

/// Something that happened to a job while it ran.
package struct JobEvent: Sendable {
    package enum Name: String, Sendable {
        case started = "job.started"
        case resumedAtOffset = "job.resumedAtOffset"
        case canonicalized = "job.canonicalized"
        case redirected = "job.redirected"
        case challenged = "job.challenged"
        case challengeCancelled = "job.challengeCancelled"
        case informational = "job.informational"
        case waitingForConnectivity = "job.waitingForConnectivity"
        case response = "job.response"
        case becameDownload = "job.becameDownload"
        case bodyWanted = "job.bodyWanted"
        case question = "job.question"
        case destinationCreated = "job.destinationCreated"
        case progress = "job.progress"
    }

    /// The place of an event among all of its job: attempts one after the other, and the events of each.
    package struct Position: Sendable, Comparable, CustomStringConvertible {
        package let attempt: Int
        package let number: Int

        package init(attempt: Int, number: Int) {
            self.attempt = attempt
            self.number = number
        }

        /// The position that a text names, as ``description`` writes it.
        package init?(_ text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let attempt = Int(parts[0]), let number = Int(parts[1]) else { return nil }
            self.init(attempt: attempt, number: number)
        }

        package var description: String { "\(attempt).\(number)" }

        package static func < (left: Self, right: Self) -> Bool {
            (left.attempt, left.number) < (right.attempt, right.number)
        }
    }

    package let position: Position
    package let name: Name
    /// A JSON object.
    package let data: RawJSON

    package init(position: Position, name: Name, data: RawJSON) {
        (self.position, self.name, self.data) = (position, name, data)
    }
}

extension LoadStep {
    package var eventName: JobEvent.Name {
        switch self {
        case .canonicalized: .canonicalized
        case .redirected(let redirect): redirect.cause == .response ? .redirected : .canonicalized
        case .challenged(let challenge):
            challenge.answer == .cancelAuthenticationChallenge ? .challengeCancelled : .challenged
        case .informed: .informational
        case .awaitedConnectivity: .waitingForConnectivity
        }
    }

    package func write(_ writer: inout JSONWriter, _ urls: URLForm) {
        switch self {
        // Of a job's URL only a text without secrets is kept.
        case .canonicalized(let written, let url):
            writer.member("original", written)
            writer.member("canonical", urls.text(of: url))
            writer.member("reason", Question.Canonicalization.Reason.canonical.rawValue)
        case .redirected(let redirect) where redirect.cause == .strictTransport:
            writer.member("original", urls.text(of: redirect.url))
            writer.member("canonical", urls.text(of: redirect.target))
            writer.member("reason", Question.Canonicalization.Reason.strictTransport.rawValue)
        case .redirected(let redirect): redirect.write(&writer, urls)
        case .challenged(let challenge): challenge.write(&writer)
        case .informed(let response): response.writeWithoutSecrets(&writer, urls)
        case .awaitedConnectivity(let url): writer.member("url", urls.text(of: url))
        }
    }
}
