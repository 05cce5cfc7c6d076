import { ConnectionFailedError, InvalidAnswerError, ProblemError } from "./errors.js";
import type { Items } from "./requests.js";
import type { Transport } from "./transport.js";
import { pause, pauseBeforeRepeat } from "./transport.js";
import type * as types from "./types.js";

/** What happened. */
export interface JobEvent {
  /** Where to go on after it: `lastEventId`. */
  id: string | undefined;
  /** Such as `job.progress`. */
  type: types.WebhookEvent;
  data: Record<string, unknown>;
}

/** Text in, events out. An event that is not ended by an empty line does not count. */
export class EventParser {
  #rest = "";
  #id: string | undefined;
  #type = "message";
  #data: string[] = [];
  /** Milliseconds that the server wants clients to wait before they come back. */
  retry: number | undefined;

  *feed(text: string): Generator<JobEvent, void, undefined> {
    const lines = (this.#rest + text).split(/\r\n|\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = line === "" ? this.#dispatch() : this.#take(line);
      if (event) yield event;
    }
  }

  #take(line: string): undefined {
    const [, name, value] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "data") this.#data.push(value ?? "");
    else if (name === "event") this.#type = value ?? "";
    else if (name === "id") this.#id = value || undefined;
    else if (name === "retry" && /^[0-9]{1,8}$/.test(value ?? "")) this.retry = Number(value);
    return undefined;
  }

  #dispatch(): JobEvent | undefined {
    const [type, data] = [this.#type, this.#data];
    [this.#type, this.#data] = ["message", []];
    if (!data.length) return undefined;
    try {
      return { id: this.#id, type: type as types.WebhookEvent, data: JSON.parse(data.join("\n")) };
    } catch (cause) {
      throw new InvalidAnswerError("the data of an event is no JSON", { cause });
    }
  }
}

/** The events after the last one that was seen, up to one of the type `final`, over as many connections as it takes. */
export async function* follow(transport: Transport, target: string, lastEventId?: string, signal?: AbortSignal,
                              final?: types.WebhookEvent): Items<JobEvent> {
  let failures = 0;
  while (true) {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastEventId !== undefined) headers["Last-Event-ID"] = lastEventId;
    // What is half there when the connection breaks comes again.
    const parser = new EventParser();
    const decoder = new TextDecoder();
    let isOver = false;
    let delay: number | undefined;
    try {
      const chunks = transport.stream({ method: "GET", target, headers, signal }, (response) => {
        isOver = response.status === 204;
      });
      for await (const chunk of chunks) {
        for (const event of parser.feed(decoder.decode(chunk, { stream: true }))) {
          lastEventId = event.id ?? lastEventId;
          failures = 0;
          yield event;
          if (event.type === final) return;
        }
      }
      if (isOver) return;
      delay = parser.retry;
    } catch (failure) {
      const isRefused = failure instanceof ProblemError && failure.retryable;
      if (!(failure instanceof ConnectionFailedError || isRefused) || failures >= transport.retries) throw failure;
      if (failure instanceof ProblemError && failure.retryAfter !== undefined) delay = failure.retryAfter * 1000;
    }
    // The stream ends with the service too, which may be there again soon.
    await (delay === undefined ? pauseBeforeRepeat(failures, signal) : pause(delay, signal));
    failures++;
  }
}
