"""The documents that the service takes, made by clients/generate from openapi.yaml. Do not edit."""
# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Required, TypeAlias, TypedDict

JobID: TypeAlias = str

SessionIDOrDefault: TypeAlias = str

SnapshotID: TypeAlias = str

SessionKind: TypeAlias = Literal['default', 'ephemeral', 'background']

GroupID: TypeAlias = str

ScheduleID: TypeAlias = str

BlobID: TypeAlias = str

WebhookEndpointID: TypeAlias = str

Timestamp: TypeAlias = str | datetime

JobState: TypeAlias = Literal['scheduled', 'queued', 'running', 'awaitingDecision', 'suspended', 'succeeded', 'failed', 'cancelled']

WebhookEvent: TypeAlias = Literal['job.started', 'job.canonicalized', 'job.redirected', 'job.challenged', 'job.challengeCancelled', 'job.informational', 'job.waitingForConnectivity', 'job.response', 'job.becameDownload', 'job.resumedAtOffset', 'job.bodyWanted', 'job.question', 'job.destinationCreated', 'job.progress', 'job.finished', 'session.eventsFinished', 'session.invalidated', 'group.finished', 'cookies.changed', 'credentials.changed', 'endpoint.disabled', 'endpoint.test']

QuestionState: TypeAlias = Literal['open', 'answered', 'closed']

QuestionReply: TypeAlias = "AnswerWord | QuestionReply2"

WebhookDeliveryID: TypeAlias = str

DeliveryState: TypeAlias = Literal['pending', 'delivered', 'abandoned']

HTTPURL: TypeAlias = str

BytesPerSecond: TypeAlias = int

PinnedLimits: TypeAlias = Sequence[Literal['parallelism', 'rate']]

Scope: TypeAlias = Literal['jobs:read', 'jobs:write', 'limits', 'sessions', 'credentials', 'webhooks', 'questions', 'schedules', 'keys', 'audit', 'admin']

StatusFilter: TypeAlias = str

BodySizeFilter: TypeAlias = str

RequestOrURL: TypeAlias = "Request | JobURL"

JobURL: TypeAlias = str

RequestHeaderList: TypeAlias = "Sequence[RequestHeader]"

RequestHeaderMap: TypeAlias = "dict[str, Sequence[RequestHeaderValue] | RequestHeaderValue]"

RequestHeaderName: TypeAlias = str

RequestHeaderValue: TypeAlias = str

MissedRuns: TypeAlias = Literal['skip', 'runOnce', 'runAll']

Overlap: TypeAlias = Literal['allow', 'skip']

QuestionKind: TypeAlias = Literal['willPerformHTTPRedirection', 'didCanonicalize', 'didReceiveChallenge', 'didReceiveServerTrust', 'didReceiveResponse', 'shouldDecodeSourceData', 'decideDestination', 'needNewBodyStream', 'willCacheResponse', 'willBeginDelayedRequest']

StatusCondition: TypeAlias = int | Literal['1xx', '2xx', '3xx', '4xx', '5xx']

OneOrMoreTexts: TypeAlias = str | Sequence[str]

Answer: TypeAlias = "AnswerWord | AnswerObject"

AnswerWord: TypeAlias = Literal['performDefaultHandling', 'follow', 'returnResponse', 'cancel', 'useCredential', 'continueWithoutCredential', 'rejectProtectionSpace', 'accept', 'reject', 'allow', 'becomeDownload', 'yes', 'no', 'use', 'useBody', 'store', 'doNotStore', 'continueLoading', 'useRequest']

Host: TypeAlias = str

HostPattern: TypeAlias = str

StoragePolicy: TypeAlias = Literal['allowed', 'allowedInMemoryOnly', 'notAllowed']

CachePolicy: TypeAlias = Literal['useProtocolCachePolicy', 'reloadIgnoringLocalCacheData', 'reloadIgnoringLocalAndRemoteCacheData', 'returnCacheDataElseLoad', 'returnCacheDataDontLoad', 'reloadRevalidatingCacheData']

Labels: TypeAlias = dict[str, str]

SessionName: TypeAlias = str

CookieSpec: TypeAlias = "CookieMembers"

CredentialID: TypeAlias = str


class Aria2Request(TypedDict, total=False):
    """A call of JSON-RPC 2.0, or a list of calls."""

    jsonrpc: str
    id: Any
    method: str
    params: Sequence[Any]


