import { Blobs } from "./blobs.js";
import type { JobEvent } from "./events.js";
import { follow } from "./events.js";
import { Jobs } from "./jobs.js";
import { Questions } from "./questions.js";
import type { CallOptions, Items } from "./requests.js";
import { keyOf, urlOf } from "./requests.js";
import { Groups, Schedules, Sessions } from "./stores.js";
import type { Fetch } from "./transport.js";
import { Transport } from "./transport.js";
import type * as types from "./types.js";
import { Webhooks } from "./webhooks.js";

export interface FetchdOptions {
  /** Where the service is; FETCHD_URL without it. */
  url?: string;
  /** The API key; FETCHD_KEY without it. */
  key?: string;
  /** Milliseconds for a call and its repeats, besides what it asks the service to wait; 30 000 without it. */
  timeout?: number;
  /** How often a call is sent again; 3 without it. */
  retries?: number;
  /** Another `fetch`, with an agent of yours for example. */
  fetch?: Fetch;
}

/**
 * A client of a Fetchd service.
 *
 * A call is sent again when it cannot have had an effect, or means the same when it comes twice: after errors of the
 * connection, and after 429, 502, 503 and 504, when `Retry-After` says or after delays that grow.
 */
export class Fetchd {
  readonly #transport: Transport;
  /** Fetches: submit, list, follow, read. */
  readonly jobs: Jobs;
  /** What loads ask their delegates. */
  readonly questions: Questions;
  /** Jobs that are made when their times come. */
  readonly schedules: Schedules;
  /** Jobs that belong together. */
  readonly groups: Groups;
  /** Configuration, cookies and cache that jobs share. */
  readonly sessions: Sessions;
  /** Bytes for jobs to send, and files that they downloaded. */
  readonly blobs: Blobs;
  /** Where events are sent, and what became of each message. */
  readonly webhooks: Webhooks;

  constructor({ url, key, timeout = 30_000, retries = 3, fetch }: FetchdOptions = {}) {
    const send = fetch ?? ((target: string, init: RequestInit) => globalThis.fetch(target, init));
    this.#transport = new Transport(urlOf(url), keyOf(key), timeout, retries, send);
    this.jobs = new Jobs(this.#transport);
    this.questions = new Questions(this.#transport);
    this.schedules = new Schedules(this.#transport);
    this.groups = new Groups(this.#transport);
    this.sessions = new Sessions(this.#transport);
    this.blobs = new Blobs(this.#transport);
    this.webhooks = new Webhooks(this.#transport);
  }

  /** The URL of the service. */
  get url(): string {
    return this.#transport.url;
  }

  /** What the tenant uses, beside what it may use. */
  usage(options: CallOptions = {}): Promise<types.TenantUsage> {
    return this.#transport.get("/v1/usage", options);
  }

  /**
   * The events of all jobs, without end, from the endpoint that is both `polled` and `default`: behind the one with
   * `lastEventId`, or from the first one that is kept.
   */
  events({ lastEventId, signal }: { lastEventId?: string; signal?: AbortSignal } = {}): Items<JobEvent> {
    return follow(this.#transport, "/v1/events", lastEventId, signal);
  }

  /** What has no method here: one request. POST carries an `Idempotency-Key`, so that it can be repeated. */
  async request(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, document?: unknown,
                options: CallOptions = {}): Promise<unknown> {
    switch (method) {
      case "GET": return this.#transport.get(path, options);
      case "POST": return this.#transport.post(path, document, options);
      case "PUT": return this.#transport.put(path, document, options);
      case "PATCH": return this.#transport.patch(path, document, options);
      case "DELETE": return this.#transport.delete(path, options);
    }
  }
}
