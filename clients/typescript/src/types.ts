// The documents of the API, made by clients/generate from openapi.yaml. Do not edit.

/** A call of JSON-RPC 2.0, or a list of calls. */
export interface Aria2Request {
  /** The version */
  jsonrpc?: string;
  /** Comes back with the answer. */
  id?: unknown;
  /** The name of the method. */
  method?: string;
  /** The parameters, behind the secret. */
  params?: Array<unknown>;
}

/** The result of a call or its error, or a list of them. */
export interface Aria2Answer {
  /** That of the call; null where it could not be read. */
  id?: unknown;
  /** `2.0`. */
  jsonrpc?: string;
  /** What the method returns. */
  result?: unknown;
  /** Why there is no result. */
  error?: {
    /** 1, or one of JSON-RPC from -32768 on. */
    code?: number;
    /** What is wrong. */
    message?: string;
  };
}

/** The id of a job. */
export type JobID = string;

/** The id of a session. */
export type SessionID = string;

/** The id of a session, or `default` for the default session of the tenant. */
export type SessionIDOrDefault = string;

/** The id of a snapshot. */
export type SnapshotID = string;

/** What the stores of a session held at one time. */
export interface Snapshot {
  id: SnapshotID;
  session: SessionID;
  createdAt: Timestamp;
}

/**
 * Where the session keeps what it learns. A background session has downloads and uploads alone, of http and https
 * URLs, and sends no bodies but blobs.
 */
export type SessionKind = "default" | "ephemeral" | "background";

/** What a session is asked to be. */
export interface SessionSpec {
  kind?: SessionKind;
  /** Your name for a background session, to find it again; required of these, refused in others. */
  identifier?: string;
  /** Your own words about the session. */
  description?: string;
  configuration?: LoadConfiguration;
  /** What its stores hold at first; the configuration of the snapshot's session is its own where it says nothing. */
  snapshot?: SnapshotID;
  /**
   * The registered protocols that its jobs have, in the order of asking; all of the tenant's, in the operator's
   * order, when it is left out. A background session has none.
   */
  protocols?: Array<string>;
  /**
   * Where the events of the session are sent, and those of its jobs that name no endpoint. Required of background
   * sessions whose configuration has no `delegate`; ephemeral ones have none.
   */
  webhook?: WebhookTarget;
}

/** A session as it stands. */
export interface Session {
  id: SessionID;
  /** It takes jobs; it takes none, and those there are go on, or are being cancelled; it takes none and has none. */
  state: "active" | "finishing" | "cancelling" | "invalidated";
  kind: SessionKind;
  /** Of a background session. */
  identifier?: string;
  /** As it was given. */
  description?: string;
  configuration?: LoadConfiguration;
  /** Only where `include` asks for it. */
  effectiveConfiguration?: EffectiveConfiguration;
  snapshot?: SnapshotID;
  /** The registered protocols that its jobs have; left out for all of the tenant's. */
  protocols?: Array<string>;
  webhook?: WebhookTarget;
  /** The node that has an ephemeral session in memory. */
  node?: string;
  createdAt?: Timestamp;
  invalidatedAt?: Timestamp;
  endedAt?: Timestamp;
  /** When the events of a background session were finished last. */
  eventsFinishedAt?: Timestamp;
  /** When that was acknowledged; missing until it is. */
  eventsAcknowledgedAt?: Timestamp;
}

/** An event, as its message tells of it. */
export interface SessionEvent {
  id: WebhookDeliveryID;
  type: WebhookEvent;
  timestamp: Timestamp;
  /** What it is about, as it is now, under `job` or `session`; missing when that is gone, or is no longer so. */
  data?: Record<string, unknown>;
}

