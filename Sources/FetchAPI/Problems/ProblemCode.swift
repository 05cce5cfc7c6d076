import HTTPTypes

/// The stable name of a kind of problem; `openapi.yaml` lists the same ones.
enum ProblemCode: String, Sendable, CaseIterable {
    case malformedRequest, malformedJSON, invalidParameter, invalidIdempotencyKey
    case unauthorized, scopeRequired, roleRequired, keyBound, keyExhausted, forbidden
    case notFound, methodNotAllowed, requestTimeout, jobFinal, jobNotFinal, jobNotRetriable, jobNotWaiting
    case blobInUse, bodyNotWanted, uploadOffsetMismatch
    case alreadyAnswered, answerNotAllowed, questionClosed
    case sessionInvalidated, sessionNotInvalidated, sessionIdentifierInUse, sessionHasNoSnapshot
    case sessionEventsNotFinished, sessionEventsAcknowledged
    case deliveryNotReplayable, scheduleNotRunnable, groupClosed, groupNotFinished, keyNotRotatable
    case idempotencyKeyInUse
    case misdirectedRequest
    case preconditionFailed, contentTooLarge, uriTooLong, unsupportedMediaType, rangeNotSatisfiable, expectationFailed
    case invalidInput, idempotencyKeyReused, digestMismatch
    case tooManyFailures, tooManyRequests, tooManyCalls, trafficExhausted, tooManyBytes, tooManyUploads, overloaded
    case queueFull, sessionFull
    case tooManySessions, headersTooLarge
    case internalError, databaseUnavailable, notReady, nodeUnreachable, blobStoreUnavailable, storageFull
    case tooManyConnections

    var status: HTTPResponse.Status {
        switch self {
        case .malformedRequest, .malformedJSON, .invalidParameter, .invalidIdempotencyKey, .digestMismatch: .badRequest
        case .unauthorized: .unauthorized
        case .scopeRequired, .roleRequired, .keyBound, .keyExhausted, .forbidden: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .requestTimeout: .requestTimeout
        case .jobFinal, .jobNotFinal, .jobNotRetriable, .jobNotWaiting, .blobInUse, .bodyNotWanted,
            .uploadOffsetMismatch,
            .sessionInvalidated, .sessionNotInvalidated, .sessionIdentifierInUse, .sessionHasNoSnapshot,
            .sessionEventsNotFinished, .sessionEventsAcknowledged,
            .deliveryNotReplayable, .scheduleNotRunnable, .groupClosed, .groupNotFinished, .keyNotRotatable,
            .idempotencyKeyInUse, .alreadyAnswered:
            .conflict
        case .questionClosed: .gone
        case .misdirectedRequest: .misdirectedRequest
        case .preconditionFailed: .preconditionFailed
        case .contentTooLarge: .contentTooLarge
        case .uriTooLong: .uriTooLong
        case .unsupportedMediaType: .unsupportedMediaType
        case .rangeNotSatisfiable: .rangeNotSatisfiable
        case .expectationFailed: .expectationFailed
        case .invalidInput, .idempotencyKeyReused, .answerNotAllowed: .unprocessableContent
        case .tooManyFailures, .tooManyRequests, .tooManyCalls, .trafficExhausted, .tooManyBytes, .tooManyUploads,
            .overloaded, .queueFull, .sessionFull, .tooManySessions:
            .tooManyRequests
        case .headersTooLarge: .requestHeaderFieldsTooLarge
        case .internalError: .internalServerError
        case .databaseUnavailable, .notReady, .nodeUnreachable, .blobStoreUnavailable, .tooManyConnections:
            .serviceUnavailable
        case .storageFull: .init(code: 507, reasonPhrase: "Insufficient Storage")
        }
    }

