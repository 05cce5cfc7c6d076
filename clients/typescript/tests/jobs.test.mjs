import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Fetchd, JobFailedError, ProblemError, WaitTimedOutError } from "fetchd";
import { all, fetchd, held, origin } from "./rig.mjs";

const TEXT = "read by a client";

test("a job is submitted, waited for and read", async () => {
  const job = await fetchd.jobs.submit({ request: `${origin}/moved`, labels: { test: "jobs" } }, { wait: 20 });
  assert.equal(job.state, "succeeded");
  assert.equal(job.response.status, 200);
  assert.deepEqual(job.redirects.map((one) => one.location), [`${origin}/text`]);
  assert.equal(await job.text(), TEXT);
  assert.equal(JSON.parse(JSON.stringify(job)).labels.test, "jobs");
});

test("a job that was not waited for is brought up to date", async () => {
  const gate = held();
  const job = await fetchd.jobs.submit(gate.url);
  assert.equal(job.response, undefined);
  const isIt = (error) => error instanceof WaitTimedOutError && error.jobId === job.id;
  await assert.rejects(job.wait({ timeout: 0 }), isIt);
  await gate.release();
  assert.equal((await job.result({ timeout: 20_000 })).response.status, 200);
  assert.equal((await job.refresh()).state, "succeeded");
});

test("a failure is thrown with its name", async () => {
  const job = await fetchd.jobs.submit({ request: "http://127.0.0.1:9/" }, { wait: 20 });
  assert.equal(job.state, "failed");
  const isIt = (error) => error instanceof JobFailedError && error.error.name === job.error.name;
  await assert.rejects(job.result(), isIt);
  await assert.rejects(job.bytes(), isIt);
});

test("lists go over all pages, and many jobs into several requests", async () => {
  const label = randomUUID();
  function* specs() {
    for (let number = 0; number < 1100; number++) {
      const request = number === 701 ? "http://a b/" : `${origin}/${number}`;
      yield { request, runAt: "2100-01-01T00:00:00Z", labels: { l: label } };
    }
  }
  const results = await all(fetchd.jobs.submitMany(specs()));
  assert.deepEqual(results.map((one) => one.line), Array.from({ length: 1100 }, (_, index) => index + 1));
  assert.deepEqual(results.filter((one) => one.problem).map((one) => one.line), [702]);
  const ids = results.flatMap((one) => one.id ?? []).reverse();
  assert.deepEqual((await all(fetchd.jobs.list({ label: `l:${label}`, limit: 100 }))).map((one) => one.id), ids);
  assert.deepEqual((await all(fetchd.jobs.export({ label: `l:${label}` }))).map((one) => one.id), ids);
  const done = await fetchd.jobs.actOnAll({ action: "cancel", filter: { labels: { l: label } }, limit: 10 });
  assert.equal(done.changed, 10);
});

test("a job is cancelled and run again", async () => {
  const gate = held();
  const job = await fetchd.jobs.submit(gate.url);
  await job.cancel();
  await assert.rejects(job.result({ timeout: 20_000 }), JobFailedError);
  await job.retry();
  await gate.release();
  assert.equal((await job.wait({ timeout: 20_000 })).state, "succeeded");
  await assert.rejects(job.retry(), (error) => error instanceof ProblemError && error.code === "jobNotRetriable");
  await job.delete();
  await assert.rejects(job.refresh(), (error) => error.status === 404 && !error.retryable);
});

test("a job is held, changed and let go", async () => {
  const job = await fetchd.jobs.submit({ request: `${origin}/text`, suspended: true });
  assert.equal((await job.refresh()).state, "suspended");
  assert.deepEqual((await job.change({ labels: { a: "b" } })).labels, { a: "b" });
  await job.resume();
  assert.equal((await job.wait({ timeout: 20_000 })).state, "succeeded");
  assert.ok((await fetchd.jobs.har(job.id)).log);
  assert.ok(await fetchd.jobs.explain(job.id));
});

test("the same key names the same job", async () => {
  const idempotencyKey = randomUUID();
  const first = await fetchd.jobs.submit(`${origin}/text`, { idempotencyKey });
  assert.equal((await fetchd.jobs.submit(`${origin}/text`, { idempotencyKey })).id, first.id);
  assert.notEqual((await fetchd.jobs.submit(`${origin}/text`)).id, first.id);
});

test("a problem names what is wrong, and never the key", async () => {
  await assert.rejects(fetchd.jobs.submit({ request: "http://a b/" }), (error) => error instanceof ProblemError
    && error.status === 422 && error.code === "invalidInput" && error.errors[0].pointer === "/request/url"
    && error.requestId && error.message.includes("/request/url"));
  const client = new Fetchd({ key: "fk_wrong" });
  await assert.rejects(client.usage(), (error) => error.status === 401 && !JSON.stringify(error).includes("fk_wrong"));
  assert.ok(!JSON.stringify(client).includes("fk_wrong"));
});

test("a call, a wait and a stream end with a signal", async () => {
  const gate = held();
  const job = await fetchd.jobs.submit(gate.url);
  for (const use of [(signal) => job.wait({ signal }), (signal) => job.bytes({ signal }),
                     (signal) => all(job.events({ signal })),
                     (signal) => all(fetchd.questions.watch({ job: job.id }, { signal }))]) {
    await assert.rejects(use(AbortSignal.timeout(200)), { name: "TimeoutError" });
  }
  await assert.rejects(fetchd.usage({ signal: AbortSignal.abort() }), { name: "AbortError" });
  await gate.release();
});

test("a question is watched for and answered", async () => {
  const delegate = { via: "api", questions: ["willPerformHTTPRedirection"], timeout: 30 };
  const job = await fetchd.jobs.submit({ request: `${origin}/moved`, configuration: { delegate } });
  for await (const question of fetchd.questions.watch({ job: job.id })) {
    const answered = await fetchd.questions.answer(question, "follow", { note: "It is ours." });
    assert.equal(answered.note, "It is ours.");
    await assert.rejects(fetchd.questions.answer(question.id, "cancel"), (error) => error.status === 409);
    break;
  }
  assert.equal(await (await job.result({ timeout: 20_000 })).text(), TEXT);
  assert.equal((await all(job.questions())).length, 1);
});

test("groups, schedules and sessions have their jobs", async () => {
  const group = await fetchd.groups.create({ labels: { a: "b" } });
  const session = await fetchd.sessions.create({ configuration: { redirects: { policy: "return" } } });
  const spec = { request: `${origin}/moved`, group: group.id, session: session.id };
  const job = await fetchd.jobs.submit(spec, { wait: 20 });
  assert.equal(job.response.status, 302);
  await fetchd.groups.close(group.id);
  assert.equal((await fetchd.groups.get(group.id)).jobs.succeeded, 1);
  assert.ok(["cancelling", "invalidated"].includes((await fetchd.sessions.invalidate(session.id, "cancel")).state));
  const schedule = await fetchd.schedules.create({ interval: 3600, job: { request: `${origin}/text` } });
  assert.equal((await fetchd.jobs.wait((await fetchd.schedules.run(schedule.id)).id)).state, "succeeded");
  assert.equal((await fetchd.schedules.pause(schedule.id)).state, "paused");
  assert.ok((await all(fetchd.schedules.list())).some((one) => one.id === schedule.id));
  await fetchd.schedules.delete(schedule.id);
  await fetchd.request("PUT", "/v1/flows/typescript", { parallelism: 2 });
  assert.equal((await fetchd.request("GET", "/v1/flows/typescript")).parallelism, 2);
  await fetchd.request("DELETE", "/v1/flows/typescript");
});