class SessionSpec(TypedDict, total=False):
    """What a session is asked to be."""

    kind: SessionKind
    identifier: str
    description: str
    configuration: LoadConfiguration
    snapshot: SnapshotID
    protocols: Sequence[str]
    webhook: WebhookTarget


class GroupSpec(TypedDict, total=False):
    """What a new group is to be."""

    labels: Labels
    webhook: WebhookTarget


class ScheduleSpec(TypedDict, total=False):
    """Which jobs are to be made, and when."""

    cron: str
    timeZone: str
    interval: int
    urlGroup: str
    job: Required[JobSpec]
    missedRuns: MissedRuns
    overlap: Overlap
    startsAt: Timestamp
    endsAt: Timestamp
    labels: Labels


class SchedulePatch(TypedDict, total=False):
    """The members of a schedule that change, in part where they are objects; null takes one away."""

    cron: str | None
    timeZone: str | None
    interval: int | None
    urlGroup: str | None
    job: dict[str, Any]
    missedRuns: MissedRuns | None
    overlap: Overlap | None
    startsAt: Timestamp | None
    endsAt: Timestamp | None
    labels: dict[str, str | None] | None


class QuestionReply2(TypedDict, total=False):
    """`QuestionReply2` of openapi.yaml."""

    answer: Required[AnswerWord]
    note: str
    remember: Remember


class Remember(TypedDict, total=False):
    """For how long the session of the job gives the answer again, and to which questions. An answer that is a word or
    names a stored credential can be remembered; one with a credential, body, name or request of its own cannot, nor
    the answer to a job that names no session. The session remembers 64 answers: the oldest one makes way for
    another."""

    seconds: Required[int]
    when: QuestionConditions


class QuestionActionFilter(TypedDict, total=False):
    """Which open questions are meant; those of which all that is said is true."""

    kind: Required[QuestionKind]
    job: JobID
    group: GroupID
    host: str
    label: str
    labels: Labels


class QuestionAction(TypedDict, total=False):
    """One answer for many questions."""

    filter: Required[QuestionActionFilter]
    answer: Required[Answer]
    note: str
    askedBefore: Timestamp
    dryRun: bool
    limit: int
    cursor: str


class JobSpec(TypedDict, total=False):
    """What to fetch and how."""

    kind: Literal['data', 'download', 'upload']
    session: SessionIDOrDefault
    request: Required[RequestOrURL]
    configuration: LoadConfiguration
    priority: float
    runAt: Timestamp
    delay: float
    expiresAt: Timestamp
    suspended: bool
    discretionary: bool
    initiated: Literal['interactive', 'background']
    flow: JobFlow
    unique: UniqueKey
    labels: Labels
    resumeFrom: BlobID
    webhook: JobWebhook
    callbacks: JobCallbacks
    group: GroupID


class Rate(TypedDict, total=False):
    """At most so many jobs start in any time of this length."""

    jobs: Required[int]
    period: Required[float]


class HostLimits(TypedDict, total=False):
    """What is set for a host."""

    parallelism: int
    rate: Rate
    maximumBytesPerSecond: BytesPerSecond


class FlowLimits(TypedDict, total=False):
    """What is set for a flow."""

    parallelism: int
    rate: Rate
    maximumBytesPerSecond: BytesPerSecond
    order: Literal['any', 'fifo']
    onFailure: Literal['skip', 'block']
    pinned: PinnedLimits


class APIKeySpec(TypedDict, total=False):
    """What a key is made with."""

    name: Required[str]
    scopes: Required[Sequence[Scope]]
    session: SessionIDOrDefault
    hosts: Sequence[str]
    maximumJobs: int
    expiresAt: str | datetime


class KeyRotation(TypedDict, total=False):
    """How a key is rotated."""

    overlap: float


class JobFlow(TypedDict, total=False):
    """The flow that the job joins; its limits are set at `/v1/flows`."""

    key: Required[str]


class JobFilter(TypedDict, total=False):
    """Which jobs are meant, those of which all is true; an empty one means all."""

    state: JobState
    kind: Literal['data', 'download', 'upload']
    session: SessionIDOrDefault
    schedule: ScheduleID
    group: GroupID
    host: str
    label: str
    labels: Labels
    error: str
    status: StatusFilter
    method: str
    url: str
    prefix: str
    bodyBytes: BodySizeFilter
    createdAfter: Timestamp
    createdBefore: Timestamp


