extension ProblemCode {
    /// What has happened, and why the service answers so, for the page behind `type`.
    var cause: String {
        switch self {
        case .malformedRequest:
            "What came in breaks the grammar of HTTP/1.1 or HTTP/2, or names no host. Servers and proxies that read such a request differently can be played off against each other, so it is not guessed at."
        case .malformedJSON:
            "Reading stopped at the byte that the detail names. JSON that parsers read differently, with a member twice for example, is refused as a whole."
        case .invalidParameter:
            "Parameters that are not documented are refused rather than ignored, so that a misspelt filter does not mean everything."
        case .invalidIdempotencyKey:
            "The key would be stored and compared byte by byte, so its form is fixed."
        case .unauthorized:
            "The operation is for clients with a key, and the request has shown none that is known, valid and not revoked; or its token has another issuer, audience or time."
        case .scopeRequired:
            "The key is valid, but none of its scopes covers this operation."
        case .roleRequired:
            "Who signs in to the dashboard is viewer, operator or admin; this page or form asks for a higher role than the one of your sign-in."
        case .keyBound:
            "Whoever made the key has bound it to a session, to hosts or to a number of jobs, and the request is about something else too."
        case .keyExhausted:
            "The key was made for a number of jobs in all. Every submission and every retry counts, and so does a repeat with an Idempotency-Key."
        case .forbidden:
            "The form has no token of this sign-in, or the browser says that another site sent it (Sec-Fetch-Site, Origin)."
        case .notFound:
            "Nothing is at this path: it is misspelt, the thing was deleted or has expired, or it belongs to another tenant."
        case .methodNotAllowed:
            "The path leads to a resource, and that has no operation with this method."
        case .requestTimeout:
            "A request has a limited time for its header section and its body, so that slow senders do not hold connections."
        case .jobFinal:
            "The job has succeeded, failed or been cancelled, perhaps a moment before the request. A final state never changes."
        case .jobNotFinal:
            "What is asked for exists once the job has ended: its body, its HAR document, or its deletion."
        case .jobNotRetriable:
            "A retry runs the same job again. This one is not in a state that allows it, or what it needs is gone: its session, a blob, or a body that was streamed."
        case .jobNotWaiting:
            "The change has to come before the job is claimed by a node, and it was claimed or has ended."
        case .alreadyAnswered:
            "Another delegate, a webhook's reply or the time limit has answered first."
        case .answerNotAllowed:
            "A question takes some words only, and the configuration of its job may forbid what the answer would do, such as a redirect to a host that is not allowed."
        case .questionClosed:
            "The load does not wait for the answer any more, so it would change nothing."
        case .preconditionFailed:
            "The request came with If-Match, and the resource has another version than the one that it names: somebody else has changed it meanwhile."
        case .sessionInvalidated:
            "The session was invalidated, by finishing or cancelling its jobs."
        case .sessionNotInvalidated:
            "A session is removed only when no job can need its stores any more."
        case .sessionIdentifierInUse:
            "A background session is found again by its identifier, so there is one of a name at a time."
        case .sessionHasNoSnapshot:
            "A snapshot is a layer of stores in the database. An ephemeral session keeps its stores in memory, and too many layers would make every look-up slow."
        case .sessionEventsNotFinished:
            "Some jobs of the session go on, or messages about them have not been taken."
        case .sessionEventsAcknowledged:
            "The end of the session's events was acknowledged before."
        case .deliveryNotReplayable:
            "A delivery goes to the endpoint that it was made for, and that takes none."
        case .scheduleNotRunnable:
            "A schedule names a session, an endpoint, a blob or a credential by its id, and one of these does not exist any more or takes no jobs."
        case .groupClosed:
            "The group was closed so that its end can be told; a job that came later would belong to nothing."
        case .groupNotFinished:
            "The group is open, or some of its jobs are not final."
        case .keyNotRotatable:
            "A rotation makes a second key for the same purpose, for the time of the change. There is a second one, or the key is not valid any more."
        case .idempotencyKeyInUse:
            "A request under the same key is being carried out, or was and has left no answer for repeats, which have up to 64 KiB. To carry it out again could do harm."
        case .misdirectedRequest:
            "The state of an ephemeral session is not stored, so no other node can answer for it, and this node could not pass the request on. Or the node was started without the role `api`."
        case .blobInUse:
            "The bytes are the body of a request that is still to be sent, or may be sent again."
        case .bodyNotWanted:
            "A streamed body goes straight to the origin, so it is taken only while the origin is waiting for it."
        case .contentTooLarge:
            "The body is longer than this operation takes. Where Content-Length says so, nothing of it was read."
        case .uriTooLong:
            "Path and query have more than 8192 bytes."
        case .unsupportedMediaType:
            "Content-Type names a type that this operation does not read, or Content-Encoding a coding."
        case .rangeNotSatisfiable:
            "The Range field begins behind the last byte, or names no range of bytes."
        case .expectationFailed:
            "The Expect field asks for something that this server does not do."
        case .invalidInput:
            "The body is JSON, and one or more of its members are unknown, missing, of another type or outside of their range; or what it refers to may not be used."
        case .idempotencyKeyReused:
            "The key was sent before with another body or to another operation. To answer with what that made would be wrong, and so would be to make something new."
        case .digestMismatch:
            "Content-Digest or Repr-Digest names a SHA-256, and the bytes that arrived have another one."
        case .tooManyFailures:
            "Many requests from this address, or in all, came with a wrong key in the last minute. Guessing keys has to be slow."
        case .tooManyRequests:
            "The operator has set how many requests a tenant may send to a node in a second, and there were more."
        case .trafficExhausted:
            "The bytes that jobs send and receive are counted for each tenant and day of UTC, and they have reached the operator's limit."
        case .tooManyBytes:
            "Blobs, downloads and bodies of jobs are stored until they expire, and together with what uploads hold that are not complete they have reached the operator's limit."
        case .tooManyUploads:
            "Uploads that come in several requests are kept on the disk of the node that began them until they are complete, and the tenant has as many there as it may."
        case .tooManyCalls:
            "Calls that last, such as those that wait or follow events, hold a connection each; the tenant has as many as it may on this node."
        case .overloaded:
            "Memory or disk of the node is short, or the jobs of the tenant have waited for so long that more would only wait too."
        case .tooManyConnections:
            "Each connection costs memory, so a node has a number of them, and each address a part of that."
        case .queueFull:
            "The jobs of the tenant arrive faster than they start, and as many wait as the operator allows."
        case .sessionFull:
            "Jobs of an ephemeral session are kept in the memory of one node: a session has room for some, and so have all of a node, of which a tenant may have as much as it leaves free."
        case .tooManySessions:
            "A session has stores of its own, so the operator sets how many a tenant may have; ephemeral ones are also limited by the memory of a node, of which a tenant may have as much as it leaves free."
        case .headersTooLarge:
            "The header section is read before anybody is known, so it is short."
        case .internalError:
            "Something failed that should not have; it is in the log of the node with the same request id."
        case .databaseUnavailable:
            "PostgreSQL does not answer: it is being restarted, it fails over, or the network to it is interrupted."
        case .uploadOffsetMismatch:
            "The part does not begin where the bytes that are stored end: a part was lost or sent twice, or two clients send at once."
        case .storageFull:
            "The disk or the bucket that holds bodies takes no more bytes."
        case .nodeUnreachable:
            "The job runs on another node, or the upload grows on its disk, and the request to that node failed."
        case .blobStoreUnavailable:
            "The bytes are in the data directory of a node that does not run or answer, or in an object store that does not; they are not lost."
        case .notReady:
            "The node is starting or stopping, its database is not ready, or a part of it is not alive."
        }
    }
}
