import { ConnectionFailedError, DigestMismatchError, ProblemError } from "./errors.js";
import type { CallOptions, CreateOptions } from "./requests.js";
import { idempotencyKey, queryOf, segment, uploadTarget } from "./requests.js";
import { digestField, SHA256, sha256, sha256Of } from "./sha256.js";
import type { Transport } from "./transport.js";
import { parsed, pauseBeforeRepeat } from "./transport.js";
import type * as types from "./types.js";

/** A part of an upload; what is smaller goes in one request. */
const PART = 8 << 20;

export type BlobOptions = CreateOptions & {
  /** The type that it is sent with. */
  contentType?: string;
  /** After how many seconds it is removed. */
  expiresAfter?: number;
};

/** Bytes for jobs to send, and files that they downloaded. */
export class Blobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Stores bytes, and has the service compare their checksum. */
  async create(data: Uint8Array | string, options: BlobOptions = {}): Promise<types.Blob> {
    const body = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const { bytes } = await this.#transport.send({
      method: "POST", target: this.#target(options), body, isRepeatable: true, signal: options.signal,
      headers: { "Content-Type": options.contentType ?? "application/octet-stream",
                 "Content-Digest": digestField(sha256(body)),
                 "Idempotency-Key": idempotencyKey(options.idempotencyKey) },
    });
    return parsed(bytes) as types.Blob;
  }

  /**
   * Stores a file of any size in parts, and goes on where it was when a connection breaks.
   *
   * When the very last answer is lost the service has the blob and nobody knows its id: `ConnectionFailedError` is
   * thrown, and the upload is to be made again.
   */
  async upload(file: Blob, options: Omit<BlobOptions, "idempotencyKey"> = {}): Promise<types.Blob> {
    const contentType = options.contentType ?? (file.type || "application/octet-stream");
    if (file.size < PART) return this.create(new Uint8Array(await file.arrayBuffer()), { ...options, contentType });
    // An upload that was begun twice is forgotten after a week.
    const { headers } = await this.#transport.send({
      method: "POST", target: this.#target(options), isRepeatable: true, signal: options.signal,
      headers: { "Content-Type": contentType, "Upload-Complete": "?0" },
    });
    const blob = await this.#append(file, uploadTarget(headers.get("location")), options.signal);
    const hash = new SHA256();
    for (let start = 0; start < file.size; start += PART) {
      hash.update(new Uint8Array(await file.slice(start, start + PART).arrayBuffer()));
    }
    if (sha256Of(blob.digest) !== digestField(hash.digest())) {
      throw new DigestMismatchError(`blob ${blob.id} is not what the file has`);
    }
    return blob;
  }

  async #append(file: Blob, target: string, signal: AbortSignal | undefined): Promise<types.Blob> {
    let [offset, failures] = [0, 0];
    while (true) {
      const isLast = file.size - offset < PART;
      const headers = { "Content-Type": "application/partial-upload", "Upload-Offset": String(offset),
                        "Upload-Complete": isLast ? "?1" : "?0" };
      try {
        const body = new Uint8Array(await file.slice(offset, offset + PART).arrayBuffer());
        const { bytes } = await this.#transport.send({ method: "PATCH", target, body, headers, signal });
        if (isLast) return parsed(bytes) as types.Blob;
        offset += PART;
        failures = 0;
      } catch (failure) {
        const mayRepeat = failure instanceof ConnectionFailedError ||
          (failure instanceof ProblemError && failure.code === "uploadOffsetMismatch");
        if (!mayRepeat || ++failures > this.#transport.retries) throw failure;
        await pauseBeforeRepeat(failures, signal);
        offset = await this.#offset(target, signal).catch((other) => {
          // It is complete, and the answer that named the blob was lost.
          throw other instanceof ProblemError && other.status === 404 ? failure : other;
        });
      }
    }
  }

  async #offset(target: string, signal: AbortSignal | undefined): Promise<number> {
    const { headers } = await this.#transport.send({ method: "HEAD", target, isRepeatable: true, signal });
    return Number(headers.get("upload-offset"));
  }

  /** The bytes of a blob, compared with its checksum. */
  async bytes(id: string, options: CallOptions = {}): Promise<Uint8Array> {
    const target = `/v1/blobs/${segment(id)}`;
    const answer = await this.#transport.send({ method: "GET", target, isRepeatable: true, signal: options.signal });
    const digest = sha256Of(answer.headers.get("repr-digest"));
    if (digest !== undefined && digest !== digestField(sha256(answer.bytes))) {
      throw new DigestMismatchError(`the bytes of blob ${id} are not those that were stored`);
    }
    return answer.bytes;
  }

  /** Removes a blob, unless a job that is not final sends it. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.delete(`/v1/blobs/${segment(id)}`, options);
  }

  #target({ expiresAfter }: BlobOptions): string {
    return "/v1/blobs" + queryOf({ expiresAfter });
  }
}
