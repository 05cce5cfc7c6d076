// Compiled and not run: what the types allow, and what they do not.
import type { Job, types } from "fetchd";
import { Fetchd, JobFailedError, ProblemError, verifyWebhook } from "fetchd";

export async function uses(fetchd: Fetchd, request: Request): Promise<void> {
  const job: Job = await fetchd.jobs.submit({ request: "https://example.com/" }, { wait: 10 });
  switch (job.state) {
    case "succeeded": job.response.status.toFixed(); break;
    case "failed": job.error.name.trim(); break;
    // @ts-expect-error: what goes on has no response for certain.
    case "running": job.response.status.toFixed(); break;
  }
  // @ts-expect-error: no such state.
  if (job.state === "done") return;
  // @ts-expect-error: a member that no job has.
  await fetchd.jobs.submit({ request: "https://example.com/", retries: 3 });
  // @ts-expect-error: no such filter.
  for await (const one of fetchd.jobs.list({ colour: "red" })) one.id.trim();
  const retry: types.Retry = { maximumAttempts: 5, statuses: [429, 503] };
  const other = await fetchd.jobs.submit({ request: "https://example.com/", configuration: { retry } });
  (await other.result()).response.url.trim();
  try {
    await job.result({ timeout: 1000, signal: new AbortController().signal });
  } catch (error) {
    if (error instanceof JobFailedError) error.error?.name.trim();
    if (error instanceof ProblemError && error.code === "queueFull") error.retryAfter?.toFixed();
    // @ts-expect-error: no such code.
    if (error instanceof ProblemError && error.code === "full") return;
  }
  (await verifyWebhook("whsec_", request)).type.trim();
}
