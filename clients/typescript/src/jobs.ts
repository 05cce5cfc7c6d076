import type { BodyOptions } from "./body.js";
import { bodyOf, streamOf } from "./body.js";
import { InvalidAnswerError, WaitTimedOutError } from "./errors.js";
import type { JobEvent } from "./events.js";
import { follow } from "./events.js";
import type { CancelledJob, FailedJob, Job, SucceededJob } from "./job.js";
import { isFinalJob, jobOf, succeeded } from "./job.js";
import type { CallOptions, CreateOptions, Items } from "./requests.js";
import { idempotencyKey, LONGEST_WAIT, queryOf, segment } from "./requests.js";
import type { Transport } from "./transport.js";
import { parsed } from "./transport.js";
import type * as types from "./types.js";

// A batch is cut into requests of so many lines and characters, each of which can be repeated.
const LINES = 500;
const CHARACTERS = 1 << 20;

/** A job of a batch; it counts once over all submissions with its key. */
export type BatchSpec = types.JobSpec & { idempotencyKey?: string };
export type SubmitOptions = CreateOptions & {
  /** Seconds to wait until the job is final, 60 at most. It goes on either way. */
  wait?: number;
};
export type WaitOptions = CallOptions & {
  /** Milliseconds, after which `WaitTimedOutError` is thrown; as long as it takes without it. */
  timeout?: number;
};
export type CancelOptions = CallOptions & {
  /** Whether a download keeps what it has, for another job's `resumeFrom`. */
  produceResumeData?: boolean;
};
export type EventOptions = CallOptions & {
  /** The `id` of the last event that you have seen, to go on after it. */
  lastEventId?: string;
};

/** A download that has begun. */
export interface Download {
  /** The job. */
  readonly id: string;
  /** The bytes of the file; cancelling the stream cancels the job. */
  readonly stream: ReadableStream<Uint8Array>;
}

