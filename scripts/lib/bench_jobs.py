"""Measures what jobs cost beside the transfers they make, and writes bench-jobs.json.

    scripts/bench-jobs [--quick] [--rounds N] [--only bodies,flat,slow,stores,cached] [--output FILE]

One service over a durable PostgreSQL, one nginx, all on loopback. Bodies: one download and one upload job of 1 GiB
beside the curl command; only the service's own process is counted. Flat: 10 GiB both ways, and how much the service
grows. Slow: downloads that crawl at 1 KB/s, what each holds of memory, and what the API answers meanwhile. Stores: jobs
whose session sends cookies and a password, beside jobs of a session without. Cached: jobs that are given 1 KB from the
cache, beside jobs that are answered without any transfer or body (`only-if-cached`, of what is not).
"""
import argparse
import base64
import json
import os
import pathlib
import shutil
import statistics
import tempfile
import threading
import time

from binaries import LOAD, build
from database import Database
from figures import Figures, measure, settle_down, timed
from origin import Origin
from processes import ROOT, Failed, cpu_seconds, raise_descriptor_limit, run_as, say, stop_in_order
from service import Service

FINAL = ("succeeded", "failed", "cancelled")


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.bulk_bytes = (128 if quick else 1024) << 20
        self.flat_bytes = (1 if quick else 10) << 30
        self.slow_jobs = 500 if quick else 9_000
        self.store_jobs = 4_000 if quick else 20_000


class Bench:
    """The running parts, and the figures."""

    def __init__(self, plan, figures, origin, database, service, scratch):
        self.plan, self.figures, self.origin, self.database = plan, figures, origin, database
        self.service, self.scratch, self.key = service, scratch, service.create_key()

    # MARK: the service

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

    # MARK: the parts

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
        running = "(SELECT count(*) FROM queue WHERE node_id IS NOT NULL)"
        self.database.wait_until("fetchd", f"{running} >= {count}", 120, f"{count} downloads are not running")
        time.sleep(3)
        self.figures.add(slow_perDownloadKB=(self.status("VmRSS") - before) * 1024 / count, slow_count=count)
        self.settle()
        used, begin = self.cpu(), time.monotonic()
        self.figures.add(slow_p99Ms=self.ask(job))
        self.figures.add(slow_cpuPercent=(self.cpu() - used) / (time.monotonic() - begin) * 100)

    def ask(self, job):
        """The 99th percentile of answers about a job, 200 a second."""
        return measure([LOAD, "-n", 2000, "-c", 4, "-r", 200, "-t", 60, "-H", f"Authorization: Bearer {self.key}",
                        f"{self.service.url}/v1/jobs/{job}"])["p99_ms"]

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
        self.compare("stores", specs)

    def compare(self, part, specs):
        """What jobs of some kinds cost, turn by turn, so that what else the machine does falls on all alike."""
        turns, count = 10, self.plan.store_jobs // 10
        costs = {name: [] for name in specs}
        self.settle()
        for _ in range(turns):
            for name, spec in specs.items():
                costs[name].append(self.cpu_of_each(spec, count))
        for name in specs:
            self.figures.add(**{f"{part}_{name}CpuUs": statistics.median(costs[name])})

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
        self.compare("cached", {"bare": bare, "hit": hit})

    def cpu_of_each(self, spec, count):
        """What many jobs of a kind cost the service, in microseconds of processor time each."""
        used, batch = self.cpu(), min(count, 500)
        for _ in range(count // batch):
            self.submit([spec] * batch)
            # More at a time would measure how libcurl looks through thousands of connections.
            self.wait_until_fewer(500)
        self.wait_until_fewer(1)
        return (self.cpu() - used) / count * 1e6

    def wait_until_fewer(self, jobs):
        fewer = f"(SELECT count(*) FROM queue) < {jobs}"
        self.database.wait_until("fetchd", fewer, 120, "jobs do not end")

    def submit(self, specs):
        status, _, answer = self.service.submit_lines(self.key, specs)
        if status != 200 or b'"status":4' in answer:
            raise Failed(f"a batch was answered with {status}: {answer[:300]}")

    def warm(self):
        for _ in range(4):
            self.submit([{"request": {"url": f"{self.origin.url}/1k"}}] * 500)
        self.wait_until_fewer(1)

    def settle(self):
        os.sync()
        settle_down(self.plan, self.figures)


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
    ("cached.cpuRatio", "cached.hitCpuUs", "cached.bareCpuUs"),
]


def rounds(options, plan, figures, fetchd, scratch):
    parts = options.only.split(",")
    settings = {"WORKER_CONCURRENCY": str(plan.slow_jobs + 100), "WORKER_DRAIN_SECONDS": "1",
                "WORKER_MAXIMUM_CONNECTIONS_PER_HOST": str(plan.slow_jobs + 100),
                "FETCHD_MASTER_KEYS": "1:" + base64.b64encode(os.urandom(32)).decode()}
    with Origin(scratch / "origin", plan.bulk_bytes) as origin, Database(scratch / "pg") as database:
        allowed = [f"127.0.0.1:{origin.port}", f"127.0.0.1:{origin.slow_port}"]
        database.psql("postgres", "-c", "CREATE DATABASE fetchd")
        with open(scratch / "fetchd.log", "w", encoding="utf-8") as log:
            service = Service(fetchd, scratch / "data", allowed, database.url("fetchd"), log=log, settings=settings)
            for number in range(options.rounds):
                say(f"Round {number + 1} of {options.rounds} …")
                for part in parts:
                    # A fresh process each, so that what one part leaves in memory is not another's.
                    with service:
                        getattr(Bench(plan, figures, origin, database, service, scratch), part)()
                    database.psql("fetchd", "-c", "DELETE FROM queue")


def main():
    parser = argparse.ArgumentParser(prog="bench-jobs", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", default="bodies,flat,slow,stores,cached", help="parts, comma separated")
    parser.add_argument("--rounds", type=int, help="default 3, quick 1")
    parser.add_argument("--output", default=ROOT / "bench-jobs.json")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    stop_in_order()
    raise_descriptor_limit()
    fetchd = build()
    figures, scratch = Figures(), pathlib.Path(tempfile.mkdtemp(prefix="fetchd-jobs-"))
    scratch.chmod(0o755)
    try:
        rounds(options, Plan(options.quick), figures, fetchd, scratch)
    except BaseException:
        log = scratch / "fetchd.log"
        if log.exists():
            say("The end of the service's log:\n" + "\n".join(log.read_text().splitlines()[-20:]))
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for name, over, under in RATIOS:
        figures.ratio(name, over, under)
    figures.add(machine_processors=os.cpu_count(), bench_rounds=options.rounds)
    for name in sorted(figures.samples):
        print(f"{name:36}{figures.median(name):12,.3f}")
    figures.write(options.output)


run_as("bench-jobs", main)