class JobAction(TypedDict, total=False):
    """What to do to which jobs."""

    action: Required[Literal['cancel', 'suspend', 'resume', 'retry', 'delete']]
    filter: Required[JobFilter]
    all: bool
    dryRun: bool
    limit: int
    cursor: str


class JobChangeConfigurationConnections(TypedDict, total=False):
    """`JobChangeConfigurationConnections` of openapi.yaml."""

    maximumBytesPerSecond: int | None


class JobChangeConfiguration(TypedDict, total=False):
    """All else of it stays as it was submitted."""

    connections: JobChangeConfigurationConnections


class JobChange(TypedDict, total=False):
    """What to change; null takes a member away."""

    priority: float | None
    runAt: Timestamp | None
    delay: float
    labels: dict[str, str | None]
    configuration: JobChangeConfiguration


class Request(TypedDict, total=False):
    """The request to send."""

    writtenURL: JobURL
    urlTemplate: str
    variables: dict[str, str]
    url: JobURL
    mirrors: Sequence[JobURL]
    method: str
    headers: RequestHeaderList | RequestHeaderMap
    attemptHeaders: Sequence[AttemptHeader]
    body: RequestBody
    sensitive: Sequence[Literal['query', 'body']]
    redaction: Literal['text', 'digest']
    cachePolicy: CachePolicy
    mainDocumentURL: HTTPURL
    properties: dict[str, Any]


class AttemptHeader(TypedDict, total=False):
    """A header field whose value is made for each attempt."""

    name: Required[str]
    content: Required[Literal['job', 'retries', 'signature']]
    issuer: str


class RequestHeader(TypedDict, total=False):
    """One header field of a request."""

    name: Required[RequestHeaderName]
    value: Required[RequestHeaderValue]
    sensitive: bool


class RequestBody(TypedDict, total=False):
    """Exactly one of the forms. The content type that goes with it is sent unless `headers` names one: text is
    `text/plain; charset=utf-8`, json `application/json`, form `application/x-www-form-urlencoded`, a blob what it
    was stored with."""

    text: str
    base64: str
    json: Any
    form: dict[str, str]
    multipart: Sequence[BodyPart]
    blob: BlobID
    stream: Literal[True]


class BodyPart(TypedDict, total=False):
    """One part, with exactly one of text, base64 and blob. A part is a file when it has a filename or is no text; a
    file without a filename is called by its name."""

    name: Required[str]
    text: str
    base64: str
    blob: BlobID
    filename: str
    contentType: str


class ProxyCredential(TypedDict, total=False):
    """A user name and a password."""

    user: Required[str]
    password: Required[str]


class LoadConfigurationRedirects(TypedDict, total=False):
    """What to do when the origin redirects."""

    policy: Literal['follow', 'return', 'fail']
    maximum: int
    allowHTTPSToHTTP: bool
    preserveMethod: bool
    allowedHosts: Sequence[Host]
    forwardCredentialsToHosts: Sequence[Host]


class LoadConfigurationAuthentication(TypedDict, total=False):
    """How the server of the job's URL is answered when it asks who is there."""

    credential: CredentialID | CredentialSecret
    persistence: Literal['none', 'forSession', 'permanent', 'synchronizable']
    methods: Sequence[Literal['basic', 'digest', 'bearer', 'ntlm', 'negotiate', 'clientCertificate', 'awsSigV4']]
    maximumFailures: int
    onFailure: Literal['performDefaultHandling', 'rejectProtectionSpace', 'cancelAuthenticationChallenge']
    kerberosService: str
    delegatesKerberosTickets: bool


class LoadConfigurationCookies(TypedDict, total=False):
    """Which cookies are taken and sent."""

    acceptPolicy: Literal['always', 'onlyFromMainDocumentDomain', 'never']
    send: bool
    jar: Literal['session', 'none']


class LoadConfigurationCache(TypedDict, total=False):
    """Which answers are stored, and which stored ones are used."""

    requestCachePolicy: CachePolicy
    storagePolicy: StoragePolicy
    audience: Literal['private', 'shared']
    cacheableStatuses: Literal['rfc9111', 'success']
    maximumEntryBytes: int
    userInfo: dict[str, str]


