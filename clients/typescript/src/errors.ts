import type * as types from "./types.js";

/** Everything that a client throws, but for wrong arguments (`TypeError`) and what a signal was aborted with. */
export class FetchdError extends Error {
  override name = "FetchdError";
}

/** The service could not be reached, or the connection broke, also after the repeats. */
export class ConnectionFailedError extends FetchdError {
  override name = "ConnectionFailedError";
  /** False when there was no connection, so that the service has nothing of the call. */
  readonly wasSent: boolean;

  constructor(message: string, options: { cause?: unknown; wasSent?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.wasSent = options.wasSent ?? true;
  }
}

/** The service did not answer in time. */
export class CallTimedOutError extends ConnectionFailedError {
  override name = "CallTimedOutError";
}

/** What answered does not speak the API: no JSON, a redirect, or another document than was expected. */
export class InvalidAnswerError extends FetchdError {
  override name = "InvalidAnswerError";
}

/** A body ended early and could not be resumed; `offset` bytes of it had come. */
export class InterruptedBodyError extends FetchdError {
  override name = "InterruptedBodyError";

  constructor(message: string, readonly offset: number, options?: { cause?: unknown }) {
    super(message, options);
  }
}

/** The bytes of a body are not those that the service has the digest of. */
export class DigestMismatchError extends FetchdError {
  override name = "DigestMismatchError";
}

/** The job was not final in time. It goes on. */
export class WaitTimedOutError extends FetchdError {
  override name = "WaitTimedOutError";

  constructor(readonly jobId: string, milliseconds: number) {
    super(`job ${jobId} goes on after ${milliseconds} ms`);
  }
}

/** The job ended without a response: it failed, and `error` says why, or it was cancelled. */
export class JobFailedError extends FetchdError {
  override name = "JobFailedError";
  readonly error: types.LoadError | undefined;

  constructor(readonly job: types.Job) {
    super(`job ${job.id} ${job.state}` + (job.error ? `: ${job.error.name}: ${job.error.message}` : ""));
    this.error = job.error;
  }
}

/** A webhook message is not from the service, or too old. */
export class InvalidSignatureError extends FetchdError {
  override name = "InvalidSignatureError";
}

/** A rule that a request broke. */
export interface Fault {
  /** The rule. */
  message: string;
  /** The member of the body, as a JSON Pointer. */
  pointer?: string;
  /** Or the name of the parameter or header field. */
  parameter?: string;
}

/** The service refused a request (RFC 9457); `code` tells the kinds apart. */
export class ProblemError extends FetchdError {
  override name = "ProblemError";
  /** A stable word, such as `invalidInput`. */
  readonly code: types.ProblemCode | "unknown";
  readonly title: string;
  /** What was wrong, in a sentence. */
  readonly detail: string | undefined;
  /** Each rule that was broken. */
  readonly errors: readonly Fault[];

  constructor(
    readonly status: number,
    document: Partial<types.Problem>,
    /** Quote it when you report a fault. */
    readonly requestId: string | undefined,
    /** After how many seconds a repeat makes sense. */
    readonly retryAfter: number | undefined,
  ) {
    const code = document.code ?? "unknown";
    const title = document.title ?? `status ${status}`;
    const errors = Array.isArray(document.errors) ? document.errors : [];
    const places = errors.map((one) => `\n  ${one.pointer ?? one.parameter ?? "request"} ${one.message}`);
    const request = requestId === undefined ? "" : ` (request ${requestId})`;
    super(`${status} ${code}: ${document.detail ?? title}${places.join("")}${request}`);
    this.code = code;
    this.title = title;
    this.detail = document.detail;
    this.errors = errors;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return [408, 429, 502, 503, 504].includes(this.status);
  }
}