    /// The kind of problem in a sentence, the same at every occurrence.
    var title: String {
        switch self {
        case .malformedRequest: "The request is not HTTP as it should be"
        case .malformedJSON: "The body is not JSON"
        case .invalidParameter: "A parameter is not valid"
        case .invalidIdempotencyKey: "The idempotency key is not valid"
        case .unauthorized: "A valid API key is required"
        case .scopeRequired: "The key lacks a scope"
        case .roleRequired: "Your role may not do this"
        case .keyBound: "The key is bound, and this lies beyond"
        case .keyExhausted: "As many jobs were submitted with the key as may be"
        case .forbidden: "The request came from a place that may not make it"
        case .notFound: "Not found"
        case .methodNotAllowed: "The method is not allowed here"
        case .requestTimeout: "The request took too long to arrive"
        case .jobFinal: "The job is final"
        case .jobNotFinal: "The job is not final"
        case .jobNotRetriable: "The job cannot be tried again"
        case .jobNotWaiting: "The job does not wait any more"
        case .preconditionFailed: "The resource has changed"
        case .sessionInvalidated: "The session takes no jobs any more"
        case .sessionNotInvalidated: "The session is not invalidated"
        case .sessionIdentifierInUse: "A live session has the identifier"
        case .sessionHasNoSnapshot: "No snapshot can be taken of the session"
        case .sessionEventsNotFinished: "The events of the session are not finished"
        case .sessionEventsAcknowledged: "The end of the session's events is acknowledged"
        case .deliveryNotReplayable: "The endpoint gets no messages"
        case .scheduleNotRunnable: "No job can be made from the schedule"
        case .groupClosed: "The group takes no jobs any more"
        case .groupNotFinished: "The group is not finished"
        case .keyNotRotatable: "The key cannot be rotated"
        case .idempotencyKeyInUse: "The idempotency key is taken"
        case .misdirectedRequest: "Another node has to answer"
        case .blobInUse: "The blob is in use"
        case .bodyNotWanted: "The job does not take a body now"
        case .alreadyAnswered: "The question has another answer"
        case .answerNotAllowed: "The answer breaks a limit of its question"
        case .questionClosed: "The question is closed"
        case .contentTooLarge: "The body is too large"
        case .uriTooLong: "The request target is too long"
        case .unsupportedMediaType: "The content type is not supported here"
        case .rangeNotSatisfiable: "The range lies outside of the body"
        case .expectationFailed: "The expectation cannot be met"
        case .invalidInput: "The input breaks a rule"
        case .idempotencyKeyReused: "The idempotency key was used for another request"
        case .digestMismatch: "The body is not what its digest says"
        case .tooManyFailures: "Too many requests without a valid key"
        case .tooManyRequests: "The tenant sends more requests than it may"
        case .trafficExhausted: "The jobs of the tenant have moved as much as they may today"
        case .tooManyBytes: "The tenant has as many bytes stored as it may"
        case .tooManyUploads: "The tenant has as many uploads that are not complete as it may"
        case .tooManyCalls: "The tenant has as many calls being answered as it may"
        case .overloaded: "There is as much to do as can be done"
        case .tooManyConnections: "The node has no place for the connection"
        case .queueFull: "The tenant has as many jobs waiting as it may"
        case .sessionFull: "There are as many jobs in memory as there may be"
        case .tooManySessions: "There are as many sessions as there may be"
        case .headersTooLarge: "The header fields are too large"
        case .internalError: "The service made a mistake"
        case .databaseUnavailable: "The database cannot be reached"
        case .notReady: "The service cannot take work"
        case .nodeUnreachable: "The node that has it cannot be reached"
        case .blobStoreUnavailable: "The bytes are out of reach for now"
        case .uploadOffsetMismatch: "The upload goes on elsewhere"
        case .storageFull: "There is no room left"
        }
    }