class LoadConfigurationProxy(TypedDict, total=False):
    """The proxy that everything goes through (`url`), or those for some schemes and hosts (`rules`). Without any of
    its members it is the operator's (`WORKER_PROXY`), if there is one; an empty list of `rules` goes without. A job
    fails with `proxyForbidden` when the operator does not allow its proxy."""

    url: str
    credential: CredentialID | ProxyCredential
    rules: Sequence[ProxyRule]
    noProxy: Sequence[HostPattern]


class LoadConfigurationTls(TypedDict, total=False):
    """Which versions of TLS are used."""

    minimumVersion: Literal['1.2', '1.3']
    maximumVersion: Literal['1.2', '1.3']
    alpn: Any
    strictTransport: Sequence[HostPattern]


class LoadConfigurationTimeouts(TypedDict, total=False):
    """In seconds. Waiting in the queue never counts."""

    timeoutIntervalForRequest: float
    timeoutIntervalForResource: float
    connect: float


class LoadConfigurationConnections(TypedDict, total=False):
    """Which connections are used."""

    maximumPerHost: int
    httpVersion: Literal['automatic', '1.1', '2']
    waitsForConnectivity: bool
    addressFamily: Literal['any', 'ipv4', 'ipv6']
    maximumBytesPerSecond: int
    allowsCellularAccess: bool
    allowsExpensiveNetworkAccess: bool
    allowsConstrainedNetworkAccess: bool
    allowsUltraConstrainedNetworkAccess: bool
    networkServiceType: Literal['default', 'background', 'video', 'voice', 'responsiveData', 'avStreaming', 'responsiveAV', 'callSignaling']
    multipathServiceType: Literal['none', 'handover', 'interactive', 'aggregate']


class LoadConfigurationBackground(TypedDict, total=False):
    """What background sessions have on Apple's systems; without effect. A service is not launched again, and the
    webhooks of a session tell when its jobs are done (`session.eventsFinished`)."""

    sessionSendsLaunchEvents: bool
    sharedContainerIdentifier: str
    shouldUseExtendedBackgroundIdleMode: bool


class LoadConfigurationResponseBecomeDownload(TypedDict, total=False):
    """Which responses make a download of a data or upload job, in the same transfer: `kind` is `download` from then
    on, the body a file, and a lost connection no reason to begin anew. Empty for none, as by default. Not in
    ephemeral sessions."""

    mimeTypes: Sequence[str]
    aboveBytes: int


class LoadConfigurationResponse(TypedDict, total=False):
    """What is accepted."""

    maximumBytes: int
    decode: Sequence[Literal['gzip', 'macBinary', 'binHex']]
    becomeDownload: LoadConfigurationResponseBecomeDownload
    verifyDigests: bool
    multipartReplace: Literal['last', 'all']


class LoadConfigurationRequest(TypedDict, total=False):
    """What requests have that say nothing of it themselves."""

    headers: RequestHeaderList | RequestHeaderMap
    sendsTraceContext: bool
    recordsHeaders: bool
    attribution: Literal['developer', 'user']
    allowsPersistentDNS: bool


class LoadConfigurationUpload(TypedDict, total=False):
    """How request bodies are sent."""

    expectContinue: Literal['automatic', 'always', 'never']
    contentType: str
    spoolBytes: int
    coding: Literal['gzip', 'zstd']


class LoadConfiguration(TypedDict, total=False):
    """How to load. What a job leaves out comes from its session, member by member; what that leaves out, from the
    defaults of the service. The groups `serverTrust`, `proxy` and `delegate` are taken whole from the level that
    sets them. Of `rules` a job has its own and, after them, those of its session."""

    redirects: LoadConfigurationRedirects
    authentication: LoadConfigurationAuthentication
    serverTrust: ServerTrust
    cookies: LoadConfigurationCookies
    cache: LoadConfigurationCache
    proxy: LoadConfigurationProxy
    tls: LoadConfigurationTls
    timeouts: LoadConfigurationTimeouts
    connections: LoadConfigurationConnections
    background: LoadConfigurationBackground
    response: LoadConfigurationResponse
    destination: Destination
    retry: Retry
    request: LoadConfigurationRequest
    upload: LoadConfigurationUpload
    rules: Sequence[Rule]
    delegate: Delegate


class Rule(TypedDict, total=False):
    """An answer written beforehand, and when it is given."""

    name: str
    on: Required[QuestionKind]
    when: QuestionConditions
    answer: Required[Answer]


