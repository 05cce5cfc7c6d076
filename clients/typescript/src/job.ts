import { bytesOf } from "./body.js";
import type { BodyOptions } from "./body.js";
import { JobFailedError } from "./errors.js";
import type { JobEvent } from "./events.js";
import type { Jobs, CancelOptions, EventOptions, WaitOptions } from "./jobs.js";
import type { CallOptions, Items } from "./requests.js";
import { isFinal } from "./requests.js";
import type * as types from "./types.js";

/** What every job has; all else is there once the service has told of it, which a submission does not wait for. */
type Members = Partial<Omit<types.Job, "id" | "state">> & { readonly id: string };

/** A job that succeeded: a response arrived, with whatever status. */
export type SucceededJob = JobMethods & Members & { readonly state: "succeeded"; response: types.Response };
/** A job that failed. */
export type FailedJob = JobMethods & Members & { readonly state: "failed"; error: types.LoadError };
/** A job that was cancelled. */
export type CancelledJob = JobMethods & Members & { readonly state: "cancelled" };
/** A job that goes on. */
export type UnfinishedJob = JobMethods & Members & {
  readonly state: Exclude<types.JobState, "succeeded" | "failed" | "cancelled">;
};

/** A job as the service told of it last, with the members that the API has; `state` tells which kind it is. */
export type Job = SucceededJob | FailedJob | CancelledJob | UnfinishedJob;

/** What can be done with a job. Each method gives the job as it is then, and leaves this one as it is. */
export class JobMethods {
  readonly #jobs: Jobs;
  readonly #id: string;

  constructor(jobs: Jobs, document: Pick<types.Job, "id">) {
    this.#jobs = jobs;
    this.#id = document.id;
    Object.assign(this, document);
  }

  /** The job as it stands; with `wait` once it is final, or so many seconds (60 at most) are over. */
  refresh(options?: CallOptions & { wait?: number }): Promise<Job> {
    return this.#jobs.get(this.#id, options);
  }

  /** The job once it is final, however it ended. */
  wait(options?: WaitOptions): Promise<SucceededJob | FailedJob | CancelledJob> {
    return this.#jobs.wait(this.#id, options);
  }

  /** The job once it succeeded; throws `JobFailedError` when it failed or was cancelled. */
  result(options?: WaitOptions): Promise<SucceededJob> {
    return this.#jobs.result(this.#id, options);
  }

  /** Asks it to stop. */
  cancel(options?: CancelOptions): Promise<Job> {
    return this.#jobs.cancel(this.#id, options);
  }

  /** Holds it until it is resumed. */
  suspend(options?: CallOptions): Promise<Job> {
    return this.#jobs.suspend(this.#id, options);
  }

  /** Lets it go on after `suspend`. */
  resume(options?: CallOptions): Promise<Job> {
    return this.#jobs.resume(this.#id, options);
  }

  /** Lets it run again after it failed or was cancelled. */
  retry(options?: CallOptions): Promise<Job> {
    return this.#jobs.retry(this.#id, options);
  }

  /** Changes its priority, time, labels or speed. */
  change(change: types.JobChange, options?: CallOptions): Promise<Job> {
    return this.#jobs.change(this.#id, change, options);
  }

  /** Removes it with its attempts and its body, once it is final. */
  delete(options?: CallOptions): Promise<void> {
    return this.#jobs.delete(this.#id, options);
  }

  /** What happens to it, up to `job.finished`; goes on when a connection breaks. */
  events(options?: EventOptions): Items<JobEvent> {
    return this.#jobs.events(this.#id, options);
  }

  /** Its body as it comes; goes on when a connection breaks, and compares its checksum at the end. */
  stream(options?: BodyOptions): ReadableStream<Uint8Array> {
    return this.#jobs.stream(this.#id, options);
  }

  /** All of its body. */
  bytes(options?: BodyOptions): Promise<Uint8Array> {
    return bytesOf(this.stream(options));
  }

  /** All of its body, as UTF-8. */
  async text(options?: BodyOptions): Promise<string> {
    return new TextDecoder().decode(await this.bytes(options));
  }

  /** All of its body, as JSON. */
  async json(options?: BodyOptions): Promise<unknown> {
    return JSON.parse(await this.text(options));
  }

  /** What it has asked its delegate, the oldest first. */
  questions(query?: types.ListQuestionsOfJobQuery, options?: CallOptions): Items<types.Question> {
    return this.#jobs.questions(this.#id, query, options);
  }
}

export function jobOf(jobs: Jobs, document: types.Job | types.SubmittedJob): Job {
  return new JobMethods(jobs, document) as Job;
}

/** The job, if it succeeded. */
export function succeeded(job: Job): SucceededJob {
  if (job.state === "succeeded") return job;
  // Only what is final comes here, and the service has told all of that.
  throw new JobFailedError(job as unknown as types.Job);
}

export const isFinalJob = (job: Job): job is SucceededJob | FailedJob | CancelledJob => isFinal(job.state);
