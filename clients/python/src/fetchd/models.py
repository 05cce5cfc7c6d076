"""The documents that the service answers with, made by clients/generate from openapi.yaml. Do not edit."""
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ._reading import Member, Model, anything, boolean, integer, listed, mapped, number, text, time

JobID: TypeAlias = "str"

SessionID: TypeAlias = "str"

SessionIDOrDefault: TypeAlias = "str"

SnapshotID: TypeAlias = "str"

SessionKind: TypeAlias = "Literal['default', 'ephemeral', 'background']"

GroupID: TypeAlias = "str"

ScheduleID: TypeAlias = "str"

BlobID: TypeAlias = "str"

WebhookEndpointID: TypeAlias = "str"

Timestamp: TypeAlias = "datetime"

JobState: TypeAlias = "Literal['scheduled', 'queued', 'running', 'awaitingDecision', 'suspended', 'succeeded', 'failed', 'cancelled']"

WebhookEvent: TypeAlias = "Literal['job.started', 'job.canonicalized', 'job.redirected', 'job.challenged', 'job.challengeCancelled', 'job.informational', 'job.waitingForConnectivity', 'job.response', 'job.becameDownload', 'job.resumedAtOffset', 'job.bodyWanted', 'job.question', 'job.destinationCreated', 'job.progress', 'job.finished', 'session.eventsFinished', 'session.invalidated', 'group.finished', 'cookies.changed', 'credentials.changed', 'endpoint.disabled', 'endpoint.test']"

QuestionID: TypeAlias = "str"

EventSequence: TypeAlias = "str"

QuestionState: TypeAlias = "Literal['open', 'answered', 'closed']"

WebhookDeliveryID: TypeAlias = "str"

DeliveryState: TypeAlias = "Literal['pending', 'delivered', 'abandoned']"

HTTPURL: TypeAlias = "str"

BytesPerSecond: TypeAlias = "int"

PinnedLimits: TypeAlias = "list[Literal['parallelism', 'rate']]"

KeyID: TypeAlias = "str"

Scope: TypeAlias = "Literal['jobs:read', 'jobs:write', 'limits', 'sessions', 'credentials', 'webhooks', 'questions', 'schedules', 'keys', 'audit', 'admin']"

ProtocolName: TypeAlias = "str"

RequestOrURL: TypeAlias = "Any"

JobURL: TypeAlias = "str"

RequestHeaderList: TypeAlias = "list[RequestHeader]"

RequestHeaderMap: TypeAlias = "dict[str, Any]"

RequestHeaderName: TypeAlias = "str"

RequestHeaderValue: TypeAlias = "str"

MissedRuns: TypeAlias = "Literal['skip', 'runOnce', 'runAll']"

Overlap: TypeAlias = "Literal['allow', 'skip']"

QuestionKind: TypeAlias = "Literal['willPerformHTTPRedirection', 'didCanonicalize', 'didReceiveChallenge', 'didReceiveServerTrust', 'didReceiveResponse', 'shouldDecodeSourceData', 'decideDestination', 'needNewBodyStream', 'willCacheResponse', 'willBeginDelayedRequest']"

StatusCondition: TypeAlias = "Any"

OneOrMoreTexts: TypeAlias = "Any"

Answer: TypeAlias = "Any"

AnswerWord: TypeAlias = "Literal['performDefaultHandling', 'follow', 'returnResponse', 'cancel', 'useCredential', 'continueWithoutCredential', 'rejectProtectionSpace', 'accept', 'reject', 'allow', 'becomeDownload', 'yes', 'no', 'use', 'useBody', 'store', 'doNotStore', 'continueLoading', 'useRequest']"

Host: TypeAlias = "str"

HostPattern: TypeAlias = "str"

StoragePolicy: TypeAlias = "Literal['allowed', 'allowedInMemoryOnly', 'notAllowed']"

CachePolicy: TypeAlias = "Literal['useProtocolCachePolicy', 'reloadIgnoringLocalCacheData', 'reloadIgnoringLocalAndRemoteCacheData', 'returnCacheDataElseLoad', 'returnCacheDataDontLoad', 'reloadRevalidatingCacheData']"

EffectiveConfiguration: TypeAlias = "dict[str, Any]"

Labels: TypeAlias = "dict[str, str]"

Warnings: TypeAlias = "list[WarningsItem]"

ReceivedFields: TypeAlias = "list[ReceivedFieldsItem]"

NotResumableReason: TypeAlias = "Literal['method', 'status', 'validator', 'ranges', 'decoding', 'empty', 'discarded']"

Phase: TypeAlias = "list[float]"

SessionName: TypeAlias = "str"

CredentialID: TypeAlias = "str"

ProblemCode: TypeAlias = "Literal['malformedRequest', 'malformedJSON', 'invalidParameter', 'invalidIdempotencyKey', 'unauthorized', 'scopeRequired', 'roleRequired', 'keyBound', 'keyExhausted', 'forbidden', 'notFound', 'methodNotAllowed', 'requestTimeout', 'jobFinal', 'jobNotFinal', 'jobNotRetriable', 'jobNotWaiting', 'blobInUse', 'bodyNotWanted', 'uploadOffsetMismatch', 'alreadyAnswered', 'answerNotAllowed', 'questionClosed', 'sessionInvalidated', 'sessionNotInvalidated', 'sessionIdentifierInUse', 'sessionHasNoSnapshot', 'sessionEventsNotFinished', 'sessionEventsAcknowledged', 'deliveryNotReplayable', 'scheduleNotRunnable', 'groupClosed', 'groupNotFinished', 'keyNotRotatable', 'idempotencyKeyInUse', 'misdirectedRequest', 'preconditionFailed', 'contentTooLarge', 'uriTooLong', 'unsupportedMediaType', 'rangeNotSatisfiable', 'expectationFailed', 'invalidInput', 'idempotencyKeyReused', 'digestMismatch', 'tooManyFailures', 'tooManyRequests', 'tooManyCalls', 'trafficExhausted', 'tooManyBytes', 'tooManyUploads', 'overloaded', 'queueFull', 'sessionFull', 'tooManySessions', 'headersTooLarge', 'internalError', 'databaseUnavailable', 'notReady', 'nodeUnreachable', 'blobStoreUnavailable', 'storageFull', 'tooManyConnections']"


@dataclass(frozen=True, kw_only=True, slots=True)
class Aria2AnswerError(Model):
    """Why there is no result."""

    code: int | None = None
    """1, or one of JSON-RPC from -32768 on."""
    message: str | None = None
    """What is wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aria2Answer(Model):
    """The result of a call or its error, or a list of them."""

    id: Any = None
    """That of the call; null where it could not be read."""
    jsonrpc: str | None = None
    """`2.0`."""
    result: Any = None
    """What the method returns."""
    error: Aria2AnswerError | None = None
    """Why there is no result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot(Model):
    """What the stores of a session held at one time."""

    id: SnapshotID
    session: SessionID
    created_at: Timestamp


