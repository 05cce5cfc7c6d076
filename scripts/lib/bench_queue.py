"""Measures whether the database stays healthy under a service, and writes bench-queue.json.

    scripts/bench-queue [--quick] [--only start,idle,bytes,tenants,snapshot,claims] [--finished N] [--waiting N]
                        [--output FILE]

One service over a durable PostgreSQL, one nginx, all on loopback. Start: how long until the service is ready, with a
private cluster that is new, with the same one again, and over a database that has its schema. Idle: the statements
that a node which has nothing to do sends a second (R39). Bytes: what a job with a body of 1 KB adds to the write-ahead
log, by what it is about, and to tables and indexes. Tenants: jobs a second of a backlog that is one tenant's, and of
one that many have. Snapshot: jobs a second while another client has a transaction open, beside before (R41). Claims:
how long a claim takes in a new database, and beside millions of finished and of waiting jobs, and how the service
starts over those.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from binaries import LOAD, build
from database import Database, bindir
from figures import Figures, measure, settle_down
from origin import Origin
from processes import ROOT, Failed, raise_descriptor_limit, run_as, say, stop, stop_in_order
from service import Service, master_keys

DATABASE_SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top", "log_min_messages": "warning",
    "max_wal_size": "16GB", "checkpoint_timeout": "30min",
}
MARKS = [
    ("start with a new private cluster, s until ready", "start.newSeconds", "≤", 1),
    ("the same again", "start.againSeconds", "≤", 0.2),
    ("over a database that has its schema", "start.databaseSeconds", "≤", 0.2),
    ("statements a second, idle", "idle.statementsPerSecond", "<", 1),
    ("write-ahead log, bytes a job", "bytes.log", None, None),
    ("tables and indexes, bytes a job", "bytes.kept", None, None),
    ("jobs/s of a backlog that is one tenant's", "tenants.oneRate", None, None),
    ("of one that many tenants have, ratio", "tenants.ratio", "≥", 0.9),
    ("jobs/s beside an open transaction, ratio", "snapshot.ratio", "≥", 0.9),
    ("a claim in a new database, p99 ms", "claims.newP99Ms", None, None),
    ("the same beside many jobs, p99 ms", "claims.fullP99Ms", "≤", 20),
    ("ratio", "claims.p99Ratio", "≤", 1.2),
    ("p50 in a new database, ms", "claims.newP50Ms", None, None),
    ("p50 beside many jobs, ms", "claims.fullP50Ms", None, None),
    ("start over the waiting jobs, s until ready", "restart.readySeconds", None, None),
    ("s until the first of them was done", "restart.firstDoneSeconds", None, None),
    ("memory then, MB", "restart.memoryMB", None, None),
]
# How many jobs are final. Not by what still waits: beside an open transaction, that is to read all that has waited.
DONE = "coalesce((SELECT sum(jobs) FROM job_counts), 0)"


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.idle_seconds = 15 if quick else 120
        self.starts = 3 if quick else 9
        self.tenants, self.jobs_of_each = (100, 100) if quick else (1_000, 1_000)
        self.bytes_jobs = 5_000 if quick else 50_000
        self.snapshot_seconds = 20 if quick else 600
        self.snapshot_jobs = 2_000 if quick else 10_000
        self.finished = 100_000 if quick else 10_000_000
        self.waiting = 50_000 if quick else 1_000_000
        self.claimed_jobs = 10_000 if quick else 200_000


def generate(database, url, waiting, finished, tenants=1):
    """Rows as the service would have left them, stored one after another: a month ago (finished) or an hour ago.

    They are of the first so many tenants in turn.
    """
    spec = json.dumps({"kind": "data", "request": {"url": url, "method": "GET"}, "priority": 0.5})
    make = f"""
        CREATE TEMPORARY TABLE made AS
        SELECT 1 + n %% {tenants} AS tenant_id, overlay(
            uuid_send(gen_random_uuid()) PLACING
            substring(int8send(floor(extract(epoch FROM %s) * 1000)::bigint) FROM 3) FROM 1 FOR 6
        ) AS bytes FROM generate_series(1, %d) AS n;
        ALTER TABLE made ADD COLUMN id uuid;
        UPDATE made SET id = encode(bytes, 'hex')::uuid;
        INSERT INTO jobs (tenant_id, id, spec, kind, host) SELECT tenant_id, id, '{spec}', 'data', '127.0.0.1'
        FROM made;
    """
    while finished > 0:
        count = min(finished, 500_000)
        database.psql("fetchd", "-c", make % ("now() - interval '30 days' + n * interval '10 ms'", count) + """
            INSERT INTO results (tenant_id, job_id, state, started_at, finished_at, status, response, body, attempt,
                transfers)
            SELECT tenant_id, id, 'succeeded', now() - interval '29 days', now() - interval '29 days', 200,
                '{"status":200,"mimeType":"text/plain"}', repeat('x', 64)::bytea, 1, '[]'
            FROM made;
            DROP TABLE made""")
        finished -= count
    while waiting > 0:
        count = min(waiting, 500_000)
        database.psql("fetchd", "-c", make % ("now() - interval '1 hour' + n * interval '1 ms'", count) + """
            INSERT INTO queue (tenant_id, job_id, rank) SELECT tenant_id, id, 500 FROM made;
            DROP TABLE made""")
        waiting -= count
    database.psql("fetchd", "-c", "VACUUM ANALYZE")


class Bench:
    def __init__(self, plan, figures, origin, database, service, scratch):
        self.plan, self.figures, self.origin, self.database = plan, figures, origin, database
        self.service, self.scratch = service, scratch

    def number(self, query):
        return float(self.database.psql("fetchd", "-c", query).strip() or 0)

    def done(self):
        return self.number(f"SELECT {DONE}")

    def wait_until_done(self, jobs, seconds):
        self.database.wait_until("fetchd", f"{DONE} >= {jobs}", seconds, "jobs are not done")

    def idle(self):
        """By pg_stat_statements, which another database asks: so its own are not among them."""
        count = """
            SELECT coalesce(sum(s.calls), 0)
            FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
            WHERE d.datname = 'fetchd'"""
        self.database.psql("postgres", "-c", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        with self.service:
            time.sleep(10)
            before = float(self.database.psql("postgres", "-c", count))
            time.sleep(self.plan.idle_seconds)
            sent = float(self.database.psql("postgres", "-c", count)) - before
        self.figures.add(idle_statementsPerSecond=sent / self.plan.idle_seconds)

    def start(self):
        """Each in turn; that the service is ready is known 5 ms later at most."""
        with self.service:
            pass
        for number in range(self.plan.starts):
            alone = Service(self.service.binary, self.scratch / f"start-{number}", log=self.service.log,
                            settings={"FETCHD_MASTER_KEYS": master_keys()})
            for name, service in (("new", alone), ("again", alone), ("database", self.service)):
                begin = time.monotonic()
                service.start(pause=0.005)
                self.figures.add(**{f"start_{name}Seconds": time.monotonic() - begin})
                service.stop()

    def tenants(self):
        count = self.plan.tenants
        with self.service:
            pass
        self.database.psql("fetchd", "-c", f"""
            INSERT INTO tenants (name)
            SELECT 'tenant ' || n FROM generate_series(1, {count} - (SELECT max(id) FROM tenants)) AS n""")
        for name, tenants in (("one", 1), ("many", count)):
            self.database.psql("fetchd", "-c", "TRUNCATE queue, jobs, results, attempts")
            generate(self.database, f"{self.origin.url}/1k", count * self.plan.jobs_of_each, 0, tenants)
            settle_down(self.plan, self.figures)
            before = self.done()
            with self.service:
                # From the first one that is done, for the start has parts of its own.
                self.wait_until_done(before + 1, 60)
                begin, before = time.monotonic(), self.done()
                self.database.wait_until("fetchd", "NOT EXISTS (SELECT FROM queue)", 1200, "jobs still wait")
                self.figures.add(**{f"tenants_{name}Rate": (self.done() - before) / (time.monotonic() - begin)})
        self.figures.ratio("tenants.ratio", "tenants.manyRate", "tenants.oneRate")

    def bytes(self):
        """By pg_waldump, from the first submission until the last result; the pages are not new to the log by then."""
        jobs, lines = self.plan.bytes_jobs, self.lines({"Accept": "text/plain", "X-Trace": "t" * 140})
        with self.service:
            key = self.service.create_key()
            self.submit(key, lines, jobs // 10)
            self.wait_until_done(jobs // 10, 300)
            self.database.psql("fetchd", "-c", "VACUUM queue", "-c", "CHECKPOINT")
            self.submit(key, lines, jobs // 10)
            self.wait_until_done(jobs // 5, 300)
            sizes, start = self.sizes(), self.database.psql("fetchd", "-c", "SELECT pg_current_wal_insert_lsn()")
            self.submit(key, lines, jobs)
            self.wait_until_done(jobs // 5 + jobs, 300)
            end = self.database.psql("fetchd", "-c", "SELECT pg_current_wal_insert_lsn()")
        added = {name: size - sizes.get(name, 0) for name, size in self.sizes().items()}
        written = self.database.log_bytes("fetchd", start.strip(), end.strip())
        for name, size in written.items():
            self.figures.add(**{f"bytes_log.{name}": size / jobs})
        for name, size in added.items():
            if size >= jobs:
                self.figures.add(**{f"bytes_kept.{name}": size / jobs})
        # What the queue and the counts have grown by is used again, or is a row a minute.
        kept = sum(size for name, size in added.items() if not name.startswith(("queue", "job_counts")))
        self.figures.add(bytes_log=sum(written.values()) / jobs, bytes_kept=kept / jobs)

    def sizes(self):
        """The bytes of every table and index of the service."""
        rows = self.database.psql("fetchd", "-F", " ", "-c", """
            SELECT relname, pg_relation_size(oid) FROM pg_class
            WHERE relnamespace IN ('public'::regnamespace, 'pg_toast'::regnamespace) AND relkind IN ('r', 't', 'i')
            """).splitlines()
        return {name: int(size) for name, size in (row.split() for row in rows)}

    def lines(self, fields):
        """A file of 100 jobs with these header fields."""
        lines = self.origin.directory / "jobs.ndjson"
        lines.write_text((json.dumps({"request": {"url": f"{self.origin.url}/1k", "headers": fields}}) + "\n") * 100)
        return lines

    def submit(self, key, lines, jobs):
        """Submits the jobs of a file, in batches of 100 over four connections."""
        measure([LOAD, "-m", "POST", "-t", 150, "-H", f"Authorization: Bearer {key}", "-c", 4, "-b", lines, "-n",
                 jobs // 100, "-H", "Content-Type: application/x-ndjson", f"{self.service.url}/v1/jobs/batch"])

    def rate(self, key, seconds, lines):
        """Jobs a second, in batches of 100, for as long as this or longer."""
        begin, before, jobs = time.monotonic(), self.done(), 0
        while time.monotonic() < begin + seconds:
            self.submit(key, lines, self.plan.snapshot_jobs)
            jobs += self.plan.snapshot_jobs
            self.wait_until_done(before + jobs, 300)
        return jobs / (time.monotonic() - begin)

    def snapshot(self):
        lines = self.lines({})
        with self.service:
            key = self.service.create_key()
            self.rate(key, 1, lines)
            settle_down(self.plan, self.figures)
            before = self.rate(key, min(60, self.plan.snapshot_seconds), lines)
            command = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queue; SELECT pg_sleep(100000)"
            holder = subprocess.Popen(
                [f"{bindir()}/psql", "-qXAt", "-d", self.database.conninfo("fetchd"), "-c", command],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                held = self.rate(key, self.plan.snapshot_seconds, lines)
            finally:
                stop(holder)
        self.figures.add(snapshot_beforeRate=before, snapshot_heldRate=held, snapshot_ratio=held / before)

    def claim_times(self, jobs):
        """Milliseconds of each claim that took jobs, by the database's log, until so many are done."""
        log = pathlib.Path(f"{self.database.directory}.log")
        self.database.psql("fetchd", "-c", "ALTER DATABASE fetchd SET log_min_duration_statement = 0")
        start, begin = log.stat().st_size, time.monotonic()
        done = self.done()
        self.service.start(seconds=300)
        ready = time.monotonic() - begin
        try:
            self.wait_until_done(done + 1, 120)
            first = time.monotonic() - begin
            status = pathlib.Path(f"/proc/{self.service.process.pid}/status").read_text()
            memory = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024
            self.wait_until_done(done + jobs, 300)
        finally:
            self.service.stop()
            self.database.psql("fetchd", "-c", "ALTER DATABASE fetchd RESET log_min_duration_statement")
        with open(log, encoding="utf-8", errors="replace") as file:
            file.seek(start)
            text = file.read()
        times = sorted(float(found) for found in
                       re.findall(r"duration: ([\d.]+) ms  execute [^:]*: -- queue\.claim", text))
        if len(times) < 20:
            raise Failed(f"only {len(times)} claims are in the database's log")
        return times, ready, first, memory

    def claims(self):
        url = f"{self.origin.url}/1k"
        with self.service:
            pass
        self.database.psql("fetchd", "-c", "TRUNCATE queue, jobs, results, attempts")
        generate(self.database, url, self.plan.claimed_jobs, 0)
        settle_down(self.plan, self.figures)
        say("Claims in a new database …")
        new, *_ = self.claim_times(self.plan.claimed_jobs * 3 // 4)
        self.database.psql("fetchd", "-c", "TRUNCATE queue, jobs, results, attempts")
        say(f"Making {self.plan.finished} finished and {self.plan.waiting} waiting jobs …")
        generate(self.database, url, self.plan.waiting, self.plan.finished)
        settle_down(self.plan, self.figures)
        say("Claims beside them …")
        full, ready, first, memory = self.claim_times(self.plan.claimed_jobs * 3 // 4)
        for name, times in (("new", new), ("full", full)):
            self.figures.add(**{f"claims_{name}P50Ms": times[len(times) // 2],
                                f"claims_{name}P99Ms": times[len(times) * 99 // 100],
                                f"claims_{name}Count": len(times)})
        self.figures.ratio("claims.p99Ratio", "claims.fullP99Ms", "claims.newP99Ms")
        self.figures.add(claims_finished=self.plan.finished, claims_waiting=self.plan.waiting,
                         restart_readySeconds=ready, restart_firstDoneSeconds=first, restart_memoryMB=memory)


def table(figures):
    print(f"{'':44}{'figure':>12}{'mark':>10}")
    for title, name, sense, mark in MARKS:
        value = figures.median(name)
        if value is not None:
            print(f"{title:44}{value:>12,.2f}{f'{sense} {mark}' if sense else '':>10}")


def main():
    parser = argparse.ArgumentParser(prog="bench-queue", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short, and with few rows")
    parser.add_argument("--only", default="start,idle,bytes,tenants,snapshot,claims", help="parts, comma separated")
    parser.add_argument("--finished", type=int, help="finished jobs beside the claims")
    parser.add_argument("--waiting", type=int, help="waiting jobs beside the claims")
    parser.add_argument("--seconds", type=int, help="how long the transaction is open")
    parser.add_argument("--output", default=ROOT / "bench-queue.json")
    options = parser.parse_args()
    plan = Plan(options.quick)
    plan.finished = options.finished or plan.finished
    plan.waiting = options.waiting or plan.waiting
    plan.snapshot_seconds = options.seconds or plan.snapshot_seconds
    stop_in_order()
    raise_descriptor_limit()
    fetchd = build()
    figures, scratch = Figures(), pathlib.Path(tempfile.mkdtemp(prefix="fetchd-queue-"))
    scratch.chmod(0o755)
    settings = {"WORKER_MAXIMUM_CONNECTIONS_PER_HOST": "64",
                "FETCHD_MASTER_KEYS": master_keys()}
    try:
        with Origin(scratch / "origin", 1 << 20) as origin, Database(scratch / "pg", DATABASE_SETTINGS) as database:
            database.psql("postgres", "-c", "CREATE DATABASE fetchd")
            with open(scratch / "fetchd.log", "w", encoding="utf-8") as log:
                service = Service(fetchd, scratch / "data", [f"127.0.0.1:{origin.port}"], database.url("fetchd"),
                                  log=log, settings=settings)
                for part in options.only.split(","):
                    say(f"{part} …")
                    getattr(Bench(plan, figures, origin, database, service, scratch), part)()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    table(figures)
    figures.add(machine_processors=os.cpu_count())
    figures.write(options.output)


run_as("bench-queue", main)
