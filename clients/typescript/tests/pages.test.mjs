// What people copy: the examples of the README, compiled and run, and the programs in examples/.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fetchd, origin } from "./rig.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = join(root, "dist/pages");
let folder;

before(async () => { folder = await mkdtemp(join(tmpdir(), "fetchd-")); });
after(() => rm(folder, { recursive: true }));

async function run(program, ...parameters) {
  // Longer than the client lets a stream be silent, so that it is the client that tells what did not come.
  const options = { cwd: folder, timeout: 180_000 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...parameters], options)
    .catch((error) => assert.fail(`${error.message}\nended by ${error.signal ?? error.code} after:\n${error.stdout}`));
  assert.equal(stderr, "");
  return stdout;
}

const example = (name) => join(root, "examples", name);

test("the examples of the page compile and run", async () => {
  const text = await readFile(join(root, "README.md"), "utf8");
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((found) => found[1]);
  assert.ok(blocks.length >= 5);
  await rm(pages, { recursive: true, force: true });
  await mkdir(pages, { recursive: true });
  const names = blocks.map((_, index) => `example${index + 1}`);
  await Promise.all(blocks.map((code, index) => writeFile(join(pages, `${names[index]}.ts`),
                                                          code.replaceAll("https://example.com", origin))));
  const options = { rootDir: ".", outDir: "out", declaration: false };
  await writeFile(join(pages, "tsconfig.json"),
                  JSON.stringify({ extends: "../../tsconfig.json", compilerOptions: options, include: ["*.ts"] }));
  await promisify(execFile)("tsc", ["-p", pages]).catch((error) => assert.fail(error.stdout));
  for (const name of names) await run(join(pages, "out", `${name}.js`));
});

test("a webhook is verified", async () => {
  const port = Number(process.env.EXAMPLE_PORT);
  const endpoint = await fetchd.webhooks.create({ url: `http://127.0.0.1:${port}/example` });
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: endpoint.secret };
  const stdio = ["ignore", "pipe", "inherit"];
  const receiver = spawn(process.execPath, [example("verify-webhook.mjs")], { env, stdio });
  try {
    while (!await listens(port)) assert.equal(receiver.exitCode, null);
    const job = await fetchd.jobs.submit({ request: `${origin}/text`, webhook: { endpoint: endpoint.id } });
    const line = await new Promise((resolve) => { receiver.stdout.setEncoding("utf8").once("data", resolve); });
    assert.equal(line, `${job.id} succeeded\n`);
  } finally {
    receiver.kill();
  }
  await fetchd.webhooks.delete(endpoint.id);
});

const listens = (port) => new Promise((resolve) => {
  const socket = connect(port, "127.0.0.1");
  socket.on("connect", () => { socket.destroy(); resolve(true); }).on("error", () => resolve(false));
});

test("a download is followed", async () => {
  const output = await run(example("follow-download.mjs"), `${origin}/big?bytes=400000&milliseconds=25`, "big");
  assert.match(output, /^\d+ of 400000 bytes$/m);
  assert.ok(output.endsWith("big\n"));
  assert.equal((await stat(join(folder, "big"))).size, 400_000);
});

test("a person approves redirects", async () => {
  const [same, other] = [`${origin}/moved`, `${origin}/elsewhere`];
  const program = spawn(process.execPath, [example("approve-redirects.mjs"), same, other], { stdio: "pipe" });
  let output = "";
  program.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
    if (text.includes("[y/N]")) program.stdin.write("n\n");
  });
  assert.equal(await new Promise((resolve) => { program.on("close", resolve); }), 0);
  const there = `${origin.replace("127.0.0.1", "127.0.0.2")}/text`;
  assert.ok(output.includes(`${other} leads to ${there}. Follow? [y/N] `), output);
  assert.ok(output.includes(`${same} succeeded 200\n`) && output.includes(`${other} cancelled cancelled\n`), output);
});

test("a batch is submitted once a day", async () => {
  const name = randomUUID();
  await writeFile(join(folder, "urls"), `${origin}/${name}\n\n${origin}/status/404?${name}\n`);
  const first = await run(example("nightly-batch.mjs"), "urls");
  assert.equal(await run(example("nightly-batch.mjs"), "urls"), first);
  assert.match(first, /^job_\w+ succeeded 200\njob_\w+ succeeded 404\n$/);
});

test("the package has what it exports, and one version", async () => {
  const described = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const places = Object.values(described.exports).flatMap(Object.values);
  for (const place of places) assert.ok((await stat(join(root, place))).size);
  assert.equal(described.version, (await import("fetchd")).VERSION);
  assert.equal(described.dependencies, undefined);
});
