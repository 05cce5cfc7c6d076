"""Measures what it costs to decide, to ask, and to wait for an answer, and writes bench-delegate.json.

    scripts/bench-delegate [--quick] [--rounds N] [--only rules,webhook,held,parked] [--output FILE]

One service over a durable PostgreSQL and one nginx, all on loopback. Rules: jobs that nothing is decided about, beside
jobs of a session with one rule and with 64 of which the last one fits, turn by turn; and what one match takes by
itself. Webhook: jobs that are waited for, at a fixed rate, turn by turn with the same that ask an endpoint which
answers at once. Held: loads that have asked and wait in the API, what each holds of memory, what the API answers
meanwhile, and how long one answer to all of them takes. Parked: jobs that wait in the database alone, what they cost
the service, whether all are there after kill -9 and a start, and how long it takes to answer all, and until all are
done.
"""
import json
import re
import statistics
import time

from binaries import LOAD, build, engine_bench
from figures import measure, round_options
from job_bench import JobBench, report, run_parts
from processes import Failed, run_as, wait_until


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.rule_jobs = 2_000 if quick else 20_000
        self.matches = 100_000 if quick else 2_000_000
        self.turns = 2 if quick else 4
        # Jobs a second, and how many a turn.
        self.rates = [(20, 40), (100, 200)] if quick else [(20, 100), (300, 1_500), (1_000, 5_000)]
        self.held_jobs = 200 if quick else 9_000
        self.parked_jobs = 2_000 if quick else 100_000
        self.claimed_jobs = 5_000 if quick else 30_000


