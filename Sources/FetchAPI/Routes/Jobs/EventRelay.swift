import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The events of a job that runs on another node, as that one sends them.
struct EventRelay {
    let call: Call
    let id: Job.ID
    let tenant: Tenant.ID
    let forwarding: Forwarding
    let pace: EventsRoute.Pace

    /// Forwards events while the other node sends them.
    ///
    /// A node that cannot be reached sends none; the client then sees the job as the database has it.
    ///
    /// - Parameter last: The position of the last event that the client has; raised with each event.
    /// - Returns: Whether the last event of the job was among them.
    func send(to writer: inout any ResponseBodyWriter, after last: inout JobEvent.Position?) async throws -> Bool {
        let position = last
        do {
            let answer = try await forwarding.ask(call, about: id, of: tenant, patience: pace.heartbeat * 3) {
                headers in
                headers[.lastEventID] = position?.description
                // Tells who asks where that is the dashboard's page of the job.
                headers[.cookie] = call.headers[.cookie]
            }
            guard let answer, answer.status == .ok else { return false }
            return try await pass(answer, to: &writer, &last)
        } catch is Problem {
            return false
        } catch is NodeUnreachable {
            return false
        }
    }

    private func pass(
        _ answer: NodeAnswer, to writer: inout any ResponseBodyWriter, _ last: inout JobEvent.Position?
    ) async throws -> Bool {
        var cutter = EventCutter()
        for try await bytes in answer.chunks {
            guard let whole = cutter.add(bytes) else { continue }
            try await writer.write(ByteBuffer(bytes: whole.events))
            if whole.lastID == EventStream.finalID { return true }
            last = whole.lastID.flatMap { JobEvent.Position($0) } ?? last
        }
        return false
    }
}

/// Cuts the bytes of another node into whole events: an event that is torn apart when that node dies must not reach a
/// client as the beginning of the next.
struct EventCutter {
    private var rest: [UInt8] = []

    /// The events that these bytes complete, and the last id among them; nil when there is none.
    mutating func add(_ bytes: [UInt8]) -> (events: [UInt8], lastID: String?)? {
        // An end of an event may lie across two pieces.
        let start = max(rest.count - 1, 0)
        rest += bytes
        guard let end = rest[start...].lastEnd else { return nil }
        let events = Array(rest[..<end])
        rest.removeFirst(end)
        let id = events.split(separator: UInt8(ascii: "\n")).last { $0.starts(with: "id: ".utf8) }
        return (events, id.map { String(decoding: $0.dropFirst(4), as: UTF8.self) })
    }
}

extension ArraySlice<UInt8> {
    /// Behind the last empty line.
    fileprivate var lastEnd: Int? {
        var index = endIndex
        while index - startIndex >= 2 {
            if self[index - 1] == UInt8(ascii: "\n"), self[index - 2] == UInt8(ascii: "\n") { return index }
            index -= 1
        }
        return nil
    }
}
