import { InvalidSignatureError } from "./errors.js";
import type * as types from "./types.js";

/** A message that is from the service. */
export interface WebhookMessage {
  /** The same each time the message is sent: drop what you have seen. */
  id: string;
  type: types.WebhookEvent;
  timestamp: string;
  /** What happened. */
  data: Record<string, unknown>;
}

/** A request as Node, or a framework on it, has it. `body` is what came, not what was parsed of it. */
export interface ReceivedMessage {
  headers: Headers | Record<string, string | string[] | undefined>;
  body: Uint8Array | ArrayBuffer | string;
}

export interface VerifyOptions {
  /** Seconds by which the message may be older or younger than the clock says; 300 without it. */
  tolerance?: number;
}

/**
 * The message in a request to a webhook endpoint (Standard Webhooks), or `InvalidSignatureError`.
 *
 * `secret` is that of the endpoint (`whsec_…`); give several while it is rotated.
 */
export async function verifyWebhook(secret: string | readonly string[], request: Request | ReceivedMessage,
                                    { tolerance = 300 }: VerifyOptions = {}): Promise<WebhookMessage> {
  const body = bytes(isRequest(request) ? await request.arrayBuffer() : request.body);
  const field = (name: string): string => {
    const value = fieldOf(request.headers, name);
    if (!value) throw new InvalidSignatureError(`the header ${name} is missing`);
    return value;
  };
  const [id, sent, given] = [field("webhook-id"), field("webhook-timestamp"), field("webhook-signature")];
  if (!/^[0-9]{1,15}$/.test(sent)) throw new InvalidSignatureError("webhook-timestamp is no number of seconds");
  const head = new TextEncoder().encode(`${id}.${sent}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  const signatures = given.split(" ").filter((one) => one.startsWith("v1,")).map((one) => decoded(one.slice(3)));
  const secrets = typeof secret === "string" ? [secret] : secret;
  const matches = await Promise.all(secrets.map((one) => isSigned(one, signatures, signed)));
  if (!matches.includes(true)) throw new InvalidSignatureError("no signature is that of the secret");
  if (!(Math.abs(Date.now() / 1000 - Number(sent)) <= tolerance)) {
    throw new InvalidSignatureError("the message is too old, or from the future");
  }
  try {
    const { type, timestamp, data } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (typeof type === "string" && typeof timestamp === "string" && typeof data === "object" && data) {
      return { id, type: type as types.WebhookEvent, timestamp, data };
    }
  } catch {
    // Said below.
  }
  throw new InvalidSignatureError("the message is signed, and no event");
}

function isRequest(request: Request | ReceivedMessage): request is Request {
  return "arrayBuffer" in request;
}

function fieldOf(headers: Headers | Record<string, string | string[] | undefined>, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found.join(" ") : found;
}

function bytes(body: Uint8Array | ArrayBuffer | string): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("body: the bytes or the text as they came are needed, not what was parsed of them");
}

function decoded(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

async function isSigned(secret: string, signatures: Uint8Array[], signed: Uint8Array): Promise<boolean> {
  const key = decoded(secret.replace(/^whsec_/, ""));
  if (!key.length) throw new TypeError("secret: a text that begins with whsec_ was expected");
  const subtle = await subtleCrypto();
  const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  // Each is compared in constant time.
  const results = await Promise.all(signatures.map((one) => subtle.verify("HMAC", imported, one, signed)));
  return results.includes(true);
}

async function subtleCrypto(): Promise<SubtleCrypto> {
  const { crypto } = globalThis as { crypto?: Crypto };
  // Node 18 has it in a module alone.
  return crypto?.subtle ?? (await import("node:crypto")).webcrypto.subtle;
}
