// follow-download URL FILE: downloads a file, tells how far it is, and compares its checksum.
// The service resumes the download when its connection breaks, and the client resumes its own.
import { Fetchd } from "fetchd";
import { save } from "fetchd/node";

const [url, path] = process.argv.slice(2);
const fetchd = new Fetchd();
const configuration = { retry: { maximumAttempts: 5 } };
const job = await fetchd.jobs.submit({ kind: "download", request: url, configuration });
for await (const { type, data } of job.events()) {
  if (type === "job.progress") console.log(`${data.bytesReceived} of ${data.bytesExpectedToReceive ?? "?"} bytes`);
}
await job.result();
await save(job.stream(), path);
console.log(path);
