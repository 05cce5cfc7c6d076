import { ConnectionFailedError, InvalidAnswerError, ProblemError } from "./errors.js";

/** The longest `Prefer: wait` of the service, in seconds. */
export const LONGEST_WAIT = 60;

/** A request that may be sent several times. */
export interface Call {
  method: string;
  target: string;
  headers?: Record<string, string>;
  body?: Uint8Array | Blob | string;
  /** Whether it means the same when it has come twice. */
  isRepeatable?: boolean;
  /** Milliseconds that the service may hold it, besides the timeout of the client. */
  patience?: number;
  signal?: AbortSignal | undefined;
}

/** What comes one after the other. */
export type Items<T> = AsyncGenerator<T, void, undefined>;

/** What every method takes. */
export interface CallOptions {
  /** Ends the call, and whatever waits for it, with the signal's reason. */
  signal?: AbortSignal;
}

/** What every method takes that makes something. */
export interface CreateOptions extends CallOptions {
  /** An `Idempotency-Key`: for 24 hours the same key names what it made first. Without it each call has its own. */
  idempotencyKey?: string;
}

export const isFinal = (state: string): boolean => ["succeeded", "failed", "cancelled"].includes(state);

/** The URL of the service, without a slash at its end. */
export function urlOf(given: string | undefined): string {
  const text = given ?? environment("FETCHD_URL");
  if (!text) throw new TypeError("url: give it, or set FETCHD_URL");
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError("url: http:// or https:// without user, query and fragment was expected");
  }
  return url.href.replace(/\/+$/, "");
}

export function keyOf(given: string | undefined): string {
  const key = given ?? environment("FETCHD_KEY");
  if (!key) throw new TypeError("key: give it, or set FETCHD_KEY");
  if (!/^[!-~]+$/.test(key)) throw new TypeError("key: it has a space, a line break or a letter that no key has");
  return key;
}

/** A variable of the environment, where there is one. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

/** Whether this is Node; browsers name themselves. */
export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node !== undefined;
}

/** An id as one segment of a path. */
export function segment(id: string): string {
  if (typeof id !== "string" || ["", ".", ".."].includes(id)) throw new TypeError("an id was expected");
  return encodeURIComponent(id);
}

/** The query of a URL, without what is undefined. */
export function queryOf(values: object): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined);
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : "";
}

/** `Prefer`, which asks the service to hold its answer. */
export function waitHeader(seconds: number | undefined): Record<string, string> {
  if (seconds === undefined) return {};
  if (!(seconds >= 0)) throw new TypeError(`wait: a number of seconds was expected, not ${seconds}`);
  return { Prefer: `wait=${Math.min(LONGEST_WAIT, Math.floor(seconds))}` };
}

/** One for each call, kept over its repeats. */
export function idempotencyKey(given: string | undefined): string {
  if (given !== undefined) {
    if (/^[!-~]{1,128}$/.test(given)) return given;
    throw new TypeError("idempotencyKey: 1 to 128 printable letters of ASCII were expected");
  }
  const { crypto } = globalThis as { crypto?: Crypto };
  const bytes = new Uint8Array(16);
  // Node 18 has none here; a key has to be another one each time, not a secret.
  if (crypto) crypto.getRandomValues(bytes);
  else bytes.forEach((_, index) => { bytes[index] = Math.random() * 256; });
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The seconds of `Retry-After`, which has a number or a date. */
export function retryAfter(headers: Headers): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]{1,9}$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

/** Milliseconds before the next try: they double from a quarter of a second up to 8, and half of them is chance. */
export function backoff(attempt: number): number {
  return Math.min(8000, 250 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

/** Milliseconds until a call is sent again after a failure; undefined when it is not. */
export function delayBeforeRepeat(call: Call, failure: unknown, attempt: number, retries: number): number | undefined {
  if (attempt >= retries) return undefined;
  if (failure instanceof ProblemError) {
    // The first try is being carried out, whose answer is that of the next one.
    if (failure.code === "idempotencyKeyInUse" && failure.retryAfter !== undefined) return failure.retryAfter * 1000;
    // 429 and 503 refuse a request before anything is done; the others may come after it.
    const isRefused = [429, 503].includes(failure.status);
    if (!isRefused && !(call.isRepeatable && [502, 504].includes(failure.status))) return undefined;
    return failure.retryAfter === undefined ? backoff(attempt) : failure.retryAfter * 1000;
  }
  const mayRepeat = failure instanceof ConnectionFailedError && (call.isRepeatable || !failure.wasSent);
  return mayRepeat ? backoff(attempt) : undefined;
}

/** The path of an upload; one on another server is not followed. */
export function uploadTarget(location: string | null): string {
  const found = /\/v1\/uploads\/upl_[0-9a-z]+$/.exec(location ?? "");
  if (!found?.[0]) throw new InvalidAnswerError("the service did not say where the upload goes on");
  return found[0];
}
