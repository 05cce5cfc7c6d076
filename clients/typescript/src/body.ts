import { ConnectionFailedError, DigestMismatchError, InterruptedBodyError, JobFailedError, ProblemError,
         WaitTimedOutError } from "./errors.js";
import type { CallOptions, Items } from "./requests.js";
import { LONGEST_WAIT, segment } from "./requests.js";
import { digestField, SHA256, sha256Of } from "./sha256.js";
import type { Transport } from "./transport.js";
import { pause, pauseBeforeRepeat } from "./transport.js";
import type * as types from "./types.js";

/** How a body is read. */
export interface BodyOptions extends CallOptions {
  /** Milliseconds to wait until there is a body to read; as long as it takes without it. */
  timeout?: number;
}

/**
 * The bytes of a job's body, which come while the job runs.
 *
 * A connection that breaks is made anew, and the body goes on where it was. At its end its SHA-256 is compared with the
 * one that the service has.
 */
export async function* bodyOf(transport: Transport, job: string,
                              { timeout, signal }: BodyOptions = {}): Items<Uint8Array> {
  const target = `/v1/jobs/${segment(job)}`;
  const began = Date.now();
  const hash = new SHA256();
  let [offset, failures, waits, missing] = [0, 0, 0, 0];
  let tag: string | null = null;
  let digest: string | undefined;

  const current = (wait?: number): Promise<types.Job> => transport.get(target, { wait, ...(signal && { signal }) });
  const throwIfFailed = (state: types.Job): void => {
    if (state.state === "failed" || state.state === "cancelled") throw new JobFailedError(state);
  };
  /** What one connection brings from the offset on. */
  async function* connection(): Items<Uint8Array> {
    const headers: Record<string, string> = { "Accept-Encoding": "identity" };
    if (offset && tag) Object.assign(headers, { Range: `bytes=${offset}-`, "If-Range": tag });
    let skipped = 0;
    const chunks = transport.stream({ method: "GET", target: `${target}/body`, headers, signal }, (response) => {
      const other = response.headers.get("etag");
      if (offset && tag && other !== tag) {
        throw new InterruptedBodyError("the body was replaced by another one meanwhile", offset);
      }
      tag = other;
      digest = sha256Of(response.headers.get("repr-digest")) ?? digest;
      // While a job runs its body comes from the start, whatever range was asked for.
      skipped = response.status === 200 ? offset : 0;
    });
    for await (const chunk of chunks) {
      const rest = chunk.subarray(skipped);
      skipped -= chunk.length - rest.length;
      if (rest.length) yield rest;
    }
  }

  while (true) {
    const before = offset;
    try {
      for await (const chunk of connection()) {
        offset += chunk.length;
        hash.update(chunk);
        yield chunk;
      }
      if (digest === undefined) {
        // The job was running when its body began, so that nobody knew.
        const state = await current(LONGEST_WAIT);
        throwIfFailed(state);
        // Not every `fetch` tells that a connection broke.
        if (state.body && offset < state.body.bytes) throw new ConnectionFailedError("the body ended early");
        digest = sha256Of(state.body?.digest);
      }
      break;
    } catch (failure) {
      if (failure instanceof ProblemError) {
        if (failure.status === 416 && offset) break;
        if (failure.status !== 404 && failure.status !== 409) throw failure;
        throwIfFailed(await current());
        // As a download ends its file is in neither place for an instant.
        if (failure.status === 404) missing++;
        const mayCome = failure.code === "jobNotFinal" || failure.code === "notFound";
        if (!mayCome || missing > transport.retries) throw failure;
        if (timeout !== undefined && Date.now() - began > timeout) throw new WaitTimedOutError(job, timeout);
        await pause(Math.min(1000, 50 * 1.5 ** Math.min(waits++, 20)), signal);
      } else if (failure instanceof ConnectionFailedError) {
        failures = offset > before ? 0 : failures + 1;
        if (failures > transport.retries) {
          throw new InterruptedBodyError(`the body broke off at byte ${offset}`, offset, { cause: failure });
        }
        await pauseBeforeRepeat(failures, signal);
      } else {
        throw failure;
      }
    }
  }
  if (digest !== undefined && digest !== digestField(hash.digest())) {
    throw new DigestMismatchError(`${offset} bytes have come, and they are not those of the body`);
  }
}

/** A stream of what a generator gives; `onCancel` is called when its reader wants no more of it. */
export function streamOf(make: (signal: AbortSignal) => Items<Uint8Array>, given?: AbortSignal,
                         onCancel: () => Promise<void> = async () => {}): ReadableStream<Uint8Array> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(given?.reason);
  if (given?.aborted) onAbort();
  given?.addEventListener("abort", onAbort, { once: true });
  const chunks = make(controller.signal);
  return new ReadableStream<Uint8Array>({
    async pull(stream) {
      const { done, value } = await chunks.next();
      if (done) {
        given?.removeEventListener("abort", onAbort);
        stream.close();
      } else {
        stream.enqueue(value);
      }
    },
    async cancel(reason) {
      given?.removeEventListener("abort", onAbort);
      controller.abort(reason);
      await chunks.return(undefined).catch(() => {});
      await onCancel();
    },
  }, { highWaterMark: 0 });
}

/** All of a stream. */
export async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