@dataclass(frozen=True, kw_only=True, slots=True)
class Session(Model):
    """A session as it stands."""

    id: SessionID
    state: Literal['active', 'finishing', 'cancelling', 'invalidated']
    """It takes jobs; it takes none, and those there are go on, or are being cancelled; it takes none and has none."""
    kind: SessionKind
    identifier: str | None = None
    """Of a background session."""
    description: str | None = None
    """As it was given."""
    configuration: LoadConfiguration | None = None
    effective_configuration: EffectiveConfiguration | None = None
    """Only where `include` asks for it."""
    snapshot: SnapshotID | None = None
    protocols: list[str] | None = None
    """The registered protocols that its jobs have; left out for all of the tenant's."""
    webhook: WebhookTarget | None = None
    node: str | None = None
    """The node that has an ephemeral session in memory."""
    created_at: Timestamp | None = None
    invalidated_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    events_finished_at: Timestamp | None = None
    """When the events of a background session were finished last."""
    events_acknowledged_at: Timestamp | None = None
    """When that was acknowledged; missing until it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionEvent(Model):
    """An event, as its message tells of it."""

    id: WebhookDeliveryID
    type: WebhookEvent
    timestamp: Timestamp
    data: dict[str, Any] | None = None
    """What it is about, as it is now, under `job` or `session`; missing when that is gone, or is no longer so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionEventList(Model):
    """A page of events."""

    data: list[SessionEvent]
    """The earliest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionList(Model):
    """A page of sessions."""

    data: list[Session]
    """The newest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group(Model):
    """A group as it stands."""

    id: GroupID
    state: Literal['open', 'closed', 'finished']
    """It takes jobs; it takes none, and those there are go on; it takes none, and all are final."""
    labels: Labels | None = None
    webhook: WebhookTarget | None = None
    created_at: Timestamp
    closed_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    jobs: dict[str, int] | None = None
    """How many jobs it has, in all and in each state; not in lists."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupList(Model):
    """A page of groups."""

    data: list[Group]
    """The newest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleLastError(Model):
    """Why no job was made at the last time."""

    at: Timestamp
    message: str
    """The member of the schedule and what is wrong with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule(Model):
    """A schedule as it stands."""

    id: ScheduleID
    state: Literal['active', 'paused', 'ended']
    """Jobs are to come; its client holds it; no time is left."""
    cron: str | None = None
    """As it was given."""
    time_zone: str | None = None
    """The clock that cron means."""
    interval: int | None = None
    """Seconds from one time to the next."""
    url_group: str | None = None
    """A job is made for each URL of this group."""
    job: JobSpec
    missed_runs: MissedRuns
    overlap: Overlap
    starts_at: Timestamp | None = None
    ends_at: Timestamp | None = None
    labels: Labels | None = None
    created_at: Timestamp
    paused_at: Timestamp | None = None
    next_run_at: Timestamp | None = None
    last_run_at: Timestamp | None = None
    """The time that the last job was made for, or that of a job that was asked for besides."""
    last_job: JobID | None = None
    runs: int
    """How many jobs were made."""
    last_error: ScheduleLastError | None = None
    """Why no job was made at the last time."""
    next_runs: list[Timestamp] | None = None
    """The next times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleList(Model):
    """A page of schedules."""

    data: list[Schedule]
    """The newest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionBy(Model):
    """Who answered."""

    who: Literal['delegate', 'key', 'operator', 'otherwise']
    """The delegate's endpoint by its reply, an API key, a person at the dashboard, or the configuration when there
    was no answer."""
    endpoint: WebhookEndpointID | None = None
    key: str | None = None
    """The id of the key."""
    reason: str | None = None
    """Why it was the configuration."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Model):
    """What a load has come to and asks, with the facts that an answer is chosen by and no secret."""

    id: QuestionID
    job: JobID
    session: SessionID | None = None
    """The session of the job; left out where it names none."""
    attempt: int
    """The attempt of the job."""
    sequence: EventSequence
    kind: QuestionKind
    state: QuestionState
    asked_at: Timestamp
    deadline: Timestamp
    """No answer is taken from then on; what the configuration says `otherwise` holds."""
    answers: list[AnswerWord]
    """The words that are possible here."""
    endpoint: WebhookEndpointID | None = None
    """Who is asked by webhook; left out where the question waits in the API alone."""
    request: dict[str, Any]
    """The request at hand: URL, method and header fields, of which sensitive ones have no value. Texts of more than
    1024 bytes are cut; control and bidirectional characters are written as escapes."""
    facts: dict[str, Any]
    """By kind. `willPerformHTTPRedirection`: `response`, `proposed` (the request that would follow), `hop` of
    `maximumHops`. `didCanonicalize`: `original`, `canonical`, `reason`. `didReceiveChallenge`: `protectionSpace`,
    `level`, `previousFailureCount`, `proposedCredential` (the `user` of what was refused last, and its `id` where
    it is a stored one), `failureResponse`, `offered` (the methods, strongest first). `didReceiveServerTrust`:
    `host`, `port`, `verdict`, `error`, `reason`, `spki`, `chainSHA256`, `chain`. `didReceiveResponse`:
    `response`, `part`. `shouldDecodeSourceData`: `mimeType`. `decideDestination`: `suggestedFilename`,
    `expectedContentLength`. `needNewBodyStream`: `reason`, `offset`. `willCacheResponse`: `response`,
    `bodyBytes`, `storagePolicy`. `willBeginDelayedRequest`: `url`."""
    ended_at: Timestamp | None = None
    """When it was answered or closed."""
    reason: Literal['expired', 'withdrawn', 'superseded'] | None = None
    """Why it was closed. `expired` — there was no answer in time. `withdrawn` — its job ended or was stopped.
    `superseded` — its node was lost, and the next attempt asks anew."""
    answer: Answer | None = None
    """The answer, without its secrets."""
    by: QuestionBy | None = None
    """Who answered."""
    note: str | None = None
    """What who answered has said about it."""
    remember: Remember | None = None
    """For how long and for which questions the answer is remembered; left out when it is not."""
    fault: str | None = None
    """What was wrong with the last reply of the endpoint; never the reply itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionList(Model):
    """A page of questions."""

    data: list[Question]
    """The oldest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remember(Model):
    """For how long the session of the job gives the answer again, and to which questions. An answer that is a word or
    names a stored credential can be remembered; one with a credential, body, name or request of its own cannot, nor
    the answer to a job that names no session. The session remembers 64 answers: the oldest one makes way for
    another."""

    seconds: int
    """How long."""
    when: QuestionConditions | None = None
    """Which questions. By default those with the same facts but for what changes each time: of redirects and other
    forms of a URL `from` and `to` without their queries; of challenges the protection space, and whether a
    credential was refused before; of server trust the server, its whole chain and what is wrong with it; of
    others the URL without its query, and the status and media type, or the method. It must be left out with
    `accept`, which holds for that chain of that server alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RememberedAnswer(Model):
    """An answer that a session gives again to questions like the one that it was given to."""

    question: QuestionID
    """The question that it was given to, which names it."""
    on: QuestionKind
    when: QuestionConditions
    answer: Answer
    by: dict[str, Any]
    """Who gave it, as in the question."""
    remembered_at: Timestamp
    expires_at: Timestamp
    """It is given no more from then on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RememberedAnswerList(Model):
    """A page of remembered answers."""

    data: list[RememberedAnswer]
    """In the order of their questions."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionActionResult(Model):
    """What came of it."""

    matched: int
    """How many questions the filter meant."""
    changed: int
    """How many have got the answer, or would get it."""
    asked_before: Timestamp
    """The questions were asked before this time, which is told to the microsecond."""
    next_cursor: str | None = None
    """Leads to the rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpec(Model):
    """What to fetch and how."""

    kind: Literal['data', 'download', 'upload'] | None = None
    """The kind of task of the URL Loading System. A download asks for no content coding unless its request names
    one, so that it can be gone on with when it was cut."""
    session: SessionIDOrDefault | None = None
    """The session it belongs to, by its id; `default`, or nothing, is the default session of the tenant."""
    request: RequestOrURL
    configuration: LoadConfiguration | None = None
    priority: float | None = None
    """Of two jobs that wait, the one with more goes first. A server is told it as the `Priority` of RFC 9218, by
    `u=0` for 1 to `u=7` for 0, where it is not the 3 of most jobs and the request has no such field itself."""
    run_at: Timestamp | None = None
    """Not to start before; a time that has passed is now."""
    expires_at: Timestamp | None = None
    """When the job is given up, whether it waits, runs or is suspended: it fails with `timedOut` then. Without it a
    job waits as long as it takes; waiting never counts as a timeout of the transfer."""
    suspended: bool | None = None
    """Whether the job is held from the start, until it is resumed."""
    discretionary: bool | None = None
    """Whether the job may wait for a quiet time: it is `scheduled` until a node that runs few jobs finds no other
    one waiting (nodes look every few seconds), or until an hour after it was submitted or after its `runAt`; then
    it is a job like others. What is tried again waits for the time of its retry alone."""
    initiated: Literal['interactive', 'background'] | None = None
    """Whether somebody was waiting when the job was submitted. What is initiated in the `background` is
    `discretionary` in a background session, as the URL Loading System has it; elsewhere it makes no difference."""
    flow: JobFlow | None = None
    unique: UniqueKey | None = None
    labels: Labels | None = None
    resume_from: BlobID | None = None
    """What an earlier download has left (`error.resumeData`), for this one to go on with."""
    webhook: JobWebhook | None = None
    callbacks: JobCallbacks | None = None
    group: GroupID | None = None
    """The group it belongs to, which must be open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate(Model):
    """At most so many jobs start in any time of this length."""

    jobs: int
    """How many."""
    period: float
    """In how many seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitedHost(Model):
    """A host, for the jobs of the tenant."""

    host: str
    """As URLs write it, with its port where that is not a default."""
    parallelism: int | None = None
    """How many of its jobs run at once, on all nodes; any number without it."""
    rate: Rate | None = None
    maximum_bytes_per_second: BytesPerSecond | None = None
    paused: bool
    """Whether none of its jobs is started."""
    waiting: int
    """How many of its jobs wait to be let through, as far as they have come up; 100000 is as many or more."""
    running: int
    """How many of its jobs run, on all nodes."""
    circuit: Literal['closed', 'open', 'halfOpen']
    """Whether jobs are started, as far as the origin's answers decide: `closed`, all are; `open`, none is, since it
    answered 429, or 503 with `Retry-After`, or said by `RateLimit` that nothing is left; `halfOpen`, one is at
    first, and with each answer twice as many at once."""
    circuit_open_until: Timestamp | None = None
    """Until when none is, or was; absent while the circuit is closed. Resuming the host closes it."""
    circuit_reason: str | None = None
    """What the origin said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow(Model):
    """A flow."""

    key: str
    """What jobs name it by."""
    parallelism: int | None = None
    """How many of its jobs run at once, on all nodes; any number without it."""
    rate: Rate | None = None
    maximum_bytes_per_second: BytesPerSecond | None = None
    order: Literal['any', 'fifo']
    """`fifo`: one after the other as they were submitted, without regard to priority; a job that is tried again
    holds up those behind it. It goes without a parallelism."""
    on_failure: Literal['skip', 'block']
    """What a job that failed does to those behind it: nothing, or it holds them up until it was tried again with
    success or removed, or the flow is told to skip it. `block` goes with the order `fifo`."""
    pinned: PinnedLimits | None = None
    blocked_by: JobID | None = None
    """The job that failed and holds up those behind it; absent when none does."""
    paused: bool
    """Whether none of its jobs is started."""
    waiting: int
    """How many of its jobs wait to be let through, as far as they have come up; 100000 is as many or more."""
    running: int
    """How many of its jobs run, on all nodes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostList(Model):
    """A page of hosts."""

    data: list[LimitedHost]
    """The hosts."""
    has_more: bool
    """Whether there is another page."""
    next_cursor: str | None = None
    """What `cursor` asks for the next page with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowList(Model):
    """A page of flows."""

    data: list[Flow]
    """The flows."""
    has_more: bool
    """Whether there is another page."""
    next_cursor: str | None = None
    """What `cursor` asks for the next page with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantUsageBytesOfDay(Model):
    """Heads and bodies of requests and responses that jobs have moved since the day of UTC began."""

    count: int
    """How many bytes."""
    maximum: int | None = None
    """How many there may be before no more jobs are taken."""
    sent: int
    """Those of requests."""
    received: int
    """Those of responses."""
    resets_at: Timestamp
    """When the next day begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantUsage(Model):
    """What a tenant uses, with the `maximum` of each, which is left out where there is none. Waiting jobs, sessions
    and open questions are counted up to 100000; a larger number is given as that."""

    requests_per_second: UsageMaximum
    """Requests to each node; the `RateLimit` field of its responses says what is left."""
    waiting_jobs: UsageCount
    """Jobs that wait."""
    running_jobs: UsageCount
    """Jobs that nodes have. Those among them that are suspended or wait for an answer do not count against the
    maximum."""
    sessions: UsageCount
    """Sessions that were made and have not ended."""
    open_questions: UsageCount
    """Questions that wait for an answer."""
    stored_bytes: UsageCount
    """Bytes of what the tenant has uploaded, of the files of its downloads, and of the bodies that are kept with its
    jobs. Uploads that are not complete take room too, and are not among these."""
    bytes_of_day: TenantUsageBytesOfDay
    """Heads and bodies of requests and responses that jobs have moved since the day of UTC began."""
    bytes_per_second: UsageMaximum
    """Bytes of bodies, in each direction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageMaximum(Model):
    """How much there may be in a second."""

    maximum: int | None = None
    """The limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageCount(Model):
    """How many there are and may be."""

    count: int
    """How many there are."""
    maximum: int | None = None
    """How many there may be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class APIKey(Model):
    """A key, without its token."""

    id: KeyID
    tenant: str | None = None
    """The tenant's name; for operators."""
    name: str
    """What to call it; it need not be the only one of its name."""
    scopes: list[Scope]
    """What it may do."""
    session: SessionIDOrDefault | None = None
    """The only session whose jobs it submits and sees; every session without it."""
    hosts: list[str] | None = None
    """The only hosts that its jobs load from; every host without it. Each is a host, `*.` and a host for all below
    it, `*`, or a block of addresses, with a port or without."""
    maximum_jobs: int | None = None
    """How many jobs may be submitted and retried with it in all; any number without it."""
    expires_at: datetime | None = None
    """When it stops being valid; never without it."""
    submitted_jobs: int | None = None
    """How many jobs were; there where there is a maximum."""
    created_at: datetime
    """When it was made."""
    created_by: KeyID | None = None
    """The key that it was made with; a command made the others."""
    last_used_at: datetime | None = None
    """When it was used last, as of a minute ago."""
    replaced_by: KeyID | None = None
    """The key that it was rotated to."""
    revoked_at: datetime | None = None
    """When it was revoked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewAPIKey(Model):
    """A key, with its token."""

    id: KeyID
    tenant: str | None = None
    """The tenant's name; for operators."""
    name: str
    """What to call it; it need not be the only one of its name."""
    scopes: list[Scope]
    """What it may do."""
    session: SessionIDOrDefault | None = None
    """The only session whose jobs it submits and sees; every session without it."""
    hosts: list[str] | None = None
    """The only hosts that its jobs load from; every host without it. Each is a host, `*.` and a host for all below
    it, `*`, or a block of addresses, with a port or without."""
    maximum_jobs: int | None = None
    """How many jobs may be submitted and retried with it in all; any number without it."""
    expires_at: datetime | None = None
    """When it stops being valid; never without it."""
    submitted_jobs: int | None = None
    """How many jobs were; there where there is a maximum."""
    created_at: datetime
    """When it was made."""
    created_by: KeyID | None = None
    """The key that it was made with; a command made the others."""
    last_used_at: datetime | None = None
    """When it was used last, as of a minute ago."""
    replaced_by: KeyID | None = None
    """The key that it was rotated to."""
    revoked_at: datetime | None = None
    """When it was revoked."""
    token: str
    """What requests authenticate with; shown this once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class APIKeyList(Model):
    """A page of keys."""

    data: list[APIKey]
    """The oldest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol(Model):
    """What takes certain URLs."""

    scheme: str
    """That of its URLs."""
    host: HostPattern | None = None
    """The hosts of its URLs; left out where any will do."""
    name: ProtocolName | None = None
    """Of a registered one, for `protocols` of a session."""
    built_in: bool
    """Whether the service loads them itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtocolList(Model):
    """The protocols of a tenant."""

    data: list[Protocol]
    """In the order of asking; the first that takes a URL has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue(Model):
    """All jobs of the tenant that are not final."""

    paused: bool
    """Whether none of them is started."""
    service_paused: bool
    """Whether the operator has paused the jobs of all tenants."""
    running: int
    """How many of them run, on all nodes."""
    maximum_bytes_per_second: BytesPerSecond | None = None
    waiting: int
    """How many of them do not; more than 100 000 are not counted."""
    maximum_waiting_jobs: int | None = None
    """How many may wait; left out when as many as come."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFlow(Model):
    """The flow that the job joins; its limits are set at `/v1/flows`."""

    key: str
    """At most 256 bytes, chosen by the client."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobActionResult(Model):
    """What was done."""

    matched: int
    """How many jobs were meant."""
    changed: int
    """To how many of them it made a difference."""
    next_cursor: str | None = None
    """There are more, or more to look at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request(Model):
    """The request to send."""

    written_url: JobURL | None = None
    """`url` as it was given to the service, where that is no more than another form of it: shown with the job, and
    asked about (`didCanonicalize`). It is not kept when it has a user name, a query that is sensitive, or
    characters that mislead, and not when it is another URL."""
    url: JobURL | None = None
    mirrors: list[JobURL] | None = None
    """Further URLs of the same file, for a download by GET without a body: http, https, ftp or ftps, without a user
    name and password. Each attempt loads the next one in turn, and after the last of them `url` again. As long as
    there is one that was not loaded yet, another attempt follows at once: after an error of whatever kind that is
    not the node's own, and after a status from 400 on, even where `retry` allows no more. From then on `retry`
    says whether there are more attempts, and what comes of the last one is what comes of the job."""
    method: str | None = None
    """Any token but CONNECT, TRACE and TRACK (RFC 9110 §9.1)."""
    headers: Any = None
    """Sent in this order, repeats kept; 32 KiB in all. Fields that frame the message (`Host`, `Content-Length`,
    `Transfer-Encoding`, `Connection`, `Keep-Alive`, `Upgrade`, `TE`, `Trailer`, `Expect`, `Proxy-*`) belong to
    the engine and are refused. The values of sensitive fields are sealed where the job is stored and shown as
    `<redacted>` from then on, which is refused where a secret is needed; redirects carry them to no other origin,
    unless `forwardCredentialsToHosts` names its host."""
    attempt_headers: list[AttemptHeader] | None = None
    """Header fields that are made anew for each attempt, and go in place of those of `headers` with their names."""
    body: RequestBody | None = None
    sensitive: list[Literal['query', 'body']] | None = None
    """What beside sensitive header fields is sealed where the job is stored and never shown again: the query of the
    URL (and of its mirrors, and of `mainDocumentURL`), which is `?<redacted>` in all URLs that the job met, or
    the body, which is `{"text": "<redacted>"}` whatever its form. Answers to a job with a sensitive query are not
    cached, and a download begins anew after an interruption. A body that is a stream or has blobs cannot be
    named: it is not in the job."""
    redaction: Literal['text', 'digest'] | None = None
    """What is stored and shown in place of sensitive fields and a sensitive body: `<redacted>`, or `REDACTED:` and
    the SHA-256 of the value or the body in hexadecimal digits, by which equal secrets are told, and ones that are
    easy to guess are guessed."""
    cache_policy: CachePolicy | None = None
    main_document_url: HTTPURL | None = None
    """The document that the resource is part of, for the cookie policy."""
    properties: dict[str, Any] | None = None
    """What the protocol of the URL wants to know besides, where an operator has registered it; any JSON, 16 KiB in
    all, kept in clear. HTTP looks at none of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptHeader(Model):
    """A header field whose value is made for each attempt."""

    name: str
    """A name that `headers` might have too."""
    content: Literal['job', 'retries', 'signature']
    """The id of the job, the number of attempts that another one has followed (0 in the first), or a signature: a
    JSON Web Token (HS256) by the tenant's current signing key (`GET /v2/keys`) with the claims `iss`, `sub` (the
    URL), `iat`, `nbf`, `exp` (in 300 seconds), `jti` and `body` (the SHA-256 of the body in base64url). A body
    that is a stream or has blobs cannot be signed."""
    issuer: str | None = None
    """The claim `iss` of a signature; `fetchd` when it is left out. Other contents have none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header(Model):
    """One header field."""

    name: str
    """A token (RFC 9110 §5.1)."""
    value: str
    """No control characters (RFC 9110 §5.5)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestHeader(Model):
    """One header field of a request."""

    name: RequestHeaderName
    value: RequestHeaderValue
    sensitive: bool | None = None
    """Whether the value is a secret. Fields that carry credentials always are: `Authorization`, `Cookie`,
    `X-Authorization`, `X-API-Key`, `X-Apikey`, `API-Key`, `Apikey`, `X-Auth-Token`, `X-Auth-Key`,
    `X-Access-Token`, `X-Session-Token`, `X-CSRF-Token`, `X-Csrftoken`, `X-XSRF-Token`, `X-Amz-Security-Token`,
    `X-Goog-API-Key`, `X-Goog-Iam-Authorization-Token`, `X-Functions-Key`, `Ocp-Apim-Subscription-Key`,
    `X-Rapidapi-Key`, `Private-Token`, `Job-Token`, `X-Gitlab-Token`, `X-Vault-Token`, `X-Consul-Token`,
    `X-Shopify-Access-Token` and `X-Subject-Token`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestBody(Model):
    """Exactly one of the forms. The content type that goes with it is sent unless `headers` names one: text is
    `text/plain; charset=utf-8`, json `application/json`, form `application/x-www-form-urlencoded`, a blob what it
    was stored with."""

    text: str | None = None
    """Sent as UTF-8."""
    base64: str | None = None
    """The bytes in base64 (RFC 4648 §4)."""
    json: Any = None
    """Any JSON."""
    form: dict[str, str] | None = None
    """Fields, sent in this order."""
    multipart: list[BodyPart] | None = None
    """The parts of a `multipart/form-data` body (RFC 7578), in order."""
    blob: BlobID | None = None
    stream: Literal[True] | None = None
    """The client sends the body while the job runs, with `PUT /v1/jobs/{id}/body`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyPart(Model):
    """One part, with exactly one of text, base64 and blob. A part is a file when it has a filename or is no text; a
    file without a filename is called by its name."""

    name: str
    """The name of the field."""
    text: str | None = None
    """Sent as UTF-8."""
    base64: str | None = None
    """The bytes in base64 (RFC 4648 §4)."""
    blob: BlobID | None = None
    filename: str | None = None
    """The name of the file."""
    content_type: str | None = None
    """The type of the file; by default that of the blob, or what the extension of its name says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProxyCredential(Model):
    """A user name and a password."""

    user: str
    """The user name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationRedirects(Model):
    """What to do when the origin redirects."""

    policy: Literal['follow', 'return', 'fail'] | None = None
    """Go on; take the redirect response as the response; or fail."""
    maximum: int | None = None
    """How many are followed before the job fails."""
    allow_https_to_http: bool | None = None
    """Whether a redirect may leave TLS."""
    preserve_method: bool | None = None
    """Keep method and body on 301 and 302, where a POST becomes a GET by custom."""
    allowed_hosts: list[Host] | None = None
    """Redirects may lead only to these hosts."""
    forward_credentials_to_hosts: list[Host] | None = None
    """The hosts that are shown the credential that came with the job and its sensitive fields, such as
    `Authorization` and `Cookie`, although they are meant for the server of its URL: over https alone, unless that
    URL is an http one. Nobody else is, and stored credentials are not shown to these either."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationAuthentication(Model):
    """How the server of the job's URL is answered when it asks who is there."""

    credential: Any = None
    """In place of what the session has stored for that server: the id of a credential, or one that comes with the
    job. The former must be stored for the server of the job's URL (`credentialOutOfSpace`): its scheme, host and
    port, and it answers the realm that it is stored for, if any. One that is stored for another method is not
    sent as Basic. A session's answers those of its jobs that it is stored for. The latter is sealed and shown as
    `sealed` from then on; a user name and password in the job's URL become one."""
    persistence: Literal['none', 'forSession', 'permanent', 'synchronizable'] | None = None
    """How long a credential that comes with the job, or in its URL, is kept once it has convinced, unless it says so
    itself: not, for the session, or for all sessions of the tenant. `synchronizable` is read as `permanent`."""
    methods: list[Literal['basic', 'digest', 'bearer', 'ntlm', 'negotiate', 'clientCertificate', 'awsSigV4']] | None = None
    """The methods that are answered; all when left out."""
    maximum_failures: int | None = None
    """How often authentication may fail before `onFailure` says what to do."""
    on_failure: Literal['performDefaultHandling', 'rejectProtectionSpace', 'cancelAuthenticationChallenge'] | None = None
    """`performDefaultHandling`: the refusal is the job's response; `rejectProtectionSpace`: the next method that the
    server offers is tried; `cancelAuthenticationChallenge`: the job fails."""
    kerberos_service: str | None = None
    """The service that Kerberos tickets are asked for where a server offers Negotiate: the first component of its
    principal, of which the host is the second."""
    delegates_kerberos_tickets: bool | None = None
    """Whether a server that Negotiate convinces gets tickets with which it acts for the user elsewhere. They are as
    good as the user's own. A proxy gets none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationCookies(Model):
    """Which cookies are taken and sent."""

    accept_policy: Literal['always', 'onlyFromMainDocumentDomain', 'never'] | None = None
    """Which cookies of answers are kept."""
    send: bool | None = None
    """Whether requests carry the cookies that are kept; those of answers are kept all the same."""
    jar: Literal['session', 'none'] | None = None
    """Where cookies are kept: with the session, or nowhere. Jobs of a session that they name use its jar. Those that
    name none have no jar, unless they say `session`: then it is that of the default session. Without a jar no
    cookie is kept or sent, not even one that a redirect of the same job has set: what sets a cookie and redirects
    to where it is asked for needs a jar."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationCache(Model):
    """Which answers are stored, and which stored ones are used."""

    request_cache_policy: CachePolicy | None = None
    """For requests whose own policy is the protocol's."""
    storage_policy: StoragePolicy | None = None
    """Where answers are stored that may be stored. It does not matter for the use of stored answers, which the
    policy of the request decides."""
    audience: Literal['private', 'shared'] | None = None
    """For whom answers are stored (RFC 9111 §1.2.1). `private`: for one user. `shared`: for many, as by a cache of
    all who use the session: answers marked `private` are not stored, nor those to a request with `Authorization`
    unless they say that they may be, and `s-maxage` and `proxy-revalidate` count."""
    cacheable_statuses: Literal['rfc9111', 'success'] | None = None
    """Answers with which status may be stored: those of RFC 9111 (404 and 301 for example too), or 200 to 299."""
    maximum_entry_bytes: int | None = None
    """Answers with longer bodies are not stored; a twentieth of the tenant's room at most."""
    user_info: dict[str, str] | None = None
    """What is attached to the answers that are stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationProxy(Model):
    """The proxy that everything goes through (`url`), or those for some schemes and hosts (`rules`). Without any of
    its members it is the operator's (`WORKER_PROXY`), if there is one; an empty list of `rules` goes without. A job
    fails with `proxyForbidden` when the operator does not allow its proxy."""

    url: str | None = None
    """How the proxy is spoken to, its host and its port; without user name and password."""
    credential: Any = None
    """What the proxy is shown when it asks: the id of a credential, which must be stored for this proxy (`isProxy`;
    `credentialOutOfSpace`), or a user and a password that come with the job. The latter are sealed and shown as
    `sealed` from then on."""
    rules: list[ProxyRule] | None = None
    """The first rule that a URL meets counts; what meets none is reached without a proxy."""
    no_proxy: list[HostPattern] | None = None
    """The hosts that are reached without a proxy, even if a rule names them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationTls(Model):
    """Which versions of TLS are used."""

    minimum_version: Literal['1.2', '1.3'] | None = None
    """The oldest version accepted."""
    maximum_version: Literal['1.2', '1.3'] | None = None
    """The newest version offered; the newest there is by default."""
    alpn: Any = None
    """The protocols that are offered (RFC 7301); by default those of `connections.httpVersion`. Without `h2` https
    is HTTP/1.1; empty leaves the extension out. `h2` needs `http/1.1` beside it."""
    strict_transport: list[HostPattern] | None = None
    """Hosts that are reached by https only, as if they had sent that policy (RFC 6797): an http URL of such a host
    is loaded by https, and `redirects` tells it with the cause `strictTransport`. `*.` and a host are those below
    it, `*` is every host. What origins say in `Strict-Transport-Security` is shown among the fields of the
    response and is not remembered: jobs are the same on every node."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationTimeouts(Model):
    """In seconds. Waiting in the queue never counts."""

    timeout_interval_for_request: float | None = None
    """The longest pause between bytes."""
    timeout_interval_for_resource: float | None = None
    """The longest time for the whole load from the start of its first attempt: redirects, challenges, further
    attempts and the waits before them are included. Then the job fails with `timedOut`, and no attempt begins
    that would be later. 604800 by default in background sessions. (The URL Loading System has that week for all:
    for a person's device, where one waits for a network. A service's client wants to hear of a failure the same
    day.)"""
    connect: float | None = None
    """The longest time until a connection stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationConnections(Model):
    """Which connections are used."""

    maximum_per_host: int | None = None
    """How many connections to one host, on all nodes together. Jobs that have none wait, and no time of theirs runs
    meanwhile. An origin that speaks HTTP/2 is asked for more at once."""
    http_version: Literal['automatic', '1.1', '2'] | None = None
    """`1.1`: that alone. `2`: over http 2 alone, by prior knowledge; over https as `automatic`. `automatic`: 2 where
    TLS agrees on it, else 1.1."""
    waits_for_connectivity: bool | None = None
    """Whether a load that finds no connection waits for one as long as the resource may take; the event
    `job.waitingForConnectivity` tells that it does."""
    address_family: Literal['any', 'ipv4', 'ipv6'] | None = None
    """The kinds of addresses that are connected to."""
    maximum_bytes_per_second: int | None = None
    """How many bytes of bodies a second a transfer may receive, and as many send; any number without it. What is set
    for its host or its flow, and by the operator, holds for jobs together."""
    allows_cellular_access: bool | None = None
    """Without effect, as the next five. A service has no classes of networks to choose from."""
    allows_expensive_network_access: bool | None = None
    """Without effect."""
    allows_constrained_network_access: bool | None = None
    """Without effect."""
    allows_ultra_constrained_network_access: bool | None = None
    """Without effect."""
    network_service_type: Literal['default', 'background', 'video', 'voice', 'responsiveData', 'avStreaming', 'responsiveAV', 'callSignaling'] | None = None
    """Without effect; the `priority` of a job has one."""
    multipath_service_type: Literal['none', 'handover', 'interactive', 'aggregate'] | None = None
    """Without effect."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationBackground(Model):
    """What background sessions have on Apple's systems; without effect. A service is not launched again, and the
    webhooks of a session tell when its jobs are done (`session.eventsFinished`)."""

    session_sends_launch_events: bool | None = None
    """Without effect."""
    shared_container_identifier: str | None = None
    """Without effect."""
    should_use_extended_background_idle_mode: bool | None = None
    """Without effect."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationResponseBecomeDownload(Model):
    """Which responses make a download of a data or upload job, in the same transfer: `kind` is `download` from then
    on, the body a file, and a lost connection no reason to begin anew. Empty for none, as by default. Not in
    ephemeral sessions."""

    mime_types: list[str] | None = None
    """Those of these types."""
    above_bytes: int | None = None
    """Those with more bytes. Where a response does not announce how many it has, the first 65536 are waited for:
    with more than those it becomes a download with any limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationResponse(Model):
    """What is accepted."""

    maximum_bytes: int | None = None
    """A larger body fails the job, and so does a file that becomes larger when it is decoded."""
    decode: list[Literal['gzip', 'macBinary', 'binHex']] | None = None
    """Formats of files that downloads decode, when the content has one of them."""
    become_download: LoadConfigurationResponseBecomeDownload | None = None
    """Which responses make a download of a data or upload job, in the same transfer: `kind` is `download` from then
    on, the body a file, and a lost connection no reason to begin anew. Empty for none, as by default. Not in
    ephemeral sessions."""
    verify_digests: bool | None = None
    """Whether bodies are held against the digests that their origin states in `Repr-Digest`, `Content-Digest` (RFC
    9530) or `Digest`, or in trailers that it announces; `Content-MD5`, which HTTP has no more, is not looked at.
    What is something else fails with `contentDigestMismatch`. Bodies in a content coding that was undone are not
    looked at."""
    multipart_replace: Literal['last', 'all'] | None = None
    """What is kept of a body whose parts replace one another (`multipart/x-mixed-replace`). `last`: the last part,
    which is the response. `all`: the parts one after the other; `response.parts` says where each begins, at most
    1000, with at most 256 KiB of fields, each counted as 32 bytes more than it has. Each part has a
    `job.response` event of its own either way. With more of these, and after 10 000 parts of fewer than 128 bytes
    on average, the job fails with `dataLengthExceedsMaximum`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationRequest(Model):
    """What requests have that say nothing of it themselves."""

    headers: Any = None
    """The fields of requests that have none of the name; a session's and a job's add up, name by name, to those of
    the service: `User-Agent`, with its name and version, and `Accept: */*`. None may carry credentials
    (`headerForbidden`): a configuration is shown in clear."""
    sends_trace_context: bool | None = None
    """Whether HTTP servers get the trace of the job by `traceparent` and `tracestate` (W3C Trace Context), as other
    fields of the request, on redirects too. Nothing is sent for a job that is in no trace, and for one that has,
    or whose session has, one of these fields itself."""
    records_headers: bool | None = None
    """Whether `attempts[].metrics[]`, and so the HTTP Archive, have the header fields of each request as it was sent
    and those of each response, without secrets."""
    attribution: Literal['developer', 'user'] | None = None
    """Who caused the requests. Without effect, and never sent."""
    allows_persistent_dns: bool | None = None
    """Without effect, as addresses of names are never stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfigurationUpload(Model):
    """How request bodies are sent."""

    expect_continue: Literal['automatic', 'always', 'never'] | None = None
    """Whether the body waits for the server's word (Expect: 100-continue); by default one of a mebibyte or more
    does."""
    content_type: str | None = None
    """The type of a body whose request has no `Content-Type`, in place of the one that its form has; not of
    `multipart` bodies."""
    spool_bytes: int | None = None
    """Has a body that the client streams kept whole before it is sent, up to so many bytes, so that the client is
    asked for it once, however often the attempt has to send it; a larger one fails the job. The client has the
    time of `timeoutIntervalForRequest` for each part of it. Not in ephemeral sessions."""
    coding: Literal['gzip', 'zstd'] | None = None
    """The content coding that bodies are sent in over http and https, which `Content-Encoding` tells the server,
    behind those that the request names. The body is compressed while it is sent, so its length is not known
    before; a server that does not take the coding answers 415. A `signature` of `attemptHeaders` is one of the
    body without it; a body is signed for `awsSigV4` only by S3's rules for bodies that are not signed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadConfiguration(Model):
    """How to load. What a job leaves out comes from its session, member by member; what that leaves out, from the
    defaults of the service. The groups `serverTrust`, `proxy` and `delegate` are taken whole from the level that
    sets them. Of `rules` a job has its own and, after them, those of its session."""

    redirects: LoadConfigurationRedirects | None = None
    """What to do when the origin redirects."""
    authentication: LoadConfigurationAuthentication | None = None
    """How the server of the job's URL is answered when it asks who is there."""
    server_trust: ServerTrust | None = None
    cookies: LoadConfigurationCookies | None = None
    """Which cookies are taken and sent."""
    cache: LoadConfigurationCache | None = None
    """Which answers are stored, and which stored ones are used."""
    proxy: LoadConfigurationProxy | None = None
    """The proxy that everything goes through (`url`), or those for some schemes and hosts (`rules`). Without any of
    its members it is the operator's (`WORKER_PROXY`), if there is one; an empty list of `rules` goes without. A
    job fails with `proxyForbidden` when the operator does not allow its proxy."""
    tls: LoadConfigurationTls | None = None
    """Which versions of TLS are used."""
    timeouts: LoadConfigurationTimeouts | None = None
    """In seconds. Waiting in the queue never counts."""
    connections: LoadConfigurationConnections | None = None
    """Which connections are used."""
    background: LoadConfigurationBackground | None = None
    """What background sessions have on Apple's systems; without effect. A service is not launched again, and the
    webhooks of a session tell when its jobs are done (`session.eventsFinished`)."""
    response: LoadConfigurationResponse | None = None
    """What is accepted."""
    destination: Destination | None = None
    retry: Retry | None = None
    request: LoadConfigurationRequest | None = None
    """What requests have that say nothing of it themselves."""
    upload: LoadConfigurationUpload | None = None
    """How request bodies are sent."""
    rules: list[Rule] | None = None
    """Answers written beforehand to the questions that a load comes to. The first rule for the kind whose conditions
    all hold decides; those of the job are looked at before those of its session, but for server trust, client
    certificates, NTLM and Negotiate, which are the session's to decide first. Those of the service
    (`/v1/admin/rules`) come after both. What no rule decides, the `delegate` does, and otherwise the rest of the
    configuration. No rule lifts `redirects.allowedHosts`, `redirects.maximum`, `redirects.allowHTTPSToHTTP` or
    `authentication.methods`, and none makes a job reach what it may not."""
    delegate: Delegate | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule(Model):
    """An answer written beforehand, and when it is given."""

    name: str | None = None
    """What you call it; told with each decision that it makes."""
    on: QuestionKind
    when: QuestionConditions | None = None
    answer: Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionConditionsServer(Model):
    """The server or proxy that asks or shows the chain, of `didReceiveChallenge` and `didReceiveServerTrust`."""

    scheme: str | None = None
    """The scheme."""
    host: str | None = None
    """A host, or `.` and a host: that one and all below."""
    port: int | None = None
    """The port."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionConditions(Model):
    """Conditions that all have to hold; none is met by every question. A condition that cannot apply to the kind is
    refused. Where one names several values, one of them has to fit."""

    url: URLCondition | None = None
    """The URL of the request at hand."""
    from_: URLCondition | None = None
    """The URL that is left, of `willPerformHTTPRedirection` and `didCanonicalize`."""
    to: URLCondition | None = None
    """The URL that would be loaded next, of the same."""
    cross_origin: bool | None = None
    """Whether `to` has another scheme, host or port than `from`, of the same."""
    downgrade: bool | None = None
    """Whether a redirect leaves TLS."""
    method: OneOrMoreTexts | None = None
    """The method of the request at hand."""
    status: Any = None
    """The status of the response, of `willPerformHTTPRedirection`, `didReceiveChallenge`, `didReceiveResponse` and
    `willCacheResponse`: a number, or a class such as `5xx`."""
    hop: Bounds | None = None
    """The number of the redirect, from 1."""
    header: dict[str, str] | None = None
    """Fields of the response, of the kinds that `status` is for; each has to be there with a value that fits, in
    which `*` stands for any characters. Fields that carry credentials, and `Set-Cookie`, cannot be named."""
    content_type: OneOrMoreTexts | None = None
    """The media type, of `didReceiveResponse`, `willCacheResponse` and `shouldDecodeSourceData`: media ranges such
    as `video/*`."""
    content_length: Bounds | None = None
    """How many bytes the body has, of `didReceiveResponse`, `decideDestination` and `willCacheResponse`; a length
    that is not known meets no bounds."""
    authentication_method: OneOrMoreTexts | None = None
    """The method of the protection space, of `didReceiveChallenge`."""
    realm: OneOrMoreTexts | None = None
    """The realm, of the same."""
    is_proxy: bool | None = None
    """Whether a proxy asks, of the same."""
    previous_failure_count: Bounds | None = None
    """How often authentication has failed in the load, of the same."""
    has_proposed_credential: bool | None = None
    """Whether a credential was tried in this space and refused, of the same."""
    trust_error: OneOrMoreTexts | None = None
    """What verification says of the chain, of `didReceiveServerTrust`: `serverCertificateHasBadDate`,
    `serverCertificateNotYetValid`, `serverCertificateHasUnknownRoot`, `serverCertificateHasNoName`,
    `serverCertificateUntrusted`, or `none` for a chain that is trusted, which is asked about only where a
    condition says so."""
    spki: OneOrMoreTexts | None = None
    """The SHA-256 of the server's public key (RFC 7469 §2.4), in base64 or hexadecimal digits, of the same."""
    chain_sha256: OneOrMoreTexts | None = None
    """The SHA-256 of the whole chain, as the question tells it, in base64 or hexadecimal digits, of the same."""
    server: QuestionConditionsServer | None = None
    """The server or proxy that asks or shows the chain, of `didReceiveChallenge` and `didReceiveServerTrust`."""
    suggested_filename: str | None = None
    """The name that the response suggests, of `didReceiveResponse` and `decideDestination`; `*` stands for any
    characters."""
    labels: Labels | None = None
    attempt: Bounds | None = None
    """The number of the attempt, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class URLCondition(Model):
    """Parts that a URL has."""

    scheme: str | None = None
    """The scheme."""
    host: str | None = None
    """A host; with a dot before it that host and all below it."""
    port: int | None = None
    """The port that is connected to."""
    path: str | None = None
    """What the path begins with, percent-encoded."""
    exact_path: str | None = None
    """The whole path, percent-encoded; not beside `path`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds(Model):
    """From `min` to `max`, both included."""

    min: int | None = None
    """The least."""
    max: int | None = None
    """The most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerObject(Model):
    """An answer that needs more than its word."""

    answer: AnswerWord
    request: RequestChange | None = None
    credential: Any = None
    """With `useCredential`. In a configuration, which is shown in clear, the id of a stored one alone. It is shown
    to the host, port and scheme that it is stored for, and to no other."""
    filename: str | None = None
    """With `use`; a plain file name (`filenameInvalid`)."""
    overwrite: bool | None = None
    """With `use`; whether a file of that name gives way."""
    body: RequestBody | None = None
    """With `useBody` or `store`. In a configuration at most 65536 bytes, and neither a blob nor a stream; with
    `store` neither of them. A blob is kept until the job is final. A stream is sent by `PUT /v1/jobs/{id}/body`."""
    user_info: dict[str, str] | None = None
    """With `store`; kept with the entry."""
    storage_policy: StoragePolicy | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestChange(Model):
    """What changes of the proposed request; what is left out stays. It is judged as a redirect is: an http or https
    URL, and within every limit of the configuration. Where the origin changes, sensitive fields go, and only those
    that stand here are sent."""

    url: HTTPURL | None = None
    method: str | None = None
    """The method."""
    headers: Any = None
    """In place of all fields that are not sensitive; in a configuration none may be (`headerForbidden`)."""
    body: Any = None
    """The body, as with `useBody`; null for none."""
    cache_policy: CachePolicy | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delegate(Model):
    """Who is asked when no rule decides. In an ephemeral session the node that has it keeps the questions in memory,
    and lists and answers them alone. Either by `webhook`, a signed message to an endpoint whose reply is the
    answer, or by `api`: the question waits until somebody answers it, at `/v1/questions` or in the dashboard."""

    via: Literal['webhook', 'api']
    """How the delegate is asked."""
    endpoint: WebhookEndpointID | None = None
    """With `webhook`, and only then; one that is registered."""
    questions: list[Any]
    """What the delegate is asked."""
    timeout: float | None = None
    """How many seconds an answer may take. Where the load has to wait on its node it is 300 at most: at questions
    about responses, storing, decoding and destinations, with a body that a client sends, and in ephemeral
    sessions. `deadline` of the question has what holds."""
    otherwise: dict[str, Answer] | None = None
    """By kind, the answer when there is none in time; `performDefaultHandling` where a kind is left out."""
    when_unreachable: Literal['wait', 'otherwise'] | None = None
    """With `webhook`: whether questions wait for an endpoint that does not answer, or are answered by `otherwise` at
    once."""
    maximum_questions: int | None = None
    """How many questions one job asks; `otherwise` answers what comes then."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCallbacks(Model):
    """Jobs that tell of this one. Each is stored in the transaction that ends the attempt, so that no crash loses or
    doubles it, and has the label `callbackOf` with the id of this job. It sends a JSON object: its `content`, and
    `status` (0 without an answer), `header` and `body` of the response, `error` (a name), `retried`, `maxRetries`,
    `sourceMessageId` (this job), `url`, `method`, `sourceHeader` and `sourceBody` of its request, `notBefore` and
    `createdAt`. Bodies are in base64, and times in milliseconds. The object has 1 MiB at most: a body for which
    there is no room is left out. What is secret is not told."""

    attempt: JobCallback | None = None
    """After each attempt that got an answer or failed; not after one that was cancelled or lost with its node."""
    failure: JobCallback | None = None
    """Once, when the job has failed; with `dlqId`, which is its id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCallback(Model):
    """A job in the default session, without cookies, cache, credentials and redirects. Its request is sent again as
    `retry` says: with `replayUnsafe` also when nobody knows whether it arrived."""

    url: HTTPURL
    method: str | None = None
    """Any token but CONNECT, TRACE and TRACK (RFC 9110 §9.1)."""
    headers: Any = None
    """As those of a request; sensitive ones are sealed with the job."""
    attempt_headers: list[AttemptHeader] | None = None
    """As those of a request; the id in them is that of the callback."""
    content: dict[str, Any] | None = None
    """Members of your own for the object that is sent; those that tell of the attempt go before."""
    retry: Retry | None = None
    timeout_interval_for_request: float | None = None
    """The longest pause between bytes, in seconds."""
    labels: dict[str, str] | None = None
    """Your own words about the callback."""
    in_flow: bool | None = None
    """The callback about the end of the job takes over its slot in its `flow`: in a flow with the order `fifo`, or
    with a limit of jobs at once, the next job waits until the callback is final. It is for jobs with a flow. A
    job that ends while it waits, and a flow that is paused meanwhile, pass no slot on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UniqueKey(Model):
    """Of jobs with one key only the first is stored: for as long as its `window` says, others of the same tenant are
    answered with its id and `duplicate: true`, whatever else they ask for and whatever became of the first.
    `Prefer: wait` waits for the first one. An `Idempotency-Key` is about repeats of one request, and goes before."""

    key: str
    window: float | None = None
    """In seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryBackoff(Model):
    """How long to wait, in seconds: longer each time by `initial` and `factor`, or as `delays` or `expression` says,
    of which only one can be there."""

    delays: list[float] | None = None
    """The waits one after the other; the last one is that of all attempts that follow."""
    expression: str | None = None
    """A formula of `retried`, which is 0 for the first wait, with numbers, `+ - * /`, parentheses and the functions
    `pow`, `sqrt`, `abs`, `exp`, `floor`, `ceil`, `round`, `min` and `max`. What is negative is 0, and what is no
    number is `maximum`."""
    initial: float | None = None
    """After the first attempt."""
    factor: float | None = None
    """What each wait is multiplied by for the next."""
    maximum: float | None = None
    """The longest wait. Without it the longest of `delays`, and a day for an `expression`."""
    jitter: float | None = None
    """How much of a wait is left to chance; without it nothing of `delays` and an `expression`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryFinal(Model):
    """An answer that is a failure after which no attempt follows."""

    status: int
    """Its status."""
    field: str
    """The name of a header field that it has with the value `true`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry(Model):
    """When a failed attempt is followed by another one. The job is `scheduled` in between, and each attempt is listed
    with its cause and the time of the next. A request that must not be repeated (POST and PATCH without an
    `Idempotency-Key` field) is sent again only when no byte of it had left."""

    maximum_attempts: int | None = None
    """The first one included; 1 for no retries. In a background session, where this is not set, attempts that time
    out are followed by others for as long as the resource may take, each a hundredth of what is left of that time
    later, or more."""
    backoff: RetryBackoff | None = None
    """How long to wait, in seconds: longer each time by `initial` and `factor`, or as `delays` or `expression` says,
    of which only one can be there."""
    statuses: list[Any] | None = None
    """Statuses that are failures. A job whose last attempt gets one fails with `badServerResponse`, and has the
    response too. An entry is a status (`503`), a class of them (`"5xx"`), or `!` and one of these, which are no
    failures; where all entries are of the last kind everything else is a failure: `["!2xx"]`."""
    errors: list[str] | None = None
    """The names of the errors to try again after; by default those of which `error.retriable` says that trying again
    may help."""
    honor_retry_after: bool | None = None
    """Whether a server that asks to be left alone for longer (`Retry-After`, seconds or a date) is; one that asks
    for more than a week is not asked again."""
    retry_after_scope: Literal['host', 'job'] | None = None
    """Whom a server means that asks to be left alone: all jobs for its `host`, whose circuit breaker opens, or the
    `job` alone. That one waits for just that long in place of its backoff, a day at most, and goes by
    `X-RateLimit-Reset`, `X-RateLimit-Reset-Requests` and `X-RateLimit-Reset-Tokens` too where there is no
    `Retry-After`: seconds, a time, or `6m5s`."""
    final: RetryFinal | None = None
    """An answer that is a failure after which no attempt follows."""
    replay_unsafe: bool | None = None
    """Whether a request that must not be repeated is, although the server may have it: after a failure, and when the
    node that sent it was lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProxyRule(Model):
    """Which proxies are tried for some schemes and hosts."""

    schemes: list[Literal['http', 'https', 'ftp', 'ftps']] | None = None
    """The schemes of the URLs that it is for; all when left out."""
    hosts: list[HostPattern] | None = None
    """The hosts that it is for; all when left out."""
    excluded_hosts: list[HostPattern] | None = None
    """The hosts that it is not for, even if `hosts` has them."""
    proxies: list[str]
    """How each proxy is spoken to, its host and its port, without user name and password; or `direct`. They are
    tried in this order: the next one when one cannot be reached. What a proxy answers is final."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicKeyPin(Model):
    """A public key that servers must have."""

    host: HostPattern | None = None
    sha256: str
    """The SHA-256 of the public key (RFC 7469 §2.4), in base64 or hexadecimal digits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookTarget(Model):
    """Where events are sent: either `endpoint` or `url`. A `url` stands for your enabled endpoint with this address;
    where there is none, one is made, which needs the scope `webhooks`; it is told of `job.finished`,
    `session.eventsFinished`, `session.invalidated` and `group.finished`. Answers name the endpoint. Which events
    are told is said by the endpoint; a job alone can choose its own."""

    endpoint: WebhookEndpointID | None = None
    url: HTTPURL | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobWebhook(Model):
    """Where the job's events are sent, and which: either `endpoint` or `url`. A `url` stands for your enabled endpoint
    with this address; where there is none, one is made, which needs the scope `webhooks` and that you have fewer
    than 1000 endpoints. Answers name the endpoint."""

    endpoint: WebhookEndpointID | None = None
    url: HTTPURL | None = None
    events: list[WebhookEvent] | None = None
    """The events that are told of this job; by default those that the endpoint asks for. Of what happens while an
    attempt runs, the first 1 000 events are told."""
    include_body_up_to: int | None = None
    """The body of the response comes along in the message about the job's end where it has at most so many bytes:
    `data.body` is `{"text": …}` for UTF-8, and `{"base64": …}` for other bytes. Files of downloads do not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmittedJob(Model):
    """A job that was stored and goes on."""

    id: JobID
    state: JobState
    href: str
    """The job."""
    duplicate: bool | None = None
    """True when this is an earlier job with the same `unique` key, and nothing was stored."""
    warnings: Warnings | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WarningsItem(Model):
    """`WarningsItem` of openapi.yaml."""

    code: Literal['noLiveWorker']
    """The stable name of the warning. `noLiveWorker`: no worker is known to live, so the job waits until one does;
    `GET /readyz` says so in its `remarks`, or is 503 where this node's own lease is at fault."""
    message: str
    """A sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceContext(Model):
    """The trace that a job is in (W3C Trace Context), from the request or the SQL that has submitted it, or from its
    schedule."""

    traceparent: str
    """The trace and the span that the job is below; its last two digits are `01` when it is recorded."""
    tracestate: str | None = None
    """What tracing systems have added, as it came."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job(Model):
    """A job as it stands."""

    id: JobID
    state: JobState
    created_at: Timestamp
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    next_attempt_at: Timestamp | None = None
    """When a scheduled job is to start."""
    waiting_for: QuestionID | None = None
    """The open question that it waits for."""
    cancelling: bool | None = None
    """It was asked to stop and has not yet."""
    kind: Literal['data', 'download', 'upload']
    """The kind of task; `download` too when another has become one."""
    session: SessionID | None = None
    progress: Progress | None = None
    resumable: bool | None = None
    """Whether another job could go on where this download has stopped (see `error.resumeData`), or would if it
    stopped now. Not of downloads that have succeeded, and not before the response."""
    not_resumable_reason: NotResumableReason | None = None
    request: Request
    configuration: LoadConfiguration | None = None
    effective_configuration: EffectiveConfiguration | None = None
    """Only where `include` asks for it."""
    group: GroupID | None = None
    schedule: ScheduleID | None = None
    scheduled_at: Timestamp | None = None
    """The schedule's time that the job was made for; not of one that was asked for besides."""
    trace: TraceContext | None = None
    priority: float
    """As it was submitted."""
    run_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    discretionary: bool | None = None
    """It may wait for a quiet time."""
    initiated: Literal['background'] | None = None
    """Nobody was waiting when it was submitted."""
    flow: JobFlow | None = None
    unique: UniqueKey | None = None
    labels: Labels | None = None
    webhook: JobWebhook | None = None
    callbacks: JobCallbacks | None = None
    response: Response | None = None
    error: LoadError | None = None
    redirects: list[Redirect] | None = None
    """The redirects that were followed, in order."""
    challenges: list[AnsweredChallenge] | None = None
    """How servers and proxies asked for credentials, in order, and what was made of it."""
    resume_from: BlobID | None = None
    body: BodySummary | None = None
    file: DownloadedFile | None = None
    attempts: list[Attempt] | None = None
    """The executions of the job."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Redirect(Model):
    """How one URL led to another."""

    url: str
    """The URL that redirected."""
    status: int
    """The status of the response that redirected."""
    location: str
    """The URL that it led to."""
    method: str
    """The method of the request made there."""
    cause: Literal['strictTransport'] | None = None
    """`strictTransport`: no response, but `tls.strictTransport`, which has the host reached by https alone; the
    event is `job.canonicalized`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredChallenge(Model):
    """How a server or a proxy asked for a credential."""

    protection_space: StoredProtectionSpace
    previous_failure_count: int
    """How often authentication had failed before in this attempt."""
    answer: Literal['useCredential', 'performDefaultHandling', 'cancelAuthenticationChallenge']
    """`useCredential`: a credential was sent. `performDefaultHandling`: there was none, and the response that asks
    is the job's. `cancelAuthenticationChallenge`: the job failed with `userCancelledAuthentication`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponseCookies(Model):
    """What became of the cookies that the answers have set, those of redirects included; absent when there were none,
    or the job has no jar."""

    accepted: list[str]
    """The names of those that were taken; one that has expired already removes its predecessor."""
    rejected: list[RejectedCookie]
    """Those that were not taken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponsePartsItem(Model):
    """One part."""

    part: int
    """Its number, from 1."""
    headers: ReceivedFields
    mime_type: str | None = None
    """The type of its content."""
    offset: int
    """Where it begins in the body."""
    bytes: int
    """How long it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Response(Model):
    """The response of the last hop."""

    url: str
    """Where the response came from."""
    status: int
    """The HTTP status."""
    http_version: str | None = None
    """`http/1.1`, `h2`, or the scheme of what is not HTTP."""
    mime_type: str | None = None
    """The media type, without its parameters."""
    text_encoding_name: str | None = None
    """The charset that the media type names."""
    expected_content_length: int | None = None
    """Of the body; absent when it is not known beforehand."""
    suggested_filename: str | None = None
    """What the body would be called as a file (RFC 6266)."""
    from_cache: bool | None = None
    """Whether it was given without asking the origin."""
    cache_status: str | None = None
    """What the cache did, as a Cache-Status field (RFC 9211) has it."""
    properties: dict[str, Any] | None = None
    """What a registered protocol has said besides."""
    headers: ReceivedFields
    trailers: ReceivedFields | None = None
    cookies: ResponseCookies | None = None
    """What became of the cookies that the answers have set, those of redirects included; absent when there were
    none, or the job has no jar."""
    part: int | None = None
    """Which of several parts that replaced one another it is; counted from 1."""
    parts: list[ResponsePartsItem] | None = None
    """The parts of a body of which all are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RejectedCookie(Model):
    """A cookie that was not taken."""

    name: str
    """Its name, as far as the line could be read."""
    reason: str
    """The rule in a word, such as `publicSuffix`."""
    message: str
    """The rule in a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceivedFieldsItem(Model):
    """`ReceivedFieldsItem` of openapi.yaml."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadErrorUnderlying(Model):
    """What the library below said, such as libcurl. For operators: only `GET /v1/jobs/{id}` has it, and what acts on
    that job, for keys with the scope `admin`, and the dashboard for those who have signed in as admin."""

    domain: str | None = None
    code: int | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadError(Model):
    """Why the load failed."""

    domain: str
    """Always `NSURLErrorDomain`."""
    code: int
    """As Foundation numbers it, -1001 for a timeout."""
    name: str
    """As Foundation names it, or a name of this service; `/docs/errors/{name}` says what it means and what to do."""
    message: str
    """For a person."""
    failing_url: str | None = None
    """Where it failed."""
    underlying: LoadErrorUnderlying | None = None
    """What the library below said, such as libcurl. For operators: only `GET /v1/jobs/{id}` has it, and what acts on
    that job, for keys with the scope `admin`, and the dashboard for those who have signed in as admin."""
    retriable: bool | None = None
    """Whether trying again may help."""
    resume_data: BlobID | None = None
    """What a download has left; a new job goes on with it as its `resumeFrom`. It is kept for 7 days."""
    not_resumable_reason: NotResumableReason | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress(Model):
    """How far a job is that runs; left out while the node that runs it cannot be reached."""

    bytes_sent: int
    """Of the request body, since it was last begun."""
    bytes_expected_to_send: int | None = None
    """The length of the request body."""
    sending: int | None = None
    """How often the request body was begun to be sent in this attempt: a redirect, a challenge or a lost connection
    may have it sent again. Left out before its first byte."""
    bytes_received: int
    """Of the response body, or of the file; of the part that comes, where parts replace one another."""
    bytes_expected_to_receive: int | None = None
    """The length of that body, file or part."""
    fraction: float | None = None
    """Of what is received, when its length is known."""
    bytes_per_second: int
    """Bytes of bodies sent and received a second since the load began."""
    eta_seconds: float | None = None
    """How long the rest takes at that speed, in seconds; left out while the length is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination(Model):
    """What becomes of the file of a download."""

    filename: str | None = None
    """A plain file name. Without one it is what the response suggests (RFC 6266), or what a decoded file was called."""
    allow_overwrite: bool | None = None
    """Whether a file of that name gives way. Otherwise a number before the extension makes the name unique among the
    tenant's files: `index-1.html`."""
    keep_partial: bool | None = None
    """Whether what a failed download has stored is kept, for another job to go on with (`error.resumeData`). One
    that is cancelled keeps it when that is asked for."""
    checksum: str | None = None
    """What the bytes must be as they come, in the form of RFC 9530; others fail the job with
    `contentDigestMismatch`. What the origin itself states is checked by `response.verifyDigests`. `sha` is SHA-1;
    that and MD5 tell a broken file, not one that somebody made to have the same digest."""
    expires_after: int | None = None
    """After how many seconds the file is removed; without it when it is deleted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadedFileMacintosh(Model):
    """What MacBinary and BinHex say of a file."""

    type: str | None = None
    """Four characters."""
    creator: str | None = None
    """Four characters."""
    finder_flags: int | None = None
    """The flags of the Finder."""
    created: Timestamp | None = None
    modified: Timestamp | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadedFile(Model):
    """The file of a download that succeeded; its bytes are the job's body."""

    blob: BlobID
    filename: str
    """Unique among the tenant's files."""
    expires_at: Timestamp | None = None
    decoded_from: str | None = None
    """The type that the file was decoded from."""
    resource_fork: BlobID | None = None
    macintosh: DownloadedFileMacintosh | None = None
    """What MacBinary and BinHex say of a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob(Model):
    """Stored bytes."""

    id: BlobID
    bytes: int
    """Its size."""
    digest: str
    """Its SHA-256 as RFC 9530 writes it."""
    content_type: str | None = None
    """As it was stored."""
    created_at: Timestamp
    expires_at: Timestamp | None = None
    href: str
    """Where to read it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BodySummary(Model):
    """The stored response body."""

    bytes: int
    """Its size."""
    digest: str
    """Its SHA-256 as RFC 9530 writes it."""
    href: str
    """Where to read it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt(Model):
    """One execution of the job on one node."""

    number: int
    """Counts the executions."""
    started_at: Timestamp
    finished_at: Timestamp
    state: JobState
    error: str | None = None
    """The name of the error it ended with."""
    status: int | None = None
    """The HTTP status of its response."""
    next_attempt_at: Timestamp | None = None
    """When the next attempt was to start; absent when none followed."""
    metrics: list[TransferMetrics] | None = None
    """One entry for each transfer, redirects included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferMetrics(Model):
    """One exchange with an origin, in the words of URLSessionTaskTransactionMetrics. Phases are [start, end] in
    seconds after `fetchStart`; a phase that did not happen is absent."""

    url: str
    """What was asked for."""
    status: int | None = None
    """The HTTP status."""
    network_protocol_name: str | None = None
    """`http/1.1` or `h2`."""
    remote_address: str | None = None
    """The address that was connected to."""
    remote_port: int | None = None
    """Its port."""
    is_reused_connection: bool | None = None
    """Whether the connection stood before."""
    connection_was_lost: bool | None = None
    """Whether a kept connection was lost before an answer came; the next entry is the same request on another one,
    which happens once at most and counts as an attempt. Absent when not."""
    fetch_start: Timestamp
    domain_lookup: Phase | None = None
    connect: Phase | None = None
    secure_connection: Phase | None = None
    request: Phase | None = None
    response: Phase | None = None
    duration: float
    """In seconds."""
    request_headers: list[RecordedHeader] | None = None
    """The header fields of the request as they were sent, in their order, with those that the service adds. Only
    where `configuration.request.recordsHeaders` is set; absent where nothing was sent by HTTP, of a head of more
    than 8 KiB, once an attempt has 64 KiB of recorded fields, and of transfers before a load was parked."""
    response_headers: list[RecordedHeader] | None = None
    """The header fields of the response, where those of the request would be there."""
    count_of_request_header_bytes_sent: int | None = None
    """In bytes."""
    count_of_request_body_bytes_sent: int | None = None
    """In bytes."""
    count_of_response_header_bytes_received: int | None = None
    """In bytes."""
    count_of_response_body_bytes_received: int | None = None
    """In bytes."""
    count_of_request_body_bytes_before_encoding: int | None = None
    """The bytes of the request body before `upload.coding`; absent where as many were sent."""
    count_of_response_body_bytes_after_decoding: int | None = None
    """The bytes of the response body once its content coding was undone; absent where as many were received."""
    tls_protocol_version: str | None = None
    """Of the connection."""
    tls_cipher_suite: str | None = None
    """Of the connection."""
    is_proxy_connection: bool | None = None
    """Whether the connection went to a proxy, whose address is then the remote one. Absent when not."""
    resource_fetch_type: Literal['localCache'] | None = None
    """What the response was fetched from; absent where that was the network."""
    certificates: list[ShownCertificate] | None = None
    """The certificates that the server has shown, its own first. Absent on a connection that stood before, and of
    transfers before a load was parked."""
    cookies: list[str] | None = None
    """The names of the cookies that were sent. Absent where there were none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCertificate(Model):
    """A certificate of a server, by its names."""

    subject: str | None = None
    """Its subject as RFC 4514 writes names."""
    issuer: str | None = None
    """Its issuer."""
    not_before: Timestamp | None = None
    not_after: Timestamp | None = None
    sha256: str
    """The SHA-256 digest of its DER."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedHeader(Model):
    """One header field of a request that was sent, or of its response."""

    name: str
    """As it was sent."""
    value: str
    """`<redacted>` where it is a secret."""
    sensitive: bool | None = None
    """Whether the value is a secret; absent where it is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HARLogCreator(Model):
    """`HARLogCreator` of openapi.yaml."""

    name: str
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HARLogEntriesItem(Model):
    """`HARLogEntriesItem` of openapi.yaml."""

    started_date_time: Timestamp
    time: float
    """In milliseconds."""
    request: dict[str, Any]
    """What was asked."""
    response: dict[str, Any]
    """What came; its status is 0 when nothing did."""
    cache: dict[str, Any]
    """Nothing."""
    timings: dict[str, Any]
    """In milliseconds; -1 for a phase that did not happen."""
    comment: str | None = None
    """The attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HARLogDecisionsItem(Model):
    """`HARLogDecisionsItem` of openapi.yaml."""

    attempt: int
    decisions: list[Decision]


