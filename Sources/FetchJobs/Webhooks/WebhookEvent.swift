/// The types of events, as webhooks name them.
package enum WebhookEvent: String, Sendable, CaseIterable {
    /// An attempt of the job has begun.
    case jobStarted = "job.started"
    /// The URL was put into another form before anything was sent to it (RED-7).
    case jobCanonicalized = "job.canonicalized"
    /// A redirect was followed, or not.
    case jobRedirected = "job.redirected"
    /// A challenge was answered, and the load went on.
    case jobChallenged = "job.challenged"
    /// A challenge was cancelled, which has ended the load (AUT-17).
    case jobChallengeCancelled = "job.challengeCancelled"
    /// An informational response came before the response (BEY-11).
    case jobInformational = "job.informational"
    /// No connection can be made for now, and the load waits for one (BEY-2).
    case jobWaitingForConnectivity = "job.waitingForConnectivity"
    /// The response is there; one for each part of a body whose parts replace one another.
    case jobResponse = "job.response"
    /// The response is written to a file from now on.
    case jobBecameDownload = "job.becameDownload"
    /// A download goes on where another attempt has left it.
    case jobResumedAtOffset = "job.resumedAtOffset"
    /// A client is to send the body of the request.
    case jobBodyWanted = "job.bodyWanted"
    /// The job's delegate is asked.
    case jobQuestion = "job.question"
    /// The download has its name.
    case jobDestinationCreated = "job.destinationCreated"
    /// How far the transfer is.
    case jobProgress = "job.progress"
    /// The job has reached its final state.
    case jobFinished = "job.finished"
    /// The events of all jobs of a background session are delivered, and it has no other jobs (BKG-10).
    case sessionEventsFinished = "session.eventsFinished"
    /// The session takes no jobs and has none; nothing more comes from it (SES-22).
    case sessionInvalidated = "session.invalidated"
    /// The group takes no jobs, and all that it has are final.
    case groupFinished = "group.finished"
    /// Cookies of a session were set or removed (COK-9).
    case cookiesChanged = "cookies.changed"
    /// Credentials of the tenant were stored or removed (CRD-8).
    case credentialsChanged = "credentials.changed"
    /// Another endpoint of the tenant gets no messages any more (SEC-36).
    case endpointDisabled = "endpoint.disabled"
    /// Somebody has asked for a message to the endpoint, to see whether it arrives; it is sent whatever that lists.
    case endpointTest = "endpoint.test"

    /// The events of an endpoint that lists none: ends, and not every change before them.
    package static let ends: [WebhookEvent] = [
        .jobFinished, .sessionEventsFinished, .sessionInvalidated, .groupFinished,
    ]

    /// Whether it tells of a job that runs.
    package var isOfRun: Bool { JobEvent.Name(rawValue: rawValue) != nil }

    /// Whether it tells of a session's stores, and not of the session itself.
    package var isOfStores: Bool { self == .cookiesChanged || self == .credentialsChanged }
}
