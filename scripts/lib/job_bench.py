"""What benchmarks of jobs have in common: a service that is asked, and what its jobs cost."""
import json
import os
import pathlib
import shutil
import statistics
import tempfile
import time

from binaries import LOAD
from database import Database
from figures import Figures, measure, settle_down
from origin import Origin
from processes import Failed, cpu_seconds, raise_descriptor_limit, say, stop_in_order
from service import Service, master_keys

FINAL = ("succeeded", "failed", "cancelled")


class JobBench:
    """The running parts, and the figures."""

    # Settings of the service that a part needs, by its name.
    settings = {}
    # The service's database on the server.
    name = "fetchd"

    def __init__(self, plan, figures, origin, database, service, scratch):
        self.plan, self.figures, self.origin, self.database = plan, figures, origin, database
        self.service, self.scratch, self.key = service, scratch, service.create_key()

    def status(self, field):
        for line in pathlib.Path(f"/proc/{self.service.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
        return 0

    def cpu(self):
        """Processor seconds of the service so far."""
        return cpu_seconds(self.service.process.pid)

    def call(self, method, path, body=None, expected=(200, 201, 202), **more):
        status, _, answer = self.service.call(method, path, self.key, body, **more)
        if status not in expected:
            raise Failed(f"{method} {path}: {status} {answer[:500]}")
        return json.loads(answer) if answer else None

    def job(self, spec, seconds=300):
        """Runs one job to its end; wall and processor seconds."""
        begin, used = time.monotonic(), self.cpu()
        job = self.call("POST", "/v1/jobs", spec, headers={"Prefer": "wait=60"})
        while job["state"] not in FINAL:
            if time.monotonic() - begin > seconds:
                raise Failed(f"a job was not over within {seconds} s")
            time.sleep(0.02)
            job = self.call("GET", f"/v1/jobs/{job['id']}")
        if job["state"] != "succeeded" or job["response"]["status"] not in (200, 201, 204):
            raise Failed(f"a job ended as {json.dumps(job)[:800]}")
        return job, time.monotonic() - begin, self.cpu() - used

    def ask(self, job):
        """The 99th percentile of answers about a job, 200 a second."""
        return measure([LOAD, "-n", 2000, "-c", 4, "-r", 200, "-t", 60, "-H", f"Authorization: Bearer {self.key}",
                        f"{self.service.url}/v1/jobs/{job}"])["p99_ms"]

    def compare(self, part, specs, jobs):
        """What jobs of some kinds cost, turn by turn, so that what else the machine does falls on all alike."""
        turns, count = 10, jobs // 10
        costs = {name: [] for name in specs}
        self.settle()
        for _ in range(turns):
            for name, spec in specs.items():
                costs[name].append(self.cpu_of_each(spec, count))
        for name in specs:
            self.figures.add(**{f"{part}_{name}CpuUs": statistics.median(costs[name])})

    def cpu_of_each(self, spec, count):
        """What many jobs of a kind cost the service, in microseconds of processor time each."""
        used, batch = self.cpu(), min(count, 500)
        for _ in range(count // batch):
            self.submit([spec] * batch)
            # More at a time would measure how libcurl looks through thousands of connections.
            self.wait_until_fewer(500)
        self.wait_until_fewer(1)
        return (self.cpu() - used) / count * 1e6

    def wait_until_fewer(self, jobs, seconds=120):
        # No more are counted than it takes to know.
        fewer = f"(SELECT count(*) FROM (SELECT FROM queue LIMIT {jobs}) AS job) < {jobs}"
        self.database.wait_until(self.name, fewer, seconds, "jobs do not end")

    def submit(self, specs):
        self.service.submit(self.key, specs)

    def warm(self):
        for _ in range(4):
            self.submit([{"request": {"url": f"{self.origin.url}/1k"}}] * 500)
        self.wait_until_fewer(1)

    def settle(self):
        os.sync()
        settle_down(self.plan, self.figures)


def run_parts(options, bench, plan, fetchd, concurrency, big_bytes):
    """Runs the parts of a bench, round by round, each over a service of its own; returns the figures.

    The scratch directory is gone afterwards; a failure shows the end of the service's log.
    """
    stop_in_order()
    raise_descriptor_limit()
    figures, scratch = Figures(), pathlib.Path(tempfile.mkdtemp(prefix="fetchd-bench-"))
    scratch.chmod(0o755)
    try:
        _rounds(options, bench, plan, figures, fetchd, concurrency, big_bytes, scratch)
    except BaseException:
        log = scratch / "fetchd.log"
        if log.exists():
            say("The end of the service's log:\n" + "\n".join(log.read_text().splitlines()[-20:]))
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return figures


def _rounds(options, bench, plan, figures, fetchd, concurrency, big_bytes, scratch):
    settings = {"WORKER_CONCURRENCY": str(concurrency), "WORKER_DRAIN_SECONDS": "1",
                "WORKER_MAXIMUM_CONNECTIONS_PER_HOST": str(min(concurrency, 10_000)),
                "FETCHD_MASTER_KEYS": master_keys()}
    with Origin(scratch / "origin", big_bytes) as origin, Database(scratch / "pg") as database:
        allowed = [f"127.0.0.1:{origin.port}", f"127.0.0.1:{origin.slow_port}",
                   *(f"{address}:{origin.slow_port}" for address in origin.addresses)]
        database.psql("postgres", "-c", "CREATE DATABASE fetchd")
        with open(scratch / "fetchd.log", "w", encoding="utf-8") as log:
            for number in range(options.rounds):
                say(f"Round {number + 1} of {options.rounds} …")
                for part in options.only.split(","):
                    say(f"{part} …")
                    # A fresh process each, so that what one part leaves in memory is not another's.
                    with Service(fetchd, scratch / "data", allowed, database.url("fetchd"), log=log,
                                 settings={**settings, **bench.settings.get(part, {})}) as service:
                        getattr(bench(plan, figures, origin, database, service, scratch), part)()
                    database.psql("fetchd", "-c", "DELETE FROM queue")


def report(figures, options):
    """Prints the medians, and writes them where the options say."""
    figures.add(machine_processors=os.cpu_count(), bench_rounds=options.rounds)
    for name in sorted(figures.samples):
        print(f"{name:36}{figures.median(name):12,.3f}")
    figures.write(options.output)
