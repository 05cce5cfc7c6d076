// nightly-batch FILE: fetches the URLs of a file, one a line, once a day however often it is started.
// A line's key is the day and the URL: a second run on a day, after a crash for example, finds the jobs of the first.
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { Fetchd } from "fetchd";

const day = new Date().toISOString().slice(0, 10);
const retry = { maximumAttempts: 4, statuses: [429, 500, 502, 503] };

async function* specs(path) {
  const file = await open(path);
  for await (const line of file.readLines()) {
    const request = line.trim();
    const idempotencyKey = createHash("sha256").update(`${day} ${request}`).digest("hex");
    if (request) yield { request, idempotencyKey, labels: { batch: day }, configuration: { retry } };
  }
}

const fetchd = new Fetchd();
const ids = [];
for await (const { line, id, problem } of fetchd.jobs.submitMany(specs(process.argv[2]))) {
  if (id) ids.push(id);
  else console.error(`line ${line}: ${problem.title}`);
}
for (const id of ids) {
  const job = await fetchd.jobs.wait(id);
  console.log(job.id, job.state, job.response?.status ?? job.error?.name);
}
