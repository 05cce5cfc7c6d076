import { CallTimedOutError, ConnectionFailedError, InvalidAnswerError, ProblemError } from "./errors.js";
import type { Call, CallOptions, CreateOptions, Items } from "./requests.js";
import { backoff, delayBeforeRepeat, idempotencyKey, isNode, queryOf, retryAfter, waitHeader } from "./requests.js";
import { VERSION } from "./version.js";

/** Milliseconds without a byte after which a stream counts as broken; the service sends something every 15 seconds. */
const SILENCE = 45_000;

/** An answer that was read whole. */
export interface Answer {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a method may give besides a document. */
type Parameters = CreateOptions & { wait?: number | undefined; query?: object; isRepeatable?: boolean };

/** Sends calls to the service. */
export class Transport {
  readonly #headers: Record<string, string>;

  constructor(readonly url: string, key: string, readonly timeout: number, readonly retries: number,
              readonly fetch: Fetch) {
    this.#headers = { Authorization: `Bearer ${key}` };
    if (isNode()) this.#headers["User-Agent"] = `fetchd-typescript/${VERSION}`;
  }

  /** Sends a call until it is answered, within its time, and at most `retries` times more. */
  async send(call: Call): Promise<Answer> {
    const deadline = Date.now() + this.timeout + (call.patience ?? 0);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(call, deadline - Date.now());
      } catch (failure) {
        const delay = delayBeforeRepeat(call, failure, attempt, this.retries);
        if (delay === undefined || Date.now() + delay > deadline) throw failure;
        await pause(delay, call.signal);
      }
    }
  }

  async #once(call: Call, milliseconds: number): Promise<Answer> {
    const watch = new Watch(call.signal);
    watch.set(milliseconds);
    try {
      const response = await this.#request(call, watch);
      const bytes = new Uint8Array(await watch.guard(response.arrayBuffer()));
      return checked({ status: response.status, headers: response.headers, bytes });
    } finally {
      watch.end();
    }
  }

  #request(call: Call, watch: Watch): Promise<Response> {
    return watch.guard(this.fetch(this.url + call.target, {
      method: call.method, headers: { ...this.#headers, ...call.headers }, body: call.body ?? null,
      redirect: "manual", signal: watch.signal, cache: "no-store",
    }));
  }

  /** The bytes of an answer as they come, after what `began` says to its head. An early end is a failure. */
  async *stream(call: Call, began: (response: Response) => void = () => {}): Items<Uint8Array> {
    const watch = new Watch(call.signal);
    try {
      watch.set(SILENCE);
      const response = await this.#request(call, watch);
      if (response.status >= 300 || response.status === 0) {
        checked({ status: response.status, headers: response.headers,
                  bytes: new Uint8Array(await watch.guard(response.arrayBuffer())) });
      }
      began(response);
      const reader = response.body?.getReader();
      while (reader) {
        watch.set(SILENCE);
        const { done, value } = await watch.guard(reader.read());
        if (done) return;
        // Whoever reads may take their time.
        watch.set(undefined);
        yield value;
      }
    } finally {
      watch.abort();
    }
  }

  get<T>(target: string, { wait, query = {}, signal }: Parameters = {}): Promise<T> {
    return this.#document({ method: "GET", target: target + queryOf(query), headers: waitHeader(wait),
                            isRepeatable: true, patience: (wait ?? 0) * 1000, signal });
  }

  /** Posts with an `Idempotency-Key`, the same over all repeats of this call. */
  post<T>(target: string, document?: unknown, options: Parameters = {}): Promise<T> {
    const { wait, query = {}, signal, isRepeatable = true } = options;
    const headers = waitHeader(wait);
    if (isRepeatable) headers["Idempotency-Key"] = idempotencyKey(options.idempotencyKey);
    return this.#document({ method: "POST", target: target + queryOf(query), headers, isRepeatable,
                            patience: (wait ?? 0) * 1000, signal }, document);
  }

  patch<T>(target: string, document: unknown, options: CallOptions = {}): Promise<T> {
    return this.#document({ method: "PATCH", target, isRepeatable: true, signal: options.signal }, document);
  }

  put<T>(target: string, document: unknown, options: CallOptions = {}): Promise<T> {
    return this.#document({ method: "PUT", target, isRepeatable: true, signal: options.signal }, document);
  }

  async delete(target: string, options: CallOptions = {}): Promise<void> {
    await this.send({ method: "DELETE", target, signal: options.signal });
  }

  /** The items of all pages of a list. */
  async *pages<T>(target: string, query: object, options: CallOptions = {}): Items<T> {
    let cursor: string | undefined;
    do {
      const place = { ...query, cursor };
      const page: { data: T[]; nextCursor?: string } = await this.get(target, { ...options, query: place });
      yield* page.data;
      cursor = page.nextCursor;
    } while (cursor);
  }

  async #document<T>(call: Call, document?: unknown): Promise<T> {
    if (document !== undefined) {
      call.body = JSON.stringify(document);
      call.headers = { ...call.headers, "Content-Type": "application/json" };
    }
    const { bytes } = await this.send(call);
    return (bytes.length ? parsed(bytes) : undefined) as T;
  }
}

/** Ends a request when its time is over, or its caller's signal says so, and tells the two apart. */
class Watch {
  readonly #controller = new AbortController();
  readonly #given: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLate = false;
  readonly #onAbort = (): void => this.#controller.abort(this.#given?.reason);

  constructor(given: AbortSignal | undefined) {
    this.#given = given;
    given?.throwIfAborted();
    given?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** So many milliseconds from now on; no bound without them. */
  set(milliseconds: number | undefined): void {
    clearTimeout(this.#timer);
    if (milliseconds === undefined) return;
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#controller.abort();
    }, Math.max(1, milliseconds));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#given?.removeEventListener("abort", this.#onAbort);
  }

  abort(): void {
    this.end();
    this.#controller.abort();
  }

  /** The outcome of something that this watches, with failures in our words. */
  async guard<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      if (this.#given?.aborted) throw this.#given.reason;
      if (this.#isLate) throw new CallTimedOutError("the service does not answer in time", { cause });
      const reason = (cause as { cause?: { code?: string; message?: string } }).cause;
      const wasSent = !["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(reason?.code ?? "");
      throw new ConnectionFailedError(`the connection failed: ${reason?.message ?? String(cause)}`, { cause, wasSent });
    }
  }
}

/** Waits, unless the signal ends it. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Waits before a stream is opened again. */
export function pauseBeforeRepeat(failures: number, signal?: AbortSignal): Promise<void> {
  return pause(backoff(failures), signal);
}

export function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new InvalidAnswerError("the service answered with something that is no JSON", { cause });
  }
}

function checked(answer: Answer): Answer {
  if (answer.status >= 400) {
    let document: unknown;
    try {
      document = parsed(answer.bytes);
    } catch {
      // A proxy on the way may answer with a page.
    }
    throw new ProblemError(answer.status, typeof document === "object" && document ? document : {},
                           answer.headers.get("request-id") ?? undefined, retryAfter(answer.headers));
  }
  // Browsers do not tell the status of a redirect.
  if (answer.status === 0 || answer.status >= 300) {
    throw new InvalidAnswerError("redirects are not followed; check the URL of the service");
  }
  return answer;
}
