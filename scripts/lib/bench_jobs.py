"""Measures what jobs cost beside the transfers they make, and writes bench-jobs.json.

    scripts/bench-jobs [--quick] [--rounds N] [--only PART,…] [--output FILE]

One service over a durable PostgreSQL, one nginx, all on loopback. Bodies: one download and one upload job of 1 GiB
beside the curl command; only the service's own process is counted. Flat: 10 GiB both ways, and how much the service
grows. Slow: downloads that crawl at 1 KB/s, what each holds of memory, and what the API answers meanwhile. Crowded: as
many loads as there are slots, of origins that send a byte a second, a deep queue behind them, and what the API answers
before and meanwhile: a job's state, a submission, the health. Tenants: one tenant is at all of its limits, running
jobs, waiting jobs and requests, and what another one notices of it: a job's state, a submission, a job that is waited
for. Stores: jobs whose session sends cookies and a password, beside jobs of a session without. Cached: jobs that are
given 1 KB from the cache, beside jobs that are answered without any transfer or body (`only-if-cached`, of what is
not). Webhooks: jobs without a transfer whose ends are told to one endpoint, and to a thousand, from the first
submission until the last message is taken and that is stored; what a job and its message cost, and how many commits.
Pooled: jobs in batches, and one by one over 16 connections, by a service that keeps connections to PostgreSQL and by
one behind pgbouncer in transaction mode, turn by turn; PGBOUNCER names another one than Debian's.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import threading
import time

from binaries import LOAD, build
from figures import measure, round_options, timed
from job_bench import JobBench, report, run_parts
from processes import Failed, free_ports, is_listening, program, run, run_as, stop, wait_until
from service import Service


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.bulk_bytes = (128 if quick else 1024) << 20
        self.flat_bytes = (1 if quick else 10) << 30
        self.slow_jobs = 500 if quick else 6_000
        self.waiting_jobs = 5_000 if quick else 100_000
        self.store_jobs = 4_000 if quick else 20_000
        self.told_jobs = 4_000 if quick else 20_000
        self.pooled_turns = 3 if quick else 9


CROWD = 5_000
PARTS = "bodies,flat,slow,crowded,tenants,stores,cached,webhooks,pooled"
# What the busy tenant may have, and how many times as many requests it sends.
RUNNING, WAITING, RATE, EXCESS = 1_000, 10_000, 100, 4
POOLER = """\
[databases]
pooled = host={server} dbname=pooled user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
ignore_startup_parameters = extra_float_digits, options
"""


class Bench(JobBench):
    """The parts."""

    settings = {"crowded": {"WORKER_CONCURRENCY": str(CROWD), "WORKER_MAXIMUM_CONNECTIONS_PER_HOST": "10000"}}

    def bodies(self):
        url, put, here = f"{self.origin.url}/big.bin", f"{self.origin.url}/put/", self.scratch / "curl.bin"
        self.settle()
        wall, cpu, _ = timed(["curl", "-s", "-f", "-o", here, url])
        self.figures.add(download_curlWallSeconds=wall, download_curlCpuSeconds=cpu)
        self.settle()
        job, wall, cpu = self.job({"kind": "download", "request": {"url": url}})
        self.figures.add(download_wallSeconds=wall, download_cpuSeconds=cpu)
        self.settle()
        wall, cpu, _ = timed(["curl", "-s", "-f", "-H", "Expect:", "-T", here, put + "curl.bin"])
        self.figures.add(upload_curlWallSeconds=wall, upload_curlCpuSeconds=cpu)
        here.unlink()
        self.settle()
        self.upload(job, put + "fetchd.bin", "upload")
        self.forget(job)

    def upload(self, job, url, part):
        """Sends what a download has brought."""
        request = {"url": url, "method": "PUT", "body": {"blob": job["file"]["blob"]}}
        _, wall, cpu = self.job({"kind": "upload", "request": request})
        self.figures.add(**{f"{part}_wallSeconds": wall, f"{part}_cpuSeconds": cpu})

    def forget(self, job):
        self.call("DELETE", f"/v1/blobs/{job['file']['blob']}", expected=(200, 204))
        for left in (self.origin.directory / "put").iterdir():
            left.unlink()

    def flat(self):
        """A body of many times the memory there is to be used, both ways."""
        big = self.origin.directory / "www/flat.bin"
        with open(big, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.plan.flat_bytes)
        try:
            before = self.status("VmRSS")
            with Peak(lambda: self.status("VmRSS")) as peak:
                job, wall, cpu = self.job({"kind": "download", "request": {"url": f"{self.origin.url}/flat.bin"}}, 900)
                self.figures.add(flat_downloadWallSeconds=wall, flat_downloadCpuSeconds=cpu)
                self.upload(job, f"{self.origin.url}/put/flat.bin", "flatUpload")
            self.figures.add(flat_growthMB=peak.value - before)
            self.forget(job)
        finally:
            big.unlink()

    def slow(self):
        """Downloads that stay under way while the API is asked."""
        self.warm()
        job = self.call("GET", "/v1/jobs?limit=1")["data"][0]["id"]
        self.settle()
        self.figures.add(slow_idleP99Ms=self.ask(job))
        before, count = self.status("VmRSS"), self.plan.slow_jobs
        spec = {"kind": "download", "request": {"url": self.origin.slow_url}, "labels": {"part": "slow"}}
        for _ in range(count // 500):
            self.submit([spec] * 500)
        # Each has a connection, a file and the lock of its place.
        open_files = pathlib.Path(f"/proc/{self.service.process.pid}/fd")
        wait_until(lambda: len(os.listdir(open_files)) >= 3 * count, 120, f"{count} downloads", self.service.process,
                   pause=0.5)
        # The allocator keeps what their beginnings took for ten seconds.
        time.sleep(15)
        resident = self.status("VmRSS")
        self.figures.add(slow_perDownloadKB=(resident - before) * 1024 / count, slow_residentMB=resident,
                         slow_count=count)
        self.settle()
        used, begin = self.cpu(), time.monotonic()
        self.figures.add(slow_p99Ms=self.ask(job))
        self.figures.add(slow_cpuPercent=(self.cpu() - used) / (time.monotonic() - begin) * 100)

    def crowded(self):
        """Every slot has a load that will not end, and more jobs wait than could ever run."""
        self.warm()
        job = self.call("GET", "/v1/jobs?limit=1")["data"][0]["id"]
        submission = self.scratch / "job.json"
        submission.write_text(json.dumps({"request": {"url": f"{self.origin.url}/1k"}}))
        self.settle()
        self.front("Idle", job, submission)
        specs = [{"request": {"url": url}} for url in self.origin.crawl_urls]
        for _ in range((CROWD + self.plan.waiting_jobs) // 500):
            self.submit([specs[number % len(specs)] for number in range(500)])
        running = "(SELECT count(*) FROM queue WHERE node_id IS NOT NULL)"
        self.database.wait_until("fetchd", f"{running} >= {CROWD}", 120, f"{CROWD} loads are not running")
        time.sleep(3)
        self.settle()
        used, begin = self.cpu(), time.monotonic()
        self.front("", job, submission)
        self.figures.add(crowded_cpuPercent=(self.cpu() - used) / (time.monotonic() - begin) * 100,
                         crowded_residentMB=self.status("VmRSS"), crowded_running=CROWD,
                         crowded_waiting=self.plan.waiting_jobs)

    def front(self, when, job, submission):
        """What the API answers, 200 requests a second of each kind, one kind after the other."""
        ways = {"job": [f"{self.service.url}/v1/jobs/{job}"],
                "submit": [*self.posting(submission), f"{self.service.url}/v1/jobs"],
                "health": [f"{self.service.url}/healthz"]}
        for name, way in ways.items():
            self.answer(f"crowded_{name}{when}", 200, 4000, way)

    @staticmethod
    def posting(submission):
        return ["-m", "POST", "-b", submission, "-H", "Content-Type: application/json"]

    def answer(self, name, rate, count, way):
        """How long answers to this tenant take, at so many requests a second."""
        found = measure([LOAD, "-n", count, "-c", 4, "-r", rate, "-t", 90, "-H",
                         f"Authorization: Bearer {self.key}", *way])
        self.figures.add(**{f"{name}P50Ms": found["p50_ms"], f"{name}P99Ms": found["p99_ms"]})

    def tenants(self):
        """One tenant has all that it may have and asks for more, the other does what it did before."""
        self.warm()
        job = self.call("GET", "/v1/jobs?limit=1")["data"][0]["id"]
        submission = self.scratch / "job.json"
        submission.write_text(json.dumps({"request": {"url": f"{self.origin.url}/1k"}}))
        busy = self.service.create_key("--tenant", "busy")
        limits = {"running-jobs": RUNNING, "waiting-jobs": WAITING, "requests-per-second": RATE}
        run([self.service.binary, "tenants", "set", "busy", *self.service.storage,
             *(word for name, value in limits.items() for word in (f"--maximum-{name}", str(value)))],
            env=self.service.environment)
        self.settle()
        self.other("Idle", job, submission)
        specs = [{"request": {"url": url}} for url in self.origin.crawl_urls]
        status, refused = 200, False
        while status == 200 and not refused:
            status, _, answer = self.service.submit_lines(busy, specs * (500 // len(specs)))
            refused = b"queueFull" in answer
        if not refused:
            raise Failed(f"the busy tenant is not at its limit: {status} {answer[:300]}")
        running = "(SELECT count(*) FROM queue WHERE node_id IS NOT NULL)"
        self.database.wait_until("fetchd", f"{running} >= {RUNNING}", 120, f"{RUNNING} loads are not running")
        self.settle()
        # Most of its requests are refused, which is no success to the driver.
        with subprocess.Popen([str(word) for word in (
                LOAD, "-n", 10**6, "-c", 4, "-r", EXCESS * RATE, "-t", 600, "-H", f"Authorization: Bearer {busy}",
                *self.posting(submission), f"{self.service.url}/v1/jobs")], stdout=subprocess.DEVNULL) as crowd:
            try:
                self.other("", job, submission)
                if crowd.poll() is not None:
                    raise Failed("the busy tenant has stopped asking")
            finally:
                crowd.kill()
        refusals = re.findall(r'fetchd_limit_refusals_total\{limit="(\w+)"\} (\d+)',
                              self.service.call("GET", "/metrics")[2].decode())
        self.figures.add(**{f"tenants_{name}Refusals": int(count) for name, count in refusals})

    def other(self, when, job, submission):
        """What a tenant gets that does little: 100 requests a second, then 50 jobs that it waits for."""
        self.answer(f"tenants_job{when}", 100, 2000, [f"{self.service.url}/v1/jobs/{job}"])
        self.answer(f"tenants_submit{when}", 100, 2000, [*self.posting(submission), f"{self.service.url}/v1/jobs"])
        self.answer(f"tenants_wait{when}", 50, 2000,
                    [*self.posting(submission), "-H", "Prefer: wait=30", f"{self.service.url}/v1/jobs"])

    def stores(self):
        """The same jobs in a session that has nothing to send, and in one that sends cookies and a password."""
        plain = self.call("POST", "/v1/sessions", {"kind": "default"})["id"]
        stored = self.call("POST", "/v1/sessions", {"kind": "default"})["id"]
        cookies = [{"name": f"name{n}", "value": "v" * 32, "domain": "127.0.0.1"} for n in range(3)]
        self.call("POST", "/v1/cookies", {"session": stored, "cookies": cookies})
        space = {"host": "127.0.0.1", "port": self.origin.port, "protocol": "http", "realm": "bench",
                 "authenticationMethod": "httpBasic"}
        self.call("POST", "/v1/credentials", {"session": stored, "protectionSpace": space, "user": "bench",
                                              "password": "bench", "persistence": "forSession"})
        specs = {name: {"session": session, "request": {"url": self.origin.url + path}}
                 for name, session, path in (("plain", plain, "/1k"), ("stored", stored, "/private/1k"))}
        for spec in specs.values():
            self.job(spec)
        self.compare("stores", specs, self.plan.store_jobs)

    def cached(self):
        """Jobs without a transfer: with an answer from the cache, and with none."""
        hit = {"request": {"url": f"{self.origin.url}/cached/1k"}}
        # A part of a resource is not even looked for.
        bare = {"request": {"url": f"{self.origin.url}/1k",
                            "headers": [{"name": "Cache-Control", "value": "only-if-cached"},
                                        {"name": "Range", "value": "bytes=0-0"}]}}
        self.warm()
        self.job(hit)
        if not self.job(hit)[0]["response"]["fromCache"]:
            raise Failed("an answer was not cached")
        self.compare("cached", {"bare": bare, "hit": hit}, self.plan.store_jobs)

    def webhooks(self):
        """Jobs whose ends are told: to one endpoint, and to a thousand."""
        endpoints = [self.call("POST", "/v1/webhooks/endpoints", {"url": f"{self.origin.url}/hook/{number}"})["id"]
                     for number in range(1000)]
        self.tell(endpoints)
        for part, chosen in (("one", endpoints[:1]), ("thousand", endpoints)):
            self.settle()
            commits, used, server = self.commits(), self.cpu(), self.database.cpu()
            begin = time.monotonic()
            for _ in range(self.plan.told_jobs // 1000):
                self.tell(chosen)
            self.database.wait_until("fetchd", f"{TOLD}", 300, "messages are not delivered")
            seconds, count = time.monotonic() - begin, self.plan.told_jobs
            self.figures.add(**{
                f"webhooks_{part}PerSecond": count / seconds,
                f"webhooks_{part}Commits": (self.commits() - commits) / count,
                f"webhooks_{part}ServiceCpuUs": (self.cpu() - used) / count * 1e6,
                f"webhooks_{part}PostgresCpuUs": (self.database.cpu() - server) / count * 1e6})
        wrong = self.database.psql("fetchd", "-c", "SELECT count(*) FROM webhook_deliveries WHERE state <> 'delivered'")
        if wrong.strip() != "0":
            raise Failed(f"{wrong.strip()} messages were not taken")

    def pooled(self):
        """The same jobs over a connection to PostgreSQL for each statement under way, and over those of a pooler."""
        self.database.psql("postgres", "-c", "CREATE DATABASE pooled")
        (port,) = free_ports(1)
        binary = os.environ.get("PGBOUNCER") or program("pgbouncer", "/usr/sbin")
        version = re.search(r"(\d+)\.(\d+)", run([binary, "--version"]))
        # Since 1.21 it knows statements that are prepared by the protocol.
        keeps_statements = tuple(map(int, version.groups())) >= (1, 21)
        place = self.database.directory / "pooler.ini"
        place.write_text(POOLER.format(server=self.database.directory, port=port)
                         + "max_prepared_statements = 500\n" * keeps_statements, encoding="utf-8")
        pooler = subprocess.Popen([*self.database.drop, binary, "-q", place], cwd="/")
        try:
            wait_until(lambda: is_listening(port), 30, "pgbouncer", pooler)
            settings = {**self.service.environment, "DATABASE_PREPARED_STATEMENTS": str(keeps_statements).lower(),
                        "DATABASE_DIRECT_URL": self.database.url("pooled")}
            with Service(self.service.binary, self.scratch / "pooled", settings=settings, log=self.service.log,
                         database_url=f"postgresql://postgres@127.0.0.1:{port}/pooled") as service:
                other = Bench(self.plan, self.figures, self.origin, self.database, service, self.scratch)
                other.name = "pooled"
                self.settle()
                found = {}
                for _ in range(self.plan.pooled_turns):
                    for name, bench in (("direct", self), ("pooled", other)):
                        for kind in ("batched", "single"):
                            found.setdefault((name, kind), []).append(getattr(bench, kind)())
            for (name, kind), turns in found.items():
                figure = f"pooled_{kind}{name.capitalize()}"
                self.figures.add(**{f"{figure}PerSecond": statistics.median(turn[0] for turn in turns),
                                    f"{figure}PostgresCpuUs": statistics.median(turn[1] for turn in turns)})
        finally:
            stop(pooler, 30)
            self.database.psql("postgres", "-c", "DROP DATABASE pooled WITH (FORCE)")

    def batched(self):
        """Jobs a second in batches of 100, and what one costs PostgreSQL in microseconds."""
        return self.rate(2_000, lambda: [self.submit([{"request": {"url": f"{self.origin.url}/1k"}}] * 100)
                                         for _ in range(20)])

    def single(self):
        """Jobs a second that are submitted one by one, and what one costs PostgreSQL in microseconds."""
        submission = self.scratch / "job.json"
        submission.write_text(json.dumps({"request": {"url": f"{self.origin.url}/1k"}}))
        return self.rate(1_000, lambda: measure(
            [LOAD, "-n", 1_000, "-c", 16, "-t", 90, "-H", f"Authorization: Bearer {self.key}",
             *self.posting(submission), f"{self.service.url}/v1/jobs"]))

    def rate(self, count, submit):
        begin, server = time.monotonic(), self.database.cpu()
        submit()
        self.wait_until_fewer(1)
        return count / (time.monotonic() - begin), (self.database.cpu() - server) / count * 1e6

    def tell(self, endpoints):
        """A thousand jobs without a transfer, whose ends go to the endpoints in turn."""
        specs = [{"request": {"url": "data:,x"}, "webhook": {"endpoint": endpoints[number % len(endpoints)]}}
                 for number in range(1000)]
        self.submit(specs[:500])
        self.submit(specs[500:])

    def commits(self):
        """The commits of the database so far; the server's processes tell them when they have been idle for a while."""
        self.database.wait_until("fetchd", TOLD, 120, "messages are not delivered")
        time.sleep(12)
        return int(self.database.psql("fetchd", "-c",
                                      "SELECT xact_commit FROM pg_stat_database WHERE datname = 'fetchd'"))


