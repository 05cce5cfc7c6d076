import type { JobEvent } from "./events.js";
import { follow } from "./events.js";
import type { CallOptions, Items } from "./requests.js";
import { segment } from "./requests.js";
import type { Transport } from "./transport.js";
import type * as types from "./types.js";

/** Where events are sent, and what became of each message. Messages are verified by `verifyWebhook`. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Registers an endpoint. Its `secret` is shown this once, so the call is not repeated by itself. */
  create(spec: types.WebhookEndpointSpec, options: CallOptions = {}): Promise<types.NewWebhookEndpoint> {
    return this.#transport.post("/v1/webhooks/endpoints", spec, { ...options, isRepeatable: false });
  }

  list(options: CallOptions = {}): Items<types.WebhookEndpoint> {
    return this.#transport.pages("/v1/webhooks/endpoints", {}, options);
  }

  /** An endpoint, without its secret. */
  get(id: string, options: CallOptions = {}): Promise<types.WebhookEndpoint> {
    return this.#transport.get(this.#of(id), options);
  }

  change(id: string, patch: types.WebhookEndpointPatch, options: CallOptions = {}): Promise<types.WebhookEndpoint> {
    return this.#transport.patch(this.#of(id), patch, options);
  }

  /** Makes a new secret, shown this once; messages have signatures of both for a while. */
  rotate(id: string, rotation: types.SecretRotation = {},
         options: CallOptions = {}): Promise<types.NewWebhookEndpoint> {
    return this.#transport.post(`${this.#of(id)}/rotate`, rotation, { ...options, isRepeatable: false });
  }

  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.delete(this.#of(id), options);
  }

  /**
   * The events of an endpoint that is polled, without end: behind the one with `lastEventId`, or from the first one that
   * is kept. The `data` of an event is its message: an object with `type`, `timestamp` and `data`.
   */
  events(id: string, { lastEventId, signal }: { lastEventId?: string; signal?: AbortSignal } = {}): Items<JobEvent> {
    return follow(this.#transport, `${this.#of(id)}/events`, lastEventId, signal);
  }

  /** The messages, the newest first, over all pages. */
  deliveries(query: types.ListWebhookDeliveriesQuery = {},
             options: CallOptions = {}): Items<types.WebhookDelivery> {
    return this.#transport.pages("/v1/webhooks/deliveries", query, options);
  }

  /** A message with every attempt to deliver it. */
  delivery(id: string, options: CallOptions = {}): Promise<types.WholeWebhookDelivery> {
    return this.#transport.get(`/v1/webhooks/deliveries/${segment(id)}`, options);
  }

  /** Sends a message again. */
  replay(id: string, options: CallOptions = {}): Promise<types.WholeWebhookDelivery> {
    return this.#transport.post(`/v1/webhooks/deliveries/${segment(id)}/replay`, undefined, options);
  }

  /** Sends again what an endpoint did not accept. */
  replayFailed(replay: types.DeliveryReplay, options: CallOptions = {}): Promise<types.DeliveryReplayed> {
    return this.#transport.post("/v1/webhooks/deliveries/replay", replay, options);
  }

  #of(id: string): string {
    return `/v1/webhooks/endpoints/${segment(id)}`;
  }
}
