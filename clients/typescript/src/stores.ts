import type { CallOptions, CreateOptions, Items } from "./requests.js";
import { segment } from "./requests.js";
import type { Transport } from "./transport.js";
import type * as types from "./types.js";

/** Jobs that are made when their times come. */
export class Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(spec: types.ScheduleSpec, options: CreateOptions = {}): Promise<types.Schedule> {
    return this.#transport.post("/v1/schedules", spec, options);
  }

  list(query: types.ListSchedulesQuery = {}, options: CallOptions = {}): Items<types.Schedule> {
    return this.#transport.pages("/v1/schedules", query, options);
  }

  get(id: string, options: CallOptions = {}): Promise<types.Schedule> {
    return this.#transport.get(this.#of(id), options);
  }

  /** Changes members of a schedule; null takes one away (RFC 7396). */
  change(id: string, patch: types.SchedulePatch, options: CallOptions = {}): Promise<types.Schedule> {
    return this.#transport.patch(this.#of(id), patch, options);
  }

  /** Makes no jobs until it is resumed. */
  pause(id: string, options: CallOptions = {}): Promise<types.Schedule> {
    return this.#transport.post(`${this.#of(id)}/pause`, undefined, options);
  }

  /** Makes jobs again. */
  resume(id: string, options: CallOptions = {}): Promise<types.Schedule> {
    return this.#transport.post(`${this.#of(id)}/resume`, undefined, options);
  }

  /** Makes a job now, besides those of its times. */
  run(id: string, options: CallOptions = {}): Promise<types.SubmittedJob> {
    return this.#transport.post(`${this.#of(id)}/run`, undefined, options);
  }

  /** Removes a schedule; its jobs stay. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.delete(this.#of(id), options);
  }

  #of(id: string): string {
    return `/v1/schedules/${segment(id)}`;
  }
}

/** Jobs that belong together, and one event for the end of all. */
export class Groups {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(spec: types.GroupSpec = {}, options: CreateOptions = {}): Promise<types.Group> {
    return this.#transport.post("/v1/groups", spec, options);
  }

  list(query: types.ListGroupsQuery = {}, options: CallOptions = {}): Items<types.Group> {
    return this.#transport.pages("/v1/groups", query, options);
  }

  /** A group, with how many of its jobs are in each state. */
  get(id: string, options: CallOptions = {}): Promise<types.Group> {
    return this.#transport.get(this.#of(id), options);
  }

  /** Lets it take no more jobs; `group.finished` is sent when all of them are final. */
  close(id: string, options: CallOptions = {}): Promise<types.Group> {
    return this.#transport.post(`${this.#of(id)}/close`, undefined, options);
  }

  /** Removes a group that is finished; its jobs stay. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.delete(this.#of(id), options);
  }

  #of(id: string): string {
    return `/v1/groups/${segment(id)}`;
  }
}

/** A configuration and stores that jobs share. */
export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(spec: types.SessionSpec = {}, options: CreateOptions = {}): Promise<types.Session> {
    return this.#transport.post("/v1/sessions", spec, options);
  }

  list(query: types.ListSessionsQuery = {}, options: CallOptions = {}): Items<types.Session> {
    return this.#transport.pages("/v1/sessions", query, options);
  }

  /** A session as it stands; `default` is the default one. */
  get(id: string, options: CallOptions = {}): Promise<types.Session> {
    return this.#transport.get(this.#of(id), options);
  }

  /** Lets it take no more jobs; those there are go on, or are cancelled. */
  invalidate(id: string, mode: "finish" | "cancel" = "finish", options: CallOptions = {}): Promise<types.Session> {
    return this.#transport.post(`${this.#of(id)}/invalidate`, undefined, { ...options, query: { mode } });
  }

  /** The events of a background session, the earliest first. */
  events(id: string, query: types.ListSessionEventsQuery = {}, options: CallOptions = {}): Items<types.SessionEvent> {
    return this.#transport.pages(`${this.#of(id)}/events`, query, options);
  }

  /** Says that the events of a background session were dealt with. */
  acknowledge(id: string, options: CallOptions = {}): Promise<types.Session> {
    return this.#transport.post(`${this.#of(id)}/acknowledge`, undefined, options);
  }

  /** Removes a session that is invalidated. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.delete(this.#of(id), options);
  }

  #of(id: string): string {
    return `/v1/sessions/${segment(id)}`;
  }
}
