"""Measures how long the dashboard's pages take beside very many jobs, and writes bench-dashboard.json.

    scripts/bench-dashboard [--quick] [--jobs N] [--waiting N] [--tenants N] [--rounds N] [--output FILE]

One service over a durable PostgreSQL, on loopback. SQL makes the rows that finished and waiting jobs, webhook messages
and tenants would have left: half of the jobs are one tenant's, the others are spread over all. A browser's requests are
sent one after the other, each of a page many times.
"""
import argparse
import http.client
import json
import os
import pathlib
import shutil
import tempfile
import time
import urllib.parse
import uuid

from binaries import build
from database import Database
from figures import Figures
from processes import ROOT, Failed, run_as, say, stop_in_order
from service import Service, master_keys

DATABASE_SETTINGS = {"log_min_messages": "warning", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
MARK = 100
PAGES = {
    "overview": "/dashboard", "otherTenant": "/dashboard?tenant=tenant-500", "jobs": "/dashboard/jobs",
    "failedJobs": "/dashboard/jobs?state=failed", "queuedJobs": "/dashboard/jobs?state=queued",
    "hosts": "/dashboard/hosts", "flows": "/dashboard/flows", "groups": "/dashboard/groups",
    "schedules": "/dashboard/schedules", "sessions": "/dashboard/sessions", "cookies": "/dashboard/cookies",
    "credentials": "/dashboard/credentials", "cache": "/dashboard/cache", "endpoints": "/dashboard/webhooks",
    "deliveries": "/dashboard/webhooks/deliveries", "abandoned": "/dashboard/webhooks/deliveries?state=abandoned",
    "nodes": "/dashboard/nodes", "tenants": "/dashboard/tenants", "usage": "/dashboard/usage",
    "keys": "/dashboard/keys", "audit": "/dashboard/audit", "system": "/dashboard/system",
}
CHUNK = 250_000
ENDPOINT = uuid.uuid4()
# Ids as the service makes them: their beginning is the time.
MADE = """
    CREATE TEMPORARY TABLE made AS
    SELECT n, encode(overlay(
        uuid_send(gen_random_uuid()) PLACING
        substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3) FROM 1 FOR 6
    ), 'hex')::uuid AS id, at,
        CASE WHEN n % 2 = 0 THEN 1 ELSE (SELECT min(id) FROM tenants) + n % {tenants} END AS tenant,
        'host' || n % 40 || '.example' AS host, CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'succeeded' END AS state,
        ('{{200,200,200,301,404,503}}'::int[])[1 + n % 6] AS status
    FROM (
        SELECT n, now() - interval '20 hours' * (1 - n::float8 / {jobs}) AS at
        FROM generate_series({first}, {last}) AS n
    ) AS numbered;
"""
SPEC = json.dumps({"kind": "data", "request": {"url": "https://host.example/", "method": "GET"}, "priority": 0.5})


def generate(database, plan):
    """Rows as the service would have left them."""
    database.psql("fetchd", "-c", f"""
        INSERT INTO tenants (name) SELECT 'tenant-' || n FROM generate_series(1, {plan.tenants} - 1) AS n""")
    for first in range(1, plan.jobs + 1, CHUNK):
        last = min(first + CHUNK - 1, plan.jobs)
        made = MADE.format(tenants=plan.tenants, jobs=plan.jobs, first=first, last=last)
        database.psql("fetchd", "-c", made + f"""
            INSERT INTO jobs (tenant_id, id, created_at, spec, kind, host)
            SELECT tenant, id, at, '{SPEC}', 'data', host FROM made;
            INSERT INTO results (tenant_id, job_id, state, started_at, finished_at, status, response, error_name, error)
            SELECT tenant, id, state, at + interval '50 ms', at + interval '50 ms' + random() * interval '2 s',
                CASE WHEN state = 'succeeded' THEN status END,
                CASE WHEN state = 'succeeded' THEN '{{"status":200}}'::json END,
                CASE WHEN state = 'failed' THEN 'timedOut' END,
                CASE WHEN state = 'failed' THEN '{{"name":"timedOut","message":"It took too long."}}'::json END
            FROM made;
            INSERT INTO job_counts (tenant_id, minute, node_id, state, jobs, body_bytes)
            SELECT tenant, date_trunc('minute', at), gen_random_uuid(), state, count(*), 1000 * count(*)
            FROM made GROUP BY 1, 2, 4;
            DROP TABLE made""")
        say(f"{last} jobs …")
    database.psql("fetchd", "-c", f"""
        CREATE TEMPORARY TABLE made AS
        SELECT n, encode(overlay(
            uuid_send(gen_random_uuid()) PLACING
            substring(int8send(floor(extract(epoch FROM now()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
        ), 'hex')::uuid AS id FROM generate_series(1, {plan.waiting}) AS n;
        INSERT INTO jobs (tenant_id, id, spec, kind, host) SELECT 1, id, '{SPEC}', 'data', 'host1.example' FROM made;
        INSERT INTO queue (tenant_id, job_id, rank, run_at, scheduled)
        SELECT 1, id, 500, now() + CASE WHEN n % 2 = 0 THEN interval '9 days' ELSE interval '0' END, n % 2 = 0
        FROM made;
        INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, event, state, next_attempt_at)
        SELECT 1, gen_random_uuid(), '{ENDPOINT}', id, 'job.finished',
            CASE WHEN n % 3 = 0 THEN 'abandoned' ELSE 'pending' END, now() + interval '9 days'
        FROM made;
        UPDATE queue_state SET paused = true""")
    database.psql("fetchd", "-c", "VACUUM ANALYZE")


class Visitor:
    """A browser that has signed in, on one connection."""

    def __init__(self, service, key):
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        form = urllib.parse.urlencode({"key": key, "next": "/dashboard"})
        fields = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        self.connection.request("POST", "/dashboard/sign-in", form, fields)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 303:
            raise Failed(f"signing in is answered by {answer.status}")
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]

    def get(self, path):
        """Milliseconds until the page is there, and its bytes; beyond the rate of pages it waits as it is told."""
        begin = time.monotonic()
        self.connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status == 429:
            time.sleep(int(answer.headers["Retry-After"]))
            return self.get(path)
        if answer.status != 200:
            raise Failed(f"{path} is answered by {answer.status}")
        return (time.monotonic() - begin) * 1000, len(body)