class QuestionConditionsServer(TypedDict, total=False):
    """The server or proxy that asks or shows the chain, of `didReceiveChallenge` and `didReceiveServerTrust`."""

    scheme: str
    host: str
    port: int


QuestionConditions = TypedDict("QuestionConditions", {"url": "URLCondition", "from": "URLCondition", "to": "URLCondition", "crossOrigin": "bool", "downgrade": "bool", "method": "OneOrMoreTexts", "status": "StatusCondition | Sequence[StatusCondition]", "hop": "Bounds", "header": "dict[str, str]", "contentType": "OneOrMoreTexts", "contentLength": "Bounds", "authenticationMethod": "OneOrMoreTexts", "realm": "OneOrMoreTexts", "isProxy": "bool", "previousFailureCount": "Bounds", "hasProposedCredential": "bool", "trustError": "OneOrMoreTexts", "spki": "OneOrMoreTexts", "chainSHA256": "OneOrMoreTexts", "server": "QuestionConditionsServer", "suggestedFilename": "str", "labels": "Labels", "attempt": "Bounds"}, total=False)
"""Conditions that all have to hold; none is met by every question. A condition that cannot apply to the kind is
    refused. Where one names several values, one of them has to fit."""


class URLCondition(TypedDict, total=False):
    """Parts that a URL has."""

    scheme: str
    host: str
    port: int
    path: str
    exactPath: str


class Bounds(TypedDict, total=False):
    """From `min` to `max`, both included."""

    min: int
    max: int


class AnswerObject(TypedDict, total=False):
    """An answer that needs more than its word."""

    answer: Required[AnswerWord]
    request: RequestChange
    credential: CredentialID | CredentialSecret
    filename: str
    overwrite: bool
    body: RequestBody
    userInfo: dict[str, str]
    storagePolicy: StoragePolicy


class RequestChange(TypedDict, total=False):
    """What changes of the proposed request; what is left out stays. It is judged as a redirect is: an http or https
    URL, and within every limit of the configuration. Where the origin changes, sensitive fields go, and only those
    that stand here are sent."""

    url: HTTPURL
    method: str
    headers: RequestHeaderList | RequestHeaderMap
    body: RequestBody | None
    cachePolicy: CachePolicy


class DelegateQuestionsItem2(TypedDict, total=False):
    """Those of a kind that meet conditions."""

    on: Required[QuestionKind]
    when: QuestionConditions


class Delegate(TypedDict, total=False):
    """Who is asked when no rule decides. In an ephemeral session the node that has it keeps the questions in memory,
    and lists and answers them alone. Either by `webhook`, a signed message to an endpoint whose reply is the
    answer, or by `api`: the question waits until somebody answers it, at `/v1/questions` or in the dashboard."""

    via: Required[Literal['webhook', 'api']]
    endpoint: WebhookEndpointID
    questions: Required[Sequence[QuestionKind | DelegateQuestionsItem2]]
    timeout: float
    otherwise: dict[str, Answer]
    whenUnreachable: Literal['wait', 'otherwise']
    maximumQuestions: int


class JobCallbacks(TypedDict, total=False):
    """Jobs that tell of this one. Each is stored in the transaction that ends the attempt, so that no crash loses or
    doubles it, and has the label `callbackOf` with the id of this job. It sends a JSON object: its `content`, and
    `status` (0 without an answer), `header` and `body` of the response, `error` (a name), `retried`, `maxRetries`,
    `sourceMessageId` (this job), `url`, `method`, `sourceHeader` and `sourceBody` of its request, `notBefore` and
    `createdAt`. Bodies are in base64, and times in milliseconds. The object has 1 MiB at most: a body for which
    there is no room is left out. What is secret is not told."""

    attempt: JobCallback
    failure: JobCallback


class JobCallback(TypedDict, total=False):
    """A job in the default session, without cookies, cache, credentials and redirects. Its request is sent again as
    `retry` says: with `replayUnsafe` also when nobody knows whether it arrived."""

    url: Required[HTTPURL]
    method: str
    headers: RequestHeaderList | RequestHeaderMap
    attemptHeaders: Sequence[AttemptHeader]
    content: dict[str, Any]
    retry: Retry
    timeoutIntervalForRequest: float
    labels: dict[str, str]
    inFlow: bool