/** A page of events. */
export interface SessionEventList {
  /** The earliest first. */
  data: Array<SessionEvent>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** A page of sessions. */
export interface SessionList {
  /** The newest first. */
  data: Array<Session>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** A group. */
export type GroupID = string;

/** What a new group is to be. */
export interface GroupSpec {
  labels?: Labels;
  /** Where `group.finished` is sent; the events of its jobs go where those say. */
  webhook?: WebhookTarget;
}

/** A group as it stands. */
export interface Group {
  id: GroupID;
  /** It takes jobs; it takes none, and those there are go on; it takes none, and all are final. */
  state: "open" | "closed" | "finished";
  labels?: Labels;
  webhook?: WebhookTarget;
  createdAt: Timestamp;
  closedAt?: Timestamp;
  finishedAt?: Timestamp;
  /** How many jobs it has, in all and in each state; not in lists. */
  jobs?: Record<string, number>;
}

/** A page of groups. */
export interface GroupList {
  /** The newest first. */
  data: Array<Group>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** A schedule. */
export type ScheduleID = string;

/** Which jobs are to be made, and when. */
export interface ScheduleSpec {
  /**
   * Minute, hour, day of the month, month and day of the week: each `*`, or numbers, ranges and steps in a list
   * (`0,30`, `9-17`, `* /10`). Months and days of the week have names (`jan`, `mon`); 0 and 7 are Sunday. Or
   * `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`.
   */
  cron?: string;
  /** The clock that cron means, by its name in the IANA database; UTC when left out. */
  timeZone?: string;
  /** Seconds from one time to the next, counted from `startsAt`, or from when the schedule was made. */
  interval?: number;
  /**
   * A job is made for each URL that the URL group with this name (`POST /v2/topics/{name}/endpoints`) has when a
   * time comes. The URL of `job` is then `http://url-group.invalid/`, whose place they take, `missedRuns` is not
   * `runAll`, and `overlap` is `allow`. Such a schedule runs at its times alone.
   */
  urlGroup?: string;
  /**
   * What each job is made from, in 131 072 bytes at most. It says nothing of one job alone (`runAt`, `delay`,
   * `expiresAt`, `suspended`, `resumeFrom`, `group`, a body that is a stream), names no ephemeral session, and its
   * credentials are stored ones.
   */
  job: JobSpec;
  missedRuns?: MissedRuns;
  overlap?: Overlap;
  /** No time is before it. */
  startsAt?: Timestamp;
  /** No time is then or after it. */
  endsAt?: Timestamp;
  labels?: Labels;
}

/** The members of a schedule that change, in part where they are objects; null takes one away. */
export interface SchedulePatch {
  /** See `ScheduleSpec`. */
  cron?: string | null;
  /** See `ScheduleSpec`. */
  timeZone?: string | null;
  /** See `ScheduleSpec`. */
  interval?: number | null;
  /** See `ScheduleSpec`. */
  urlGroup?: string | null;
  /** A merge patch of the job. */
  job?: Record<string, unknown>;
  missedRuns?: MissedRuns | null;
  overlap?: Overlap | null;
  startsAt?: Timestamp | null;
  endsAt?: Timestamp | null;
  /** Those to set, and those to take away. */
  labels?: Record<string, string | null> | null;
}

/** A schedule as it stands. */
export interface Schedule {
  id: ScheduleID;
  /** Jobs are to come; its client holds it; no time is left. */
  state: "active" | "paused" | "ended";
  /** As it was given. */
  cron?: string;
  /** The clock that cron means. */
  timeZone?: string;
  /** Seconds from one time to the next. */
  interval?: number;
  /** A job is made for each URL of this group. */
  urlGroup?: string;
  job: JobSpec;
  missedRuns: MissedRuns;
  overlap: Overlap;
  startsAt?: Timestamp;
  endsAt?: Timestamp;
  labels?: Labels;
  createdAt: Timestamp;
  pausedAt?: Timestamp;
  nextRunAt?: Timestamp;
  /** The time that the last job was made for, or that of a job that was asked for besides. */
  lastRunAt?: Timestamp;
  lastJob?: JobID;
  /** How many jobs were made. */
  runs: number;
  /** Why no job was made at the last time. */
  lastError?: {
    at: Timestamp;
    /** The member of the schedule and what is wrong with it. */
    message: string;
  };
  /** The next times. */
  nextRuns?: Array<Timestamp>;
}

/** A page of schedules. */
export interface ScheduleList {
  /** The newest first. */
  data: Array<Schedule>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** A blob. */
export type BlobID = string;

/** The id of a webhook endpoint. */
export type WebhookEndpointID = string;

/** RFC 3339, in UTC. */
export type Timestamp = string;

/**
 * Where the job is in its life. `scheduled` — waits for its time, or that of its next attempt. `queued` — waits
 * for a node. `running` — a node has it. `awaitingDecision` — its load waits for an answer of its delegate.
 * `suspended` — held by its client. The last three are final.
 */
export type JobState = "scheduled" | "queued" | "running" | "awaitingDecision" | "suspended" | "succeeded" | "failed" | "cancelled";

/**
 * What happened. `job.started` — an attempt of the job has begun. `job.canonicalized` — a URL was put into another
 * form before anything was sent: the job's into its standard form, where `url` was written otherwise and
 * `writtenURL` is kept, or http into https by `tls.strictTransport`. `job.challengeCancelled` — a challenge was
 * answered with cancel, which has ended the load; there is no `job.challenged` for it. `job.redirected`,
 * `job.challenged`, `job.informational`, `job.waitingForConnectivity`, `job.response`, `job.becameDownload`,
 * `job.resumedAtOffset`, `job.bodyWanted`, `job.question` and `job.destinationCreated` — as in the job's event
 * stream, which has the two above as well. `job.progress` — how far the transfer is, at most every 5 s while it
 * changes. Of all these the message holds the job's id, `sequence`, which numbers the events of the job by
 * attempt, and `details`, what the event stream has as the event's data. `job.finished` — the job has reached its
 * final state; the message holds the job. `session.eventsFinished` — the events of all jobs of a background
 * session were delivered, and it has no other jobs; the message holds the session. `session.invalidated` — the
 * session takes no jobs and has none; nothing more comes from it. `group.finished` — the group takes no jobs and
 * all of its jobs are final; the message holds the group. `cookies.changed` — cookies of the session whose id the
 * message holds were set or removed. `credentials.changed` — credentials of the tenant were stored or removed.
 * Changes that the receiver was not told of yet are one message. `endpoint.disabled` — another endpoint of the
 * tenant, which the message holds, gets no messages any more. `endpoint.test` — somebody has asked for a message
 * to this endpoint, which it holds; it is sent whatever the endpoint lists.
 */
export type WebhookEvent = "job.started" | "job.canonicalized" | "job.redirected" | "job.challenged" | "job.challengeCancelled" | "job.informational" | "job.waitingForConnectivity" | "job.response" | "job.becameDownload" | "job.resumedAtOffset" | "job.bodyWanted" | "job.question" | "job.destinationCreated" | "job.progress" | "job.finished" | "session.eventsFinished" | "session.invalidated" | "group.finished" | "cookies.changed" | "credentials.changed" | "endpoint.disabled" | "endpoint.test";

/** The id of a question. */
export type QuestionID = string;

/**
 * Where an event or a question stands among all events and questions of its job: the attempt, a dot, and the
 * number in the attempt. `2.5` is the fifth of the second attempt and comes before `2.10`. A question has that of
 * its `job.question` event.
 */
export type EventSequence = string;

/** `open`: it waits for an answer. `answered`: it has one. `closed`: it ended without one; `reason` says why. */
export type QuestionState = "open" | "answered" | "closed";

/** What a load has come to and asks, with the facts that an answer is chosen by and no secret. */
export interface Question {
  id: QuestionID;
  job: JobID;
  /** The session of the job; left out where it names none. */
  session?: SessionID;
  /** The attempt of the job. */
  attempt: number;
  sequence: EventSequence;
  kind: QuestionKind;
  state: QuestionState;
  askedAt: Timestamp;
  /** No answer is taken from then on; what the configuration says `otherwise` holds. */
  deadline: Timestamp;
  /** The words that are possible here. */
  answers: Array<AnswerWord>;
  /** Who is asked by webhook; left out where the question waits in the API alone. */
  endpoint?: WebhookEndpointID;
  /**
   * The request at hand: URL, method and header fields, of which sensitive ones have no value. Texts of more than
   * 1024 bytes are cut; control and bidirectional characters are written as escapes.
   */
  request: Record<string, unknown>;
  /**
   * By kind. `willPerformHTTPRedirection`: `response`, `proposed` (the request that would follow), `hop` of
   * `maximumHops`. `didCanonicalize`: `original`, `canonical`, `reason`. `didReceiveChallenge`: `protectionSpace`,
   * `level`, `previousFailureCount`, `proposedCredential` (the `user` of what was refused last, and its `id` where
   * it is a stored one), `failureResponse`, `offered` (the methods, strongest first). `didReceiveServerTrust`:
   * `host`, `port`, `verdict`, `error`, `reason`, `spki`, `chainSHA256`, `chain`. `didReceiveResponse`:
   * `response`, `part`. `shouldDecodeSourceData`: `mimeType`. `decideDestination`: `suggestedFilename`,
   * `expectedContentLength`. `needNewBodyStream`: `reason`, `offset`. `willCacheResponse`: `response`,
   * `bodyBytes`, `storagePolicy`. `willBeginDelayedRequest`: `url`.
   */
  facts: Record<string, unknown>;
  /** When it was answered or closed. */
  endedAt?: Timestamp;
  /**
   * Why it was closed. `expired` — there was no answer in time. `withdrawn` — its job ended or was stopped.
   * `superseded` — its node was lost, and the next attempt asks anew.
   */
  reason?: "expired" | "withdrawn" | "superseded";
  /** The answer, without its secrets. */
  answer?: Answer;
  /** Who answered. */
  by?: {
    /**
     * The delegate's endpoint by its reply, an API key, a person at the dashboard, or the configuration when there
     * was no answer.
     */
    who: "delegate" | "key" | "operator" | "otherwise";
    endpoint?: WebhookEndpointID;
    /** The id of the key. */
    key?: string;
    /** Why it was the configuration. */
    reason?: string;
  };
  /** What who answered has said about it. */
  note?: string;
  /** For how long and for which questions the answer is remembered; left out when it is not. */
  remember?: Remember;
  /** What was wrong with the last reply of the endpoint; never the reply itself. */
  fault?: string;
}

/** A page of questions. */
export interface QuestionList {
  /** The oldest first. */
  data: Array<Question>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/**
 * An answer: its word, or an object with the word as `answer` and what goes with it (see `Answer`), and a `note`
 * of up to 1000 bytes if there is something to be said.
 */
export type QuestionReply = AnswerWord | {
  answer: AnswerWord;
  /** Why; kept with the answer and shown. */
  note?: string;
  remember?: Remember;
};

/**
 * For how long the session of the job gives the answer again, and to which questions. An answer that is a word or
 * names a stored credential can be remembered; one with a credential, body, name or request of its own cannot, nor
 * the answer to a job that names no session. The session remembers 64 answers: the oldest one makes way for
 * another.
 */
export interface Remember {
  /** How long. */
  seconds: number;
  /**
   * Which questions. By default those with the same facts but for what changes each time: of redirects and other
   * forms of a URL `from` and `to` without their queries; of challenges the protection space, and whether a
   * credential was refused before; of server trust the server, its whole chain and what is wrong with it; of
   * others the URL without its query, and the status and media type, or the method. It must be left out with
   * `accept`, which holds for that chain of that server alone.
   */
  when?: QuestionConditions;
}

/** An answer that a session gives again to questions like the one that it was given to. */
export interface RememberedAnswer {
  /** The question that it was given to, which names it. */
  question: QuestionID;
  on: QuestionKind;
  when: QuestionConditions;
  answer: Answer;
  /** Who gave it, as in the question. */
  by: Record<string, unknown>;
  rememberedAt: Timestamp;
  /** It is given no more from then on. */
  expiresAt: Timestamp;
}

/** A page of remembered answers. */
export interface RememberedAnswerList {
  /** In the order of their questions. */
  data: Array<RememberedAnswer>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** One answer for many questions. */
export interface QuestionAction {
  /** Which open questions are meant; those of which all that is said is true. */
  filter: {
    kind: QuestionKind;
    job?: JobID;
    group?: GroupID;
    /** Host and port; required with `accept` and with a credential. */
    host?: string;
    /** A label as lists take it, its name, a colon and its value; `labels` are several. */
    label?: string;
    labels?: Labels;
  };
  answer: Answer;
  /** Why; kept with each answer and shown. */
  note?: string;
  /** Only questions asked before this time; required unless it is a dry run, which tells it. */
  askedBefore?: Timestamp;
  /** Answers nothing, and says how many are meant. */
  dryRun?: boolean;
  /** How many at most. */
  limit?: number;
  /** The `nextCursor` of the request before. */
  cursor?: string;
}

/** What came of it. */
export interface QuestionActionResult {
  /** How many questions the filter meant. */
  matched: number;
  /** How many have got the answer, or would get it. */
  changed: number;
  /** The questions were asked before this time, which is told to the microsecond. */
  askedBefore: Timestamp;
  /** Leads to the rest. */
  nextCursor?: string;
}

/** The id of a delivery. */
export type WebhookDeliveryID = string;

/**
 * `pending` — on its way: there will be an attempt, or there is one now. `delivered` — the receiver answered with
 * a status from 200 to 299. `abandoned` — no attempt is left, or none is wanted.
 */
export type DeliveryState = "pending" | "delivered" | "abandoned";

/**
 * An absolute `http` or `https` URL as the URL Standard parses it. Hosts are names or canonical addresses. Only
 * that of a job's request may have a user name and a password.
 */
export type HTTPURL = string;

/** What to fetch and how. */
export interface JobSpec {
  /**
   * The kind of task of the URL Loading System. A download asks for no content coding unless its request names
   * one, so that it can be gone on with when it was cut.
   */
  kind?: "data" | "download" | "upload";
  /** The session it belongs to, by its id; `default`, or nothing, is the default session of the tenant. */
  session?: SessionIDOrDefault;
  request: RequestOrURL;
  configuration?: LoadConfiguration;
  /**
   * Of two jobs that wait, the one with more goes first. A server is told it as the `Priority` of RFC 9218, by
   * `u=0` for 1 to `u=7` for 0, where it is not the 3 of most jobs and the request has no such field itself.
   */
  priority?: number;
  /** Not to start before; a time that has passed is now. */
  runAt?: Timestamp;
  /**
   * In place of `runAt`: not to start before so many seconds have passed since the submission. The job shows the
   * time as its `runAt`. A repeat with an `Idempotency-Key` is one when it has the same delay.
   */
  delay?: number;
  /**
   * When the job is given up, whether it waits, runs or is suspended: it fails with `timedOut` then. Without it a
   * job waits as long as it takes; waiting never counts as a timeout of the transfer.
   */
  expiresAt?: Timestamp;
  /** Whether the job is held from the start, until it is resumed. */
  suspended?: boolean;
  /**
   * Whether the job may wait for a quiet time: it is `scheduled` until a node that runs few jobs finds no other
   * one waiting (nodes look every few seconds), or until an hour after it was submitted or after its `runAt`; then
   * it is a job like others. What is tried again waits for the time of its retry alone.
   */
  discretionary?: boolean;
  /**
   * Whether somebody was waiting when the job was submitted. What is initiated in the `background` is
   * `discretionary` in a background session, as the URL Loading System has it; elsewhere it makes no difference.
   */
  initiated?: "interactive" | "background";
  flow?: JobFlow;
  unique?: UniqueKey;
  labels?: Labels;
  /** What an earlier download has left (`error.resumeData`), for this one to go on with. */
  resumeFrom?: BlobID;
  webhook?: JobWebhook;
  callbacks?: JobCallbacks;
  /** The group it belongs to, which must be open. */
  group?: GroupID;
}

/** At most so many jobs start in any time of this length. */
export interface Rate {
  /** How many. */
  jobs: number;
  /** In how many seconds. */
  period: number;
}

/**
 * How many bytes of bodies a second the jobs may receive together, and as many send; any number when it is absent.
 * Each node that runs has the same part of it. Running jobs go by a change.
 */
export type BytesPerSecond = number;

/** What is set for a host. */
export interface HostLimits {
  /** How many of its jobs run at once, on all nodes; any number without it. */
  parallelism?: number;
  rate?: Rate;
  maximumBytesPerSecond?: BytesPerSecond;
}

/** What is set for a flow. */
export interface FlowLimits {
  /** How many of its jobs run at once, on all nodes; any number without it. */
  parallelism?: number;
  rate?: Rate;
  maximumBytesPerSecond?: BytesPerSecond;
  /**
   * `fifo`: one after the other as they were submitted, without regard to priority; a job that is tried again
   * holds up those behind it. It goes without a parallelism.
   */
  order?: "any" | "fifo";
  /**
   * What a job that failed does to those behind it: nothing, or it holds them up until it was tried again with
   * success or removed, or the flow is told to skip it. `block` goes with the order `fifo`.
   */
  onFailure?: "skip" | "block";
  pinned?: PinnedLimits;
}

/**
 * The limits that messages of QStash's clients do not change, though they bring limits along: how many run at once
 * and in which order, or the rate.
 */
export type PinnedLimits = Array<"parallelism" | "rate">;

/** A host, for the jobs of the tenant. */
export interface LimitedHost {
  /** As URLs write it, with its port where that is not a default. */
  host: string;
  /** How many of its jobs run at once, on all nodes; any number without it. */
  parallelism?: number;
  rate?: Rate;
  maximumBytesPerSecond?: BytesPerSecond;
  /** Whether none of its jobs is started. */
  paused: boolean;
  /** How many of its jobs wait to be let through, as far as they have come up; 100000 is as many or more. */
  waiting: number;
  /** How many of its jobs run, on all nodes. */
  running: number;
  /**
   * Whether jobs are started, as far as the origin's answers decide: `closed`, all are; `open`, none is, since it
   * answered 429, or 503 with `Retry-After`, or said by `RateLimit` that nothing is left; `halfOpen`, one is at
   * first, and with each answer twice as many at once.
   */
  circuit: "closed" | "open" | "halfOpen";
  /** Until when none is, or was; absent while the circuit is closed. Resuming the host closes it. */
  circuitOpenUntil?: Timestamp;
  /** What the origin said. */
  circuitReason?: string;
}

/** A flow. */
export interface Flow {
  /** What jobs name it by. */
  key: string;
  /** How many of its jobs run at once, on all nodes; any number without it. */
  parallelism?: number;
  rate?: Rate;
  maximumBytesPerSecond?: BytesPerSecond;
  /**
   * `fifo`: one after the other as they were submitted, without regard to priority; a job that is tried again
   * holds up those behind it. It goes without a parallelism.
   */
  order: "any" | "fifo";
  /**
   * What a job that failed does to those behind it: nothing, or it holds them up until it was tried again with
   * success or removed, or the flow is told to skip it. `block` goes with the order `fifo`.
   */
  onFailure: "skip" | "block";
  pinned?: PinnedLimits;
  /** The job that failed and holds up those behind it; absent when none does. */
  blockedBy?: JobID;
  /** Whether none of its jobs is started. */
  paused: boolean;
  /** How many of its jobs wait to be let through, as far as they have come up; 100000 is as many or more. */
  waiting: number;
  /** How many of its jobs run, on all nodes. */
  running: number;
}

/** A page of hosts. */
export interface HostList {
  /** The hosts. */
  data: Array<LimitedHost>;
  /** Whether there is another page. */
  hasMore: boolean;
  /** What `cursor` asks for the next page with. */
  nextCursor?: string;
}

/** A page of flows. */
export interface FlowList {
  /** The flows. */
  data: Array<Flow>;
  /** Whether there is another page. */
  hasMore: boolean;
  /** What `cursor` asks for the next page with. */
  nextCursor?: string;
}

/**
 * What a tenant uses, with the `maximum` of each, which is left out where there is none. Waiting jobs, sessions
 * and open questions are counted up to 100000; a larger number is given as that.
 */
export interface TenantUsage {
  /** Requests to each node; the `RateLimit` field of its responses says what is left. */
  requestsPerSecond: UsageMaximum;
  /** Jobs that wait. */
  waitingJobs: UsageCount;
  /**
   * Jobs that nodes have. Those among them that are suspended or wait for an answer do not count against the
   * maximum.
   */
  runningJobs: UsageCount;
  /** Sessions that were made and have not ended. */
  sessions: UsageCount;
  /** Questions that wait for an answer. */
  openQuestions: UsageCount;
  /**
   * Bytes of what the tenant has uploaded, of the files of its downloads, and of the bodies that are kept with its
   * jobs. Uploads that are not complete take room too, and are not among these.
   */
  storedBytes: UsageCount;
  /** Heads and bodies of requests and responses that jobs have moved since the day of UTC began. */
  bytesOfDay: {
    /** How many bytes. */
    count: number;
    /** How many there may be before no more jobs are taken. */
    maximum?: number;
    /** Those of requests. */
    sent: number;
    /** Those of responses. */
    received: number;
    /** When the next day begins. */
    resetsAt: Timestamp;
  };
  /** Bytes of bodies, in each direction. */
  bytesPerSecond: UsageMaximum;
}

/** How much there may be in a second. */
export interface UsageMaximum {
  /** The limit. */
  maximum?: number;
}

/** How many there are and may be. */
export interface UsageCount {
  /** How many there are. */
  count: number;
  /** How many there may be. */
  maximum?: number;
}

/** The id of a key. */
export type KeyID = string;

/** What a key may do. */
export type Scope = "jobs:read" | "jobs:write" | "limits" | "sessions" | "credentials" | "webhooks" | "questions" | "schedules" | "keys" | "audit" | "admin";

/** What a key is made with. */
export interface APIKeySpec {
  /** What to call it; it need not be the only one of its name. */
  name: string;
  /** What it may do. */
  scopes: Array<Scope>;
  /** The only session whose jobs it submits and sees; every session without it. */
  session?: SessionIDOrDefault;
  /**
   * The only hosts that its jobs load from; every host without it. Each is a host, `*.` and a host for all below
   * it, `*`, or a block of addresses, with a port or without.
   */
  hosts?: Array<string>;
  /** How many jobs may be submitted and retried with it in all; any number without it. */
  maximumJobs?: number;
  /** When it stops being valid; never without it. */
  expiresAt?: string;
}

/** A key, without its token. */
export interface APIKey {
  id: KeyID;
  /** The tenant's name; for operators. */
  tenant?: string;
  /** What to call it; it need not be the only one of its name. */
  name: string;
  /** What it may do. */
  scopes: Array<Scope>;
  /** The only session whose jobs it submits and sees; every session without it. */
  session?: SessionIDOrDefault;
  /**
   * The only hosts that its jobs load from; every host without it. Each is a host, `*.` and a host for all below
   * it, `*`, or a block of addresses, with a port or without.
   */
  hosts?: Array<string>;
  /** How many jobs may be submitted and retried with it in all; any number without it. */
  maximumJobs?: number;
  /** When it stops being valid; never without it. */
  expiresAt?: string;
  /** How many jobs were; there where there is a maximum. */
  submittedJobs?: number;
  /** When it was made. */
  createdAt: string;
  /** The key that it was made with; a command made the others. */
  createdBy?: KeyID;
  /** When it was used last, as of a minute ago. */
  lastUsedAt?: string;
  /** The key that it was rotated to. */
  replacedBy?: KeyID;
  /** When it was revoked. */
  revokedAt?: string;
}

/** A key, with its token. */
export type NewAPIKey = APIKey & {
  /** What requests authenticate with; shown this once. */
  token: string;
};

/** A page of keys. */
export interface APIKeyList {
  /** The oldest first. */
  data: Array<APIKey>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** How a key is rotated. */
export interface KeyRotation {
  /** For how many seconds the old key stays valid, unless it expires before. */
  overlap?: number;
}

/** What operators and sessions call a registered protocol. */
export type ProtocolName = string;

/** What takes certain URLs. */
export interface Protocol {
  /** That of its URLs. */
  scheme: string;
  /** The hosts of its URLs; left out where any will do. */
  host?: HostPattern;
  /** Of a registered one, for `protocols` of a session. */
  name?: ProtocolName;
  /** Whether the service loads them itself. */
  builtIn: boolean;
}

/** The protocols of a tenant. */
export interface ProtocolList {
  /** In the order of asking; the first that takes a URL has it. */
  data: Array<Protocol>;
}

/** All jobs of the tenant that are not final. */
export interface Queue {
  /** Whether none of them is started. */
  paused: boolean;
  /** Whether the operator has paused the jobs of all tenants. */
  servicePaused: boolean;
  /** How many of them run, on all nodes. */
  running: number;
  maximumBytesPerSecond?: BytesPerSecond;
  /** How many of them do not; more than 100 000 are not counted. */
  waiting: number;
  /** How many may wait; left out when as many as come. */
  maximumWaitingJobs?: number;
}

/** The flow that the job joins; its limits are set at `/v1/flows`. */
export interface JobFlow {
  /** At most 256 bytes, chosen by the client. */
  key: string;
}

/** Which jobs are meant, those of which all is true; an empty one means all. */
export interface JobFilter {
  state?: JobState;
  /** The kind of task. */
  kind?: "data" | "download" | "upload";
  /** The session; `default` for jobs of the default session. */
  session?: SessionIDOrDefault;
  schedule?: ScheduleID;
  group?: GroupID;
  /** What the URL names. */
  host?: string;
  /** A label as lists take it, its name, a colon and its value; `labels` are several. */
  label?: string;
  labels?: Labels;
  /** The name of the error that the job ended with. */
  error?: string;
  status?: StatusFilter;
  /** The method of the request. */
  method?: string;
  /** The URL of the request, whole. */
  url?: string;
  /** How the URL of the request begins; its host is whole. */
  prefix?: string;
  bodyBytes?: BodySizeFilter;
  createdAfter?: Timestamp;
  createdBefore?: Timestamp;
}

/** A status, such as `404`, or a class of them, such as `4xx` (RFC 9110 §15). */
export type StatusFilter = string;

/** A number of bytes, or a range with either end left out; both ends are included. */
export type BodySizeFilter = string;

/** What to do to which jobs. */
export interface JobAction {
  /** What to do. */
  action: "cancel" | "suspend" | "resume" | "retry" | "delete";
  filter: JobFilter;
  /** All jobs are meant; needed beside a filter that is empty. */
  all?: boolean;
  /** Only tell how many jobs it would make a difference to. */
  dryRun?: boolean;
  /** How many jobs to deal with. */
  limit?: number;
  /** The `nextCursor` of an earlier answer. */
  cursor?: string;
}

/** What was done. */
export interface JobActionResult {
  /** How many jobs were meant. */
  matched: number;
  /** To how many of them it made a difference. */
  changed: number;
  /** There are more, or more to look at. */
  nextCursor?: string;
}

/** What to change; null takes a member away. */
export interface JobChange {
  /** Null is 0.5. */
  priority?: number | null;
  /** Null is now. */
  runAt?: Timestamp | null;
  /** In place of `runAt`, so many seconds from now. */
  delay?: number;
  /** Those to set, and those to take away. */
  labels?: Record<string, string | null>;
  /** All else of it stays as it was submitted. */
  configuration?: {
    connections?: {
      /** How many bytes a second the job may have; null is what its session says. */
      maximumBytesPerSecond?: number | null;
    };
  };
}

/** The request to send; a URL alone stands for the request that has no other member. */
export type RequestOrURL = Request | JobURL;

/** The request to send. */
export interface Request {
  /**
   * `url` as it was given to the service, where that is no more than another form of it: shown with the job, and
   * asked about (`didCanonicalize`). It is not kept when it has a user name, a query that is sensitive, or
   * characters that mislead, and not when it is another URL.
   */
  writtenURL?: JobURL;
  /**
   * The URL with places for variables, as in `https://a.example/users/{user}?q={text}` (RFC 6570, level 1). A
   * value is escaped so that it can mean nothing but itself: `x&admin=1` is one value. Kept as the `url` that came
   * of it.
   */
  urlTemplate?: string;
  /** The values of the variables, one for each. */
  variables?: Record<string, string>;
  url?: JobURL;
  /**
   * Further URLs of the same file, for a download by GET without a body: http, https, ftp or ftps, without a user
   * name and password. Each attempt loads the next one in turn, and after the last of them `url` again. As long as
   * there is one that was not loaded yet, another attempt follows at once: after an error of whatever kind that is
   * not the node's own, and after a status from 400 on, even where `retry` allows no more. From then on `retry`
   * says whether there are more attempts, and what comes of the last one is what comes of the job.
   */
  mirrors?: Array<JobURL>;
  /** Any token but CONNECT, TRACE and TRACK (RFC 9110 §9.1). */
  method?: string;
  /**
   * Sent in this order, repeats kept; 32 KiB in all. Fields that frame the message (`Host`, `Content-Length`,
   * `Transfer-Encoding`, `Connection`, `Keep-Alive`, `Upgrade`, `TE`, `Trailer`, `Expect`, `Proxy-*`) belong to
   * the engine and are refused. The values of sensitive fields are sealed where the job is stored and shown as
   * `<redacted>` from then on, which is refused where a secret is needed; redirects carry them to no other origin,
   * unless `forwardCredentialsToHosts` names its host.
   */
  headers?: RequestHeaderList | RequestHeaderMap;
  /** Header fields that are made anew for each attempt, and go in place of those of `headers` with their names. */
  attemptHeaders?: Array<AttemptHeader>;
  body?: RequestBody;
  /**
   * What beside sensitive header fields is sealed where the job is stored and never shown again: the query of the
   * URL (and of its mirrors, and of `mainDocumentURL`), which is `?<redacted>` in all URLs that the job met, or
   * the body, which is `{"text": "<redacted>"}` whatever its form. Answers to a job with a sensitive query are not
   * cached, and a download begins anew after an interruption. A body that is a stream or has blobs cannot be
   * named: it is not in the job.
   */
  sensitive?: Array<"query" | "body">;
  /**
   * What is stored and shown in place of sensitive fields and a sensitive body: `<redacted>`, or `REDACTED:` and
   * the SHA-256 of the value or the body in hexadecimal digits, by which equal secrets are told, and ones that are
   * easy to guess are guessed.
   */
  redaction?: "text" | "digest";
  cachePolicy?: CachePolicy;
  /** The document that the resource is part of, for the cookie policy. */
  mainDocumentURL?: HTTPURL;
  /**
   * What the protocol of the URL wants to know besides, where an operator has registered it; any JSON, 16 KiB in
   * all, kept in clear. HTTP looks at none of it.
   */
  properties?: Record<string, unknown>;
}

/** A header field whose value is made for each attempt. */
export interface AttemptHeader {
  /** A name that `headers` might have too. */
  name: string;
  /**
   * The id of the job, the number of attempts that another one has followed (0 in the first), or a signature: a
   * JSON Web Token (HS256) by the tenant's current signing key (`GET /v2/keys`) with the claims `iss`, `sub` (the
   * URL), `iat`, `nbf`, `exp` (in 300 seconds), `jti` and `body` (the SHA-256 of the body in base64url). A body
   * that is a stream or has blobs cannot be signed.
   */
  content: "job" | "retries" | "signature";
  /** The claim `iss` of a signature; `fetchd` when it is left out. Other contents have none. */
  issuer?: string;
}

/**
 * A user name and password in it become the job's credential; the URL is kept without them. Besides http and https
 * there are the schemes of the tenant's registered protocols (`GET /v1/protocols`), `data` URLs, and `file` URLs
 * where the operator has set `SCHEMES_FILE`: `file:///a/b` is a file of the tenant's own folder. Where
 * `SCHEMES_FTP` is set there are `ftp` and `ftps` URLs too: GET gets a file or lists a folder, HEAD asks for size
 * and date, PUT and POST put the body.
 */
export type JobURL = string;

/** One header field. */
export interface Header {
  /** A token (RFC 9110 §5.1). */
  name: string;
  /** No control characters (RFC 9110 §5.5). */
  value: string;
}

/** Header fields in their order, repeats kept. Answers have this form. */
export type RequestHeaderList = Array<RequestHeader>;

/**
 * The same in fewer words: each name with its value, or with several. The fields are sent in the order of the
 * members, 100 at most. A field whose value is a secret of another name than those of `RequestHeader` needs the
 * list.
 */
export type RequestHeaderMap = Record<string, Array<RequestHeaderValue> | RequestHeaderValue>;

/** One header field of a request. */
export interface RequestHeader {
  name: RequestHeaderName;
  value: RequestHeaderValue;
  /**
   * Whether the value is a secret. Fields that carry credentials always are: `Authorization`, `Cookie`,
   * `X-Authorization`, `X-API-Key`, `X-Apikey`, `API-Key`, `Apikey`, `X-Auth-Token`, `X-Auth-Key`,
   * `X-Access-Token`, `X-Session-Token`, `X-CSRF-Token`, `X-Csrftoken`, `X-XSRF-Token`, `X-Amz-Security-Token`,
   * `X-Goog-API-Key`, `X-Goog-Iam-Authorization-Token`, `X-Functions-Key`, `Ocp-Apim-Subscription-Key`,
   * `X-Rapidapi-Key`, `Private-Token`, `Job-Token`, `X-Gitlab-Token`, `X-Vault-Token`, `X-Consul-Token`,
   * `X-Shopify-Access-Token` and `X-Subject-Token`.
   */
  sensitive?: boolean;
}

/** A token (RFC 9110 §5.1). */
export type RequestHeaderName = string;

/** No control characters (RFC 9110 §5.5). */
export type RequestHeaderValue = string;

/**
 * Exactly one of the forms. The content type that goes with it is sent unless `headers` names one: text is
 * `text/plain; charset=utf-8`, json `application/json`, form `application/x-www-form-urlencoded`, a blob what it
 * was stored with.
 */
export interface RequestBody {
  /** Sent as UTF-8. */
  text?: string;
  /** The bytes in base64 (RFC 4648 §4). */
  base64?: string;
  /** Any JSON. */
  json?: unknown;
  /** Fields, sent in this order. */
  form?: Record<string, string>;
  /** The parts of a `multipart/form-data` body (RFC 7578), in order. */
  multipart?: Array<BodyPart>;
  blob?: BlobID;
  /** The client sends the body while the job runs, with `PUT /v1/jobs/{id}/body`. */
  stream?: true;
}

/**
 * One part, with exactly one of text, base64 and blob. A part is a file when it has a filename or is no text; a
 * file without a filename is called by its name.
 */
export interface BodyPart {
  /** The name of the field. */
  name: string;
  /** Sent as UTF-8. */
  text?: string;
  /** The bytes in base64 (RFC 4648 §4). */
  base64?: string;
  blob?: BlobID;
  /** The name of the file. */
  filename?: string;
  /** The type of the file; by default that of the blob, or what the extension of its name says. */
  contentType?: string;
}

/**
 * What becomes of times that passed while no node was there. `skip` — nothing, once they are 30 seconds late.
 * `runOnce` — one job, for the last of them. `runAll` — a job for each, for the last 100 of them at most.
 */
export type MissedRuns = "skip" | "runOnce" | "runAll";

/** Whether a job is made while the last one is not final. */
export type Overlap = "allow" | "skip";

/** A user name and a password. */
export interface ProxyCredential {
  /** The user name. */
  user: string;
  /** The password. */
  password: string;
}

/**
 * How to load. What a job leaves out comes from its session, member by member; what that leaves out, from the
 * defaults of the service. The groups `serverTrust`, `proxy` and `delegate` are taken whole from the level that
 * sets them. Of `rules` a job has its own and, after them, those of its session.
 */
export interface LoadConfiguration {
  /** What to do when the origin redirects. */
  redirects?: {
    /** Go on; take the redirect response as the response; or fail. */
    policy?: "follow" | "return" | "fail";
    /** How many are followed before the job fails. */
    maximum?: number;
    /** Whether a redirect may leave TLS. */
    allowHTTPSToHTTP?: boolean;
    /** Keep method and body on 301 and 302, where a POST becomes a GET by custom. */
    preserveMethod?: boolean;
    /** Redirects may lead only to these hosts. */
    allowedHosts?: Array<Host>;
    /**
     * The hosts that are shown the credential that came with the job and its sensitive fields, such as
     * `Authorization` and `Cookie`, although they are meant for the server of its URL: over https alone, unless
     * that URL is an http one. Nobody else is, and stored credentials are not shown to these either.
     */
    forwardCredentialsToHosts?: Array<Host>;
  };
  /** How the server of the job's URL is answered when it asks who is there. */
  authentication?: {
    /**
     * In place of what the session has stored for that server: the id of a credential, or one that comes with the
     * job. The former must be stored for the server of the job's URL (`credentialOutOfSpace`): its scheme, host
     * and port, and it answers the realm that it is stored for, if any. One that is stored for another method is
     * not sent as Basic. A session's answers those of its jobs that it is stored for. The latter is sealed and
     * shown as `sealed` from then on; a user name and password in the job's URL become one.
     */
    credential?: CredentialID | CredentialSecret;
    /**
     * How long a credential that comes with the job, or in its URL, is kept once it has convinced, unless it says
     * so itself: not, for the session, or for all sessions of the tenant. `synchronizable` is read as `permanent`.
     */
    persistence?: "none" | "forSession" | "permanent" | "synchronizable";
    /** The methods that are answered; all when left out. */
    methods?: Array<"basic" | "digest" | "bearer" | "ntlm" | "negotiate" | "clientCertificate" | "awsSigV4">;
    /** How often authentication may fail before `onFailure` says what to do. */
    maximumFailures?: number;
    /**
     * `performDefaultHandling`: the refusal is the job's response; `rejectProtectionSpace`: the next method that
     * the server offers is tried; `cancelAuthenticationChallenge`: the job fails.
     */
    onFailure?: "performDefaultHandling" | "rejectProtectionSpace" | "cancelAuthenticationChallenge";
    /**
     * The service that Kerberos tickets are asked for where a server offers Negotiate: the first component of its
     * principal, of which the host is the second.
     */
    kerberosService?: string;
    /**
     * Whether a server that Negotiate convinces gets tickets with which it acts for the user elsewhere. They are
     * as good as the user's own. A proxy gets none.
     */
    delegatesKerberosTickets?: boolean;
  };
  serverTrust?: ServerTrust;
  /** Which cookies are taken and sent. */
  cookies?: {
    /** Which cookies of answers are kept. */
    acceptPolicy?: "always" | "onlyFromMainDocumentDomain" | "never";
    /** Whether requests carry the cookies that are kept; those of answers are kept all the same. */
    send?: boolean;
    /**
     * Where cookies are kept: with the session, or nowhere. Jobs of a session that they name use its jar. Those
     * that name none have no jar, unless they say `session`: then it is that of the default session. Without a jar
     * no cookie is kept or sent, not even one that a redirect of the same job has set: what sets a cookie and
     * redirects to where it is asked for needs a jar.
     */
    jar?: "session" | "none";
  };
  /** Which answers are stored, and which stored ones are used. */
  cache?: {
    /** For requests whose own policy is the protocol's. */
    requestCachePolicy?: CachePolicy;
    /**
     * Where answers are stored that may be stored. It does not matter for the use of stored answers, which the
     * policy of the request decides.
     */
    storagePolicy?: StoragePolicy;
    /**
     * For whom answers are stored (RFC 9111 §1.2.1). `private`: for one user. `shared`: for many, as by a cache of
     * all who use the session: answers marked `private` are not stored, nor those to a request with
     * `Authorization` unless they say that they may be, and `s-maxage` and `proxy-revalidate` count.
     */
    audience?: "private" | "shared";
    /** Answers with which status may be stored: those of RFC 9111 (404 and 301 for example too), or 200 to 299. */
    cacheableStatuses?: "rfc9111" | "success";
    /** Answers with longer bodies are not stored; a twentieth of the tenant's room at most. */
    maximumEntryBytes?: number;
    /** What is attached to the answers that are stored. */
    userInfo?: Record<string, string>;
  };
  /**
   * The proxy that everything goes through (`url`), or those for some schemes and hosts (`rules`). Without any of
   * its members it is the operator's (`WORKER_PROXY`), if there is one; an empty list of `rules` goes without. A
   * job fails with `proxyForbidden` when the operator does not allow its proxy.
   */
  proxy?: {
    /** How the proxy is spoken to, its host and its port; without user name and password. */
    url?: string;
    /**
     * What the proxy is shown when it asks: the id of a credential, which must be stored for this proxy
     * (`isProxy`; `credentialOutOfSpace`), or a user and a password that come with the job. The latter are sealed
     * and shown as `sealed` from then on.
     */
    credential?: CredentialID | ProxyCredential;
    /** The first rule that a URL meets counts; what meets none is reached without a proxy. */
    rules?: Array<ProxyRule>;
    /** The hosts that are reached without a proxy, even if a rule names them. */
    noProxy?: Array<HostPattern>;
  };
  /** Which versions of TLS are used. */
  tls?: {
    /** The oldest version accepted. */
    minimumVersion?: "1.2" | "1.3";
    /** The newest version offered; the newest there is by default. */
    maximumVersion?: "1.2" | "1.3";
    /**
     * The protocols that are offered (RFC 7301); by default those of `connections.httpVersion`. Without `h2` https
     * is HTTP/1.1; empty leaves the extension out. `h2` needs `http/1.1` beside it.
     */
    alpn?: unknown;
    /**
     * Hosts that are reached by https only, as if they had sent that policy (RFC 6797): an http URL of such a host
     * is loaded by https, and `redirects` tells it with the cause `strictTransport`. `*.` and a host are those
     * below it, `*` is every host. What origins say in `Strict-Transport-Security` is shown among the fields of
     * the response and is not remembered: jobs are the same on every node.
     */
    strictTransport?: Array<HostPattern>;
  };
  /** In seconds. Waiting in the queue never counts. */
  timeouts?: {
    /** The longest pause between bytes. */
    timeoutIntervalForRequest?: number;
    /**
     * The longest time for the whole load from the start of its first attempt: redirects, challenges, further
     * attempts and the waits before them are included. Then the job fails with `timedOut`, and no attempt begins
     * that would be later. 604800 by default in background sessions. (The URL Loading System has that week for
     * all: for a person's device, where one waits for a network. A service's client wants to hear of a failure the
     * same day.)
     */
    timeoutIntervalForResource?: number;
    /** The longest time until a connection stands. */
    connect?: number;
  };
  /** Which connections are used. */
  connections?: {
    /**
     * How many connections to one host, on all nodes together. Jobs that have none wait, and no time of theirs
     * runs meanwhile. An origin that speaks HTTP/2 is asked for more at once.
     */
    maximumPerHost?: number;
    /**
     * `1.1`: that alone. `2`: over http 2 alone, by prior knowledge; over https as `automatic`. `automatic`: 2
     * where TLS agrees on it, else 1.1.
     */
    httpVersion?: "automatic" | "1.1" | "2";
    /**
     * Whether a load that finds no connection waits for one as long as the resource may take; the event
     * `job.waitingForConnectivity` tells that it does.
     */
    waitsForConnectivity?: boolean;
    /** The kinds of addresses that are connected to. */
    addressFamily?: "any" | "ipv4" | "ipv6";
    /**
     * How many bytes of bodies a second a transfer may receive, and as many send; any number without it. What is
     * set for its host or its flow, and by the operator, holds for jobs together.
     */
    maximumBytesPerSecond?: number;
    /** Without effect, as the next five. A service has no classes of networks to choose from. */
    allowsCellularAccess?: boolean;
    /** Without effect. */
    allowsExpensiveNetworkAccess?: boolean;
    /** Without effect. */
    allowsConstrainedNetworkAccess?: boolean;
    /** Without effect. */
    allowsUltraConstrainedNetworkAccess?: boolean;
    /** Without effect; the `priority` of a job has one. */
    networkServiceType?: "default" | "background" | "video" | "voice" | "responsiveData" | "avStreaming" | "responsiveAV" | "callSignaling";
    /** Without effect. */
    multipathServiceType?: "none" | "handover" | "interactive" | "aggregate";
  };
  /**
   * What background sessions have on Apple's systems; without effect. A service is not launched again, and the
   * webhooks of a session tell when its jobs are done (`session.eventsFinished`).
   */
  background?: {
    /** Without effect. */
    sessionSendsLaunchEvents?: boolean;
    /** Without effect. */
    sharedContainerIdentifier?: string;
    /** Without effect. */
    shouldUseExtendedBackgroundIdleMode?: boolean;
  };
  /** What is accepted. */
  response?: {
    /** A larger body fails the job, and so does a file that becomes larger when it is decoded. */
    maximumBytes?: number;
    /** Formats of files that downloads decode, when the content has one of them. */
    decode?: Array<"gzip" | "macBinary" | "binHex">;
    /**
     * Which responses make a download of a data or upload job, in the same transfer: `kind` is `download` from
     * then on, the body a file, and a lost connection no reason to begin anew. Empty for none, as by default. Not
     * in ephemeral sessions.
     */
    becomeDownload?: {
      /** Those of these types. */
      mimeTypes?: Array<string>;
      /**
       * Those with more bytes. Where a response does not announce how many it has, the first 65536 are waited for:
       * with more than those it becomes a download with any limit.
       */
      aboveBytes?: number;
    };
    /**
     * Whether bodies are held against the digests that their origin states in `Repr-Digest`, `Content-Digest` (RFC
     * 9530) or `Digest`, or in trailers that it announces; `Content-MD5`, which HTTP has no more, is not looked
     * at. What is something else fails with `contentDigestMismatch`. Bodies in a content coding that was undone
     * are not looked at.
     */
    verifyDigests?: boolean;
    /**
     * What is kept of a body whose parts replace one another (`multipart/x-mixed-replace`). `last`: the last part,
     * which is the response. `all`: the parts one after the other; `response.parts` says where each begins, at
     * most 1000, with at most 256 KiB of fields, each counted as 32 bytes more than it has. Each part has a
     * `job.response` event of its own either way. With more of these, and after 10 000 parts of fewer than 128
     * bytes on average, the job fails with `dataLengthExceedsMaximum`.
     */
    multipartReplace?: "last" | "all";
  };
  destination?: Destination;
  retry?: Retry;
  /** What requests have that say nothing of it themselves. */
  request?: {
    /**
     * The fields of requests that have none of the name; a session's and a job's add up, name by name, to those of
     * the service: `User-Agent`, with its name and version, and `Accept: * /*`. None may carry credentials
     * (`headerForbidden`): a configuration is shown in clear.
     */
    headers?: RequestHeaderList | RequestHeaderMap;
    /**
     * Whether HTTP servers get the trace of the job by `traceparent` and `tracestate` (W3C Trace Context), as
     * other fields of the request, on redirects too. Nothing is sent for a job that is in no trace, and for one
     * that has, or whose session has, one of these fields itself.
     */
    sendsTraceContext?: boolean;
    /**
     * Whether `attempts[].metrics[]`, and so the HTTP Archive, have the header fields of each request as it was
     * sent and those of each response, without secrets.
     */
    recordsHeaders?: boolean;
    /** Who caused the requests. Without effect, and never sent. */
    attribution?: "developer" | "user";
    /** Without effect, as addresses of names are never stored. */
    allowsPersistentDNS?: boolean;
  };
  /** How request bodies are sent. */
  upload?: {
    /**
     * Whether the body waits for the server's word (Expect: 100-continue); by default one of a mebibyte or more
     * does.
     */
    expectContinue?: "automatic" | "always" | "never";
    /**
     * The type of a body whose request has no `Content-Type`, in place of the one that its form has; not of
     * `multipart` bodies.
     */
    contentType?: string;
    /**
     * Has a body that the client streams kept whole before it is sent, up to so many bytes, so that the client is
     * asked for it once, however often the attempt has to send it; a larger one fails the job. The client has the
     * time of `timeoutIntervalForRequest` for each part of it. Not in ephemeral sessions.
     */
    spoolBytes?: number;
    /**
     * The content coding that bodies are sent in over http and https, which `Content-Encoding` tells the server,
     * behind those that the request names. The body is compressed while it is sent, so its length is not known
     * before; a server that does not take the coding answers 415. A `signature` of `attemptHeaders` is one of the
     * body without it; a body is signed for `awsSigV4` only by S3's rules for bodies that are not signed.
     */
    coding?: "gzip" | "zstd";
  };
  /**
   * Answers written beforehand to the questions that a load comes to. The first rule for the kind whose conditions
   * all hold decides; those of the job are looked at before those of its session, but for server trust, client
   * certificates, NTLM and Negotiate, which are the session's to decide first. Those of the service
   * (`/v1/admin/rules`) come after both. What no rule decides, the `delegate` does, and otherwise the rest of the
   * configuration. No rule lifts `redirects.allowedHosts`, `redirects.maximum`, `redirects.allowHTTPSToHTTP` or
   * `authentication.methods`, and none makes a job reach what it may not.
   */
  rules?: Array<Rule>;
  delegate?: Delegate;
}

/** What is to be chosen. */
export type QuestionKind = "willPerformHTTPRedirection" | "didCanonicalize" | "didReceiveChallenge" | "didReceiveServerTrust" | "didReceiveResponse" | "shouldDecodeSourceData" | "decideDestination" | "needNewBodyStream" | "willCacheResponse" | "willBeginDelayedRequest";

/** An answer written beforehand, and when it is given. */
export interface Rule {
  /** What you call it; told with each decision that it makes. */
  name?: string;
  on: QuestionKind;
  when?: QuestionConditions;
  answer: Answer;
}

/**
 * Conditions that all have to hold; none is met by every question. A condition that cannot apply to the kind is
 * refused. Where one names several values, one of them has to fit.
 */
export interface QuestionConditions {
  /** The URL of the request at hand. */
  url?: URLCondition;
  /** The URL that is left, of `willPerformHTTPRedirection` and `didCanonicalize`. */
  from?: URLCondition;
  /** The URL that would be loaded next, of the same. */
  to?: URLCondition;
  /** Whether `to` has another scheme, host or port than `from`, of the same. */
  crossOrigin?: boolean;
  /** Whether a redirect leaves TLS. */
  downgrade?: boolean;
  /** The method of the request at hand. */
  method?: OneOrMoreTexts;
  /**
   * The status of the response, of `willPerformHTTPRedirection`, `didReceiveChallenge`, `didReceiveResponse` and
   * `willCacheResponse`: a number, or a class such as `5xx`.
   */
  status?: StatusCondition | Array<StatusCondition>;
  /** The number of the redirect, from 1. */
  hop?: Bounds;
  /**
   * Fields of the response, of the kinds that `status` is for; each has to be there with a value that fits, in
   * which `*` stands for any characters. Fields that carry credentials, and `Set-Cookie`, cannot be named.
   */
  header?: Record<string, string>;
  /**
   * The media type, of `didReceiveResponse`, `willCacheResponse` and `shouldDecodeSourceData`: media ranges such
   * as `video/*`.
   */
  contentType?: OneOrMoreTexts;
  /**
   * How many bytes the body has, of `didReceiveResponse`, `decideDestination` and `willCacheResponse`; a length
   * that is not known meets no bounds.
   */
  contentLength?: Bounds;
  /** The method of the protection space, of `didReceiveChallenge`. */
  authenticationMethod?: OneOrMoreTexts;
  /** The realm, of the same. */
  realm?: OneOrMoreTexts;
  /** Whether a proxy asks, of the same. */
  isProxy?: boolean;
  /** How often authentication has failed in the load, of the same. */
  previousFailureCount?: Bounds;
  /** Whether a credential was tried in this space and refused, of the same. */
  hasProposedCredential?: boolean;
  /**
   * What verification says of the chain, of `didReceiveServerTrust`: `serverCertificateHasBadDate`,
   * `serverCertificateNotYetValid`, `serverCertificateHasUnknownRoot`, `serverCertificateHasNoName`,
   * `serverCertificateUntrusted`, or `none` for a chain that is trusted, which is asked about only where a
   * condition says so.
   */
  trustError?: OneOrMoreTexts;
  /** The SHA-256 of the server's public key (RFC 7469 §2.4), in base64 or hexadecimal digits, of the same. */
  spki?: OneOrMoreTexts;
  /** The SHA-256 of the whole chain, as the question tells it, in base64 or hexadecimal digits, of the same. */
  chainSHA256?: OneOrMoreTexts;
  /** The server or proxy that asks or shows the chain, of `didReceiveChallenge` and `didReceiveServerTrust`. */
  server?: {
    /** The scheme. */
    scheme?: string;
    /** A host, or `.` and a host: that one and all below. */
    host?: string;
    /** The port. */
    port?: number;
  };
  /**
   * The name that the response suggests, of `didReceiveResponse` and `decideDestination`; `*` stands for any
   * characters.
   */
  suggestedFilename?: string;
  labels?: Labels;
  /** The number of the attempt, from 1. */
  attempt?: Bounds;
}

/** Parts that a URL has. */
export interface URLCondition {
  /** The scheme. */
  scheme?: string;
  /** A host; with a dot before it that host and all below it. */
  host?: string;
  /** The port that is connected to. */
  port?: number;
  /** What the path begins with, percent-encoded. */
  path?: string;
  /** The whole path, percent-encoded; not beside `path`. */
  exactPath?: string;
}

/** A status, or all of a class. */
export type StatusCondition = number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx";

/** From `min` to `max`, both included. */
export interface Bounds {
  /** The least. */
  min?: number;
  /** The most. */
  max?: number;
}

/** A text, or several of which one has to fit. */
export type OneOrMoreTexts = string | Array<string>;

/** What is chosen: a word, or an object with the word and what goes with it. */
export type Answer = AnswerWord | AnswerObject;

/** Which words answer a question depends on its kind. */
export type AnswerWord = "performDefaultHandling" | "follow" | "returnResponse" | "cancel" | "useCredential" | "continueWithoutCredential" | "rejectProtectionSpace" | "accept" | "reject" | "allow" | "becomeDownload" | "yes" | "no" | "use" | "useBody" | "store" | "doNotStore" | "continueLoading" | "useRequest";

/** An answer that needs more than its word. */
export interface AnswerObject {
  answer: AnswerWord;
  request?: RequestChange;
  /**
   * With `useCredential`. In a configuration, which is shown in clear, the id of a stored one alone. It is shown
   * to the host, port and scheme that it is stored for, and to no other.
   */
  credential?: CredentialID | CredentialSecret;
  /** With `use`; a plain file name (`filenameInvalid`). */
  filename?: string;
  /** With `use`; whether a file of that name gives way. */
  overwrite?: boolean;
  /**
   * With `useBody` or `store`. In a configuration at most 65536 bytes, and neither a blob nor a stream; with
   * `store` neither of them. A blob is kept until the job is final. A stream is sent by `PUT /v1/jobs/{id}/body`.
   */
  body?: RequestBody;
  /** With `store`; kept with the entry. */
  userInfo?: Record<string, string>;
  storagePolicy?: StoragePolicy;
}

/**
 * What changes of the proposed request; what is left out stays. It is judged as a redirect is: an http or https
 * URL, and within every limit of the configuration. Where the origin changes, sensitive fields go, and only those
 * that stand here are sent.
 */
export interface RequestChange {
  url?: HTTPURL;
  /** The method. */
  method?: string;
  /** In place of all fields that are not sensitive; in a configuration none may be (`headerForbidden`). */
  headers?: RequestHeaderList | RequestHeaderMap;
  /** The body, as with `useBody`; null for none. */
  body?: RequestBody | null;
  cachePolicy?: CachePolicy;
}

/**
 * Who is asked when no rule decides. In an ephemeral session the node that has it keeps the questions in memory,
 * and lists and answers them alone. Either by `webhook`, a signed message to an endpoint whose reply is the
 * answer, or by `api`: the question waits until somebody answers it, at `/v1/questions` or in the dashboard.
 */
export interface Delegate {
  /** How the delegate is asked. */
  via: "webhook" | "api";
  /** With `webhook`, and only then; one that is registered. */
  endpoint?: WebhookEndpointID;
  /** What the delegate is asked. */
  questions: Array<QuestionKind | {
    on: QuestionKind;
    when?: QuestionConditions;
  }>;
  /**
   * How many seconds an answer may take. Where the load has to wait on its node it is 300 at most: at questions
   * about responses, storing, decoding and destinations, with a body that a client sends, and in ephemeral
   * sessions. `deadline` of the question has what holds.
   */
  timeout?: number;
  /** By kind, the answer when there is none in time; `performDefaultHandling` where a kind is left out. */
  otherwise?: Record<string, Answer>;
  /**
   * With `webhook`: whether questions wait for an endpoint that does not answer, or are answered by `otherwise` at
   * once.
   */
  whenUnreachable?: "wait" | "otherwise";
  /** How many questions one job asks; `otherwise` answers what comes then. */
  maximumQuestions?: number;
}

/**
 * Jobs that tell of this one. Each is stored in the transaction that ends the attempt, so that no crash loses or
 * doubles it, and has the label `callbackOf` with the id of this job. It sends a JSON object: its `content`, and
 * `status` (0 without an answer), `header` and `body` of the response, `error` (a name), `retried`, `maxRetries`,
 * `sourceMessageId` (this job), `url`, `method`, `sourceHeader` and `sourceBody` of its request, `notBefore` and
 * `createdAt`. Bodies are in base64, and times in milliseconds. The object has 1 MiB at most: a body for which
 * there is no room is left out. What is secret is not told.
 */
export interface JobCallbacks {
  /** After each attempt that got an answer or failed; not after one that was cancelled or lost with its node. */
  attempt?: JobCallback;
  /** Once, when the job has failed; with `dlqId`, which is its id. */
  failure?: JobCallback;
}

/**
 * A job in the default session, without cookies, cache, credentials and redirects. Its request is sent again as
 * `retry` says: with `replayUnsafe` also when nobody knows whether it arrived.
 */
export interface JobCallback {
  url: HTTPURL;
  /** Any token but CONNECT, TRACE and TRACK (RFC 9110 §9.1). */
  method?: string;
  /** As those of a request; sensitive ones are sealed with the job. */
  headers?: RequestHeaderList | RequestHeaderMap;
  /** As those of a request; the id in them is that of the callback. */
  attemptHeaders?: Array<AttemptHeader>;
  /** Members of your own for the object that is sent; those that tell of the attempt go before. */
  content?: Record<string, unknown>;
  retry?: Retry;
  /** The longest pause between bytes, in seconds. */
  timeoutIntervalForRequest?: number;
  /** Your own words about the callback. */
  labels?: Record<string, string>;
  /**
   * The callback about the end of the job takes over its slot in its `flow`: in a flow with the order `fifo`, or
   * with a limit of jobs at once, the next job waits until the callback is final. It is for jobs with a flow. A
   * job that ends while it waits, and a flow that is paused meanwhile, pass no slot on.
   */
  inFlow?: boolean;
}

/**
 * Of jobs with one key only the first is stored: for as long as its `window` says, others of the same tenant are
 * answered with its id and `duplicate: true`, whatever else they ask for and whatever became of the first.
 * `Prefer: wait` waits for the first one. An `Idempotency-Key` is about repeats of one request, and goes before.
 */
export interface UniqueKey {
  key: string;
  /** In seconds. */
  window?: number;
}

/**
 * When a failed attempt is followed by another one. The job is `scheduled` in between, and each attempt is listed
 * with its cause and the time of the next. A request that must not be repeated (POST and PATCH without an
 * `Idempotency-Key` field) is sent again only when no byte of it had left.
 */
export interface Retry {
  /**
   * The first one included; 1 for no retries. In a background session, where this is not set, attempts that time
   * out are followed by others for as long as the resource may take, each a hundredth of what is left of that time
   * later, or more.
   */
  maximumAttempts?: number;
  /**
   * How long to wait, in seconds: longer each time by `initial` and `factor`, or as `delays` or `expression` says,
   * of which only one can be there.
   */
  backoff?: {
    /** The waits one after the other; the last one is that of all attempts that follow. */
    delays?: Array<number>;
    /**
     * A formula of `retried`, which is 0 for the first wait, with numbers, `+ - * /`, parentheses and the
     * functions `pow`, `sqrt`, `abs`, `exp`, `floor`, `ceil`, `round`, `min` and `max`. What is negative is 0, and
     * what is no number is `maximum`.
     */
    expression?: string;
    /** After the first attempt. */
    initial?: number;
    /** What each wait is multiplied by for the next. */
    factor?: number;
    /** The longest wait. Without it the longest of `delays`, and a day for an `expression`. */
    maximum?: number;
    /** How much of a wait is left to chance; without it nothing of `delays` and an `expression`. */
    jitter?: number;
  };
  /**
   * Statuses that are failures. A job whose last attempt gets one fails with `badServerResponse`, and has the
   * response too. An entry is a status (`503`), a class of them (`"5xx"`), or `!` and one of these, which are no
   * failures; where all entries are of the last kind everything else is a failure: `["!2xx"]`.
   */
  statuses?: Array<number | string>;
  /**
   * The names of the errors to try again after; by default those of which `error.retriable` says that trying again
   * may help.
   */
  errors?: Array<string>;
  /**
   * Whether a server that asks to be left alone for longer (`Retry-After`, seconds or a date) is; one that asks
   * for more than a week is not asked again.
   */
  honorRetryAfter?: boolean;
  /**
   * Whom a server means that asks to be left alone: all jobs for its `host`, whose circuit breaker opens, or the
   * `job` alone. That one waits for just that long in place of its backoff, a day at most, and goes by
   * `X-RateLimit-Reset`, `X-RateLimit-Reset-Requests` and `X-RateLimit-Reset-Tokens` too where there is no
   * `Retry-After`: seconds, a time, or `6m5s`.
   */
  retryAfterScope?: "host" | "job";
  /** An answer that is a failure after which no attempt follows. */
  final?: {
    /** Its status. */
    status: number;
    /** The name of a header field that it has with the value `true`. */
    field: string;
  };
  /**
   * Whether a request that must not be repeated is, although the server may have it: after a failure, and when the
   * node that sent it was lost.
   */
  replayUnsafe?: boolean;
}

/** The name or address of a host. */
export type Host = string;

/** A host, `*.` and a host for all below it, `*` for all, or a block of addresses; with a port or without. */
export type HostPattern = string;

/** Which proxies are tried for some schemes and hosts. */
export interface ProxyRule {
  /** The schemes of the URLs that it is for; all when left out. */
  schemes?: Array<"http" | "https" | "ftp" | "ftps">;
  /** The hosts that it is for; all when left out. */
  hosts?: Array<HostPattern>;
  /** The hosts that it is not for, even if `hosts` has them. */
  excludedHosts?: Array<HostPattern>;
  /**
   * How each proxy is spoken to, its host and its port, without user name and password; or `direct`. They are
   * tried in this order: the next one when one cannot be reached. What a proxy answers is final.
   */
  proxies: Array<string>;
}

/** A public key that servers must have. */
export interface PublicKeyPin {
  host?: HostPattern;
  /** The SHA-256 of the public key (RFC 7469 §2.4), in base64 or hexadecimal digits. */
  sha256: string;
}

/**
 * For all nodes, in the memory of the node that runs the job, or not at all. What an ephemeral session stores is
 * always in memory alone.
 */
export type StoragePolicy = "allowed" | "allowedInMemoryOnly" | "notAllowed";

/** Which stored answers a load may use. */
export type CachePolicy = "useProtocolCachePolicy" | "reloadIgnoringLocalCacheData" | "reloadIgnoringLocalAndRemoteCacheData" | "returnCacheDataElseLoad" | "returnCacheDataDontLoad" | "reloadRevalidatingCacheData";

/** The groups and members of a configuration, each with the value in effect and who set it. */
export interface EffectiveConfiguration {
  /** In the order in which they are looked at where the session's do not go first. */
  rules?: Array<{
    value: Rule;
    /** Whose rule it is. */
    from: "job" | "session" | "service";
  }>;
}

/** Your own words about the job. */
export type Labels = Record<string, string>;

/**
 * Where events are sent: either `endpoint` or `url`. A `url` stands for your enabled endpoint with this address;
 * where there is none, one is made, which needs the scope `webhooks`; it is told of `job.finished`,
 * `session.eventsFinished`, `session.invalidated` and `group.finished`. Answers name the endpoint. Which events
 * are told is said by the endpoint; a job alone can choose its own.
 */
export interface WebhookTarget {
  endpoint?: WebhookEndpointID;
  url?: HTTPURL;
}

/**
 * Where the job's events are sent, and which: either `endpoint` or `url`. A `url` stands for your enabled endpoint
 * with this address; where there is none, one is made, which needs the scope `webhooks` and that you have fewer
 * than 1000 endpoints. Answers name the endpoint.
 */
export interface JobWebhook {
  endpoint?: WebhookEndpointID;
  url?: HTTPURL;
  /**
   * The events that are told of this job; by default those that the endpoint asks for. Of what happens while an
   * attempt runs, the first 1 000 events are told.
   */
  events?: Array<WebhookEvent>;
  /**
   * The body of the response comes along in the message about the job's end where it has at most so many bytes:
   * `data.body` is `{"text": …}` for UTF-8, and `{"base64": …}` for other bytes. Files of downloads do not.
   */
  includeBodyUpTo?: number;
}

/** A job that was stored and goes on. */
export interface SubmittedJob {
  id: JobID;
  state: JobState;
  /** The job. */
  href: string;
  /** True when this is an earlier job with the same `unique` key, and nothing was stored. */
  duplicate?: boolean;
  warnings?: Warnings;
}

/** What keeps the job, which was stored, from going on as expected; left out when nothing does. */
export type Warnings = Array<{
  /**
   * The stable name of the warning. `noLiveWorker`: no worker is known to live, so the job waits until one does;
   * `GET /readyz` says so in its `remarks`, or is 503 where this node's own lease is at fault.
   */
  code: "noLiveWorker";
  /** A sentence. */
  message: string;
}>;

/**
 * The trace that a job is in (W3C Trace Context), from the request or the SQL that has submitted it, or from its
 * schedule.
 */
export interface TraceContext {
  /** The trace and the span that the job is below; its last two digits are `01` when it is recorded. */
  traceparent: string;
  /** What tracing systems have added, as it came. */
  tracestate?: string;
}

/** A job as it stands. */
export interface Job {
  id: JobID;
  state: JobState;
  createdAt: Timestamp;
  startedAt?: Timestamp;
  finishedAt?: Timestamp;
  /** When a scheduled job is to start. */
  nextAttemptAt?: Timestamp;
  /** The open question that it waits for. */
  waitingFor?: QuestionID;
  /** It was asked to stop and has not yet. */
  cancelling?: boolean;
  /** The kind of task; `download` too when another has become one. */
  kind: "data" | "download" | "upload";
  session?: SessionID;
  progress?: Progress;
  /**
   * Whether another job could go on where this download has stopped (see `error.resumeData`), or would if it
   * stopped now. Not of downloads that have succeeded, and not before the response.
   */
  resumable?: boolean;
  notResumableReason?: NotResumableReason;
  request: Request;
  configuration?: LoadConfiguration;
  /** Only where `include` asks for it. */
  effectiveConfiguration?: EffectiveConfiguration;
  group?: GroupID;
  schedule?: ScheduleID;
  /** The schedule's time that the job was made for; not of one that was asked for besides. */
  scheduledAt?: Timestamp;
  trace?: TraceContext;
  /** As it was submitted. */
  priority: number;
  runAt?: Timestamp;
  expiresAt?: Timestamp;
  /** It may wait for a quiet time. */
  discretionary?: boolean;
  /** Nobody was waiting when it was submitted. */
  initiated?: "background";
  flow?: JobFlow;
  unique?: UniqueKey;
  labels?: Labels;
  webhook?: JobWebhook;
  callbacks?: JobCallbacks;
  response?: Response;
  error?: LoadError;
  /** The redirects that were followed, in order. */
  redirects?: Array<Redirect>;
  /** How servers and proxies asked for credentials, in order, and what was made of it. */
  challenges?: Array<AnsweredChallenge>;
  resumeFrom?: BlobID;
  body?: BodySummary;
  file?: DownloadedFile;
  /** The executions of the job. */
  attempts?: Array<Attempt>;
}

/** How one URL led to another. */
export interface Redirect {
  /** The URL that redirected. */
  url: string;
  /** The status of the response that redirected. */
  status: number;
  /** The URL that it led to. */
  location: string;
  /** The method of the request made there. */
  method: string;
  /**
   * `strictTransport`: no response, but `tls.strictTransport`, which has the host reached by https alone; the
   * event is `job.canonicalized`.
   */
  cause?: "strictTransport";
}

/** How a server or a proxy asked for a credential. */
export interface AnsweredChallenge {
  protectionSpace: StoredProtectionSpace;
  /** How often authentication had failed before in this attempt. */
  previousFailureCount: number;
  /**
   * `useCredential`: a credential was sent. `performDefaultHandling`: there was none, and the response that asks
   * is the job's. `cancelAuthenticationChallenge`: the job failed with `userCancelledAuthentication`.
   */
  answer: "useCredential" | "performDefaultHandling" | "cancelAuthenticationChallenge";
}

/** The response of the last hop. */
export interface Response {
  /** Where the response came from. */
  url: string;
  /** The HTTP status. */
  status: number;
  /** `http/1.1`, `h2`, or the scheme of what is not HTTP. */
  httpVersion?: string;
  /** The media type, without its parameters. */
  mimeType?: string;
  /** The charset that the media type names. */
  textEncodingName?: string;
  /** Of the body; absent when it is not known beforehand. */
  expectedContentLength?: number;
  /** What the body would be called as a file (RFC 6266). */
  suggestedFilename?: string;
  /** Whether it was given without asking the origin. */
  fromCache?: boolean;
  /** What the cache did, as a Cache-Status field (RFC 9211) has it. */
  cacheStatus?: string;
  /** What a registered protocol has said besides. */
  properties?: Record<string, unknown>;
  headers: ReceivedFields;
  trailers?: ReceivedFields;
  /**
   * What became of the cookies that the answers have set, those of redirects included; absent when there were
   * none, or the job has no jar.
   */
  cookies?: {
    /** The names of those that were taken; one that has expired already removes its predecessor. */
    accepted: Array<string>;
    /** Those that were not taken. */
    rejected: Array<RejectedCookie>;
  };
  /** Which of several parts that replaced one another it is; counted from 1. */
  part?: number;
  /** The parts of a body of which all are kept. */
  parts?: Array<{
    /** Its number, from 1. */
    part: number;
    headers: ReceivedFields;
    /** The type of its content. */
    mimeType?: string;
    /** Where it begins in the body. */
    offset: number;
    /** How long it is. */
    bytes: number;
  }>;
}

/** A cookie that was not taken. */
export interface RejectedCookie {
  /** Its name, as far as the line could be read. */
  name: string;
  /** The rule in a word, such as `publicSuffix`. */
  reason: string;
  /** The rule in a sentence. */
  message: string;
}

/**
 * Header fields, or trailers, in the order received. Values are read as UTF-8, or as ISO 8859-1 when they are not;
 * that of a cookie is `<redacted>`.
 */
export type ReceivedFields = Array<{
  name: string;
  value: string;
}>;

/**
 * Why a download cannot be gone on with. The `method` is not GET or there is a body; the `status` is not 200 or
 * 206; no strong `validator` tells whether the resource is the same; the server serves no `ranges`; the `decoding`
 * cannot begin in the middle; the file is `empty`; or what had come was `discarded`.
 */
export type NotResumableReason = "method" | "status" | "validator" | "ranges" | "decoding" | "empty" | "discarded";

/** Why the load failed. */
export interface LoadError {
  /** Always `NSURLErrorDomain`. */
  domain: string;
  /** As Foundation numbers it, -1001 for a timeout. */
  code: number;
  /** As Foundation names it, or a name of this service; `/docs/errors/{name}` says what it means and what to do. */
  name: string;
  /** For a person. */
  message: string;
  /** Where it failed. */
  failingURL?: string;
  /**
   * What the library below said, such as libcurl. For operators: only `GET /v1/jobs/{id}` has it, and what acts on
   * that job, for keys with the scope `admin`, and the dashboard for those who have signed in as admin.
   */
  underlying?: {
    domain?: string;
    code?: number;
    text?: string;
  };
  /** Whether trying again may help. */
  retriable?: boolean;
  /** What a download has left; a new job goes on with it as its `resumeFrom`. It is kept for 7 days. */
  resumeData?: BlobID;
  notResumableReason?: NotResumableReason;
}

/** How far a job is that runs; left out while the node that runs it cannot be reached. */
export interface Progress {
  /** Of the request body, since it was last begun. */
  bytesSent: number;
  /** The length of the request body. */
  bytesExpectedToSend?: number;
  /**
   * How often the request body was begun to be sent in this attempt: a redirect, a challenge or a lost connection
   * may have it sent again. Left out before its first byte.
   */
  sending?: number;
  /** Of the response body, or of the file; of the part that comes, where parts replace one another. */
  bytesReceived: number;
  /** The length of that body, file or part. */
  bytesExpectedToReceive?: number;
  /** Of what is received, when its length is known. */
  fraction?: number;
  /** Bytes of bodies sent and received a second since the load began. */
  bytesPerSecond: number;
  /** How long the rest takes at that speed, in seconds; left out while the length is unknown. */
  etaSeconds?: number;
}

/** What becomes of the file of a download. */
export interface Destination {
  /** A plain file name. Without one it is what the response suggests (RFC 6266), or what a decoded file was called. */
  filename?: string;
  /**
   * Whether a file of that name gives way. Otherwise a number before the extension makes the name unique among the
   * tenant's files: `index-1.html`.
   */
  allowOverwrite?: boolean;
  /**
   * Whether what a failed download has stored is kept, for another job to go on with (`error.resumeData`). One
   * that is cancelled keeps it when that is asked for.
   */
  keepPartial?: boolean;
  /**
   * What the bytes must be as they come, in the form of RFC 9530; others fail the job with
   * `contentDigestMismatch`. What the origin itself states is checked by `response.verifyDigests`. `sha` is SHA-1;
   * that and MD5 tell a broken file, not one that somebody made to have the same digest.
   */
  checksum?: string;
  /** After how many seconds the file is removed; without it when it is deleted. */
  expiresAfter?: number;
}

/** The file of a download that succeeded; its bytes are the job's body. */
export interface DownloadedFile {
  blob: BlobID;
  /** Unique among the tenant's files. */
  filename: string;
  expiresAt?: Timestamp;
  /** The type that the file was decoded from. */
  decodedFrom?: string;
  resourceFork?: BlobID;
  /** What MacBinary and BinHex say of a file. */
  macintosh?: {
    /** Four characters. */
    type?: string;
    /** Four characters. */
    creator?: string;
    /** The flags of the Finder. */
    finderFlags?: number;
    created?: Timestamp;
    modified?: Timestamp;
  };
}

/** Stored bytes. */
export interface Blob {
  id: BlobID;
  /** Its size. */
  bytes: number;
  /** Its SHA-256 as RFC 9530 writes it. */
  digest: string;
  /** As it was stored. */
  contentType?: string;
  createdAt: Timestamp;
  expiresAt?: Timestamp;
  /** Where to read it. */
  href: string;
}

/** The stored response body. */
export interface BodySummary {
  /** Its size. */
  bytes: number;
  /** Its SHA-256 as RFC 9530 writes it. */
  digest: string;
  /** Where to read it. */
  href: string;
}

/** One execution of the job on one node. */
export interface Attempt {
  /** Counts the executions. */
  number: number;
  startedAt: Timestamp;
  finishedAt: Timestamp;
  state: JobState;
  /** The name of the error it ended with. */
  error?: string;
  /** The HTTP status of its response. */
  status?: number;
  /** When the next attempt was to start; absent when none followed. */
  nextAttemptAt?: Timestamp;
  /** One entry for each transfer, redirects included. */
  metrics?: Array<TransferMetrics>;
}

/**
 * One exchange with an origin, in the words of URLSessionTaskTransactionMetrics. Phases are [start, end] in
 * seconds after `fetchStart`; a phase that did not happen is absent.
 */
export interface TransferMetrics {
  /** What was asked for. */
  url: string;
  /** The HTTP status. */
  status?: number;
  /** `http/1.1` or `h2`. */
  networkProtocolName?: string;
  /** The address that was connected to. */
  remoteAddress?: string;
  /** Its port. */
  remotePort?: number;
  /** Whether the connection stood before. */
  isReusedConnection?: boolean;
  /**
   * Whether a kept connection was lost before an answer came; the next entry is the same request on another one,
   * which happens once at most and counts as an attempt. Absent when not.
   */
  connectionWasLost?: boolean;
  fetchStart: Timestamp;
  domainLookup?: Phase;
  connect?: Phase;
  secureConnection?: Phase;
  request?: Phase;
  response?: Phase;
  /** In seconds. */
  duration: number;
  /**
   * The header fields of the request as they were sent, in their order, with those that the service adds. Only
   * where `configuration.request.recordsHeaders` is set; absent where nothing was sent by HTTP, of a head of more
   * than 8 KiB, once an attempt has 64 KiB of recorded fields, and of transfers before a load was parked.
   */
  requestHeaders?: Array<RecordedHeader>;
  /** The header fields of the response, where those of the request would be there. */
  responseHeaders?: Array<RecordedHeader>;
  /** In bytes. */
  countOfRequestHeaderBytesSent?: number;
  /** In bytes. */
  countOfRequestBodyBytesSent?: number;
  /** In bytes. */
  countOfResponseHeaderBytesReceived?: number;
  /** In bytes. */
  countOfResponseBodyBytesReceived?: number;
  /** The bytes of the request body before `upload.coding`; absent where as many were sent. */
  countOfRequestBodyBytesBeforeEncoding?: number;
  /** The bytes of the response body once its content coding was undone; absent where as many were received. */
  countOfResponseBodyBytesAfterDecoding?: number;
  /** Of the connection. */
  tlsProtocolVersion?: string;
  /** Of the connection. */
  tlsCipherSuite?: string;
  /** Whether the connection went to a proxy, whose address is then the remote one. Absent when not. */
  isProxyConnection?: boolean;
  /** What the response was fetched from; absent where that was the network. */
  resourceFetchType?: "localCache";
  /**
   * The certificates that the server has shown, its own first. Absent on a connection that stood before, and of
   * transfers before a load was parked.
   */
  certificates?: Array<ShownCertificate>;
  /** The names of the cookies that were sent. Absent where there were none. */
  cookies?: Array<string>;
}

/** A certificate of a server, by its names. */
export interface ShownCertificate {
  /** Its subject as RFC 4514 writes names. */
  subject?: string;
  /** Its issuer. */
  issuer?: string;
  notBefore?: Timestamp;
  notAfter?: Timestamp;
  /** The SHA-256 digest of its DER. */
  sha256: string;
}

/** One header field of a request that was sent, or of its response. */
export interface RecordedHeader {
  /** As it was sent. */
  name: string;
  /** `<redacted>` where it is a secret. */
  value: string;
  /** Whether the value is a secret; absent where it is none. */
  sensitive?: boolean;
}

/** An HTTP Archive, version 1.2. */
export interface HAR {
  log: {
    version: "1.2";
    creator: {
      name: string;
      version: string;
    };
    /** One for each transfer, in order; `comment` names the attempt. */
    entries: Array<{
      startedDateTime: Timestamp;
      /** In milliseconds. */
      time: number;
      /** What was asked. */
      request: Record<string, unknown>;
      /** What came; its status is 0 when nothing did. */
      response: Record<string, unknown>;
      /** Nothing. */
      cache: Record<string, unknown>;
      /** In milliseconds; -1 for a phase that did not happen. */
      timings: Record<string, unknown>;
      /** The attempt. */
      comment?: string;
    }>;
    /** What was decided in each attempt that was asked something; left out when none was. */
    _decisions?: Array<{
      attempt: number;
      decisions: Array<Decision>;
    }>;
  };
}

/** A question that a load came to, and what was chosen. It has no secret. */
export interface Decision {
  /** Its order among those of the attempt. */
  sequence: number;
  at: Timestamp;
  kind: QuestionKind;
  /** What it was about, in short. */
  facts: Record<string, unknown>;
  /** Who decided. */
  by: {
    /**
     * `configuration`: a rule or question was for such a choice, none for this one. `rule`: the rule `rule` of the
     * job, its session or the service. `remembered`: the answer to the earlier `question`, which the session
     * remembers. `otherwise`: there was no answer in time, and `reason` says why.
     */
    who: "configuration" | "rule" | "remembered" | "delegate" | "key" | "operator" | "otherwise";
    /** The name of the rule. */
    rule?: string;
    /** Whose rule it is. */
    from?: "job" | "session" | "service";
    /** Its place among the rules there, from 0. */
    index?: number;
    question?: QuestionID;
    endpoint?: WebhookEndpointID;
    /** The id of the API key. */
    key?: string;
    /** Why there was no answer. */
    reason?: string;
  };
  answer: Answer;
  /** How many seconds the load waited for it. */
  waited?: number;
  /** Why the answer was not used, and the configuration decided; left out when it was used. */
  refusal?: string;
}

/** Why a job went as it did, as far as it is on record. */
export interface Explanation {
  job: JobID;
  state: JobState;
  /** Those that have ended. */
  attempts: Array<{
    /** Which it was, from 1. */
    number: number;
    startedAt: Timestamp;
    finishedAt: Timestamp;
    state: "succeeded" | "failed" | "cancelled";
    /** The name of the error it ended with. */
    error?: string;
    /** The status of its response. */
    status?: number;
    /** What rules and those who were asked have decided; the first 256. */
    decisions: Array<Decision>;
    /** Where its requests went; each address is one that jobs may reach. */
    transfers: Array<Record<string, unknown>>;
    /** When the next attempt was to start; left out when none followed. */
    retry?: {
      at: Timestamp;
      /** Seconds after this one. */
      delay: number;
    };
  }>;
  /** The redirects of the last attempt; left out when there were none. */
  hops?: Array<{
    /** What was left. */
    url: string;
    status: number;
    /** Where it led. */
    location: string;
    /** The method there. */
    method?: string;
    /** `strictTransport` where no server asked for it. */
    cause?: string;
    /**
     * Whether that is another server; sensitive fields and credentials are not sent there, unless
     * `redirects.forwardCredentialsToHosts` names it.
     */
    crossOrigin: boolean;
    /** The method before, where it changed. */
    formerMethod?: string;
  }>;
  /** The challenges, and their answers; left out when there were none. */
  challenges?: Array<Record<string, unknown>>;
  /** What the cache did for the response (RFC 9211). */
  cache?: {
    fromCache?: boolean;
    cacheStatus?: string;
  };
  /** What became of the cookies of the response; left out when it had none. */
  cookies?: unknown;
}

/** Start and end, in seconds. */
export type Phase = Array<number>;

/** A job as lists show it. */
export interface JobSummary {
  id: JobID;
  state: JobState;
  createdAt: Timestamp;
  finishedAt?: Timestamp;
  /** Of the request. */
  method: string;
  /** Without query and fragment. */
  url: string;
  /** The HTTP status of the response. */
  status?: number;
  /** The name of the error. */
  error?: string;
}

/** A page of jobs. */
export interface JobList {
  /** The newest first. */
  data: Array<JobSummary>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** A job to submit; its other members are those of `JobSpec`, and no others. */
export interface BatchLine {
  /** Makes repeats of this line harmless: for 24 hours the same key with the same job names what it made first. */
  idempotencyKey?: string;
  request: RequestOrURL;
}

/** What became of one line. */
export interface BatchResult {
  /** The number of the line. */
  line: number;
  id?: JobID;
  state?: JobState;
  /** The line's idempotency key names this job already. */
  replayed?: boolean;
  /** This is an earlier job with the same `unique` key. */
  duplicate?: boolean;
  warnings?: Warnings;
  problem?: Problem;
}

/** The id of a session, or `default` for the one that every tenant has. */
export type SessionName = string;

/** What a cookie is made of. */
export interface CookieMembers {
  /** Without `=`, `;` and control characters. */
  name: string;
  /** Without `;` and control characters. */
  value: string;
  /** The host it is sent to. */
  domain: string;
  /** Whether hosts below the domain are left out. */
  isHostOnly?: boolean;
  /** The path it is sent to and to paths below. */
  path?: string;
  /** When it ends; left out when it ends with the session. */
  expiresDate?: string;
  /** Whether it is sent by https only. */
  isSecure?: boolean;
  /** Whether scripts of a page may not see it. */
  isHTTPOnly?: boolean;
  /** Whether it accompanies requests for another site's documents. */
  sameSite?: "strict" | "lax" | "none";
  /** The top-level site under which alone it is sent. */
  partition?: string;
}

/** A cookie to set. */
export type CookieSpec = CookieMembers;

/** A cookie of a session. Bytes that are not UTF-8 are replaced; an exported file has them. */
export type Cookie = CookieMembers & {
  createdAt: Timestamp;
};

/** Cookies to set. */
export interface CookieSubmission {
  session?: SessionName;
  /** The cookies. */
  cookies: Array<CookieSpec>;
}

/** A page of cookies. */
export interface CookieList {
  /** Ordered by domain. */
  data: Array<Cookie>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** Set-Cookie lines of an answer. */
export interface CookieLines {
  /** What was asked for. */
  url: HTTPURL;
  /** The document that it is part of; without one it is its own. */
  mainDocumentURL?: HTTPURL;
  /** The values of the fields, in their order; 50 of one answer are taken. */
  setCookie: Array<string>;
}

/** What Set-Cookie lines mean. */
export interface ParsedCookies {
  /** Those that are taken; one that has expired already removes its predecessor. */
  cookies: Array<Cookie>;
  /** Those that are not. */
  rejected: Array<RejectedCookie>;
  /** The Cookie field of a request for the same URL; absent when it would have none. */
  cookie?: string;
}

/** What was removed. */
export interface ResetSession {
  /** How many cookies. */
  cookies: number;
  /** How many cached answers. */
  cacheEntries: number;
  /** How many credentials. */
  credentials: number;
  /** How many answers that it remembered. */
  answers: number;
}

/** What was forgotten. */
export interface AnswersForgotten {
  /** How many answers. */
  removed: number;
}

/** What was set. */
export interface CookiesSet {
  /** How many cookies. */
  set: number;
}

/** What became of a file. */
export interface CookiesImported {
  /** How many cookies. */
  set: number;
  /** The numbers of the lines that hold no cookie, from 1. */
  rejectedLines: Array<number>;
}

/** What was removed. */
export interface CookiesRemoved {
  /** How many cookies. */
  removed: number;
}

/** The seconds that half, nine tenths and all but one in a hundred keep within. */
export interface Percentiles {
  /** The median. */
  p50: number;
  /** What one in ten exceeds. */
  p90: number;
  /** What one in a hundred exceeds. */
  p99: number;
}

/** Jobs of the sample that have something in common. */
export interface SampledJobs {
  /** How many. */
  jobs: number;
  /** How many of them failed or were cancelled. */
  unsuccessful: number;
  /** From their last start to their end; left out when none has started. */
  duration?: Percentiles;
  /** From their submission to their last start; left out when none has started. */
  waiting?: Percentiles;
}

/** How many jobs ended in which way. */
export interface EndedJobs {
  /** Got a response. */
  succeeded: number;
  /** Ended with an error. */
  failed: number;
  /** Were stopped. */
  cancelled: number;
  /** How many bytes their bodies have. */
  bodyBytes: number;
}

/** A tenant's jobs in numbers. */
export interface Statistics {
  from: Timestamp;
  to: Timestamp;
  /** Jobs that are not final, now, by their state; 10000 where there are as many or more. */
  current: Record<string, number>;
  /** Jobs that ended since `from`. */
  ended: EndedJobs & {
    /** On average, since `from`. */
    jobsPerSecond: number;
  };
  /** The same for each hour in which jobs ended, the latest first, with the times of the sample. */
  hours: Array<EndedJobs & {
    hour: Timestamp;
    duration?: Percentiles;
    waiting?: Percentiles;
  }>;
  /** All jobs of the sample. */
  sample: SampledJobs;
  /** The sample by state. */
  states: Array<SampledJobs & {
    state: JobState;
  }>;
  /** The sample by the class of the response's status, of those that got a response. */
  statusClasses: Array<SampledJobs & {
    /** `2xx` for 200 to 299. */
    statusClass: string;
  }>;
  /** The sample by host, those with most jobs first, 100 at most. */
  hosts: Array<SampledJobs & {
    /** Of the request's URL. */
    host: string;
  }>;
}

/** The id of a credential. */
export type CredentialID = string;

/** What a credential answers for. */
export interface ProtectionSpace {
  /** The host. */
  host: string;
  /** The port; that of the protocol when left out. */
  port?: number;
  /** The scheme; of a proxy, how it is spoken to, which is one of http, https and the SOCKS ones. */
  protocol?: "http" | "https" | "ftp" | "ftps" | "socks4" | "socks4a" | "socks5" | "socks5h";
  /** Whether a proxy asks. */
  isProxy?: boolean;
  /** The realm that the server names, for `httpBasic`, `httpDigest` and `httpBearer`. */
  realm?: string;
  /**
   * How the server wants to be convinced. `default` is the one way of ftp, ftps and SOCKS; `awsSigV4` no server
   * asks for: jobs name such a credential.
   */
  authenticationMethod: "default" | "httpBasic" | "httpDigest" | "httpBearer" | "ntlm" | "negotiate" | "clientCertificate" | "awsSigV4";
}

/**
 * A credential of one kind: `user` and `password`, or `bearerToken`, or a client certificate as PEM or PKCS #12,
 * or an AWS access key, with which each request is signed (Signature Version 4). Bodies that are not in memory (a
 * blob, several parts, a stream) are signed for S3 alone, where their content is left out of it. For Kerberos,
 * `user` is the principal, `user@REALM` of ASCII letters, digits and `. _ - $ +`, with its `password` or a
 * `keytab`. The realm has to be one that the service's operator has set up (`KERBEROS_REALMS`), or the credential
 * is not used for Kerberos; each job gets tickets of its own.
 */
export interface CredentialSecret {
  /** The user name that goes with a password, or the principal that goes with a keytab. */
  user?: string;
  /** A password. */
  password?: string;
  /** A token (RFC 6750). */
  bearerToken?: string;
  /** A client certificate and those between it and its root, as PEM. */
  certificateChain?: string;
  /** Its private key, as PEM, of at most 8192 bits. To decrypt it may take 2 000 000 rounds and 32 MiB. */
  privateKey?: string;
  /**
   * A PKCS #12 file, as base64. Its key may have 8192 bits; all derivations in it together may take 2 000 000
   * rounds, and each 32 MiB.
   */
  pkcs12?: string;
  /** What the key is encrypted with. */
  passphrase?: string;
  /** The id of an AWS access key. */
  accessKeyID?: string;
  /** What it signs with. */
  secretAccessKey?: string;
  /** What goes with a key that is good for a while only. */
  sessionToken?: string;
  /** The region that requests are signed for. */
  region?: string;
  /** The service that they are signed for, such as `s3`. */
  service?: string;
  /** A file of Kerberos keys, as base64. */
  keytab?: string;
  /** Whether it is kept once it has convinced the server. `synchronizable` is read as `permanent`. */
  persistence?: "none" | "forSession" | "permanent" | "synchronizable";
}

/** A credential to store, of one kind, and where it is to answer. */
export interface CredentialSubmission {
  session?: SessionName;
  protectionSpace: ProtectionSpace;
  /**
   * Whether it is for the session alone or for all of the tenant's. `synchronizable` is read as `permanent`: a
   * service has no other devices to share it with.
   */
  persistence?: "forSession" | "permanent" | "synchronizable";
  /** Whether jobs use it when its space has several. */
  isDefault?: boolean;
  /** The user name that goes with a password, or the principal that goes with a keytab. */
  user?: string;
  /** A password. */
  password?: string;
  /** A token (RFC 6750). */
  bearerToken?: string;
  /** A client certificate and those between it and its root, as PEM. */
  certificateChain?: string;
  /** Its private key, as PEM, of at most 8192 bits. To decrypt it may take 2 000 000 rounds and 32 MiB. */
  privateKey?: string;
  /**
   * A PKCS #12 file, as base64. Its key may have 8192 bits; all derivations in it together may take 2 000 000
   * rounds, and each 32 MiB.
   */
  pkcs12?: string;
  /** What the key is encrypted with. */
  passphrase?: string;
  /** The id of an AWS access key. */
  accessKeyID?: string;
  /** What it signs with. */
  secretAccessKey?: string;
  /** What goes with a key that is good for a while only. */
  sessionToken?: string;
  /** The region that requests are signed for. */
  region?: string;
  /** The service that they are signed for, such as `s3`. */
  service?: string;
  /** A file of Kerberos keys, as base64. */
  keytab?: string;
}

/** What a credential answers for. */
export interface StoredProtectionSpace {
  /** The host. */
  host: string;
  /** The port. */
  port: number;
  /** The scheme. */
  protocol: string;
  /** The realm that the server names. */
  realm?: string;
  /** How the server wants to be convinced. */
  authenticationMethod: string;
  /** Whether a proxy asks. */
  isProxy: boolean;
}

/** A page of uses. */
export interface AuditList {
  /** The newest first. */
  data: Array<{
    /** Its id. */
    id: string;
    /** What was done. */
    action: "credential.used";
    at: Timestamp;
    credential: CredentialID;
    job?: JobID;
    protectionSpace: StoredProtectionSpace;
  }>;
  /** Whether there are more. */
  hasMore: boolean;
  /** Where the next page begins. */
  nextCursor?: string;
}

/** A stored credential, without its secret. */
export interface Credential {
  id: CredentialID;
  protectionSpace: StoredProtectionSpace;
  /** What it is. */
  kind: "password" | "bearerToken" | "clientCertificate" | "awsKeys" | "keytab";
  /** The user name. */
  user?: string;
  /** Who has it. */
  persistence: "forSession" | "permanent";
  /** Whether jobs use it when its space has several. */
  isDefault: boolean;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  /** When a server refused it, if one did since it was stored. */
  lastFailureAt?: Timestamp;
}

/** A page of credentials. */
export interface CredentialList {
  /** The oldest first. */
  data: Array<Credential>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** What was removed. */
export interface CredentialsRemoved {
  /** How many credentials. */
  removed: number;
}

/** A certificate with its private key, in PEM or in one file. */
export interface ClientCertificate {
  /** The certificate and those between it and its root, as PEM. */
  certificateChain?: string;
  /** Its private key, as PEM, of at most 8192 bits. To decrypt it may take 2 000 000 rounds and 32 MiB. */
  privateKey?: string;
  /**
   * A PKCS #12 file, as base64. Its key may have 8192 bits; all derivations in it together may take 2 000 000
   * rounds, and each 32 MiB.
   */
  pkcs12?: string;
  /** What the key is encrypted with. */
  passphrase?: string;
}

/**
 * Who is believed to vouch for servers. `system`: the authorities that the system of the service trusts. `pinned`:
 * the same, for servers that have one of the pinned keys. `custom`: the authorities in `anchors` and no others;
 * pins count as well. The name and the dates of a certificate are always checked.
 */
export interface ServerTrust {
  /** Whose word counts. */
  policy: "system" | "pinned" | "custom";
  /** Certificates in PEM. */
  anchors?: string;
  /** The keys of servers. */
  pins?: Array<PublicKeyPin>;
  /**
   * Certificate revocation lists in PEM. What stands on one is refused, and so is what an authority has issued
   * whose list is out of date. Of authorities without a list nothing is refused.
   */
  revocationLists?: string;
  /** Whether a server must bring a good status of its certificate along (OCSP stapling, RFC 6066). */
  requiresStapledStatus?: boolean;
}

/** A new endpoint, with a `url` or `polled`. */
export interface WebhookEndpointSpec {
  url?: HTTPURL;
  /**
   * Nothing is sent, and there is no URL: you read the events from `GET /v1/webhooks/endpoints/{id}/events`, once
   * in a while or as a stream. Such an endpoint cannot be the delegate of a job.
   */
  polled?: boolean;
  /** Which events are sent; the end of jobs, sessions and groups when left out. */
  events?: Array<WebhookEvent>;
  /**
   * Jobs, groups and sessions that name no endpoint have this one; those of a session that has an endpoint have
   * that. It counts for what is stored from now on, however it comes, and takes the place of the default endpoint
   * before it. With `polled`, `GET /v1/events` reads the events of all jobs.
   */
  default?: boolean;
  serverTrust?: ServerTrust;
  /** What the receiver is shown when it asks for a certificate; for https. */
  clientCertificate?: ClientCertificate;
}

/** Where events are sent, or read from. */
export interface WebhookEndpoint {
  id: WebhookEndpointID;
  /** The address; not there where nothing is sent. */
  url?: string;
  /** Nothing is sent; its events are read. */
  polled: boolean;
  /** Which events are sent. */
  events: Array<WebhookEvent>;
  /** What names no endpoint has this one. */
  default: boolean;
  serverTrust?: ServerTrust;
  /** The certificate that the receiver is shown. */
  clientCertificate?: {
    /** Its fingerprint, in hexadecimal digits. */
    sha256: string;
  };
  createdAt: Timestamp;
  /** Whether messages are sent. */
  enabled: boolean;
  disabledAt?: Timestamp;
  /** `failing` — for five days every attempt failed. `gone` — the receiver answered 410. `requested` — by a change. */
  disabledReason?: "failing" | "gone" | "requested";
  /** Since when every attempt has failed, if the last one did. */
  failingSince?: Timestamp;
  /** Until when messages are signed with the secret before this one as well. */
  previousSecretUntil?: Timestamp;
}

/** What changes of an endpoint. */
export interface WebhookEndpointPatch {
  url?: HTTPURL;
  /** Which events are sent. */
  events?: Array<WebhookEvent>;
  /** Whether what names no endpoint has this one. */
  default?: boolean;
  /** Whether messages are sent. */
  enabled?: boolean;
  /** Null for what the system trusts. */
  serverTrust?: ServerTrust | null;
  /** Null for none. */
  clientCertificate?: ClientCertificate | null;
}

/** How an endpoint gets a new secret. */
export interface SecretRotation {
  /** For how many seconds messages are signed with the old secret as well. */
  overlap?: number;
}

/** One event on its way to one endpoint, or there. */
export interface WebhookDelivery {
  id: WebhookDeliveryID;
  endpoint: WebhookEndpointID;
  event: WebhookEvent;
  job?: JobID;
  session?: SessionName;
  group?: GroupID;
  /** The endpoint that the event is about. */
  about?: WebhookEndpointID;
  state: DeliveryState;
  createdAt: Timestamp;
  /** How many attempts were begun. */
  countOfAttempts: number;
  lastAttemptAt?: Timestamp;
  /** The status of the last answer; missing when there was none. */
  lastStatus?: number;
  /** When the next attempt is due; of pending deliveries. */
  nextAttemptAt?: Timestamp;
}

/** A delivery, with its attempts. */
export type WholeWebhookDelivery = WebhookDelivery & {
  /** In their order. */
  attempts: Array<DeliveryAttempt>;
};

/** One message sent, and what came back; `response` or `error`. */
export interface DeliveryAttempt {
  /** The first is 1. */
  number: number;
  startedAt: Timestamp;
  /** In seconds. */
  duration: number;
  /** What was sent. */
  request: {
    /** Where to. */
    url: string;
    /** The fields, in their order. */
    headers: Array<Header>;
  };
  /** The name of the error that came instead of an answer. */
  error?: string;
  /** What came back, without cookies. */
  response?: {
    /** The status. */
    status: number;
    /** The fields, in their order. */
    headers: Array<Header>;
    /** The first 4096 bytes. */
    body: {
      /** The bytes, when they are UTF-8. */
      text?: string;
      /** The bytes, when they are not. */
      base64?: string;
      /** Whether the body went on. */
      isCut: boolean;
    };
  };
}

/** A page of deliveries. */
export interface WebhookDeliveryList {
  /** The newest first. */
  data: Array<WebhookDelivery>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** What is to be sent again. */
export interface DeliveryReplay {
  endpoint: WebhookEndpointID;
  since: Timestamp;
}

/** What is sent again. */
export interface DeliveryReplayed {
  /** How many deliveries those are. */
  replayed: number;
}

/** A new endpoint, with its secret. */
export type NewWebhookEndpoint = WebhookEndpoint & {
  /** What messages are signed with; shown this once. What is polled is not signed. */
  secret: string;
};

/** A page of endpoints. */
export interface WebhookEndpointList {
  /** The oldest first. */
  data: Array<WebhookEndpoint>;
  /** Whether there is a next page. */
  hasMore: boolean;
  /** The `cursor` of the next page. */
  nextCursor?: string;
}

/** How the service is. */
export interface Status {
  /** In a word. */
  status: "ok" | "ready";
  /** What is amiss although the service can take work, a sentence each. */
  remarks?: Array<string>;
}

/** Lets a browser follow the events of one job. */
export interface StreamToken {
  /** The `token` of the query. */
  token: string;
  /** The address of the stream, with the token. */
  href: string;
  expiresAt: Timestamp;
}

/** Which program answers. */
export interface Version {
  /** That of the program, by semantic versioning. */
  version: string;
  /** The number of the last migration that it knows. */
  schemaVersion: number;
}

/** The stable name of a problem. */
export type ProblemCode = "malformedRequest" | "malformedJSON" | "invalidParameter" | "invalidIdempotencyKey" | "unauthorized" | "scopeRequired" | "roleRequired" | "keyBound" | "keyExhausted" | "forbidden" | "notFound" | "methodNotAllowed" | "requestTimeout" | "jobFinal" | "jobNotFinal" | "jobNotRetriable" | "jobNotWaiting" | "blobInUse" | "bodyNotWanted" | "uploadOffsetMismatch" | "alreadyAnswered" | "answerNotAllowed" | "questionClosed" | "sessionInvalidated" | "sessionNotInvalidated" | "sessionIdentifierInUse" | "sessionHasNoSnapshot" | "sessionEventsNotFinished" | "sessionEventsAcknowledged" | "deliveryNotReplayable" | "scheduleNotRunnable" | "groupClosed" | "groupNotFinished" | "keyNotRotatable" | "idempotencyKeyInUse" | "misdirectedRequest" | "preconditionFailed" | "contentTooLarge" | "uriTooLong" | "unsupportedMediaType" | "rangeNotSatisfiable" | "expectationFailed" | "invalidInput" | "idempotencyKeyReused" | "digestMismatch" | "tooManyFailures" | "tooManyRequests" | "tooManyCalls" | "trafficExhausted" | "tooManyBytes" | "tooManyUploads" | "overloaded" | "queueFull" | "sessionFull" | "tooManySessions" | "headersTooLarge" | "internalError" | "databaseUnavailable" | "notReady" | "nodeUnreachable" | "blobStoreUnavailable" | "storageFull" | "tooManyConnections";

/** What went wrong (RFC 9457). */
export interface Problem {
  /** A page about this kind of problem. */
  type: string;
  /** The kind of problem in a sentence. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** This occurrence in a sentence. */
  detail?: string;
  /** The request id as a URN. */
  instance?: string;
  code: ProblemCode;
  /** Each rule that was broken. */
  errors?: Array<{
    /** The member of the body (RFC 6901). */
    pointer?: string;
    /** Or the name of the parameter or header field. */
    parameter?: string;
    /** The rule. */
    message: string;
  }>;
}

/** The query of `listJobs`. List jobs. */
export interface ListJobsQuery {
  /** Only jobs in this state. */
  state?: JobState;
  /** Only jobs that were submitted as this kind; one that became a download is of its first kind here. */
  kind?: "data" | "download" | "upload";
  /** Only jobs of this session; `default` for those of the default session. */
  session?: SessionIDOrDefault;
  /** Only jobs that this schedule made. */
  schedule?: ScheduleID;
  /** Only jobs of this group. */
  group?: GroupID;
  /** Only jobs whose URL names this host, with its port where that is not the one of its scheme. */
  host?: string;
  /** Only jobs with this label, written as its name, a colon and its value. */
  label?: string;
  /** Only jobs that ended with the error of this name. */
  error?: string;
  /**
   * Only jobs that ended with a response of this status, or of this class of statuses. A job whose origin answers
   * has succeeded with every status, unless `retry.statuses` names it.
   */
  status?: StatusFilter;
  /** Only jobs whose request has this method, as it is written there. */
  method?: string;
  /**
   * Only jobs whose request has this URL, whole: in its standard form, and without the query where that is
   * sensitive.
   */
  url?: string;
  /** Only jobs whose URL, in its standard form, begins so; the host is named whole. */
  prefix?: string;
  /** Only jobs with a body of the response of so many bytes. */
  bodyBytes?: BodySizeFilter;
  /** Only jobs that were stored then or later. */
  createdAfter?: Timestamp;
  /** Only jobs that were stored earlier. */
  createdBefore?: Timestamp;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listQuestions`. List questions. */
export interface ListQuestionsQuery {
  /** Only questions in this state. */
  state?: QuestionState;
  /** Only questions of this kind. */
  kind?: QuestionKind;
  /** Only questions of this job. */
  job?: JobID;
  /** Only questions of jobs of this group. */
  group?: GroupID;
  /** Only questions of jobs with this label, written as its name, a colon and its value. */
  label?: string;
  /**
   * Only questions about this host and port: who asks for a credential or shows a certificate, or else the one of
   * the request.
   */
  host?: string;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listQuestionsOfJob`. List the questions of a job. */
export interface ListQuestionsOfJobQuery {
  /** Only questions in this state. */
  state?: QuestionState;
  /** Only questions of this kind. */
  kind?: QuestionKind;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `exportJobs`. Export jobs. */
export interface ExportJobsQuery {
  /** What a line says of its job. */
  form?: "job" | "submission";
  /** Only jobs in this state. */
  state?: JobState;
  /** Only jobs that were submitted as this kind; one that became a download is of its first kind here. */
  kind?: "data" | "download" | "upload";
  /** Only jobs of this session; `default` for those of the default session. */
  session?: SessionIDOrDefault;
  /** Only jobs that this schedule made. */
  schedule?: ScheduleID;
  /** Only jobs of this group. */
  group?: GroupID;
  /** Only jobs whose URL names this host, with its port where that is not the one of its scheme. */
  host?: string;
  /** Only jobs with this label, written as its name, a colon and its value. */
  label?: string;
  /** Only jobs that ended with the error of this name. */
  error?: string;
  /**
   * Only jobs that ended with a response of this status, or of this class of statuses. A job whose origin answers
   * has succeeded with every status, unless `retry.statuses` names it.
   */
  status?: StatusFilter;
  /** Only jobs whose request has this method, as it is written there. */
  method?: string;
  /**
   * Only jobs whose request has this URL, whole: in its standard form, and without the query where that is
   * sensitive.
   */
  url?: string;
  /** Only jobs whose URL, in its standard form, begins so; the host is named whole. */
  prefix?: string;
  /** Only jobs with a body of the response of so many bytes. */
  bodyBytes?: BodySizeFilter;
  /** Only jobs that were stored then or later. */
  createdAfter?: Timestamp;
  /** Only jobs that were stored earlier. */
  createdBefore?: Timestamp;
}

/** The query of `listSchedules`. List schedules. */
export interface ListSchedulesQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listGroups`. List groups. */
export interface ListGroupsQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listSessions`. List sessions. */
export interface ListSessionsQuery {
  /** Only sessions of this kind. */
  kind?: SessionKind;
  /** Only background sessions with this identifier, those that are invalidated included. */
  identifier?: string;
  /**
   * Whether only sessions are meant that have jobs which are not final, or events that are still on their way. Of
   * ephemeral sessions nothing is stored, so none of them is.
   */
  outstanding?: boolean;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listRememberedAnswers`. List the answers that a session remembers. */
export interface ListRememberedAnswersQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listSessionEvents`. Repeat the events of a session. */
export interface ListSessionEventsQuery {
  /** Only what comes behind this event, such as the last that you know of. */
  after?: WebhookDeliveryID;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listCookies`. List cookies. */
export interface ListCookiesQuery {
  /** The session that is meant; `default` when left out. */
  session?: SessionName;
  /** Only cookies of this domain and those below it. */
  domain?: string;
  /** Only cookies of this name. */
  name?: string;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `exportCookies`. Export cookies as a file. */
export interface ExportCookiesQuery {
  /** The session that is meant; `default` when left out. */
  session?: SessionName;
  /** Only cookies of this domain and those below it. */
  domain?: string;
  /** Only cookies of this name. */
  name?: string;
}

/** The query of `listCredentials`. List credentials. */
export interface ListCredentialsQuery {
  /** The session that is meant; `default` when left out. */
  session?: SessionName;
  /** Only credentials for this host. */
  host?: string;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listCredentialUses`. List what credentials were used for. */
export interface ListCredentialUsesQuery {
  /** The uses of this one alone. */
  credential?: CredentialID;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listKeys`. List the keys. */
export interface ListKeysQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listHosts`. List hosts. */
export interface ListHostsQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listFlows`. List flows. */
export interface ListFlowsQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listWebhookEndpoints`. List webhook endpoints. */
export interface ListWebhookEndpointsQuery {
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listEvents`. Read the events of all jobs. */
export interface ListEventsQuery {
  /** Only what comes behind this event, such as the last that you know of. */
  after?: WebhookDeliveryID;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listEndpointEvents`. Read the events of a polled endpoint. */
export interface ListEndpointEventsQuery {
  /** Only what comes behind this event, such as the last that you know of. */
  after?: WebhookDeliveryID;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}

/** The query of `listWebhookDeliveries`. List deliveries. */
export interface ListWebhookDeliveriesQuery {
  /** Only those to this endpoint. */
  endpoint?: WebhookEndpointID;
  /** Only those in this state. */
  state?: DeliveryState;
  /** Only those of this event. */
  event?: WebhookEvent;
  /** Only those about this job. */
  job?: JobID;
  /** Only those made at this time or later. */
  since?: Timestamp;
  /**
   * How many elements the page has at most. A page whose elements are large ends with the one that makes it 1 MiB;
   * `hasMore` tells that more follow.
   */
  limit?: number;
}
