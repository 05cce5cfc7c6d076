import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// One event of a job, as those are told who follow it.
struct ToldEvent: Sendable {
    let id: String
    let name: String
    let text: String

    var data: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:]
    }

    /// Its number within the attempt; progress and the end have none.
    var number: Int? { id.split(separator: ".").last.flatMap { Int($0) } }

    /// The events in the received part of a stream.
    static func all(in text: String) -> [ToldEvent] {
        text.components(separatedBy: "\n\n").filter { $0.contains("event: ") }.map { block in
            let lines = block.split(separator: "\n")
            func value(_ name: String) -> String {
                String(lines.first { $0.hasPrefix(name + ": ") }?.dropFirst(name.count + 2) ?? "")
            }
            return ToldEvent(id: value("id"), name: value("event"), text: value("data"))
        }
    }
}

extension Rig {
    /// The events of a job up to its end.
    func events(of id: String) async throws -> [ToldEvent] {
        ToldEvent.all(in: try await service.request(.get, "/v1/jobs/\(id)/events").text)
    }

    /// The events of a job that is followed before it begins.
    ///
    /// - Parameters:
    ///   - members: Its members.
    ///   - hasProgress: Whether those of its progress are among them.
    ///   - meanwhile: Is given the job's id once it may run, and each time more has come all that has.
    func followed(
        _ members: String, hasProgress: Bool = false,
        meanwhile: @escaping @Sendable (String, [ToldEvent]) async throws -> Void = { _, _ in }
    ) async throws -> [ToldEvent] {
        let id = try await submit(#"{"suspended": true, \#(members)}"#)
        @Sendable func follow() async throws -> [ToldEvent] {
            var bytes: [UInt8] = []
            for try await chunk in try await service.stream("/v1/jobs/\(id)/events").0 {
                bytes += chunk
                // Of an event that has not come whole nothing is known.
                let text = String(decoding: bytes, as: UTF8.self)
                let end = text.range(of: "\n\n", options: .backwards)?.upperBound ?? text.startIndex
                try await meanwhile(id, ToldEvent.all(in: String(text[..<end])))
            }
            return ToldEvent.all(in: String(decoding: bytes, as: UTF8.self))
        }
        async let all = follow()
        try await until {
            try await service.request(.get, "/metrics").text.contains("\nfetchd_event_streams 1\n")
        }
        _ = try await service.request(.post, "/v1/jobs/\(id)/resume")
        return try await all.filter { hasProgress || $0.name != "job.progress" }
    }
}