class UniqueKey(TypedDict, total=False):
    """Of jobs with one key only the first is stored: for as long as its `window` says, others of the same tenant are
    answered with its id and `duplicate: true`, whatever else they ask for and whatever became of the first.
    `Prefer: wait` waits for the first one. An `Idempotency-Key` is about repeats of one request, and goes before."""

    key: Required[str]
    window: float


class RetryBackoff(TypedDict, total=False):
    """How long to wait, in seconds: longer each time by `initial` and `factor`, or as `delays` or `expression` says,
    of which only one can be there."""

    delays: Sequence[float]
    expression: str
    initial: float
    factor: float
    maximum: float
    jitter: float


class RetryFinal(TypedDict, total=False):
    """An answer that is a failure after which no attempt follows."""

    status: Required[int]
    field: Required[str]


class Retry(TypedDict, total=False):
    """When a failed attempt is followed by another one. The job is `scheduled` in between, and each attempt is listed
    with its cause and the time of the next. A request that must not be repeated (POST and PATCH without an
    `Idempotency-Key` field) is sent again only when no byte of it had left."""

    maximumAttempts: int
    backoff: RetryBackoff
    statuses: Sequence[int | str]
    errors: Sequence[str]
    honorRetryAfter: bool
    retryAfterScope: Literal['host', 'job']
    final: RetryFinal
    replayUnsafe: bool


class ProxyRule(TypedDict, total=False):
    """Which proxies are tried for some schemes and hosts."""

    schemes: Sequence[Literal['http', 'https', 'ftp', 'ftps']]
    hosts: Sequence[HostPattern]
    excludedHosts: Sequence[HostPattern]
    proxies: Required[Sequence[str]]


class PublicKeyPin(TypedDict, total=False):
    """A public key that servers must have."""

    host: HostPattern
    sha256: Required[str]


class WebhookTarget(TypedDict, total=False):
    """Where events are sent: either `endpoint` or `url`. A `url` stands for your enabled endpoint with this address;
    where there is none, one is made, which needs the scope `webhooks`; it is told of `job.finished`,
    `session.eventsFinished`, `session.invalidated` and `group.finished`. Answers name the endpoint. Which events
    are told is said by the endpoint; a job alone can choose its own."""

    endpoint: WebhookEndpointID
    url: HTTPURL


class JobWebhook(TypedDict, total=False):
    """Where the job's events are sent, and which: either `endpoint` or `url`. A `url` stands for your enabled endpoint
    with this address; where there is none, one is made, which needs the scope `webhooks` and that you have fewer
    than 1000 endpoints. Answers name the endpoint."""

    endpoint: WebhookEndpointID
    url: HTTPURL
    events: Sequence[WebhookEvent]
    includeBodyUpTo: int


class Destination(TypedDict, total=False):
    """What becomes of the file of a download."""

    filename: str
    allowOverwrite: bool
    keepPartial: bool
    checksum: str
    expiresAfter: int


class BatchLine(TypedDict, total=False):
    """A job to submit; its other members are those of `JobSpec`, and no others."""

    idempotencyKey: str
    request: Required[RequestOrURL]


class CookieMembers(TypedDict, total=False):
    """What a cookie is made of."""

    name: Required[str]
    value: Required[str]
    domain: Required[str]
    isHostOnly: bool
    path: str
    expiresDate: str | datetime
    isSecure: bool
    isHTTPOnly: bool
    sameSite: Literal['strict', 'lax', 'none']
    partition: str


class CookieSubmission(TypedDict, total=False):
    """Cookies to set."""

    session: SessionName
    cookies: Required[Sequence[CookieSpec]]


class CookieLines(TypedDict, total=False):
    """Set-Cookie lines of an answer."""

    url: Required[HTTPURL]
    mainDocumentURL: HTTPURL
    setCookie: Required[Sequence[str]]


class ProtectionSpace(TypedDict, total=False):
    """What a credential answers for."""

    host: Required[str]
    port: int
    protocol: Literal['http', 'https', 'ftp', 'ftps', 'socks4', 'socks4a', 'socks5', 'socks5h']
    isProxy: bool
    realm: str
    authenticationMethod: Required[Literal['default', 'httpBasic', 'httpDigest', 'httpBearer', 'ntlm', 'negotiate', 'clientCertificate', 'awsSigV4']]