class Bench(JobBench):
    """The parts."""

    # A tenant has so many open questions only if the operator says so.
    settings = {"held": {"TENANTS_MAXIMUM_OPEN_QUESTIONS": "100000"},
                "parked": {"TENANTS_MAXIMUM_OPEN_QUESTIONS": "1000000", "WORKER_HOLD_SECONDS": "0",
                           "WORKER_CONCURRENCY": "128", "WORKER_MAXIMUM_CONNECTIONS_PER_HOST": "64"}}
    engine = None

    def rules(self):
        """What deciding a response costs a job, and one match."""
        request = {"url": f"{self.origin.url}/1k"}

        def session(rules, **more):
            made = self.call("POST", "/v1/sessions", {"configuration": {"rules": rules, **more}})
            return {"session": made["id"], "request": request}

        def rules(count, on, answer, last):
            others = [{"on": on, "when": {"url": {"host": f"host{number}.example"}}, "answer": "cancel"}
                      for number in range(1, count)]
            return [*others, {"on": on, "when": last, "answer": answer}]

        delegate = {"via": "api", "questions": ["didReceiveChallenge"]}
        specs = {
            "plain": {"request": request},
            "none": session([]),
            # For what does not come up in these jobs.
            "idle": session(rules(64, "willPerformHTTPRedirection", "follow", {"hop": {"min": 1}}), delegate=delegate),
            "one": session(rules(1, "didReceiveResponse", "allow", {"status": "2xx"})),
            "many": session(rules(64, "didReceiveResponse", "allow", {"status": "2xx"})),
        }
        self.warm()
        for each in specs.values():
            self.job(each)
        self.compare("rules", specs, self.plan.rule_jobs)
        for count in (1, 64):
            micro = measure([self.engine, "rules", count, self.plan.matches])
            self.figures.add(**{f"rules_matchOf{count}Us": micro["rule_us"],
                                f"rules_memoryOf{count}Us": micro["memory_us"]})

    def webhook(self):
        """What a question by webhook adds to a job that is waited for."""
        made = self.call("POST", "/v1/webhooks/endpoints", {"url": f"{self.origin.url}/ask"})["id"]
        delegate = {"via": "webhook", "endpoint": made, "questions": ["didReceiveResponse"], "timeout": 60}
        plain = {"request": {"url": f"{self.origin.url}/1k"}}
        specs = {"plain": plain, "asking": {**plain, "configuration": {"delegate": delegate}}}
        self.warm()
        for spec in specs.values():
            self.job(spec)
        self.settle()
        for rate, jobs in self.plan.rates:
            asked = self.waits()
            self.take_turns(specs, rate, jobs)
            total, count = (after - past for after, past in zip(self.waits(), asked, strict=True))
            if count != jobs * self.plan.turns:
                raise Failed(f"{count} questions were asked, and {jobs * self.plan.turns} were to be")
            self.figures.add(**{f"webhook_at{rate}MeanWaitMs": total / count * 1e3})

    def take_turns(self, specs, rate, jobs):
        """Jobs of each kind at a rate, turn by turn; the medians of the turns."""
        runs = {name: [] for name in specs}
        for _ in range(self.plan.turns):
            for name, spec in specs.items():
                used, postgres = self.cpu(), self.database.cpu()
                run = self.wait_for(spec, rate, jobs)
                run["cpu_us"] = (self.cpu() - used) / jobs * 1e6
                run["postgres_us"] = (self.database.cpu() - postgres) / jobs * 1e6
                runs[name].append(run)
        shown = {"P50Ms": "p50_ms", "P99Ms": "p99_ms", "CpuUs": "cpu_us", "PostgresCpuUs": "postgres_us",
                 "Rate": "rate"}
        for figure, word in shown.items():
            plain, asking = (statistics.median(run[word] for run in runs[name]) for name in ("plain", "asking"))
            self.figures.add(**{f"webhook_at{rate}Plain{figure}": plain, f"webhook_at{rate}Asking{figure}": asking})
            if figure != "Rate":
                self.figures.add(**{f"webhook_at{rate}More{figure}": asking - plain})

    def wait_for(self, spec, rate, jobs):
        """Submits jobs at a rate, each waited for."""
        body = self.scratch / "job.json"
        body.write_text(json.dumps(spec))
        return measure([LOAD, "-n", jobs, "-c", 64, "-r", rate, "-t", 120, "-m", "POST", "-b", body,
                        "-H", f"Authorization: Bearer {self.key}", "-H", "Content-Type: application/json",
                        "-H", "Prefer: wait=60", f"{self.service.url}/v1/jobs"])

    def metric(self, name):
        text = self.service.call("GET", "/metrics", self.key)[2].decode()
        return float(re.search(rf"(?m)^{name} (\S+)", text)[1])

    def waits(self):
        """For how many seconds loads have waited for answers, and how many did."""
        return [self.metric(f"fetchd_question_wait_seconds_{word}") for word in ("sum", "count")]

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
            # A node takes 512 jobs of one session for one origin that does not answer them.
            session = self.call("POST", "/v1/sessions", {})["id"]
            self.submit([{**spec, "session": session}] * min(500, count - start))
        open_ones = "(SELECT count(*) FROM questions WHERE state = 'open')"
        self.database.wait_until("fetchd", f"{open_ones} >= {count}", 120, f"{count} loads are not held")
        time.sleep(3)
        self.figures.add(held_perQuestionKB=(self.status("VmRSS") - before) * 1024 / count, held_count=count)
        self.settle()
        self.figures.add(held_p99Ms=self.ask(job))
        self.answer_all(count)

    def answer_all(self, count, part="held", kind="didReceiveResponse", answer="cancel"):
        """One answer to all of a kind, in as many requests as it takes."""
        order = {"filter": {"kind": kind}, "answer": answer}
        dry = self.call("POST", "/v1/questions/actions", {**order, "dryRun": True})
        order["askedBefore"] = dry["askedBefore"]
        begin, changed = time.monotonic(), 0
        while True:
            done = self.call("POST", "/v1/questions/actions", order, timeout=300)
            changed += done["changed"]
            if not done.get("nextCursor"):
                break
            order["cursor"] = done["nextCursor"]
        self.figures.add(**{f"{part}_answerAllSeconds": time.monotonic() - begin})
        if changed != count:
            raise Failed(f"{changed} of {count} questions were answered")
        self.wait_until_fewer(1, 600)

    # MARK: Parked

    def parked(self):
        """Jobs that wait for an answer, in the database alone."""
        self.warm()
        self.claim_times()
        job = self.call("GET", "/v1/jobs?limit=1")["data"][0]["id"]
        self.settle()
        self.figures.add(parked_idleP99Ms=self.ask(job), parked_claimIdleP99Ms=self.claim_times())
        before, count = self.status("VmRSS"), self.plan.parked_jobs
        self.park(count)
        self.figures.add(parked_count=count, parked_growthMB=self.status("VmRSS") - before,
                         parked_peakGrowthMB=self.status("VmHWM") - before)
        self.settle()
        self.figures.add(parked_p99Ms=self.ask(job), parked_claimP99Ms=self.claim_times())
        self.restart(count)
        self.figures.add(parked_claimRestartedP99Ms=self.claim_times())
        before, begin = self.status("VmRSS"), time.monotonic()
        self.answer_all(count, "parked", "willPerformHTTPRedirection", "follow")
        self.figures.add(parked_allDoneSeconds=time.monotonic() - begin,
                         parked_answerGrowthMB=self.status("VmRSS") - before)
        followed = "SELECT count(*) FROM results WHERE status = 200 AND job_id IN (SELECT job_id FROM questions)"
        if (done := int(self.database.psql("fetchd", "-c", followed))) != count:
            raise Failed(f"{done} of {count} parked jobs have gone on to their end")

    def park(self, count):
        """Has jobs ask at their redirects, and waits until none is held."""
        delegate = {"via": "api", "questions": ["willPerformHTTPRedirection"], "timeout": 86_400}
        spec = {"request": {"url": f"{self.origin.url}/go"}, "configuration": {"delegate": delegate}}
        begin, used, postgres = time.monotonic(), self.cpu(), self.database.cpu()
        for start in range(0, count, 500):
            self.submit([spec] * min(500, count - start))
            # Few at a time, as in an ordinary life: what a node holds of jobs that run is measured elsewhere.
            self.wait_until_parked(start - 2_000)
        self.wait_until_parked(count)
        self.figures.add(parked_rate=count / (time.monotonic() - begin),
                         parked_cpuUs=(self.cpu() - used) / count * 1e6,
                         parked_postgresCpuUs=(self.database.cpu() - postgres) / count * 1e6)

    def wait_until_parked(self, count):
        wait_until(lambda: self.metric("fetchd_loads_parked_total") >= count, 60, f"{count} loads are not parked")

    def restart(self, count):
        """Kills the service and starts it again; nothing is lost, and no table is read through."""
        self.database.psql("fetchd", "-c", "ANALYZE queue", "-c", "ANALYZE questions")
        read = """
            SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables
            WHERE relname IN ('queue', 'questions', 'jobs', 'results', 'attempts')"""
        self.service.process.kill()
        self.service.process.wait()
        time.sleep(1)
        before, begin = int(self.database.psql("fetchd", "-c", read)), time.monotonic()
        self.service.start()
        self.figures.add(parked_readySeconds=time.monotonic() - begin)
        self.job({"request": {"url": f"{self.origin.url}/1k"}})
        self.figures.add(parked_firstDoneSeconds=time.monotonic() - begin, parked_restartedMB=self.status("VmRSS"))
        # Through the lease of the node that is lost, and what is done then.
        time.sleep(20)
        self.figures.add(parked_rowsScanned=int(self.database.psql("fetchd", "-c", read)) - before,
                         parked_restartedLaterMB=self.status("VmRSS"))
        waiting = "SELECT count(*) FROM queue WHERE question_id = resumes_at AND node_id IS NULL"
        if (left := int(self.database.psql("fetchd", "-c", waiting))) != count:
            raise Failed(f"{left} of {count} jobs are parked after kill -9")

    def claim_times(self):
        """The 99th percentile of what a claim takes, by the database's log."""
        done = "coalesce((SELECT sum(jobs) FROM job_counts), 0)"
        before = int(self.database.psql("fetchd", "-c", f"SELECT {done}"))
        with self.database.logged("queue.claim") as times:
            # More than the node has room for: what has room is the node's as soon as it is stored.
            for _ in range(self.plan.claimed_jobs // 500):
                self.submit([{"request": {"url": f"{self.origin.url}/1k"}}] * 500)
            # By their counts: to look for those that are left is to read all that wait.
            ended = f"{done} >= {before + self.plan.claimed_jobs}"
            self.database.wait_until("fetchd", ended, 120, "jobs do not end")
        if len(times) < 20:
            raise Failed(f"only {len(times)} claims are in the database's log")
        return sorted(times)[len(times) * 99 // 100]


RATIOS = [
    ("rules.idleRatio", "rules.idleCpuUs", "rules.noneCpuUs"),
    ("held.p99Ratio", "held.p99Ms", "held.idleP99Ms"),
    ("parked.p99Ratio", "parked.p99Ms", "parked.idleP99Ms"),
    ("parked.claimRatio", "parked.claimP99Ms", "parked.claimIdleP99Ms"),
]


def main():
    options = round_options("bench-delegate", __doc__, "rules,webhook,held,parked")
    plan, fetchd = Plan(options.quick), build()
    Bench.engine = engine_bench(fetchd)
    figures = run_parts(options, Bench, plan, fetchd, plan.held_jobs + 100, 1 << 20)
    for name, over, under in RATIOS:
        figures.ratio(name, over, under)
    report(figures, options)


run_as("bench-delegate", main)
