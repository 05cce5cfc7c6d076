import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { InvalidSignatureError, verifyWebhook } from "fetchd";
import { EventParser } from "../dist/events.js";
import { SHA256 } from "../dist/sha256.js";
import { all, fetchd, origin } from "./rig.mjs";

test("SHA-256 of pieces is that of the whole", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_003]) {
    const bytes = randomBytes(length);
    const hash = new SHA256();
    for (let start = 0; start < length; start += 77) hash.update(bytes.subarray(start, start + 77));
    assert.equal(Buffer.from(hash.digest()).toString("hex"), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("events are read however they are cut", () => {
  const text = ': hello\n\nid: 1.1\nevent: job.started\ndata: {"attempt":\r\ndata: 1}\n\n'
    + 'retry: 500\ndata: {}\n\ndata: {"cut": 1}\n';
  for (let size = 1; size < text.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let start = 0; start < text.length; start += size) {
      events.push(...parser.feed(text.slice(start, start + size)));
    }
    const [first, second] = [{ type: "job.started", data: { attempt: 1 } }, { type: "message", data: {} }];
    assert.deepEqual(events, [{ id: "1.1", ...first }, { id: "1.1", ...second }]);
    assert.equal(parser.retry, 500);
  }
});

test("a message of the service is verified, and no other one", async () => {
  const port = Number(process.env.RECEIVER_PORT);
  let endpoint;
  const received = new Promise((resolve) => {
    const server = createServer((request, response) => {
      const pieces = [];
      request.on("data", (piece) => pieces.push(piece)).on("end", () => {
        response.writeHead(204, { connection: "close" }).end();
        server.close();
        resolve({ headers: request.headers, body: Buffer.concat(pieces) });
      });
    }).listen(port, "127.0.0.1");
  });
  endpoint = await fetchd.webhooks.create({ url: `http://127.0.0.1:${port}/` });
  const job = await fetchd.jobs.submit({ request: `${origin}/text`, webhook: { endpoint: endpoint.id } });
  const { headers, body } = await received;
  const message = await verifyWebhook(endpoint.secret, { headers, body });
  assert.equal(message.type, "job.finished");
  assert.equal(message.data.job.id, job.id);
  const request = new Request("http://receiver/", { method: "POST", headers, body });
  assert.deepEqual(await verifyWebhook(["whsec_b3RoZXI=", endpoint.secret], request), message);
  for (const wrong of [{ headers: { ...headers, "webhook-id": "msg_other" }, body }, { headers: {}, body },
                       { headers, body: `${body} ` }, { headers: { ...headers, "webhook-timestamp": "x" }, body }]) {
    await assert.rejects(verifyWebhook(endpoint.secret, wrong), InvalidSignatureError);
  }
  await assert.rejects(verifyWebhook(endpoint.secret, { headers, body }, { tolerance: -1 }), /too old/);
  await assert.rejects(verifyWebhook(endpoint.secret, { headers, body: JSON.parse(body) }), TypeError);
  assert.deepEqual((await all(fetchd.webhooks.deliveries({ job: job.id }))).map((one) => one.id), [message.id]);
  await fetchd.webhooks.delete(endpoint.id);
});