class CredentialSecret(TypedDict, total=False):
    """A credential of one kind: `user` and `password`, or `bearerToken`, or a client certificate as PEM or PKCS #12,
    or an AWS access key, with which each request is signed (Signature Version 4). Bodies that are not in memory (a
    blob, several parts, a stream) are signed for S3 alone, where their content is left out of it. For Kerberos,
    `user` is the principal, `user@REALM` of ASCII letters, digits and `. _ - $ +`, with its `password` or a
    `keytab`. The realm has to be one that the service's operator has set up (`KERBEROS_REALMS`), or the credential
    is not used for Kerberos; each job gets tickets of its own."""

    user: str
    password: str
    bearerToken: str
    certificateChain: str
    privateKey: str
    pkcs12: str
    passphrase: str
    accessKeyID: str
    secretAccessKey: str
    sessionToken: str
    region: str
    service: str
    keytab: str
    persistence: Literal['none', 'forSession', 'permanent', 'synchronizable']


class CredentialSubmission(TypedDict, total=False):
    """A credential to store, of one kind, and where it is to answer."""

    session: SessionName
    protectionSpace: Required[ProtectionSpace]
    persistence: Literal['forSession', 'permanent', 'synchronizable']
    isDefault: bool
    user: str
    password: str
    bearerToken: str
    certificateChain: str
    privateKey: str
    pkcs12: str
    passphrase: str
    accessKeyID: str
    secretAccessKey: str
    sessionToken: str
    region: str
    service: str
    keytab: str


class ClientCertificate(TypedDict, total=False):
    """A certificate with its private key, in PEM or in one file."""

    certificateChain: str
    privateKey: str
    pkcs12: str
    passphrase: str


class ServerTrust(TypedDict, total=False):
    """Who is believed to vouch for servers. `system`: the authorities that the system of the service trusts. `pinned`:
    the same, for servers that have one of the pinned keys. `custom`: the authorities in `anchors` and no others;
    pins count as well. The name and the dates of a certificate are always checked."""

    policy: Required[Literal['system', 'pinned', 'custom']]
    anchors: str
    pins: Sequence[PublicKeyPin]
    revocationLists: str
    requiresStapledStatus: bool


class WebhookEndpointSpec(TypedDict, total=False):
    """A new endpoint, with a `url` or `polled`."""

    url: HTTPURL
    polled: bool
    events: Sequence[WebhookEvent]
    default: bool
    serverTrust: ServerTrust
    clientCertificate: ClientCertificate


class WebhookEndpointPatch(TypedDict, total=False):
    """What changes of an endpoint."""

    url: HTTPURL
    events: Sequence[WebhookEvent]
    default: bool
    enabled: bool
    serverTrust: ServerTrust | None
    clientCertificate: ClientCertificate | None


class SecretRotation(TypedDict, total=False):
    """How an endpoint gets a new secret."""

    overlap: float


class DeliveryReplay(TypedDict, total=False):
    """What is to be sent again."""

    endpoint: Required[WebhookEndpointID]
    since: Required[Timestamp]


class JobOptions(TypedDict, total=False):
    """What a job is submitted with besides its request. Members of `configuration` stand beside it."""

    kind: Literal['data', 'download', 'upload']
    session: SessionIDOrDefault
    configuration: LoadConfiguration
    priority: float
    run_at: Timestamp
    delay: float
    expires_at: Timestamp
    suspended: bool
    discretionary: bool
    initiated: Literal['interactive', 'background']
    flow: JobFlow
    unique: UniqueKey
    labels: Labels
    resume_from: BlobID
    webhook: JobWebhook
    callbacks: JobCallbacks
    group: GroupID
    redirects: LoadConfigurationRedirects
    authentication: LoadConfigurationAuthentication
    server_trust: ServerTrust
    cookies: LoadConfigurationCookies
    cache: LoadConfigurationCache
    proxy: LoadConfigurationProxy
    tls: LoadConfigurationTls
    timeouts: LoadConfigurationTimeouts
    connections: LoadConfigurationConnections
    background: LoadConfigurationBackground
    response: LoadConfigurationResponse
    destination: Destination
    retry: Retry
    upload: LoadConfigurationUpload
    rules: Sequence[Rule]
    delegate: Delegate


