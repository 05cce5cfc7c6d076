public import Foundation

/// A session of the service: what its jobs share.
public struct ServiceSession: Sendable, Hashable, Decodable {
    /// Its id, `ses_…`.
    public let id: String
    /// `active`, `finishing`, `cancelling` or `invalidated`.
    public let state: String
    /// `default`, `ephemeral` or `background`.
    public let kind: String
    /// The client's name for a background session.
    public let identifier: String?

    enum CodingKeys: String, CodingKey, CaseIterable { case id, state, kind, identifier }
}

/// What endpoints are told of a session and its jobs.
public struct SessionEvent: Sendable, Hashable, Decodable {
    /// The id of its message.
    public let id: String
    /// The kind, such as `job.finished`.
    public let type: String
    /// When it was made.
    public let timestamp: Date
    /// What it is about, as it is now; nil when that is gone.
    public let data: JSONValue?

    enum CodingKeys: String, CodingKey, CaseIterable { case id, type, timestamp, data }
}