def measure(service, key, rounds, figures):
    visitor = Visitor(service, key)
    print(f"{'page':16}{'p50 ms':>10}{'p99 ms':>10}{'bytes':>10}")
    for name, path in PAGES.items():
        visitor.get(path)
        times, sizes = zip(*(visitor.get(path) for _ in range(rounds)), strict=True)
        times = sorted(times)
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        figures.add(**{f"{name}_p50Ms": p50, f"{name}_p99Ms": p99, f"{name}_bytes": max(sizes)})
        print(f"{name:16}{p50:>10.1f}{p99:>10.1f}{max(sizes):>10}{'' if p99 < MARK else f'  over {MARK}'}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench-dashboard", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, few requests")
    parser.add_argument("--jobs", type=int, help="finished jobs")
    parser.add_argument("--waiting", type=int, help="jobs and webhook messages that wait")
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--rounds", type=int, help="requests of each page")
    parser.add_argument("--output", default=ROOT / "bench-dashboard.json")
    plan = parser.parse_args()
    plan.jobs = plan.jobs or (50_000 if plan.quick else 10_000_000)
    plan.waiting = plan.waiting or (30_000 if plan.quick else 200_000)
    plan.rounds = plan.rounds or (20 if plan.quick else 300)
    stop_in_order()
    fetchd = build()
    figures, scratch = Figures(), pathlib.Path(tempfile.mkdtemp(prefix="fetchd-dashboard-"))
    scratch.chmod(0o755)
    settings = {"FETCHD_MASTER_KEYS": master_keys()}
    try:
        with Database(scratch / "pg", DATABASE_SETTINGS) as database:
            database.psql("postgres", "-c", "CREATE DATABASE fetchd")
            with open(scratch / "fetchd.log", "w", encoding="utf-8") as log:
                service = Service(fetchd, scratch / "data", [], database.url("fetchd"), log=log, settings=settings)
                with service:
                    key = service.create_key("--role", "admin")
                generate(database, plan)
                with service:
                    measure(service, key, plan.rounds, figures)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    figures.add(machine_processors=os.cpu_count(), jobs=plan.jobs, waiting=plan.waiting, tenants=plan.tenants)
    figures.write(plan.output)


run_as("bench-dashboard", main)