class ListJobsQuery(TypedDict, total=False):
    """The query of `listJobs`. List jobs."""

    state: JobState
    kind: Literal['data', 'download', 'upload']
    session: SessionIDOrDefault
    schedule: ScheduleID
    group: GroupID
    host: str
    label: str
    error: str
    status: StatusFilter
    method: str
    url: str
    prefix: str
    body_bytes: BodySizeFilter
    created_after: Timestamp
    created_before: Timestamp
    limit: int


class ListQuestionsQuery(TypedDict, total=False):
    """The query of `listQuestions`. List questions."""

    state: QuestionState
    kind: QuestionKind
    job: JobID
    group: GroupID
    label: str
    host: str
    limit: int


class ListQuestionsOfJobQuery(TypedDict, total=False):
    """The query of `listQuestionsOfJob`. List the questions of a job."""

    state: QuestionState
    kind: QuestionKind
    limit: int


class ExportJobsQuery(TypedDict, total=False):
    """The query of `exportJobs`. Export jobs."""

    form: Literal['job', 'submission']
    state: JobState
    kind: Literal['data', 'download', 'upload']
    session: SessionIDOrDefault
    schedule: ScheduleID
    group: GroupID
    host: str
    label: str
    error: str
    status: StatusFilter
    method: str
    url: str
    prefix: str
    body_bytes: BodySizeFilter
    created_after: Timestamp
    created_before: Timestamp


class ListSchedulesQuery(TypedDict, total=False):
    """The query of `listSchedules`. List schedules."""

    limit: int


class ListGroupsQuery(TypedDict, total=False):
    """The query of `listGroups`. List groups."""

    limit: int


class ListSessionsQuery(TypedDict, total=False):
    """The query of `listSessions`. List sessions."""

    kind: SessionKind
    identifier: str
    outstanding: bool
    limit: int


class ListRememberedAnswersQuery(TypedDict, total=False):
    """The query of `listRememberedAnswers`. List the answers that a session remembers."""

    limit: int


class ListSessionEventsQuery(TypedDict, total=False):
    """The query of `listSessionEvents`. Repeat the events of a session."""

    after: WebhookDeliveryID
    limit: int


class ListCookiesQuery(TypedDict, total=False):
    """The query of `listCookies`. List cookies."""

    session: SessionName
    domain: str
    name: str
    limit: int


class ExportCookiesQuery(TypedDict, total=False):
    """The query of `exportCookies`. Export cookies as a file."""

    session: SessionName
    domain: str
    name: str


class ListCredentialsQuery(TypedDict, total=False):
    """The query of `listCredentials`. List credentials."""

    session: SessionName
    host: str
    limit: int


class ListCredentialUsesQuery(TypedDict, total=False):
    """The query of `listCredentialUses`. List what credentials were used for."""

    credential: CredentialID
    limit: int


class ListKeysQuery(TypedDict, total=False):
    """The query of `listKeys`. List the keys."""

    limit: int


class ListHostsQuery(TypedDict, total=False):
    """The query of `listHosts`. List hosts."""

    limit: int


class ListFlowsQuery(TypedDict, total=False):
    """The query of `listFlows`. List flows."""

    limit: int


class ListWebhookEndpointsQuery(TypedDict, total=False):
    """The query of `listWebhookEndpoints`. List webhook endpoints."""

    limit: int


class ListEventsQuery(TypedDict, total=False):
    """The query of `listEvents`. Read the events of all jobs."""

    after: WebhookDeliveryID
    limit: int


class ListEndpointEventsQuery(TypedDict, total=False):
    """The query of `listEndpointEvents`. Read the events of a polled endpoint."""

    after: WebhookDeliveryID
    limit: int


class ListWebhookDeliveriesQuery(TypedDict, total=False):
    """The query of `listWebhookDeliveries`. List deliveries."""

    endpoint: WebhookEndpointID
    state: DeliveryState
    event: WebhookEvent
    job: JobID
    since: Timestamp
    limit: int


class BatchSpec(JobSpec, total=False):
    """A job of a batch."""

    idempotencyKey: str
    """The job counts once over all submissions with this key."""


CONFIGURATION_MEMBERS = frozenset({
    "redirects",
    "authentication",
    "serverTrust",
    "cookies",
    "cache",
    "proxy",
    "tls",
    "timeouts",
    "connections",
    "background",
    "response",
    "destination",
    "retry",
    "upload",
    "rules",
    "delegate",
})
"""The members of a configuration that `submit` takes by their names."""
