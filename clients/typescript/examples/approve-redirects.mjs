// approve-redirects URL…: fetches pages, and asks you about each redirect to another host.
// A load waits for your answer for four minutes, and is cancelled without one.
import { createInterface } from "node:readline/promises";
import { Fetchd } from "fetchd";

const fetchd = new Fetchd();
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const delegate = { via: "api", questions: ["willPerformHTTPRedirection"], timeout: 240,
                   otherwise: { willPerformHTTPRedirection: "cancel" } };

async function answerQuestions(group, signal) {
  for await (const question of fetchd.questions.watch({ group }, { signal })) {
    const [here, there] = [new URL(question.request.url), new URL(question.facts.proposed.url)];
    const isFollowed = here.hostname === there.hostname ||
      (await terminal.question(`${here} leads to ${there}. Follow? [y/N] `, { signal })).toLowerCase() === "y";
    await fetchd.questions.answer(question, isFollowed ? "follow" : "cancel");
  }
}

const group = await fetchd.groups.create();
const jobs = await Promise.all(process.argv.slice(2).map((request) =>
  fetchd.jobs.submit({ request, group: group.id, configuration: { delegate } })));
const over = new AbortController();
const answering = answerQuestions(group.id, over.signal).catch((error) => {
  if (!over.signal.aborted) throw error;
});
for (const job of await Promise.all(jobs.map((one) => one.wait()))) {
  console.log(job.request.url, job.state, job.response?.status ?? job.error?.name);
}
over.abort();
await answering;
terminal.close();
