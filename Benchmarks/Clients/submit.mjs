// submit.mjs plain|client PACKAGE: submits jobs one after the other; prints the seconds and those of its processor.
const [way, place] = process.argv.slice(2);
const { FETCHD_URL: url, FETCHD_KEY: key, COUNT: count } = process.env;
const spec = { request: "https://example.com/", runAt: "2100-01-01T00:00:00Z" };

async function plain(number) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json",
                    "Idempotency-Key": `${process.pid}-${number}` };
  return (await (await fetch(`${url}/v1/jobs`, { method: "POST", headers, body: JSON.stringify(spec) })).json()).id;
}

let submit = plain;
if (way === "client") {
  const { Fetchd } = await import(place);
  const fetchd = new Fetchd();
  submit = async () => (await fetchd.jobs.submit(spec)).id;
}
for (let number = 0; number < 50; number++) await submit(number);
const [began, cpu] = [performance.now(), process.cpuUsage()];
for (let number = 50; number < 50 + Number(count); number++) await submit(number);
const used = process.cpuUsage(cpu);
console.log(JSON.stringify([(performance.now() - began) / 1000, (used.user + used.system) / 1e6]));
