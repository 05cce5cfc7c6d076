"""Measures what it costs to decide, to ask, and to wait for an answer, and writes bench-delegate.json.

    scripts/bench-delegate [--quick] [--rounds N] [--only rules,webhook,held] [--output FILE]

One service over a durable PostgreSQL, one nginx and one endpoint, all on loopback. Rules: jobs of a session without
rules, with one and with 64 of which the last one fits, turn by turn; and what one match takes by itself. Webhook: jobs
that are waited for, at a fixed rate, and the same when each asks an endpoint that answers at once. Held: loads that
have asked and wait in the API, what each holds of memory, what the API answers meanwhile, and how long one answer to
all of them takes.
"""
import argparse
import json
import re
import time

from binaries import LOAD, build, engine_bench
from figures import measure
from job_bench import JobBench, report, run_parts
from processes import ROOT, Failed, free_ports, run_as
from threaded_origin import ThreadedOrigin

ENDPOINT_PORT = free_ports(1)[0]


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.rule_jobs = 2_000 if quick else 20_000
        self.matches = 100_000 if quick else 2_000_000
        self.rate = 100 if quick else 1_000
        self.asked_jobs = 1_000 if quick else 20_000
        self.held_jobs = 200 if quick else 10_000


class Endpoint(ThreadedOrigin):
    """Answers every question with `allow`, at once."""

    async def serve(self, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n\"allow\"")


class Bench(JobBench):
    """The parts."""

    allowed = (f"127.0.0.1:{ENDPOINT_PORT}",)
    engine = None

    def rules(self):
        """What deciding a response costs a job, and one match."""
        url = f"{self.origin.url}/1k"

        def spec(count):
            rules = [{"on": "didReceiveResponse", "when": {"url": {"host": f"host{number}.example"}},
                      "answer": "cancel"} for number in range(1, count)]
            rules += [{"on": "didReceiveResponse", "when": {"status": "2xx"}, "answer": "allow"}] if count else []
            session = self.call("POST", "/v1/sessions", {"configuration": {"rules": rules}})["id"]
            return {"session": session, "request": {"url": url}}

        self.warm()
        specs = {"none": spec(0), "one": spec(1), "many": spec(64)}
        for each in specs.values():
            self.job(each)
        self.compare("rules", specs, self.plan.rule_jobs)
        for count in (1, 64):
            micro = measure([self.engine, "rules", count, self.plan.matches])
            self.figures.add(**{f"rules_matchOf{count}Us": micro["rule_us"],
                                f"rules_memoryOf{count}Us": micro["memory_us"]})

    def webhook(self):
        """What a question by webhook adds to a job that is waited for."""
        endpoint = Endpoint(ENDPOINT_PORT)
        try:
            made = self.call("POST", "/v1/webhooks/endpoints", {"url": f"{endpoint.url}/ask"})["id"]
            delegate = {"via": "webhook", "endpoint": made, "questions": ["didReceiveResponse"], "timeout": 60}
            plain = {"request": {"url": f"{self.origin.url}/1k"}}
            asking = {**plain, "configuration": {"delegate": delegate}}
            self.warm()
            for spec in (plain, asking):
                self.job(spec)
            for name, spec in (("plain", plain), ("asking", asking)):
                self.settle()
                before = self.waits()
                run = self.wait_for(spec)
                self.figures.add(**{f"webhook_{name}P50Ms": run["p50_ms"], f"webhook_{name}P99Ms": run["p99_ms"],
                                    f"webhook_{name}Rate": run["rate"]})
            total, count = (after - past for after, past in zip(self.waits(), before, strict=True))
            if count != self.plan.asked_jobs:
                raise Failed(f"{count} questions were asked, and {self.plan.asked_jobs} were to be")
            self.figures.add(webhook_meanWaitMs=total / count * 1e3,
                             webhook_moreP50Ms=self.more("P50Ms"), webhook_moreP99Ms=self.more("P99Ms"))
        finally:
            endpoint.stop()

    def more(self, figure):
        samples = self.figures.samples
        return samples[f"webhook.asking{figure}"][-1] - samples[f"webhook.plain{figure}"][-1]

    def wait_for(self, spec):
        """Submits jobs at the plan's rate, each waited for."""
        body = self.scratch / "job.json"
        body.write_text(json.dumps(spec))
        return measure([LOAD, "-n", self.plan.asked_jobs, "-c", 64, "-r", self.plan.rate, "-t", 120, "-m", "POST",
                        "-b", body, "-H", f"Authorization: Bearer {self.key}", "-H", "Content-Type: application/json",
                        "-H", "Prefer: wait=60", f"{self.service.url}/v1/jobs"])

    def waits(self):
        """For how many seconds loads have waited for answers, and how many did."""
        text = self.service.call("GET", "/metrics", self.key)[2].decode()
        return [float(re.search(rf"(?m)^fetchd_question_wait_seconds_{word} (\S+)", text)[1])
                for word in ("sum", "count")]

    def held(self):
        """Loads that wait at a response whose body goes on: such a one is held, and never stored."""
        self.warm()
        job = self.call("GET", "/v1/jobs?limit=1")["data"][0]["id"]
        self.settle()
        self.figures.add(held_idleP99Ms=self.ask(job))
        before, count = self.status("VmRSS"), self.plan.held_jobs
        delegate = {"via": "api", "questions": ["didReceiveResponse"], "timeout": 300}
        spec = {"request": {"url": f"{self.origin.url}/big.bin"}, "configuration": {"delegate": delegate}}
        for start in range(0, count, 500):
            self.submit([spec] * min(500, count - start))
        open_ones = "(SELECT count(*) FROM questions WHERE state = 'open')"
        self.database.wait_until("fetchd", f"{open_ones} >= {count}", 120, f"{count} loads are not held")
        time.sleep(3)
        self.figures.add(held_perQuestionKB=(self.status("VmRSS") - before) * 1024 / count, held_count=count)
        self.settle()
        self.figures.add(held_p99Ms=self.ask(job))
        self.answer_all(count)

    def answer_all(self, count):
        order = {"filter": {"kind": "didReceiveResponse"}, "answer": "cancel"}
        dry = self.call("POST", "/v1/questions/actions", {**order, "dryRun": True})
        begin = time.monotonic()
        done = self.call("POST", "/v1/questions/actions", {**order, "askedBefore": dry["askedBefore"]})
        if done["changed"] != count:
            raise Failed(f"{done['changed']} of {count} questions were answered")
        self.figures.add(held_answerAllSeconds=time.monotonic() - begin)
        self.wait_until_fewer(1)


RATIOS = [
    ("held.p99Ratio", "held.p99Ms", "held.idleP99Ms"),
]


def main():
    parser = argparse.ArgumentParser(prog="bench-delegate", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", default="rules,webhook,held", help="parts, comma separated")
    parser.add_argument("--rounds", type=int, help="default 3, quick 1")
    parser.add_argument("--output", default=ROOT / "bench-delegate.json")
    options = parser.parse_args()
    plan, fetchd = Plan(options.quick), build()
    Bench.engine = engine_bench(fetchd)
    figures = run_parts(options, Bench, plan, fetchd, plan.held_jobs + 100, 1 << 20)
    for name, over, under in RATIOS:
        figures.ratio(name, over, under)
    report(figures, options)


run_as("bench-delegate", main)