@dataclass(frozen=True, kw_only=True, slots=True)
class HARLog(Model):
    """`HARLog` of openapi.yaml."""

    version: Literal['1.2']
    creator: HARLogCreator
    entries: list[HARLogEntriesItem]
    """One for each transfer, in order; `comment` names the attempt."""
    decisions: list[HARLogDecisionsItem] | None = None
    """What was decided in each attempt that was asked something; left out when none was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HAR(Model):
    """An HTTP Archive, version 1.2."""

    log: HARLog


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionBy(Model):
    """Who decided."""

    who: Literal['configuration', 'rule', 'remembered', 'delegate', 'key', 'operator', 'otherwise']
    """`configuration`: a rule or question was for such a choice, none for this one. `rule`: the rule `rule` of the
    job, its session or the service. `remembered`: the answer to the earlier `question`, which the session
    remembers. `otherwise`: there was no answer in time, and `reason` says why."""
    rule: str | None = None
    """The name of the rule."""
    from_: Literal['job', 'session', 'service'] | None = None
    """Whose rule it is."""
    index: int | None = None
    """Its place among the rules there, from 0."""
    question: QuestionID | None = None
    endpoint: WebhookEndpointID | None = None
    key: str | None = None
    """The id of the API key."""
    reason: str | None = None
    """Why there was no answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision(Model):
    """A question that a load came to, and what was chosen. It has no secret."""

    sequence: int
    """Its order among those of the attempt."""
    at: Timestamp
    kind: QuestionKind
    facts: dict[str, Any]
    """What it was about, in short."""
    by: DecisionBy
    """Who decided."""
    answer: Answer
    waited: float | None = None
    """How many seconds the load waited for it."""
    refusal: str | None = None
    """Why the answer was not used, and the configuration decided; left out when it was used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplanationAttemptsItemRetry(Model):
    """When the next attempt was to start; left out when none followed."""

    at: Timestamp
    delay: float
    """Seconds after this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplanationAttemptsItem(Model):
    """`ExplanationAttemptsItem` of openapi.yaml."""

    number: int
    """Which it was, from 1."""
    started_at: Timestamp
    finished_at: Timestamp
    state: Literal['succeeded', 'failed', 'cancelled']
    error: str | None = None
    """The name of the error it ended with."""
    status: int | None = None
    """The status of its response."""
    decisions: list[Decision]
    """What rules and those who were asked have decided; the first 256."""
    transfers: list[dict[str, Any]]
    """Where its requests went; each address is one that jobs may reach."""
    retry: ExplanationAttemptsItemRetry | None = None
    """When the next attempt was to start; left out when none followed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplanationHopsItem(Model):
    """`ExplanationHopsItem` of openapi.yaml."""

    url: str
    """What was left."""
    status: int
    location: str
    """Where it led."""
    method: str | None = None
    """The method there."""
    cause: str | None = None
    """`strictTransport` where no server asked for it."""
    cross_origin: bool
    """Whether that is another server; sensitive fields and credentials are not sent there, unless
    `redirects.forwardCredentialsToHosts` names it."""
    former_method: str | None = None
    """The method before, where it changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplanationCache(Model):
    """What the cache did for the response (RFC 9211)."""

    from_cache: bool | None = None
    cache_status: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation(Model):
    """Why a job went as it did, as far as it is on record."""

    job: JobID
    state: JobState
    attempts: list[ExplanationAttemptsItem]
    """Those that have ended."""
    hops: list[ExplanationHopsItem] | None = None
    """The redirects of the last attempt; left out when there were none."""
    challenges: list[dict[str, Any]] | None = None
    """The challenges, and their answers; left out when there were none."""
    cache: ExplanationCache | None = None
    """What the cache did for the response (RFC 9211)."""
    cookies: Any = None
    """What became of the cookies of the response; left out when it had none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSummary(Model):
    """A job as lists show it."""

    id: JobID
    state: JobState
    created_at: Timestamp
    finished_at: Timestamp | None = None
    method: str
    """Of the request."""
    url: str
    """Without query and fragment."""
    status: int | None = None
    """The HTTP status of the response."""
    error: str | None = None
    """The name of the error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobList(Model):
    """A page of jobs."""

    data: list[JobSummary]
    """The newest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchResult(Model):
    """What became of one line."""

    line: int
    """The number of the line."""
    id: JobID | None = None
    state: JobState | None = None
    replayed: bool | None = None
    """The line's idempotency key names this job already."""
    duplicate: bool | None = None
    """This is an earlier job with the same `unique` key."""
    warnings: Warnings | None = None
    problem: Problem | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CookieMembers(Model):
    """What a cookie is made of."""

    name: str
    """Without `=`, `;` and control characters."""
    value: str
    """Without `;` and control characters."""
    domain: str
    """The host it is sent to."""
    is_host_only: bool | None = None
    """Whether hosts below the domain are left out."""
    path: str | None = None
    """The path it is sent to and to paths below."""
    expires_date: datetime | None = None
    """When it ends; left out when it ends with the session."""
    is_secure: bool | None = None
    """Whether it is sent by https only."""
    is_http_only: bool | None = None
    """Whether scripts of a page may not see it."""
    same_site: Literal['strict', 'lax', 'none'] | None = None
    """Whether it accompanies requests for another site's documents."""
    partition: str | None = None
    """The top-level site under which alone it is sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cookie(Model):
    """A cookie of a session. Bytes that are not UTF-8 are replaced; an exported file has them."""

    name: str
    """Without `=`, `;` and control characters."""
    value: str
    """Without `;` and control characters."""
    domain: str
    """The host it is sent to."""
    is_host_only: bool | None = None
    """Whether hosts below the domain are left out."""
    path: str | None = None
    """The path it is sent to and to paths below."""
    expires_date: datetime | None = None
    """When it ends; left out when it ends with the session."""
    is_secure: bool | None = None
    """Whether it is sent by https only."""
    is_http_only: bool | None = None
    """Whether scripts of a page may not see it."""
    same_site: Literal['strict', 'lax', 'none'] | None = None
    """Whether it accompanies requests for another site's documents."""
    partition: str | None = None
    """The top-level site under which alone it is sent."""
    created_at: Timestamp


