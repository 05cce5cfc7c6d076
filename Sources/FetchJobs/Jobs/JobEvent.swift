package import FetchEngine

/// Something that happened to a job while it ran.
package struct JobEvent: Sendable {
    package enum Name: String, Sendable {
        case started = "job.started"
        case resumedAtOffset = "job.resumedAtOffset"
        case redirected = "job.redirected"
        case challenged = "job.challenged"
        case informational = "job.informational"
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
        case .redirected: .redirected
        case .challenged: .challenged
        case .informed: .informational
        }
    }

    package func write(_ writer: inout JSONWriter, _ urls: URLForm) {
        switch self {
        case .redirected(let redirect): redirect.write(&writer, urls)
        case .challenged(let challenge): challenge.write(&writer)
        case .informed(let response): response.writeWithoutSecrets(&writer, urls)
        }
    }
}