# No job waits, and no message.
TOLD = """(NOT EXISTS (SELECT FROM queue)
            AND NOT EXISTS (SELECT FROM webhook_deliveries WHERE state = 'pending'))"""


class Peak:
    """The largest value seen while it is watched."""

    def __init__(self, read):
        self.read, self.value, self.stopped = read, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.stopped.wait(0.05):
            self.value = max(self.value, self.read())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


RATIOS = [
    ("download.wallRatio", "download.wallSeconds", "download.curlWallSeconds"),
    ("download.cpuRatio", "download.cpuSeconds", "download.curlCpuSeconds"),
    ("upload.wallRatio", "upload.wallSeconds", "upload.curlWallSeconds"),
    ("upload.cpuRatio", "upload.cpuSeconds", "upload.curlCpuSeconds"),
    ("slow.p99Ratio", "slow.p99Ms", "slow.idleP99Ms"),
    ("crowded.jobP99Ratio", "crowded.jobP99Ms", "crowded.jobIdleP99Ms"),
    ("crowded.submitP99Ratio", "crowded.submitP99Ms", "crowded.submitIdleP99Ms"),
    ("crowded.healthP99Ratio", "crowded.healthP99Ms", "crowded.healthIdleP99Ms"),
    ("tenants.jobP99Ratio", "tenants.jobP99Ms", "tenants.jobIdleP99Ms"),
    ("tenants.submitP99Ratio", "tenants.submitP99Ms", "tenants.submitIdleP99Ms"),
    ("tenants.waitP99Ratio", "tenants.waitP99Ms", "tenants.waitIdleP99Ms"),
    ("cached.cpuRatio", "cached.hitCpuUs", "cached.bareCpuUs"),
    ("pooled.batchedRatio", "pooled.batchedPooledPerSecond", "pooled.batchedDirectPerSecond"),
    ("pooled.singleRatio", "pooled.singlePooledPerSecond", "pooled.singleDirectPerSecond"),
]


def main():
    options = round_options("bench-jobs", __doc__, PARTS)
    plan = Plan(options.quick)
    figures = run_parts(options, Bench, plan, build(), plan.slow_jobs + 100, plan.bulk_bytes)
    for name, over, under in RATIOS:
        figures.ratio(name, over, under)
    report(figures, options)


run_as("bench-jobs", main)