    /// The advice to a client, for the page behind `type`.
    var advice: String {
        switch self {
        case .malformedRequest:
            "The bytes could not be read as an HTTP request, or it has not one Host field that says a host and a port. Use an HTTP library, and look at what stands between it and this service."
        case .malformedJSON:
            "The body must be one JSON text (RFC 8259) in UTF-8, without duplicate members, and nested at most 32 deep. The detail says at which byte reading stopped."
        case .invalidParameter:
            "A query parameter or header field is unknown here, is there twice, or has a value that is not allowed; errors names it. A cursor is only good for the list that gave it out, with the same state."
        case .invalidIdempotencyKey:
            "An Idempotency-Key has 1 to 128 visible ASCII characters and is sent once."
        case .unauthorized:
            "Send an API key as \"Authorization: Bearer fk_…\". Keys are made with \"fetchd keys create\". The answer is the same whether the key is missing, mistyped, unknown or revoked."
        case .scopeRequired:
            "The detail names the scope, and so does WWW-Authenticate. A key has the scopes that it was made with: make another one, with \"fetchd keys create --scope\" or POST /v1/keys."
        case .roleRequired:
            "Sign in with a key that has more rights, or by a link for a higher role: fetchd dashboard link --role operator."
        case .keyBound:
            "A key can be bound to a session, to hosts and to a number of jobs, and makes no key with more rights than its own. The detail says which bound this breaks, and errors where. Nothing was stored."
        case .keyExhausted:
            "The job was not stored. Use another key, or ask whoever made this one."
        case .keyNotRotatable:
            "A key is rotated once, while it is valid and the key before it is not: so there are two at most. Rotate the new one, or revoke the old one first."
        case .forbidden:
            "A form of the dashboard must be sent from the dashboard itself. Load the page again and repeat."
        case .notFound:
            "There is no such resource, or it belongs to someone else; the two are not told apart."
        case .methodNotAllowed: "The Allow field of the answer lists the methods that exist for this resource."
        case .requestTimeout:
            "The rest of the request did not arrive in time, and the connection is closed. Try again on a new one."
        case .jobFinal:
            "What has ended is neither held nor let go on. A job that failed or was cancelled can be retried; one that succeeded is submitted anew."
        case .jobNotFinal:
            "Wait until the job has reached a final state: poll it, submit with Prefer: wait, or use a webhook."
        case .jobNotRetriable:
            "Only jobs that failed or were cancelled are tried again, while their session takes jobs, and not those of ephemeral sessions. Submit a new job instead."
        case .jobNotWaiting:
            "The priority of a job can be changed until it is final, its runAt until it runs, and its labels always."
        case .alreadyAnswered:
            "The first answer to a question counts; the detail says who gave it, and when. The question has it as answer."
        case .answerNotAllowed:
            "The question is still open: errors says what is not allowed. answers of the question has the words that are possible; what the configuration of the job forbids, no answer allows."
        case .questionClosed:
            "Nobody answered in time, or the job has ended or asks anew. GET /v1/jobs/{id}/questions has what it asks now."
        case .preconditionFailed: "Read the resource again, and repeat the change with its ETag if you still want it."
        case .sessionInvalidated: "Make a new session: one that was invalidated never takes jobs again."
        case .sessionNotInvalidated:
            "Invalidate the session, and wait until its last job has ended; the default session stays as long as its tenant."
        case .sessionIdentifierInUse:
            "GET /v1/sessions?identifier=… finds the session, to go on with it. The identifier is free again when that session is invalidated and its last job has ended."
        case .sessionHasNoSnapshot:
            "Snapshots are taken of sessions whose stores are stored, and which lie on fewer than 16 layers: make a session from the last snapshot and go on with that one."
        case .sessionEventsNotFinished:
            "Wait for session.eventsFinished, which background sessions send when all their jobs have ended and the messages about them were taken or given up."
        case .sessionEventsAcknowledged:
            "There is nothing left to do: the end of the events was acknowledged when eventsAcknowledgedAt says. The next jobs of the session bring a new one."
        case .deliveryNotReplayable:
            "The endpoint is disabled or removed. Enable it with PATCH, and replay or test then."
        case .scheduleNotRunnable:
            "What the schedule's job names is gone; the detail says what. Change the schedule to name something else."
        case .groupClosed: "Make a new group: one that was closed never takes jobs again."
        case .groupNotFinished:
            "Close the group and wait until its last job is final; POST /v1/jobs/actions cancels all of them at once."
        case .idempotencyKeyInUse:
            "With Retry-After: repeat the request then, and it gets the answer of the first one. Without it the request was carried out, and its answer was too long to be kept: read what it has changed."
        case .misdirectedRequest:
            "An ephemeral session and its jobs live in the memory of the node that made it, which the detail names; send requests about it there. Where the detail says that the node answers no clients, the balancer has to leave it out."
        case .blobInUse:
            "A job that is not final sends the blob. Wait until it is, or cancel it."
        case .bodyNotWanted:
            "Only a running job whose request has the body {\"stream\": true} takes one, once for each time it is sent. The detail says whether to send it again; the job's events tell when it is wanted."
        case .contentTooLarge:
            "A JSON body has at most 1 MiB; a batch has at most 10 000 lines of at most 64 KiB each; of one cached answer, a twentieth of the room of the cache is kept."
        case .uriTooLong: "Shorten the path and query."
        case .unsupportedMediaType:
            "Jobs and endpoints are sent as application/json, batches as application/x-ndjson or application/jsonl."
        case .rangeNotSatisfiable: "The Content-Range field of the answer says how many bytes there are."
        case .expectationFailed: "The only expectation that is known here is 100-continue."
        case .invalidInput:
            "Each entry of errors names a member by JSON Pointer and the rule it breaks. Nothing was stored."
        case .idempotencyKeyReused:
            "A key stands for one request for 24 hours. Use a new key for a new request, or send the first one again unchanged."
        case .digestMismatch:
            "The bytes changed on their way, or the digest is of others. Nothing was stored; send the body again."
        case .tooManyFailures:
            "Correct the key. A valid one is taken at any time; for wrong ones, wait as long as Retry-After says."
        case .tooManyRequests:
            "Send the request again after Retry-After. RateLimit of every response says how many requests there is room for; many jobs are best sent in one batch, which is one request. The operator sets how many there may be (TENANTS_MAXIMUM_REQUESTS_PER_SECOND)."
        case .trafficExhausted:
            "Jobs that were taken go on; more are taken again when the next day of UTC has begun, which Retry-After tells. GET /v1/usage says what was moved. The operator sets how much it may be (TENANTS_MAXIMUM_BYTES_PER_DAY)."
        case .tooManyBytes:
            "Delete jobs, blobs and downloaded files that are no longer needed, or let them expire, and complete or cancel uploads. GET /v1/usage says how many bytes there are without uploads. The operator sets how many there may be (TENANTS_MAXIMUM_STORED_BYTES)."
        case .tooManyUploads:
            "Complete uploads that were begun, or cancel them (DELETE /v1/uploads/{id}); those that nobody completes are removed after a week."
        case .tooManyCalls:
            "Wait until some are answered: those that wait for jobs, follow events or bodies, or send bodies take longest. The operator sets how many there may be (SERVER_MAXIMUM_CALLS_PER_TENANT). Of streams of events, \(OpenStreams.Kind.job.maximum) of jobs and \(OpenStreams.Kind.stored.maximum) of stored events may be open at a node."
        case .overloaded:
            "The work was not taken. Submit it again after Retry-After, or to another node when it was the memory of this one; what was taken before goes on."
        case .tooManyConnections:
            "Too many connections are open, from your address or in all, and none of them is idle. Close some, or try again after Retry-After. The operator sets how many there may be (SERVER_MAXIMUM_CONNECTIONS, SERVER_MAXIMUM_CONNECTIONS_PER_ADDRESS)."
        case .queueFull:
            "The job was not stored. Submit it again after Retry-After, or when jobs that wait have started; GET /v1/queue tells how many there are. The operator sets how many there may be."
        case .sessionFull:
            "Wait until jobs of your ephemeral sessions have ended, and invalidate and delete sessions that are no longer needed; other nodes have room of their own. A session has 1000 jobs at most; where the detail names what all tenants share, another session does not help."
        case .tooManySessions:
            "Invalidate and delete sessions that are no longer needed; ephemeral ones also have room on other nodes. The operator sets how many there may be (TENANTS_MAXIMUM_SESSIONS)."
        case .headersTooLarge: "A request has at most 100 header fields with 32 KiB in all."
        case .internalError:
            "It is ours to mend. Quote the instance when you report it. A submission with an Idempotency-Key can be repeated safely."
        case .databaseUnavailable:
            "Nothing can be stored or read at the moment. Try again after Retry-After; a submission whose answer was lost can be repeated safely with its Idempotency-Key."
        case .uploadOffsetMismatch:
            "Ask with HEAD how many bytes of the upload are there, and go on from there, one request at a time."
        case .storageFull:
            "The operator has to make room, or blobs that are not needed have to be deleted. Nothing was stored."
        case .nodeUnreachable:
            "What the job does now is known to the node that runs it. Try again after Retry-After: it answers then, or its jobs are given to another node."
        case .blobStoreUnavailable:
            "Try again after Retry-After. The operator starts the node again that keeps the bytes, or looks at the object store; the detail says which."
        case .notReady: "The detail says what is missing. The service becomes ready by itself when it is there again."
        }
    }
}
