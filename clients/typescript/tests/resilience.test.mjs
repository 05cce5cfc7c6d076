import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CallTimedOutError, ConnectionFailedError, Fetchd, InterruptedBodyError, JobFailedError } from "fetchd";
import { save } from "fetchd/node";
import { all, fetchd, front, held, origin } from "./rig.mjs";

const SIZE = 300_000;

async function inFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "fetchd-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("an answer that is lost makes no second job", async () => {
  const label = randomUUID();
  const { client, seen } = front("lost", 2);
  const job = await client.jobs.submit({ request: `${origin}/text`, labels: { l: label } });
  assert.deepEqual((await all(fetchd.jobs.list({ label: `l:${label}` }))).map((one) => one.id), [job.id]);
  const keys = (await seen()).map((one) => one.key);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.ok(keys[0]);
});

test("a refusal is repeated when the service says, and repeats have an end", async () => {
  const first = front("refused", 3);
  assert.ok((await first.client.jobs.submit(`${origin}/text`)).id);
  assert.equal((await first.seen()).length, 4);
  const second = front("refused", 9, 0, { retries: 1 });
  await assert.rejects(second.client.usage(), (error) => error.status === 503 && error.retryable);
  assert.equal((await second.seen()).length, 2);
});

test("what must not come twice is not repeated", async () => {
  const { client, seen } = front("lost", 1);
  await assert.rejects(client.webhooks.create({ url: "https://example.com/hook" }), ConnectionFailedError);
  assert.equal((await seen()).length, 1);
});

test("a service that is away or silent is an error of the connection", async () => {
  const away = new Fetchd({ url: "http://127.0.0.1:9", retries: 0 });
  // Some ports fetch refuses itself.
  await assert.rejects(away.usage(), ConnectionFailedError);
  const gate = held();
  await assert.rejects(new Fetchd({ url: gate.url, timeout: 300, retries: 0 }).usage(), CallTimedOutError);
  await gate.release();
});

test("a body goes on where it was cut, and a file appears once it is complete", () => inFolder(async (folder) => {
  const job = await fetchd.jobs.submit(`${origin}/big?bytes=${SIZE}`, { wait: 20 });
  const { client, seen } = front("cut", 2, 130_000);
  await save(client.jobs.stream(job.id), join(folder, "big"));
  // What has come when a connection breaks is not always given out.
  const [first, ...others] = (await seen()).map((one) => one.range);
  assert.equal(first, null);
  assert.equal(others.length, 2);
  for (const range of others) assert.match(range, /^bytes=[1-9][0-9]*-$/);
  const digest = createHash("sha256").update(await readFile(join(folder, "big"))).digest("base64");
  assert.equal(job.body.digest, `sha-256=:${digest}:`);
  const broken = front("cut", 9, 0, { retries: 1 });
  await assert.rejects(save(broken.client.jobs.stream(job.id), join(folder, "other")), InterruptedBodyError);
  assert.deepEqual(await readdir(folder), ["big"]);
}));

test("a download comes while it runs, also when it is cut", async () => {
  const { client } = front("cut", 4, 50_000);
  const { id, stream } = await client.jobs.download(`${origin}/big?bytes=${SIZE}&milliseconds=5`);
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  assert.equal(bytes.length, SIZE);
  assert.ok((await fetchd.jobs.wait(id)).file);
});

test("cancelling the stream of a download cancels it", async () => {
  const { id, stream } = await fetchd.jobs.download(`${origin}/big?bytes=100000000&milliseconds=5`);
  const reader = stream.getReader();
  assert.ok((await reader.read()).value.length);
  await reader.cancel();
  assert.equal((await fetchd.jobs.wait(id, { timeout: 20_000 })).state, "cancelled");
  const failing = await fetchd.jobs.download("http://127.0.0.1:9/");
  await assert.rejects(new Response(failing.stream).arrayBuffer(), JobFailedError);
});

test("events go on after a cut, and after the last one that was seen", async () => {
  // The first request is the submission, whose answer is shorter than the cut.
  const { client, seen } = front("cut", 3, 200);
  const job = await client.jobs.submit({ request: `${origin}/big?bytes=${SIZE}&milliseconds=20`, kind: "download" });
  const events = await all(job.events());
  const ids = events.filter((one) => one.type !== "job.progress").map((one) => one.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(events.at(-1).type, "job.finished");
  assert.equal(events.at(-1).data.id, job.id);
  assert.ok((await seen()).some((one) => one.last));
  assert.deepEqual(await all(fetchd.jobs.events(job.id, { lastEventId: events.at(-1).id })), []);
});

test("a blob is stored, sent and read", async () => {
  const blob = await fetchd.blobs.create("hello", { contentType: "text/plain" });
  const request = { url: `${origin}/echo`, method: "POST", body: { blob: blob.id } };
  const job = await fetchd.jobs.submit({ kind: "upload", request }, { wait: 20 });
  assert.equal(await job.text(), "hello");
  assert.deepEqual(await fetchd.blobs.bytes(blob.id), new TextEncoder().encode("hello"));
  await fetchd.blobs.delete(blob.id);
  await assert.rejects(fetchd.blobs.bytes(blob.id), (error) => error.status === 404);
});

test("an upload goes on when an answer is lost", async () => {
  const content = randomBytes((16 << 20) + 1);
  for (const spared of [0, 1, 2]) {
    const blob = await front("lost", 1, spared).client.blobs.upload(new Blob([content]));
    assert.ok(content.equals(await fetchd.blobs.bytes(blob.id)));
  }
  await assert.rejects(front("lost", 1, 2).client.blobs.upload(new Blob([content.subarray(0, 8 << 20)])),
                       ConnectionFailedError);
});

test("a body is sent to a job that waits for it", async () => {
  const job = await fetchd.jobs.submit({ request: { url: `${origin}/echo`, method: "POST", body: { stream: true } } });
  await fetchd.jobs.sendBody(job.id, "abcdef");
  assert.equal(await (await job.result({ timeout: 20_000 })).text(), "abcdef");
});