@dataclass(frozen=True, kw_only=True, slots=True)
class CookieList(Model):
    """A page of cookies."""

    data: list[Cookie]
    """Ordered by domain."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedCookies(Model):
    """What Set-Cookie lines mean."""

    cookies: list[Cookie]
    """Those that are taken; one that has expired already removes its predecessor."""
    rejected: list[RejectedCookie]
    """Those that are not."""
    cookie: str | None = None
    """The Cookie field of a request for the same URL; absent when it would have none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResetSession(Model):
    """What was removed."""

    cookies: int
    """How many cookies."""
    cache_entries: int
    """How many cached answers."""
    credentials: int
    """How many credentials."""
    answers: int
    """How many answers that it remembered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswersForgotten(Model):
    """What was forgotten."""

    removed: int
    """How many answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CookiesSet(Model):
    """What was set."""

    set: int
    """How many cookies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CookiesImported(Model):
    """What became of a file."""

    set: int
    """How many cookies."""
    rejected_lines: list[int]
    """The numbers of the lines that hold no cookie, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CookiesRemoved(Model):
    """What was removed."""

    removed: int
    """How many cookies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Percentiles(Model):
    """The seconds that half, nine tenths and all but one in a hundred keep within."""

    p50: float
    """The median."""
    p90: float
    """What one in ten exceeds."""
    p99: float
    """What one in a hundred exceeds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledJobs(Model):
    """Jobs of the sample that have something in common."""

    jobs: int
    """How many."""
    unsuccessful: int
    """How many of them failed or were cancelled."""
    duration: Percentiles | None = None
    """From their last start to their end; left out when none has started."""
    waiting: Percentiles | None = None
    """From their submission to their last start; left out when none has started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedJobs(Model):
    """How many jobs ended in which way."""

    succeeded: int
    """Got a response."""
    failed: int
    """Ended with an error."""
    cancelled: int
    """Were stopped."""
    body_bytes: int
    """How many bytes their bodies have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsEnded(Model):
    """Jobs that ended since `from`."""

    succeeded: int
    """Got a response."""
    failed: int
    """Ended with an error."""
    cancelled: int
    """Were stopped."""
    body_bytes: int
    """How many bytes their bodies have."""
    jobs_per_second: float
    """On average, since `from`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsHoursItem(Model):
    """`StatisticsHoursItem` of openapi.yaml."""

    succeeded: int
    """Got a response."""
    failed: int
    """Ended with an error."""
    cancelled: int
    """Were stopped."""
    body_bytes: int
    """How many bytes their bodies have."""
    hour: Timestamp
    duration: Percentiles | None = None
    waiting: Percentiles | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsStatesItem(Model):
    """`StatisticsStatesItem` of openapi.yaml."""

    jobs: int
    """How many."""
    unsuccessful: int
    """How many of them failed or were cancelled."""
    duration: Percentiles | None = None
    """From their last start to their end; left out when none has started."""
    waiting: Percentiles | None = None
    """From their submission to their last start; left out when none has started."""
    state: JobState


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsStatusClassesItem(Model):
    """`StatisticsStatusClassesItem` of openapi.yaml."""

    jobs: int
    """How many."""
    unsuccessful: int
    """How many of them failed or were cancelled."""
    duration: Percentiles | None = None
    """From their last start to their end; left out when none has started."""
    waiting: Percentiles | None = None
    """From their submission to their last start; left out when none has started."""
    status_class: str
    """`2xx` for 200 to 299."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsHostsItem(Model):
    """`StatisticsHostsItem` of openapi.yaml."""

    jobs: int
    """How many."""
    unsuccessful: int
    """How many of them failed or were cancelled."""
    duration: Percentiles | None = None
    """From their last start to their end; left out when none has started."""
    waiting: Percentiles | None = None
    """From their submission to their last start; left out when none has started."""
    host: str
    """Of the request's URL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics(Model):
    """A tenant's jobs in numbers."""

    from_: Timestamp
    to: Timestamp
    current: dict[str, int]
    """Jobs that are not final, now, by their state; 10000 where there are as many or more."""
    ended: StatisticsEnded
    """Jobs that ended since `from`."""
    hours: list[StatisticsHoursItem]
    """The same for each hour in which jobs ended, the latest first, with the times of the sample."""
    sample: SampledJobs
    """All jobs of the sample."""
    states: list[StatisticsStatesItem]
    """The sample by state."""
    status_classes: list[StatisticsStatusClassesItem]
    """The sample by the class of the response's status, of those that got a response."""
    hosts: list[StatisticsHostsItem]
    """The sample by host, those with most jobs first, 100 at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CredentialSecret(Model):
    """A credential of one kind: `user` and `password`, or `bearerToken`, or a client certificate as PEM or PKCS #12,
    or an AWS access key, with which each request is signed (Signature Version 4). Bodies that are not in memory (a
    blob, several parts, a stream) are signed for S3 alone, where their content is left out of it. For Kerberos,
    `user` is the principal, `user@REALM` of ASCII letters, digits and `. _ - $ +`, with its `password` or a
    `keytab`. The realm has to be one that the service's operator has set up (`KERBEROS_REALMS`), or the credential
    is not used for Kerberos; each job gets tickets of its own."""

    user: str | None = None
    """The user name that goes with a password, or the principal that goes with a keytab."""
    access_key_id: str | None = None
    """The id of an AWS access key."""
    region: str | None = None
    """The region that requests are signed for."""
    service: str | None = None
    """The service that they are signed for, such as `s3`."""
    persistence: Literal['none', 'forSession', 'permanent', 'synchronizable'] | None = None
    """Whether it is kept once it has convinced the server. `synchronizable` is read as `permanent`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredProtectionSpace(Model):
    """What a credential answers for."""

    host: str
    """The host."""
    port: int
    """The port."""
    protocol: str
    """The scheme."""
    realm: str | None = None
    """The realm that the server names."""
    authentication_method: str
    """How the server wants to be convinced."""
    is_proxy: bool
    """Whether a proxy asks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditListDataItem(Model):
    """One use."""

    id: str
    """Its id."""
    action: Literal['credential.used']
    """What was done."""
    at: Timestamp
    credential: CredentialID
    job: JobID | None = None
    protection_space: StoredProtectionSpace


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditList(Model):
    """A page of uses."""

    data: list[AuditListDataItem]
    """The newest first."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None = None
    """Where the next page begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential(Model):
    """A stored credential, without its secret."""

    id: CredentialID
    protection_space: StoredProtectionSpace
    kind: Literal['password', 'bearerToken', 'clientCertificate', 'awsKeys', 'keytab']
    """What it is."""
    user: str | None = None
    """The user name."""
    persistence: Literal['forSession', 'permanent']
    """Who has it."""
    is_default: bool
    """Whether jobs use it when its space has several."""
    created_at: Timestamp
    updated_at: Timestamp
    last_failure_at: Timestamp | None = None
    """When a server refused it, if one did since it was stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CredentialList(Model):
    """A page of credentials."""

    data: list[Credential]
    """The oldest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CredentialsRemoved(Model):
    """What was removed."""

    removed: int
    """How many credentials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTrust(Model):
    """Who is believed to vouch for servers. `system`: the authorities that the system of the service trusts. `pinned`:
    the same, for servers that have one of the pinned keys. `custom`: the authorities in `anchors` and no others;
    pins count as well. The name and the dates of a certificate are always checked."""

    policy: Literal['system', 'pinned', 'custom']
    """Whose word counts."""
    anchors: str | None = None
    """Certificates in PEM."""
    pins: list[PublicKeyPin] | None = None
    """The keys of servers."""
    revocation_lists: str | None = None
    """Certificate revocation lists in PEM. What stands on one is refused, and so is what an authority has issued
    whose list is out of date. Of authorities without a list nothing is refused."""
    requires_stapled_status: bool | None = None
    """Whether a server must bring a good status of its certificate along (OCSP stapling, RFC 6066)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookEndpointClientCertificate(Model):
    """The certificate that the receiver is shown."""

    sha256: str
    """Its fingerprint, in hexadecimal digits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookEndpoint(Model):
    """Where events are sent, or read from."""

    id: WebhookEndpointID
    url: str | None = None
    """The address; not there where nothing is sent."""
    polled: bool
    """Nothing is sent; its events are read."""
    events: list[WebhookEvent]
    """Which events are sent."""
    default: bool
    """What names no endpoint has this one."""
    server_trust: ServerTrust | None = None
    client_certificate: WebhookEndpointClientCertificate | None = None
    """The certificate that the receiver is shown."""
    created_at: Timestamp
    enabled: bool
    """Whether messages are sent."""
    disabled_at: Timestamp | None = None
    disabled_reason: Literal['failing', 'gone', 'requested'] | None = None
    """`failing` — for five days every attempt failed. `gone` — the receiver answered 410. `requested` — by a change."""
    failing_since: Timestamp | None = None
    """Since when every attempt has failed, if the last one did."""
    previous_secret_until: Timestamp | None = None
    """Until when messages are signed with the secret before this one as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookDelivery(Model):
    """One event on its way to one endpoint, or there."""

    id: WebhookDeliveryID
    endpoint: WebhookEndpointID
    event: WebhookEvent
    job: JobID | None = None
    session: SessionName | None = None
    group: GroupID | None = None
    about: WebhookEndpointID | None = None
    """The endpoint that the event is about."""
    state: DeliveryState
    created_at: Timestamp
    count_of_attempts: int
    """How many attempts were begun."""
    last_attempt_at: Timestamp | None = None
    last_status: int | None = None
    """The status of the last answer; missing when there was none."""
    next_attempt_at: Timestamp | None = None
    """When the next attempt is due; of pending deliveries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeWebhookDelivery(Model):
    """A delivery, with its attempts."""

    id: WebhookDeliveryID
    endpoint: WebhookEndpointID
    event: WebhookEvent
    job: JobID | None = None
    session: SessionName | None = None
    group: GroupID | None = None
    about: WebhookEndpointID | None = None
    """The endpoint that the event is about."""
    state: DeliveryState
    created_at: Timestamp
    count_of_attempts: int
    """How many attempts were begun."""
    last_attempt_at: Timestamp | None = None
    last_status: int | None = None
    """The status of the last answer; missing when there was none."""
    next_attempt_at: Timestamp | None = None
    """When the next attempt is due; of pending deliveries."""
    attempts: list[DeliveryAttempt]
    """In their order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryAttemptRequest(Model):
    """What was sent."""

    url: str
    """Where to."""
    headers: list[Header]
    """The fields, in their order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryAttemptResponseBody(Model):
    """The first 4096 bytes."""

    text: str | None = None
    """The bytes, when they are UTF-8."""
    base64: str | None = None
    """The bytes, when they are not."""
    is_cut: bool
    """Whether the body went on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryAttemptResponse(Model):
    """What came back, without cookies."""

    status: int
    """The status."""
    headers: list[Header]
    """The fields, in their order."""
    body: DeliveryAttemptResponseBody
    """The first 4096 bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryAttempt(Model):
    """One message sent, and what came back; `response` or `error`."""

    number: int
    """The first is 1."""
    started_at: Timestamp
    duration: float
    """In seconds."""
    request: DeliveryAttemptRequest
    """What was sent."""
    error: str | None = None
    """The name of the error that came instead of an answer."""
    response: DeliveryAttemptResponse | None = None
    """What came back, without cookies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookDeliveryList(Model):
    """A page of deliveries."""

    data: list[WebhookDelivery]
    """The newest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryReplayed(Model):
    """What is sent again."""

    replayed: int
    """How many deliveries those are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewWebhookEndpointClientCertificate(Model):
    """The certificate that the receiver is shown."""

    sha256: str
    """Its fingerprint, in hexadecimal digits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewWebhookEndpoint(Model):
    """A new endpoint, with its secret."""

    id: WebhookEndpointID
    url: str | None = None
    """The address; not there where nothing is sent."""
    polled: bool
    """Nothing is sent; its events are read."""
    events: list[WebhookEvent]
    """Which events are sent."""
    default: bool
    """What names no endpoint has this one."""
    server_trust: ServerTrust | None = None
    client_certificate: NewWebhookEndpointClientCertificate | None = None
    """The certificate that the receiver is shown."""
    created_at: Timestamp
    enabled: bool
    """Whether messages are sent."""
    disabled_at: Timestamp | None = None
    disabled_reason: Literal['failing', 'gone', 'requested'] | None = None
    """`failing` — for five days every attempt failed. `gone` — the receiver answered 410. `requested` — by a change."""
    failing_since: Timestamp | None = None
    """Since when every attempt has failed, if the last one did."""
    previous_secret_until: Timestamp | None = None
    """Until when messages are signed with the secret before this one as well."""
    secret: str = field(repr=False)
    """What messages are signed with; shown this once. What is polled is not signed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookEndpointList(Model):
    """A page of endpoints."""

    data: list[WebhookEndpoint]
    """The oldest first."""
    has_more: bool
    """Whether there is a next page."""
    next_cursor: str | None = None
    """The `cursor` of the next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Status(Model):
    """How the service is."""

    status: Literal['ok', 'ready']
    """In a word."""
    remarks: list[str] | None = None
    """What is amiss although the service can take work, a sentence each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamToken(Model):
    """Lets a browser follow the events of one job."""

    token: str
    """The `token` of the query."""
    href: str
    """The address of the stream, with the token."""
    expires_at: Timestamp


@dataclass(frozen=True, kw_only=True, slots=True)
class Version(Model):
    """Which program answers."""

    version: str
    """That of the program, by semantic versioning."""
    schema_version: int
    """The number of the last migration that it knows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProblemErrorsItem(Model):
    """`ProblemErrorsItem` of openapi.yaml."""

    pointer: str | None = None
    """The member of the body (RFC 6901)."""
    parameter: str | None = None
    """Or the name of the parameter or header field."""
    message: str
    """The rule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem(Model):
    """What went wrong (RFC 9457)."""

    type: str
    """A page about this kind of problem."""
    title: str
    """The kind of problem in a sentence."""
    status: int
    """The HTTP status."""
    detail: str | None = None
    """This occurrence in a sentence."""
    instance: str | None = None
    """The request id as a URN."""
    code: ProblemCode
    errors: list[ProblemErrorsItem] | None = None
    """Each rule that was broken."""


Aria2AnswerError._members = (
    Member("code", "code", integer, False),
    Member("message", "message", text, False),
)
Aria2Answer._members = (
    Member("id", "id", anything, False),
    Member("jsonrpc", "jsonrpc", text, False),
    Member("result", "result", anything, False),
    Member("error", "error", Aria2AnswerError.from_json, False),
)
Snapshot._members = (
    Member("id", "id", text, True),
    Member("session", "session", text, True),
    Member("createdAt", "created_at", time, True),
)
Session._members = (
    Member("id", "id", text, True),
    Member("state", "state", text, True),
    Member("kind", "kind", text, True),
    Member("identifier", "identifier", text, False),
    Member("description", "description", text, False),
    Member("configuration", "configuration", LoadConfiguration.from_json, False),
    Member("effectiveConfiguration", "effective_configuration", mapped(anything), False),
    Member("snapshot", "snapshot", text, False),
    Member("protocols", "protocols", listed(text), False),
    Member("webhook", "webhook", WebhookTarget.from_json, False),
    Member("node", "node", text, False),
    Member("createdAt", "created_at", time, False),
    Member("invalidatedAt", "invalidated_at", time, False),
    Member("endedAt", "ended_at", time, False),
    Member("eventsFinishedAt", "events_finished_at", time, False),
    Member("eventsAcknowledgedAt", "events_acknowledged_at", time, False),
)
SessionEvent._members = (
    Member("id", "id", text, True),
    Member("type", "type", text, True),
    Member("timestamp", "timestamp", time, True),
    Member("data", "data", mapped(anything), False),
)
SessionEventList._members = (
    Member("data", "data", lambda value: listed(SessionEvent.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
SessionList._members = (
    Member("data", "data", lambda value: listed(Session.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
Group._members = (
    Member("id", "id", text, True),
    Member("state", "state", text, True),
    Member("labels", "labels", mapped(text), False),
    Member("webhook", "webhook", WebhookTarget.from_json, False),
    Member("createdAt", "created_at", time, True),
    Member("closedAt", "closed_at", time, False),
    Member("finishedAt", "finished_at", time, False),
    Member("jobs", "jobs", mapped(integer), False),
)
GroupList._members = (
    Member("data", "data", lambda value: listed(Group.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
ScheduleLastError._members = (
    Member("at", "at", time, True),
    Member("message", "message", text, True),
)
Schedule._members = (
    Member("id", "id", text, True),
    Member("state", "state", text, True),
    Member("cron", "cron", text, False),
    Member("timeZone", "time_zone", text, False),
    Member("interval", "interval", integer, False),
    Member("urlGroup", "url_group", text, False),
    Member("job", "job", JobSpec.from_json, True),
    Member("missedRuns", "missed_runs", text, True),
    Member("overlap", "overlap", text, True),
    Member("startsAt", "starts_at", time, False),
    Member("endsAt", "ends_at", time, False),
    Member("labels", "labels", mapped(text), False),
    Member("createdAt", "created_at", time, True),
    Member("pausedAt", "paused_at", time, False),
    Member("nextRunAt", "next_run_at", time, False),
    Member("lastRunAt", "last_run_at", time, False),
    Member("lastJob", "last_job", text, False),
    Member("runs", "runs", integer, True),
    Member("lastError", "last_error", ScheduleLastError.from_json, False),
    Member("nextRuns", "next_runs", listed(time), False),
)
ScheduleList._members = (
    Member("data", "data", lambda value: listed(Schedule.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
QuestionBy._members = (
    Member("who", "who", text, True),
    Member("endpoint", "endpoint", text, False),
    Member("key", "key", text, False),
    Member("reason", "reason", text, False),
)
Question._members = (
    Member("id", "id", text, True),
    Member("job", "job", text, True),
    Member("session", "session", text, False),
    Member("attempt", "attempt", integer, True),
    Member("sequence", "sequence", text, True),
    Member("kind", "kind", text, True),
    Member("state", "state", text, True),
    Member("askedAt", "asked_at", time, True),
    Member("deadline", "deadline", time, True),
    Member("answers", "answers", listed(text), True),
    Member("endpoint", "endpoint", text, False),
    Member("request", "request", mapped(anything), True),
    Member("facts", "facts", mapped(anything), True),
    Member("endedAt", "ended_at", time, False),
    Member("reason", "reason", text, False),
    Member("answer", "answer", anything, False),
    Member("by", "by", QuestionBy.from_json, False),
    Member("note", "note", text, False),
    Member("remember", "remember", Remember.from_json, False),
    Member("fault", "fault", text, False),
)
QuestionList._members = (
    Member("data", "data", lambda value: listed(Question.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
Remember._members = (
    Member("seconds", "seconds", integer, True),
    Member("when", "when", QuestionConditions.from_json, False),
)
RememberedAnswer._members = (
    Member("question", "question", text, True),
    Member("on", "on", text, True),
    Member("when", "when", QuestionConditions.from_json, True),
    Member("answer", "answer", anything, True),
    Member("by", "by", mapped(anything), True),
    Member("rememberedAt", "remembered_at", time, True),
    Member("expiresAt", "expires_at", time, True),
)
RememberedAnswerList._members = (
    Member("data", "data", lambda value: listed(RememberedAnswer.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
QuestionActionResult._members = (
    Member("matched", "matched", integer, True),
    Member("changed", "changed", integer, True),
    Member("askedBefore", "asked_before", time, True),
    Member("nextCursor", "next_cursor", text, False),
)
JobSpec._members = (
    Member("kind", "kind", text, False),
    Member("session", "session", text, False),
    Member("request", "request", anything, True),
    Member("configuration", "configuration", LoadConfiguration.from_json, False),
    Member("priority", "priority", number, False),
    Member("runAt", "run_at", time, False),
    Member("expiresAt", "expires_at", time, False),
    Member("suspended", "suspended", boolean, False),
    Member("discretionary", "discretionary", boolean, False),
    Member("initiated", "initiated", text, False),
    Member("flow", "flow", JobFlow.from_json, False),
    Member("unique", "unique", UniqueKey.from_json, False),
    Member("labels", "labels", mapped(text), False),
    Member("resumeFrom", "resume_from", text, False),
    Member("webhook", "webhook", JobWebhook.from_json, False),
    Member("callbacks", "callbacks", JobCallbacks.from_json, False),
    Member("group", "group", text, False),
)
Rate._members = (
    Member("jobs", "jobs", integer, True),
    Member("period", "period", number, True),
)
LimitedHost._members = (
    Member("host", "host", text, True),
    Member("parallelism", "parallelism", integer, False),
    Member("rate", "rate", Rate.from_json, False),
    Member("maximumBytesPerSecond", "maximum_bytes_per_second", integer, False),
    Member("paused", "paused", boolean, True),
    Member("waiting", "waiting", integer, True),
    Member("running", "running", integer, True),
    Member("circuit", "circuit", text, True),
    Member("circuitOpenUntil", "circuit_open_until", time, False),
    Member("circuitReason", "circuit_reason", text, False),
)
Flow._members = (
    Member("key", "key", text, True),
    Member("parallelism", "parallelism", integer, False),
    Member("rate", "rate", Rate.from_json, False),
    Member("maximumBytesPerSecond", "maximum_bytes_per_second", integer, False),
    Member("order", "order", text, True),
    Member("onFailure", "on_failure", text, True),
    Member("pinned", "pinned", listed(text), False),
    Member("blockedBy", "blocked_by", text, False),
    Member("paused", "paused", boolean, True),
    Member("waiting", "waiting", integer, True),
    Member("running", "running", integer, True),
)
HostList._members = (
    Member("data", "data", lambda value: listed(LimitedHost.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
FlowList._members = (
    Member("data", "data", lambda value: listed(Flow.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
TenantUsageBytesOfDay._members = (
    Member("count", "count", integer, True),
    Member("maximum", "maximum", integer, False),
    Member("sent", "sent", integer, True),
    Member("received", "received", integer, True),
    Member("resetsAt", "resets_at", time, True),
)
TenantUsage._members = (
    Member("requestsPerSecond", "requests_per_second", UsageMaximum.from_json, True),
    Member("waitingJobs", "waiting_jobs", UsageCount.from_json, True),
    Member("runningJobs", "running_jobs", UsageCount.from_json, True),
    Member("sessions", "sessions", UsageCount.from_json, True),
    Member("openQuestions", "open_questions", UsageCount.from_json, True),
    Member("storedBytes", "stored_bytes", UsageCount.from_json, True),
    Member("bytesOfDay", "bytes_of_day", TenantUsageBytesOfDay.from_json, True),
    Member("bytesPerSecond", "bytes_per_second", UsageMaximum.from_json, True),
)
UsageMaximum._members = (
    Member("maximum", "maximum", integer, False),
)
UsageCount._members = (
    Member("count", "count", integer, True),
    Member("maximum", "maximum", integer, False),
)
APIKey._members = (
    Member("id", "id", text, True),
    Member("tenant", "tenant", text, False),
    Member("name", "name", text, True),
    Member("scopes", "scopes", listed(text), True),
    Member("session", "session", text, False),
    Member("hosts", "hosts", listed(text), False),
    Member("maximumJobs", "maximum_jobs", integer, False),
    Member("expiresAt", "expires_at", time, False),
    Member("submittedJobs", "submitted_jobs", integer, False),
    Member("createdAt", "created_at", time, True),
    Member("createdBy", "created_by", text, False),
    Member("lastUsedAt", "last_used_at", time, False),
    Member("replacedBy", "replaced_by", text, False),
    Member("revokedAt", "revoked_at", time, False),
)
NewAPIKey._members = (
    Member("id", "id", text, True),
    Member("tenant", "tenant", text, False),
    Member("name", "name", text, True),
    Member("scopes", "scopes", listed(text), True),
    Member("session", "session", text, False),
    Member("hosts", "hosts", listed(text), False),
    Member("maximumJobs", "maximum_jobs", integer, False),
    Member("expiresAt", "expires_at", time, False),
    Member("submittedJobs", "submitted_jobs", integer, False),
    Member("createdAt", "created_at", time, True),
    Member("createdBy", "created_by", text, False),
    Member("lastUsedAt", "last_used_at", time, False),
    Member("replacedBy", "replaced_by", text, False),
    Member("revokedAt", "revoked_at", time, False),
    Member("token", "token", text, True),
)
APIKeyList._members = (
    Member("data", "data", lambda value: listed(APIKey.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
Protocol._members = (
    Member("scheme", "scheme", text, True),
    Member("host", "host", text, False),
    Member("name", "name", text, False),
    Member("builtIn", "built_in", boolean, True),
)
ProtocolList._members = (
    Member("data", "data", lambda value: listed(Protocol.from_json)(value), True),
)
Queue._members = (
    Member("paused", "paused", boolean, True),
    Member("servicePaused", "service_paused", boolean, True),
    Member("running", "running", integer, True),
    Member("maximumBytesPerSecond", "maximum_bytes_per_second", integer, False),
    Member("waiting", "waiting", integer, True),
    Member("maximumWaitingJobs", "maximum_waiting_jobs", integer, False),
)
JobFlow._members = (
    Member("key", "key", text, True),
)
JobActionResult._members = (
    Member("matched", "matched", integer, True),
    Member("changed", "changed", integer, True),
    Member("nextCursor", "next_cursor", text, False),
)
Request._members = (
    Member("writtenURL", "written_url", text, False),
    Member("url", "url", text, False),
    Member("mirrors", "mirrors", listed(text), False),
    Member("method", "method", text, False),
    Member("headers", "headers", anything, False),
    Member("attemptHeaders", "attempt_headers", lambda value: listed(AttemptHeader.from_json)(value), False),
    Member("body", "body", RequestBody.from_json, False),
    Member("sensitive", "sensitive", listed(text), False),
    Member("redaction", "redaction", text, False),
    Member("cachePolicy", "cache_policy", text, False),
    Member("mainDocumentURL", "main_document_url", text, False),
    Member("properties", "properties", mapped(anything), False),
)
AttemptHeader._members = (
    Member("name", "name", text, True),
    Member("content", "content", text, True),
    Member("issuer", "issuer", text, False),
)
Header._members = (
    Member("name", "name", text, True),
    Member("value", "value", text, True),
)
RequestHeader._members = (
    Member("name", "name", text, True),
    Member("value", "value", text, True),
    Member("sensitive", "sensitive", boolean, False),
)
RequestBody._members = (
    Member("text", "text", text, False),
    Member("base64", "base64", text, False),
    Member("json", "json", anything, False),
    Member("form", "form", mapped(text), False),
    Member("multipart", "multipart", lambda value: listed(BodyPart.from_json)(value), False),
    Member("blob", "blob", text, False),
    Member("stream", "stream", boolean, False),
)
BodyPart._members = (
    Member("name", "name", text, True),
    Member("text", "text", text, False),
    Member("base64", "base64", text, False),
    Member("blob", "blob", text, False),
    Member("filename", "filename", text, False),
    Member("contentType", "content_type", text, False),
)
ProxyCredential._members = (
    Member("user", "user", text, True),
)
LoadConfigurationRedirects._members = (
    Member("policy", "policy", text, False),
    Member("maximum", "maximum", integer, False),
    Member("allowHTTPSToHTTP", "allow_https_to_http", boolean, False),
    Member("preserveMethod", "preserve_method", boolean, False),
    Member("allowedHosts", "allowed_hosts", listed(text), False),
    Member("forwardCredentialsToHosts", "forward_credentials_to_hosts", listed(text), False),
)
LoadConfigurationAuthentication._members = (
    Member("credential", "credential", anything, False),
    Member("persistence", "persistence", text, False),
    Member("methods", "methods", listed(text), False),
    Member("maximumFailures", "maximum_failures", integer, False),
    Member("onFailure", "on_failure", text, False),
    Member("kerberosService", "kerberos_service", text, False),
    Member("delegatesKerberosTickets", "delegates_kerberos_tickets", boolean, False),
)
LoadConfigurationCookies._members = (
    Member("acceptPolicy", "accept_policy", text, False),
    Member("send", "send", boolean, False),
    Member("jar", "jar", text, False),
)
LoadConfigurationCache._members = (
    Member("requestCachePolicy", "request_cache_policy", text, False),
    Member("storagePolicy", "storage_policy", text, False),
    Member("audience", "audience", text, False),
    Member("cacheableStatuses", "cacheable_statuses", text, False),
    Member("maximumEntryBytes", "maximum_entry_bytes", integer, False),
    Member("userInfo", "user_info", mapped(text), False),
)
LoadConfigurationProxy._members = (
    Member("url", "url", text, False),
    Member("credential", "credential", anything, False),
    Member("rules", "rules", lambda value: listed(ProxyRule.from_json)(value), False),
    Member("noProxy", "no_proxy", listed(text), False),
)
LoadConfigurationTls._members = (
    Member("minimumVersion", "minimum_version", text, False),
    Member("maximumVersion", "maximum_version", text, False),
    Member("alpn", "alpn", anything, False),
    Member("strictTransport", "strict_transport", listed(text), False),
)
LoadConfigurationTimeouts._members = (
    Member("timeoutIntervalForRequest", "timeout_interval_for_request", number, False),
    Member("timeoutIntervalForResource", "timeout_interval_for_resource", number, False),
    Member("connect", "connect", number, False),
)
LoadConfigurationConnections._members = (
    Member("maximumPerHost", "maximum_per_host", integer, False),
    Member("httpVersion", "http_version", text, False),
    Member("waitsForConnectivity", "waits_for_connectivity", boolean, False),
    Member("addressFamily", "address_family", text, False),
    Member("maximumBytesPerSecond", "maximum_bytes_per_second", integer, False),
    Member("allowsCellularAccess", "allows_cellular_access", boolean, False),
    Member("allowsExpensiveNetworkAccess", "allows_expensive_network_access", boolean, False),
    Member("allowsConstrainedNetworkAccess", "allows_constrained_network_access", boolean, False),
    Member("allowsUltraConstrainedNetworkAccess", "allows_ultra_constrained_network_access", boolean, False),
    Member("networkServiceType", "network_service_type", text, False),
    Member("multipathServiceType", "multipath_service_type", text, False),
)
LoadConfigurationBackground._members = (
    Member("sessionSendsLaunchEvents", "session_sends_launch_events", boolean, False),
    Member("sharedContainerIdentifier", "shared_container_identifier", text, False),
    Member("shouldUseExtendedBackgroundIdleMode", "should_use_extended_background_idle_mode", boolean, False),
)
LoadConfigurationResponseBecomeDownload._members = (
    Member("mimeTypes", "mime_types", listed(text), False),
    Member("aboveBytes", "above_bytes", integer, False),
)
LoadConfigurationResponse._members = (
    Member("maximumBytes", "maximum_bytes", integer, False),
    Member("decode", "decode", listed(text), False),
    Member("becomeDownload", "become_download", LoadConfigurationResponseBecomeDownload.from_json, False),
    Member("verifyDigests", "verify_digests", boolean, False),
    Member("multipartReplace", "multipart_replace", text, False),
)
LoadConfigurationRequest._members = (
    Member("headers", "headers", anything, False),
    Member("sendsTraceContext", "sends_trace_context", boolean, False),
    Member("recordsHeaders", "records_headers", boolean, False),
    Member("attribution", "attribution", text, False),
    Member("allowsPersistentDNS", "allows_persistent_dns", boolean, False),
)
LoadConfigurationUpload._members = (
    Member("expectContinue", "expect_continue", text, False),
    Member("contentType", "content_type", text, False),
    Member("spoolBytes", "spool_bytes", integer, False),
    Member("coding", "coding", text, False),
)
LoadConfiguration._members = (
    Member("redirects", "redirects", LoadConfigurationRedirects.from_json, False),
    Member("authentication", "authentication", LoadConfigurationAuthentication.from_json, False),
    Member("serverTrust", "server_trust", ServerTrust.from_json, False),
    Member("cookies", "cookies", LoadConfigurationCookies.from_json, False),
    Member("cache", "cache", LoadConfigurationCache.from_json, False),
    Member("proxy", "proxy", LoadConfigurationProxy.from_json, False),
    Member("tls", "tls", LoadConfigurationTls.from_json, False),
    Member("timeouts", "timeouts", LoadConfigurationTimeouts.from_json, False),
    Member("connections", "connections", LoadConfigurationConnections.from_json, False),
    Member("background", "background", LoadConfigurationBackground.from_json, False),
    Member("response", "response", LoadConfigurationResponse.from_json, False),
    Member("destination", "destination", Destination.from_json, False),
    Member("retry", "retry", Retry.from_json, False),
    Member("request", "request", LoadConfigurationRequest.from_json, False),
    Member("upload", "upload", LoadConfigurationUpload.from_json, False),
    Member("rules", "rules", lambda value: listed(Rule.from_json)(value), False),
    Member("delegate", "delegate", Delegate.from_json, False),
)
Rule._members = (
    Member("name", "name", text, False),
    Member("on", "on", text, True),
    Member("when", "when", QuestionConditions.from_json, False),
    Member("answer", "answer", anything, True),
)
QuestionConditionsServer._members = (
    Member("scheme", "scheme", text, False),
    Member("host", "host", text, False),
    Member("port", "port", integer, False),
)
QuestionConditions._members = (
    Member("url", "url", URLCondition.from_json, False),
    Member("from", "from_", URLCondition.from_json, False),
    Member("to", "to", URLCondition.from_json, False),
    Member("crossOrigin", "cross_origin", boolean, False),
    Member("downgrade", "downgrade", boolean, False),
    Member("method", "method", anything, False),
    Member("status", "status", anything, False),
    Member("hop", "hop", Bounds.from_json, False),
    Member("header", "header", mapped(text), False),
    Member("contentType", "content_type", anything, False),
    Member("contentLength", "content_length", Bounds.from_json, False),
    Member("authenticationMethod", "authentication_method", anything, False),
    Member("realm", "realm", anything, False),
    Member("isProxy", "is_proxy", boolean, False),
    Member("previousFailureCount", "previous_failure_count", Bounds.from_json, False),
    Member("hasProposedCredential", "has_proposed_credential", boolean, False),
    Member("trustError", "trust_error", anything, False),
    Member("spki", "spki", anything, False),
    Member("chainSHA256", "chain_sha256", anything, False),
    Member("server", "server", QuestionConditionsServer.from_json, False),
    Member("suggestedFilename", "suggested_filename", text, False),
    Member("labels", "labels", mapped(text), False),
    Member("attempt", "attempt", Bounds.from_json, False),
)
URLCondition._members = (
    Member("scheme", "scheme", text, False),
    Member("host", "host", text, False),
    Member("port", "port", integer, False),
    Member("path", "path", text, False),
    Member("exactPath", "exact_path", text, False),
)
Bounds._members = (
    Member("min", "min", integer, False),
    Member("max", "max", integer, False),
)
AnswerObject._members = (
    Member("answer", "answer", text, True),
    Member("request", "request", RequestChange.from_json, False),
    Member("credential", "credential", anything, False),
    Member("filename", "filename", text, False),
    Member("overwrite", "overwrite", boolean, False),
    Member("body", "body", RequestBody.from_json, False),
    Member("userInfo", "user_info", mapped(text), False),
    Member("storagePolicy", "storage_policy", text, False),
)
RequestChange._members = (
    Member("url", "url", text, False),
    Member("method", "method", text, False),
    Member("headers", "headers", anything, False),
    Member("body", "body", anything, False),
    Member("cachePolicy", "cache_policy", text, False),
)
Delegate._members = (
    Member("via", "via", text, True),
    Member("endpoint", "endpoint", text, False),
    Member("questions", "questions", listed(anything), True),
    Member("timeout", "timeout", number, False),
    Member("otherwise", "otherwise", mapped(anything), False),
    Member("whenUnreachable", "when_unreachable", text, False),
    Member("maximumQuestions", "maximum_questions", integer, False),
)
JobCallbacks._members = (
    Member("attempt", "attempt", JobCallback.from_json, False),
    Member("failure", "failure", JobCallback.from_json, False),
)
JobCallback._members = (
    Member("url", "url", text, True),
    Member("method", "method", text, False),
    Member("headers", "headers", anything, False),
    Member("attemptHeaders", "attempt_headers", lambda value: listed(AttemptHeader.from_json)(value), False),
    Member("content", "content", mapped(anything), False),
    Member("retry", "retry", Retry.from_json, False),
    Member("timeoutIntervalForRequest", "timeout_interval_for_request", number, False),
    Member("labels", "labels", mapped(text), False),
    Member("inFlow", "in_flow", boolean, False),
)
UniqueKey._members = (
    Member("key", "key", text, True),
    Member("window", "window", number, False),
)
RetryBackoff._members = (
    Member("delays", "delays", listed(number), False),
    Member("expression", "expression", text, False),
    Member("initial", "initial", number, False),
    Member("factor", "factor", number, False),
    Member("maximum", "maximum", number, False),
    Member("jitter", "jitter", number, False),
)
RetryFinal._members = (
    Member("status", "status", integer, True),
    Member("field", "field", text, True),
)
Retry._members = (
    Member("maximumAttempts", "maximum_attempts", integer, False),
    Member("backoff", "backoff", RetryBackoff.from_json, False),
    Member("statuses", "statuses", listed(anything), False),
    Member("errors", "errors", listed(text), False),
    Member("honorRetryAfter", "honor_retry_after", boolean, False),
    Member("retryAfterScope", "retry_after_scope", text, False),
    Member("final", "final", RetryFinal.from_json, False),
    Member("replayUnsafe", "replay_unsafe", boolean, False),
)
ProxyRule._members = (
    Member("schemes", "schemes", listed(text), False),
    Member("hosts", "hosts", listed(text), False),
    Member("excludedHosts", "excluded_hosts", listed(text), False),
    Member("proxies", "proxies", listed(text), True),
)
PublicKeyPin._members = (
    Member("host", "host", text, False),
    Member("sha256", "sha256", text, True),
)
WebhookTarget._members = (
    Member("endpoint", "endpoint", text, False),
    Member("url", "url", text, False),
)
JobWebhook._members = (
    Member("endpoint", "endpoint", text, False),
    Member("url", "url", text, False),
    Member("events", "events", listed(text), False),
    Member("includeBodyUpTo", "include_body_up_to", integer, False),
)
SubmittedJob._members = (
    Member("id", "id", text, True),
    Member("state", "state", text, True),
    Member("href", "href", text, True),
    Member("duplicate", "duplicate", boolean, False),
    Member("warnings", "warnings", lambda value: listed(WarningsItem.from_json)(value), False),
)
WarningsItem._members = (
    Member("code", "code", text, True),
    Member("message", "message", text, True),
)
TraceContext._members = (
    Member("traceparent", "traceparent", text, True),
    Member("tracestate", "tracestate", text, False),
)
Job._members = (
    Member("id", "id", text, True),
    Member("state", "state", text, True),
    Member("createdAt", "created_at", time, True),
    Member("startedAt", "started_at", time, False),
    Member("finishedAt", "finished_at", time, False),
    Member("nextAttemptAt", "next_attempt_at", time, False),
    Member("waitingFor", "waiting_for", text, False),
    Member("cancelling", "cancelling", boolean, False),
    Member("kind", "kind", text, True),
    Member("session", "session", text, False),
    Member("progress", "progress", Progress.from_json, False),
    Member("resumable", "resumable", boolean, False),
    Member("notResumableReason", "not_resumable_reason", text, False),
    Member("request", "request", Request.from_json, True),
    Member("configuration", "configuration", LoadConfiguration.from_json, False),
    Member("effectiveConfiguration", "effective_configuration", mapped(anything), False),
    Member("group", "group", text, False),
    Member("schedule", "schedule", text, False),
    Member("scheduledAt", "scheduled_at", time, False),
    Member("trace", "trace", TraceContext.from_json, False),
    Member("priority", "priority", number, True),
    Member("runAt", "run_at", time, False),
    Member("expiresAt", "expires_at", time, False),
    Member("discretionary", "discretionary", boolean, False),
    Member("initiated", "initiated", text, False),
    Member("flow", "flow", JobFlow.from_json, False),
    Member("unique", "unique", UniqueKey.from_json, False),
    Member("labels", "labels", mapped(text), False),
    Member("webhook", "webhook", JobWebhook.from_json, False),
    Member("callbacks", "callbacks", JobCallbacks.from_json, False),
    Member("response", "response", Response.from_json, False),
    Member("error", "error", LoadError.from_json, False),
    Member("redirects", "redirects", lambda value: listed(Redirect.from_json)(value), False),
    Member("challenges", "challenges", lambda value: listed(AnsweredChallenge.from_json)(value), False),
    Member("resumeFrom", "resume_from", text, False),
    Member("body", "body", BodySummary.from_json, False),
    Member("file", "file", DownloadedFile.from_json, False),
    Member("attempts", "attempts", lambda value: listed(Attempt.from_json)(value), False),
)
Redirect._members = (
    Member("url", "url", text, True),
    Member("status", "status", integer, True),
    Member("location", "location", text, True),
    Member("method", "method", text, True),
    Member("cause", "cause", text, False),
)
AnsweredChallenge._members = (
    Member("protectionSpace", "protection_space", StoredProtectionSpace.from_json, True),
    Member("previousFailureCount", "previous_failure_count", integer, True),
    Member("answer", "answer", text, True),
)
ResponseCookies._members = (
    Member("accepted", "accepted", listed(text), True),
    Member("rejected", "rejected", lambda value: listed(RejectedCookie.from_json)(value), True),
)
ResponsePartsItem._members = (
    Member("part", "part", integer, True),
    Member("headers", "headers", lambda value: listed(ReceivedFieldsItem.from_json)(value), True),
    Member("mimeType", "mime_type", text, False),
    Member("offset", "offset", integer, True),
    Member("bytes", "bytes", integer, True),
)
Response._members = (
    Member("url", "url", text, True),
    Member("status", "status", integer, True),
    Member("httpVersion", "http_version", text, False),
    Member("mimeType", "mime_type", text, False),
    Member("textEncodingName", "text_encoding_name", text, False),
    Member("expectedContentLength", "expected_content_length", integer, False),
    Member("suggestedFilename", "suggested_filename", text, False),
    Member("fromCache", "from_cache", boolean, False),
    Member("cacheStatus", "cache_status", text, False),
    Member("properties", "properties", mapped(anything), False),
    Member("headers", "headers", lambda value: listed(ReceivedFieldsItem.from_json)(value), True),
    Member("trailers", "trailers", lambda value: listed(ReceivedFieldsItem.from_json)(value), False),
    Member("cookies", "cookies", ResponseCookies.from_json, False),
    Member("part", "part", integer, False),
    Member("parts", "parts", lambda value: listed(ResponsePartsItem.from_json)(value), False),
)
RejectedCookie._members = (
    Member("name", "name", text, True),
    Member("reason", "reason", text, True),
    Member("message", "message", text, True),
)
ReceivedFieldsItem._members = (
    Member("name", "name", text, True),
    Member("value", "value", text, True),
)
LoadErrorUnderlying._members = (
    Member("domain", "domain", text, False),
    Member("code", "code", integer, False),
    Member("text", "text", text, False),
)
LoadError._members = (
    Member("domain", "domain", text, True),
    Member("code", "code", integer, True),
    Member("name", "name", text, True),
    Member("message", "message", text, True),
    Member("failingURL", "failing_url", text, False),
    Member("underlying", "underlying", LoadErrorUnderlying.from_json, False),
    Member("retriable", "retriable", boolean, False),
    Member("resumeData", "resume_data", text, False),
    Member("notResumableReason", "not_resumable_reason", text, False),
)
Progress._members = (
    Member("bytesSent", "bytes_sent", integer, True),
    Member("bytesExpectedToSend", "bytes_expected_to_send", integer, False),
    Member("sending", "sending", integer, False),
    Member("bytesReceived", "bytes_received", integer, True),
    Member("bytesExpectedToReceive", "bytes_expected_to_receive", integer, False),
    Member("fraction", "fraction", number, False),
    Member("bytesPerSecond", "bytes_per_second", integer, True),
    Member("etaSeconds", "eta_seconds", number, False),
)
Destination._members = (
    Member("filename", "filename", text, False),
    Member("allowOverwrite", "allow_overwrite", boolean, False),
    Member("keepPartial", "keep_partial", boolean, False),
    Member("checksum", "checksum", text, False),
    Member("expiresAfter", "expires_after", integer, False),
)
DownloadedFileMacintosh._members = (
    Member("type", "type", text, False),
    Member("creator", "creator", text, False),
    Member("finderFlags", "finder_flags", integer, False),
    Member("created", "created", time, False),
    Member("modified", "modified", time, False),
)
DownloadedFile._members = (
    Member("blob", "blob", text, True),
    Member("filename", "filename", text, True),
    Member("expiresAt", "expires_at", time, False),
    Member("decodedFrom", "decoded_from", text, False),
    Member("resourceFork", "resource_fork", text, False),
    Member("macintosh", "macintosh", DownloadedFileMacintosh.from_json, False),
)
Blob._members = (
    Member("id", "id", text, True),
    Member("bytes", "bytes", integer, True),
    Member("digest", "digest", text, True),
    Member("contentType", "content_type", text, False),
    Member("createdAt", "created_at", time, True),
    Member("expiresAt", "expires_at", time, False),
    Member("href", "href", text, True),
)
BodySummary._members = (
    Member("bytes", "bytes", integer, True),
    Member("digest", "digest", text, True),
    Member("href", "href", text, True),
)
Attempt._members = (
    Member("number", "number", integer, True),
    Member("startedAt", "started_at", time, True),
    Member("finishedAt", "finished_at", time, True),
    Member("state", "state", text, True),
    Member("error", "error", text, False),
    Member("status", "status", integer, False),
    Member("nextAttemptAt", "next_attempt_at", time, False),
    Member("metrics", "metrics", lambda value: listed(TransferMetrics.from_json)(value), False),
)
TransferMetrics._members = (
    Member("url", "url", text, True),
    Member("status", "status", integer, False),
    Member("networkProtocolName", "network_protocol_name", text, False),
    Member("remoteAddress", "remote_address", text, False),
    Member("remotePort", "remote_port", integer, False),
    Member("isReusedConnection", "is_reused_connection", boolean, False),
    Member("connectionWasLost", "connection_was_lost", boolean, False),
    Member("fetchStart", "fetch_start", time, True),
    Member("domainLookup", "domain_lookup", listed(number), False),
    Member("connect", "connect", listed(number), False),
    Member("secureConnection", "secure_connection", listed(number), False),
    Member("request", "request", listed(number), False),
    Member("response", "response", listed(number), False),
    Member("duration", "duration", number, True),
    Member("requestHeaders", "request_headers", lambda value: listed(RecordedHeader.from_json)(value), False),
    Member("responseHeaders", "response_headers", lambda value: listed(RecordedHeader.from_json)(value), False),
    Member("countOfRequestHeaderBytesSent", "count_of_request_header_bytes_sent", integer, False),
    Member("countOfRequestBodyBytesSent", "count_of_request_body_bytes_sent", integer, False),
    Member("countOfResponseHeaderBytesReceived", "count_of_response_header_bytes_received", integer, False),
    Member("countOfResponseBodyBytesReceived", "count_of_response_body_bytes_received", integer, False),
    Member("countOfRequestBodyBytesBeforeEncoding", "count_of_request_body_bytes_before_encoding", integer, False),
    Member("countOfResponseBodyBytesAfterDecoding", "count_of_response_body_bytes_after_decoding", integer, False),
    Member("tlsProtocolVersion", "tls_protocol_version", text, False),
    Member("tlsCipherSuite", "tls_cipher_suite", text, False),
    Member("isProxyConnection", "is_proxy_connection", boolean, False),
    Member("resourceFetchType", "resource_fetch_type", text, False),
    Member("certificates", "certificates", lambda value: listed(ShownCertificate.from_json)(value), False),
    Member("cookies", "cookies", listed(text), False),
)
ShownCertificate._members = (
    Member("subject", "subject", text, False),
    Member("issuer", "issuer", text, False),
    Member("notBefore", "not_before", time, False),
    Member("notAfter", "not_after", time, False),
    Member("sha256", "sha256", text, True),
)
RecordedHeader._members = (
    Member("name", "name", text, True),
    Member("value", "value", text, True),
    Member("sensitive", "sensitive", boolean, False),
)
HARLogCreator._members = (
    Member("name", "name", text, True),
    Member("version", "version", text, True),
)
HARLogEntriesItem._members = (
    Member("startedDateTime", "started_date_time", time, True),
    Member("time", "time", number, True),
    Member("request", "request", mapped(anything), True),
    Member("response", "response", mapped(anything), True),
    Member("cache", "cache", mapped(anything), True),
    Member("timings", "timings", mapped(anything), True),
    Member("comment", "comment", text, False),
)
HARLogDecisionsItem._members = (
    Member("attempt", "attempt", integer, True),
    Member("decisions", "decisions", lambda value: listed(Decision.from_json)(value), True),
)
HARLog._members = (
    Member("version", "version", text, True),
    Member("creator", "creator", HARLogCreator.from_json, True),
    Member("entries", "entries", lambda value: listed(HARLogEntriesItem.from_json)(value), True),
    Member("_decisions", "decisions", lambda value: listed(HARLogDecisionsItem.from_json)(value), False),
)
HAR._members = (
    Member("log", "log", HARLog.from_json, True),
)
DecisionBy._members = (
    Member("who", "who", text, True),
    Member("rule", "rule", text, False),
    Member("from", "from_", text, False),
    Member("index", "index", integer, False),
    Member("question", "question", text, False),
    Member("endpoint", "endpoint", text, False),
    Member("key", "key", text, False),
    Member("reason", "reason", text, False),
)
Decision._members = (
    Member("sequence", "sequence", integer, True),
    Member("at", "at", time, True),
    Member("kind", "kind", text, True),
    Member("facts", "facts", mapped(anything), True),
    Member("by", "by", DecisionBy.from_json, True),
    Member("answer", "answer", anything, True),
    Member("waited", "waited", number, False),
    Member("refusal", "refusal", text, False),
)
ExplanationAttemptsItemRetry._members = (
    Member("at", "at", time, True),
    Member("delay", "delay", number, True),
)
ExplanationAttemptsItem._members = (
    Member("number", "number", integer, True),
    Member("startedAt", "started_at", time, True),
    Member("finishedAt", "finished_at", time, True),
    Member("state", "state", text, True),
    Member("error", "error", text, False),
    Member("status", "status", integer, False),
    Member("decisions", "decisions", lambda value: listed(Decision.from_json)(value), True),
    Member("transfers", "transfers", listed(mapped(anything)), True),
    Member("retry", "retry", ExplanationAttemptsItemRetry.from_json, False),
)
ExplanationHopsItem._members = (
    Member("url", "url", text, True),
    Member("status", "status", integer, True),
    Member("location", "location", text, True),
    Member("method", "method", text, False),
    Member("cause", "cause", text, False),
    Member("crossOrigin", "cross_origin", boolean, True),
    Member("formerMethod", "former_method", text, False),
)
ExplanationCache._members = (
    Member("fromCache", "from_cache", boolean, False),
    Member("cacheStatus", "cache_status", text, False),
)
Explanation._members = (
    Member("job", "job", text, True),
    Member("state", "state", text, True),
    Member("attempts", "attempts", lambda value: listed(ExplanationAttemptsItem.from_json)(value), True),
    Member("hops", "hops", lambda value: listed(ExplanationHopsItem.from_json)(value), False),
    Member("challenges", "challenges", listed(mapped(anything)), False),
    Member("cache", "cache", ExplanationCache.from_json, False),
    Member("cookies", "cookies", anything, False),
)
JobSummary._members = (
    Member("id", "id", text, True),
    Member("state", "state", text, True),
    Member("createdAt", "created_at", time, True),
    Member("finishedAt", "finished_at", time, False),
    Member("method", "method", text, True),
    Member("url", "url", text, True),
    Member("status", "status", integer, False),
    Member("error", "error", text, False),
)
JobList._members = (
    Member("data", "data", lambda value: listed(JobSummary.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
BatchResult._members = (
    Member("line", "line", integer, True),
    Member("id", "id", text, False),
    Member("state", "state", text, False),
    Member("replayed", "replayed", boolean, False),
    Member("duplicate", "duplicate", boolean, False),
    Member("warnings", "warnings", lambda value: listed(WarningsItem.from_json)(value), False),
    Member("problem", "problem", Problem.from_json, False),
)
CookieMembers._members = (
    Member("name", "name", text, True),
    Member("value", "value", text, True),
    Member("domain", "domain", text, True),
    Member("isHostOnly", "is_host_only", boolean, False),
    Member("path", "path", text, False),
    Member("expiresDate", "expires_date", time, False),
    Member("isSecure", "is_secure", boolean, False),
    Member("isHTTPOnly", "is_http_only", boolean, False),
    Member("sameSite", "same_site", text, False),
    Member("partition", "partition", text, False),
)
Cookie._members = (
    Member("name", "name", text, True),
    Member("value", "value", text, True),
    Member("domain", "domain", text, True),
    Member("isHostOnly", "is_host_only", boolean, False),
    Member("path", "path", text, False),
    Member("expiresDate", "expires_date", time, False),
    Member("isSecure", "is_secure", boolean, False),
    Member("isHTTPOnly", "is_http_only", boolean, False),
    Member("sameSite", "same_site", text, False),
    Member("partition", "partition", text, False),
    Member("createdAt", "created_at", time, True),
)
CookieList._members = (
    Member("data", "data", lambda value: listed(Cookie.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
ParsedCookies._members = (
    Member("cookies", "cookies", lambda value: listed(Cookie.from_json)(value), True),
    Member("rejected", "rejected", lambda value: listed(RejectedCookie.from_json)(value), True),
    Member("cookie", "cookie", text, False),
)
ResetSession._members = (
    Member("cookies", "cookies", integer, True),
    Member("cacheEntries", "cache_entries", integer, True),
    Member("credentials", "credentials", integer, True),
    Member("answers", "answers", integer, True),
)
AnswersForgotten._members = (
    Member("removed", "removed", integer, True),
)
CookiesSet._members = (
    Member("set", "set", integer, True),
)
CookiesImported._members = (
    Member("set", "set", integer, True),
    Member("rejectedLines", "rejected_lines", listed(integer), True),
)
CookiesRemoved._members = (
    Member("removed", "removed", integer, True),
)
Percentiles._members = (
    Member("p50", "p50", number, True),
    Member("p90", "p90", number, True),
    Member("p99", "p99", number, True),
)
SampledJobs._members = (
    Member("jobs", "jobs", integer, True),
    Member("unsuccessful", "unsuccessful", integer, True),
    Member("duration", "duration", Percentiles.from_json, False),
    Member("waiting", "waiting", Percentiles.from_json, False),
)
EndedJobs._members = (
    Member("succeeded", "succeeded", integer, True),
    Member("failed", "failed", integer, True),
    Member("cancelled", "cancelled", integer, True),
    Member("bodyBytes", "body_bytes", integer, True),
)
StatisticsEnded._members = (
    Member("succeeded", "succeeded", integer, True),
    Member("failed", "failed", integer, True),
    Member("cancelled", "cancelled", integer, True),
    Member("bodyBytes", "body_bytes", integer, True),
    Member("jobsPerSecond", "jobs_per_second", number, True),
)
StatisticsHoursItem._members = (
    Member("succeeded", "succeeded", integer, True),
    Member("failed", "failed", integer, True),
    Member("cancelled", "cancelled", integer, True),
    Member("bodyBytes", "body_bytes", integer, True),
    Member("hour", "hour", time, True),
    Member("duration", "duration", Percentiles.from_json, False),
    Member("waiting", "waiting", Percentiles.from_json, False),
)
StatisticsStatesItem._members = (
    Member("jobs", "jobs", integer, True),
    Member("unsuccessful", "unsuccessful", integer, True),
    Member("duration", "duration", Percentiles.from_json, False),
    Member("waiting", "waiting", Percentiles.from_json, False),
    Member("state", "state", text, True),
)
StatisticsStatusClassesItem._members = (
    Member("jobs", "jobs", integer, True),
    Member("unsuccessful", "unsuccessful", integer, True),
    Member("duration", "duration", Percentiles.from_json, False),
    Member("waiting", "waiting", Percentiles.from_json, False),
    Member("statusClass", "status_class", text, True),
)
StatisticsHostsItem._members = (
    Member("jobs", "jobs", integer, True),
    Member("unsuccessful", "unsuccessful", integer, True),
    Member("duration", "duration", Percentiles.from_json, False),
    Member("waiting", "waiting", Percentiles.from_json, False),
    Member("host", "host", text, True),
)
Statistics._members = (
    Member("from", "from_", time, True),
    Member("to", "to", time, True),
    Member("current", "current", mapped(integer), True),
    Member("ended", "ended", StatisticsEnded.from_json, True),
    Member("hours", "hours", lambda value: listed(StatisticsHoursItem.from_json)(value), True),
    Member("sample", "sample", SampledJobs.from_json, True),
    Member("states", "states", lambda value: listed(StatisticsStatesItem.from_json)(value), True),
    Member("statusClasses", "status_classes", lambda value: listed(StatisticsStatusClassesItem.from_json)(value), True),
    Member("hosts", "hosts", lambda value: listed(StatisticsHostsItem.from_json)(value), True),
)
CredentialSecret._members = (
    Member("user", "user", text, False),
    Member("accessKeyID", "access_key_id", text, False),
    Member("region", "region", text, False),
    Member("service", "service", text, False),
    Member("persistence", "persistence", text, False),
)
StoredProtectionSpace._members = (
    Member("host", "host", text, True),
    Member("port", "port", integer, True),
    Member("protocol", "protocol", text, True),
    Member("realm", "realm", text, False),
    Member("authenticationMethod", "authentication_method", text, True),
    Member("isProxy", "is_proxy", boolean, True),
)
AuditListDataItem._members = (
    Member("id", "id", text, True),
    Member("action", "action", text, True),
    Member("at", "at", time, True),
    Member("credential", "credential", text, True),
    Member("job", "job", text, False),
    Member("protectionSpace", "protection_space", StoredProtectionSpace.from_json, True),
)
AuditList._members = (
    Member("data", "data", lambda value: listed(AuditListDataItem.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
Credential._members = (
    Member("id", "id", text, True),
    Member("protectionSpace", "protection_space", StoredProtectionSpace.from_json, True),
    Member("kind", "kind", text, True),
    Member("user", "user", text, False),
    Member("persistence", "persistence", text, True),
    Member("isDefault", "is_default", boolean, True),
    Member("createdAt", "created_at", time, True),
    Member("updatedAt", "updated_at", time, True),
    Member("lastFailureAt", "last_failure_at", time, False),
)
CredentialList._members = (
    Member("data", "data", lambda value: listed(Credential.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
CredentialsRemoved._members = (
    Member("removed", "removed", integer, True),
)
ServerTrust._members = (
    Member("policy", "policy", text, True),
    Member("anchors", "anchors", text, False),
    Member("pins", "pins", lambda value: listed(PublicKeyPin.from_json)(value), False),
    Member("revocationLists", "revocation_lists", text, False),
    Member("requiresStapledStatus", "requires_stapled_status", boolean, False),
)
WebhookEndpointClientCertificate._members = (
    Member("sha256", "sha256", text, True),
)
WebhookEndpoint._members = (
    Member("id", "id", text, True),
    Member("url", "url", text, False),
    Member("polled", "polled", boolean, True),
    Member("events", "events", listed(text), True),
    Member("default", "default", boolean, True),
    Member("serverTrust", "server_trust", ServerTrust.from_json, False),
    Member("clientCertificate", "client_certificate", WebhookEndpointClientCertificate.from_json, False),
    Member("createdAt", "created_at", time, True),
    Member("enabled", "enabled", boolean, True),
    Member("disabledAt", "disabled_at", time, False),
    Member("disabledReason", "disabled_reason", text, False),
    Member("failingSince", "failing_since", time, False),
    Member("previousSecretUntil", "previous_secret_until", time, False),
)
WebhookDelivery._members = (
    Member("id", "id", text, True),
    Member("endpoint", "endpoint", text, True),
    Member("event", "event", text, True),
    Member("job", "job", text, False),
    Member("session", "session", text, False),
    Member("group", "group", text, False),
    Member("about", "about", text, False),
    Member("state", "state", text, True),
    Member("createdAt", "created_at", time, True),
    Member("countOfAttempts", "count_of_attempts", integer, True),
    Member("lastAttemptAt", "last_attempt_at", time, False),
    Member("lastStatus", "last_status", integer, False),
    Member("nextAttemptAt", "next_attempt_at", time, False),
)
WholeWebhookDelivery._members = (
    Member("id", "id", text, True),
    Member("endpoint", "endpoint", text, True),
    Member("event", "event", text, True),
    Member("job", "job", text, False),
    Member("session", "session", text, False),
    Member("group", "group", text, False),
    Member("about", "about", text, False),
    Member("state", "state", text, True),
    Member("createdAt", "created_at", time, True),
    Member("countOfAttempts", "count_of_attempts", integer, True),
    Member("lastAttemptAt", "last_attempt_at", time, False),
    Member("lastStatus", "last_status", integer, False),
    Member("nextAttemptAt", "next_attempt_at", time, False),
    Member("attempts", "attempts", lambda value: listed(DeliveryAttempt.from_json)(value), True),
)
DeliveryAttemptRequest._members = (
    Member("url", "url", text, True),
    Member("headers", "headers", lambda value: listed(Header.from_json)(value), True),
)
DeliveryAttemptResponseBody._members = (
    Member("text", "text", text, False),
    Member("base64", "base64", text, False),
    Member("isCut", "is_cut", boolean, True),
)
DeliveryAttemptResponse._members = (
    Member("status", "status", integer, True),
    Member("headers", "headers", lambda value: listed(Header.from_json)(value), True),
    Member("body", "body", DeliveryAttemptResponseBody.from_json, True),
)
DeliveryAttempt._members = (
    Member("number", "number", integer, True),
    Member("startedAt", "started_at", time, True),
    Member("duration", "duration", number, True),
    Member("request", "request", DeliveryAttemptRequest.from_json, True),
    Member("error", "error", text, False),
    Member("response", "response", DeliveryAttemptResponse.from_json, False),
)
WebhookDeliveryList._members = (
    Member("data", "data", lambda value: listed(WebhookDelivery.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
DeliveryReplayed._members = (
    Member("replayed", "replayed", integer, True),
)
NewWebhookEndpointClientCertificate._members = (
    Member("sha256", "sha256", text, True),
)
NewWebhookEndpoint._members = (
    Member("id", "id", text, True),
    Member("url", "url", text, False),
    Member("polled", "polled", boolean, True),
    Member("events", "events", listed(text), True),
    Member("default", "default", boolean, True),
    Member("serverTrust", "server_trust", ServerTrust.from_json, False),
    Member("clientCertificate", "client_certificate", NewWebhookEndpointClientCertificate.from_json, False),
    Member("createdAt", "created_at", time, True),
    Member("enabled", "enabled", boolean, True),
    Member("disabledAt", "disabled_at", time, False),
    Member("disabledReason", "disabled_reason", text, False),
    Member("failingSince", "failing_since", time, False),
    Member("previousSecretUntil", "previous_secret_until", time, False),
    Member("secret", "secret", text, True),
)
WebhookEndpointList._members = (
    Member("data", "data", lambda value: listed(WebhookEndpoint.from_json)(value), True),
    Member("hasMore", "has_more", boolean, True),
    Member("nextCursor", "next_cursor", text, False),
)
Status._members = (
    Member("status", "status", text, True),
    Member("remarks", "remarks", listed(text), False),
)
StreamToken._members = (
    Member("token", "token", text, True),
    Member("href", "href", text, True),
    Member("expiresAt", "expires_at", time, True),
)
Version._members = (
    Member("version", "version", text, True),
    Member("schemaVersion", "schema_version", integer, True),
)
ProblemErrorsItem._members = (
    Member("pointer", "pointer", text, False),
    Member("parameter", "parameter", text, False),
    Member("message", "message", text, True),
)
Problem._members = (
    Member("type", "type", text, True),
    Member("title", "title", text, True),
    Member("status", "status", integer, True),
    Member("detail", "detail", text, False),
    Member("instance", "instance", text, False),
    Member("code", "code", text, True),
    Member("errors", "errors", lambda value: listed(ProblemErrorsItem.from_json)(value), False),
)