/** The jobs of the tenant. */
export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Stores a job durably. It is a URL, or a job as the API describes it. */
  async submit(spec: types.JobSpec | string, options: SubmitOptions = {}): Promise<Job> {
    const document = typeof spec === "string" ? { request: spec } : spec;
    return jobOf(this, await this.#transport.post("/v1/jobs", document, options));
  }

  /**
   * Submits any number of jobs in constant memory; what became of each comes in their order.
   *
   * A job that is refused has a `problem` in its result and does not stop the others.
   */
  async *submitMany(specs: Iterable<BatchSpec> | AsyncIterable<BatchSpec>,
                    options: CallOptions = {}): Items<types.BatchResult> {
    let [lines, size, before]: [string[], number, number] = [[], 0, 0];
    for await (const spec of specs) {
      const line = JSON.stringify(spec);
      if (lines.length && (lines.length >= LINES || size + line.length > CHARACTERS)) {
        yield* this.#batch(lines, before, options);
        [lines, size, before] = [[], 0, before + lines.length];
      }
      lines.push(line);
      size += line.length;
    }
    if (lines.length) yield* this.#batch(lines, before, options);
  }

  async *#batch(lines: string[], before: number, options: CallOptions): Items<types.BatchResult> {
    const headers = { "Content-Type": "application/x-ndjson", "Idempotency-Key": idempotencyKey(undefined) };
    const body = `${lines.join("\n")}\n`;
    const { bytes } = await this.#transport.send({ method: "POST", target: "/v1/jobs/batch", headers, body,
                                                   isRepeatable: true, signal: options.signal });
    const answered = linesOf(new TextDecoder().decode(bytes)) as types.BatchResult[];
    for (const result of answered) yield { ...result, line: result.line + before };
    if (answered.length !== lines.length) {
      throw new InvalidAnswerError(`${lines.length} jobs were submitted, and ${answered.length} answered`);
    }
  }

  /** Submits a download, whose file comes while it runs. */
  async download(spec: types.JobSpec | string, options: CreateOptions = {}): Promise<Download> {
    const document = { ...(typeof spec === "string" ? { request: spec } : spec), kind: "download" };
    const { id } = await this.#transport.post<types.SubmittedJob>("/v1/jobs", document, options);
    const stop = async (): Promise<void> => {
      await this.#transport.post(`${of(id)}/cancel`);
    };
    const stream = streamOf((signal) => bodyOf(this.#transport, id, { signal }), options.signal, stop);
    return { id, stream };
  }

  /** The job as it stands; with `wait` once it is final, or so many seconds (60 at most) are over. */
  async get(id: string, options: CallOptions & { wait?: number } = {}): Promise<Job> {
    return jobOf(this, await this.#transport.get(of(id), options));
  }

  /** The job once it is final, however it ended. */
  async wait(id: string, options: WaitOptions = {}): Promise<SucceededJob | FailedJob | CancelledJob> {
    const { timeout, ...rest } = options;
    const deadline = Date.now() + (timeout ?? Infinity);
    while (true) {
      const left = Math.min(LONGEST_WAIT, Math.ceil((deadline - Date.now()) / 1000));
      const job = await this.get(id, left > 0 ? { ...rest, wait: left } : rest);
      if (isFinalJob(job)) return job;
      if (timeout !== undefined && Date.now() >= deadline) throw new WaitTimedOutError(id, timeout);
    }
  }

  /** The job once it succeeded; throws `JobFailedError` when it failed or was cancelled. */
  async result(id: string, options: WaitOptions = {}): Promise<SucceededJob> {
    return succeeded(await this.wait(id, options));
  }

  /** The jobs that a filter means, the newest first, over all pages; `limit` is the size of a page. */
  list(query: types.ListJobsQuery = {}, options: CallOptions = {}): Items<types.JobSummary> {
    return this.#transport.pages("/v1/jobs", query, options);
  }

  /** The jobs that a filter means, whole, the newest first. */
  async *export(query: Omit<types.ExportJobsQuery, "form"> = {},
                options: CallOptions = {}): Items<types.Job> {
    const decoder = new TextDecoder();
    let rest = "";
    const target = "/v1/jobs/export" + queryOf(query);
    for await (const chunk of this.#transport.stream({ method: "GET", target, signal: options.signal })) {
      const text = rest + decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf("\n") + 1;
      yield* linesOf(text.slice(0, end)) as types.Job[];
      rest = text.slice(end);
    }
    yield* linesOf(rest) as types.Job[];
  }

  /** Asks a job to stop. A running one ends soon, and may still succeed; a final one stays as it is. */
  async cancel(id: string, { produceResumeData, ...options }: CancelOptions = {}): Promise<Job> {
    const query = { produceResumeData };
    return jobOf(this, await this.#transport.post(`${of(id)}/cancel`, undefined, { ...options, query }));
  }

  /** Holds a job until it is resumed. */
  async suspend(id: string, options: CallOptions = {}): Promise<Job> {
    return jobOf(this, await this.#transport.post(`${of(id)}/suspend`, undefined, options));
  }

  /** Lets a suspended job go on. */
  async resume(id: string, options: CallOptions = {}): Promise<Job> {
    return jobOf(this, await this.#transport.post(`${of(id)}/resume`, undefined, options));
  }

  /** Lets a job that failed or was cancelled run again, under its id. */
  async retry(id: string, options: CallOptions = {}): Promise<Job> {
    return jobOf(this, await this.#transport.post(`${of(id)}/retry`, undefined, options));
  }

  /** Does something to all jobs of a filter, up to `limit`; `nextCursor` leads to the rest. */
  actOnAll(action: types.JobAction, options: CallOptions = {}): Promise<types.JobActionResult> {
    return this.#transport.post("/v1/jobs/actions", action, options);
  }

  /** Changes a job's `priority`, `runAt`, `labels` or speed; null takes a member away (RFC 7396). */
  async change(id: string, change: types.JobChange, options: CallOptions = {}): Promise<Job> {
    return jobOf(this, await this.#transport.patch(of(id), change, options));
  }

  /** Removes a final job with its attempts and its body. The file of a download stays. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.delete(of(id), options);
  }

  /** What happens to a job, up to `job.finished`. A connection that breaks is made anew, and goes on. */
  events(id: string, { lastEventId, signal }: EventOptions = {}): Items<JobEvent> {
    return follow(this.#transport, `${of(id)}/events`, lastEventId, signal, "job.finished");
  }

  /** The body of a job as it comes, which resumes by itself and compares its checksum at the end. */
  stream(id: string, options: BodyOptions = {}): ReadableStream<Uint8Array> {
    return streamOf((signal) => bodyOf(this.#transport, id, { ...options, signal }), options.signal);
  }

  /** Feeds a job whose request has the body `{"stream": true}`; held until the job takes it. It is not repeated. */
  async sendBody(id: string, body: Uint8Array | Blob | string, options: CallOptions = {}): Promise<void> {
    await this.#transport.send({ method: "PUT", target: `${of(id)}/body`, body, patience: LONGEST_WAIT * 1000,
                                 headers: { "Content-Type": "application/octet-stream" }, signal: options.signal });
  }

  /** What a job has asked its delegate, the oldest first. */
  questions(id: string, query: types.ListQuestionsOfJobQuery = {},
            options: CallOptions = {}): Items<types.Question> {
    return this.#transport.pages(`${of(id)}/questions`, query, options);
  }

  /** Where each value of a job's configuration comes from, and what was decided. */
  explain(id: string, options: CallOptions = {}): Promise<types.Explanation> {
    return this.#transport.get(`${of(id)}/explain`, options);
  }

  /** The attempts of a job as an HTTP Archive. */
  har(id: string, options: CallOptions = {}): Promise<types.HAR> {
    return this.#transport.get(`${of(id)}/har`, options);
  }
}

const of = (id: string): string => `/v1/jobs/${segment(id)}`;

function linesOf(text: string): unknown[] {
  return text.split("\n").filter(Boolean).map((line) => parsed(new TextEncoder().encode(line)));
}
