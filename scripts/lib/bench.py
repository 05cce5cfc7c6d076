"""Measures fetchd beside the C limits of the same work, and writes bench.json.

    scripts/bench [--quick] [--rounds N] [--only engine,e2e,queues,bulk] [--limits-only] [--output FILE]

Limit and ours alternate, round by round, on the same machine with everything (origin, PostgreSQL, client) on it; the
figures are medians. Ratios are what to compare between machines. Everything stays on loopback and is bounded in count
and time. docs/PERFORMANCE.md explains each figure.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from binaries import build, engine_bench
from database import Database
from figures import Figures, measure, round_options, settle_down, timed
from origin import Origin
from processes import (
    ROOT,
    Failed,
    cpu_seconds,
    free_ports,
    raise_descriptor_limit,
    run,
    run_as,
    say,
    stop,
    stop_in_order,
    wait_until,
)
from service import Service, master_keys

BUILT = ROOT / ".build/bench"
JOB = {"request": {"method": "GET", "headers": [{"name": "Accept", "value": "*/*"},
                                                {"name": "User-Agent", "value": "bench/1.0"}]}}


class Plan:
    """How much is measured."""

    def __init__(self, quick):
        self.fetches = 20_000 if quick else 60_000
        self.idle_transfers = 300 if quick else 1_000
        self.idle_seconds = 3 if quick else 6
        self.batch_jobs = 10_000 if quick else 40_000
        self.single_jobs = 5_000 if quick else 20_000
        self.idle_jobs = 60 if quick else 200
        self.queue_jobs = 1_000 if quick else 4_000
        self.patience = 2 if quick else 20
        self.big_bytes = (256 if quick else 1024) << 20


def build_limits():
    BUILT.mkdir(parents=True, exist_ok=True)
    limits, pg = ROOT / "Benchmarks/Limits", run(["pg_config", "--includedir"]).strip()
    run(["gcc", "-O2", "-o", BUILT / "curlbench", limits / "curlbench.c", "-lcurl"])
    run(["gcc", "-O2", "-o", BUILT / "e2e", limits / "e2e.c", f"-I{pg}", "-lpq", "-lcurl"])


def build_ours():
    """Paths of fetchd and engine-bench."""
    fetchd = build()
    return fetchd, engine_bench(fetchd)


def build_queues():
    """A Python with the job queues that ours is compared with."""
    python, wanted = BUILT / "queues/bin/python", ROOT / "Benchmarks/Queues/requirements.txt"
    stamp = BUILT / "queues/requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        say("Installing Procrastinate, PgQueuer and Celery …")
        run(["python3", "-m", "venv", "--clear", BUILT / "queues"])
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted])
        shutil.copy(wanted, stamp)
    return python


def engine(plan, figures, origin, ours):
    fetch = [BUILT / "curlbench", "-1", "-n", plan.fetches, "-c", 64, f"{origin.url}/1k"]
    idle = [BUILT / "curlbench", "-1", "-c", plan.idle_transfers, "-i", plan.idle_seconds, origin.slow_url]
    settle_down(plan, figures)
    limit = measure(fetch)
    figures.add(engine_limitRate=limit["rate"], engine_limitCpuUs=limit["cpu_us_per"],
                engine_limitP99Ms=limit["p99_ms"])
    figures.add(engine_limitIdleTransferKB=measure(idle)["per_transfer_kb"])
    if ours:
        settle_down(plan, figures)
        # On the transfers' loop, where the worker runs its jobs.
        mine = measure(["env", "ENGINE_BENCH_ON_LOOP=1", ours[1], "fetch", f"{origin.url}/1k", plan.fetches, 64])
        figures.add(engine_rate=mine["rate"], engine_cpuUs=mine["cpu_us"])
        held = measure([ours[1], "idle", origin.slow_url, plan.idle_transfers, plan.idle_seconds])
        figures.add(engine_idleTransferKB=held.get("per_transfer_kb", held["rss_kb"] / plan.idle_transfers))


def limit_e2e(plan, figures, origin, database):
    def go(*options):
        database.psql("bench", "-v", "v=s3", "-f", ROOT / "Benchmarks/Limits/queue.sql")
        settle_down(plan, figures)
        used = cpu_seconds(database.process.pid)
        report = measure([BUILT / "e2e", "-v", "s3", "-C", database.conninfo("bench"), "-c", 64, *options,
                          f"{origin.url}/1k"])
        return {**report, "postgres_cpu": cpu_seconds(database.process.pid) - used}
    batch = go("-M", "own", "-n", plan.batch_jobs, "-b", 100)
    claimed = go("-M", "claim", "-n", plan.batch_jobs, "-b", 100)
    single = go("-M", "own", "-n", plan.single_jobs, "-b", 1, "-p", 16)
    idle = go("-M", "own", "-n", plan.idle_jobs, "-b", 1, "-r", 20)
    figures.add(e2e_limitBatchRate=batch["rate"], e2e_limitClaimedBatchRate=claimed["rate"],
                e2e_limitSingleRate=single["rate"], e2e_limitIdleP50Ms=idle["p50_ms"],
                e2e_limitIdleP99Ms=idle["p99_ms"], e2e_limitPostgresCpuUs=batch["postgres_cpu"] / plan.batch_jobs * 1e6)


def finish_rate(database, jobs, load):
    """Jobs a second from the first submission until the last is durably finished, by the database's own clock."""
    def ask(query):
        return float(database.psql("fetchd", "-c", query).strip())

    begin = ask("SELECT extract(epoch FROM clock_timestamp())")
    report = measure(load)
    database.wait_until("fetchd", "NOT EXISTS (SELECT FROM queue)", 120, "jobs still wait")
    stored = ask(f"SELECT count(*) FROM results WHERE finished_at >= to_timestamp({begin})")
    if stored != jobs:
        raise Failed(f"{stored:.0f} of {jobs} jobs finished, and none waits")
    end = ask("SELECT extract(epoch FROM max(finished_at)) FROM results")
    return jobs / (end - begin), report


def our_e2e(plan, figures, origin, database, service, key, scratch):
    job = {**JOB, "request": {"url": f"{origin.url}/1k", **JOB["request"]}}
    one, hundred = scratch / "job.json", scratch / "jobs.ndjson"
    one.write_text(json.dumps(job))
    hundred.write_text((json.dumps(job) + "\n") * 100)
    post = [BUILT / "load", "-m", "POST", "-t", 150, "-H", f"Authorization: Bearer {key}"]
    batch = [*post, "-n", plan.batch_jobs // 100, "-c", 4, "-b", hundred,
             "-H", "Content-Type: application/x-ndjson", f"{service.url}/v1/jobs/batch"]
    single = [*post, "-n", plan.single_jobs, "-c", 64, "-b", one,
              "-H", "Content-Type: application/json", f"{service.url}/v1/jobs"]
    waiting = [*post, "-n", plan.idle_jobs, "-c", 1, "-r", 20, "-b", one, "-H", "Content-Type: application/json",
               "-H", "Prefer: wait=10", f"{service.url}/v1/jobs"]
    settle_down(plan, figures)
    used = [cpu_seconds(process.pid) for process in (service.process, database.process)]
    figures.add(e2e_batchRate=finish_rate(database, plan.batch_jobs, batch)[0])
    for name, process, before in zip(("serviceCpuUs", "postgresCpuUs"), (service.process, database.process), used,
                                     strict=True):
        figures.add(**{f"e2e_{name}": (cpu_seconds(process.pid) - before) / plan.batch_jobs * 1e6})
    settle_down(plan, figures)
    rate, report = finish_rate(database, plan.single_jobs, single)
    figures.add(e2e_singleRate=rate, e2e_singleSubmitP99Ms=report["p99_ms"])
    settle_down(plan, figures)
    idle = measure(waiting)
    figures.add(e2e_idleP50Ms=idle["p50_ms"], e2e_idleP99Ms=idle["p99_ms"])


def queues(plan, figures, origin, database, python, scratch):
    """The same work by job queues that others use, each as its documentation says."""
    drivers, url = ROOT / "Benchmarks/Queues", f"{origin.url}/1k"
    for name in ("procrastinate", "pgqueuer"):
        database.psql("postgres", "-c", f"DROP DATABASE IF EXISTS {name}", "-c", f"CREATE DATABASE {name}")
        settle_down(plan, figures)
        places = {"PGHOST": str(database.directory), "PGUSER": "postgres", "PGDATABASE": name}
        note_queue(figures, name, measure(
            [python, drivers / f"{name}_jobs.py", plan.queue_jobs, 64, plan.idle_jobs, url],
            env={**os.environ, **places}))
    with Redis(scratch / "redis") as redis:
        settle_down(plan, figures)
        note_queue(figures, "celery", measure(
            [python, drivers / "celery_jobs.py", plan.queue_jobs, 4, plan.idle_jobs, url],
            env={**os.environ, "REDIS_URL": redis.url}))


def note_queue(figures, name, report):
    figures.add(**{f"{name}_rate": report["rate"], f"{name}_cpuUs": report["cpu_us"],
                   f"{name}_idleP50Ms": report["p50_ms"], f"{name}_idleP99Ms": report["p99_ms"]})


class Redis:
    """A Redis of the benchmark's own that syncs each write, so that what it took is as safe as in PostgreSQL."""

    def __init__(self, directory):
        self.directory, self.port = pathlib.Path(directory), free_ports(1)[0]
        self.url = f"redis://127.0.0.1:{self.port}"

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", self.directory, "--save", "",
             "--appendonly", "yes", "--appendfsync", "always"], stdout=subprocess.DEVNULL)
        answers = ["redis-cli", "-p", str(self.port), "ping"]
        wait_until(lambda: subprocess.run(answers, capture_output=True, check=False).stdout == b"PONG\n", 20, "Redis",
                   self.process)
        return self

    def __exit__(self, *_):
        stop(self.process, 20)


def bulk(plan, figures, origin, ours, scratch):
    target = scratch / "download"

    def go(command):
        settle_down(plan, figures)
        os.sync()
        result = timed(command)
        if target.stat().st_size != plan.big_bytes:
            raise Failed(f"{command[0]}: {target.stat().st_size} bytes instead of {plan.big_bytes}")
        target.unlink()
        return result
    wall, cpu, rss = go(["curl", "-s", "-o", target, f"{origin.url}/big.bin"])
    figures.add(bulk_curlWallSeconds=wall, bulk_curlCpuSeconds=cpu, bulk_curlRSSMB=rss)
    if ours:
        wall, cpu, rss = go([ours[0], "get", "-o", target, f"{origin.url}/big.bin"])
        figures.add(bulk_downloadWallSeconds=wall, bulk_downloadCpuSeconds=cpu, bulk_downloadRSSMB=rss)


RATIOS = [
    ("engine.rateRatio", "engine.rate", "engine.limitRate"),
    ("engine.cpuRatio", "engine.cpuUs", "engine.limitCpuUs"),
    ("engine.idleTransferRatio", "engine.idleTransferKB", "engine.limitIdleTransferKB"),
    ("e2e.batchRatio", "e2e.batchRate", "e2e.limitBatchRate"),
    ("e2e.singleRatio", "e2e.singleRate", "e2e.limitSingleRate"),
    ("e2e.postgresCpuRatio", "e2e.postgresCpuUs", "e2e.limitPostgresCpuUs"),
    ("e2e.idleP50Ratio", "e2e.idleP50Ms", "e2e.limitIdleP50Ms"),
    ("pgqueuer.rateRatio", "e2e.batchRate", "pgqueuer.rate"),
    ("bulk.downloadWallRatio", "bulk.downloadWallSeconds", "bulk.curlWallSeconds"),
    ("bulk.downloadCpuRatio", "bulk.downloadCpuSeconds", "bulk.curlCpuSeconds"),
]
ROWS = [
    ("fetches/s, 1 KB, 64 in flight", "engine.rate", "engine.limitRate", "engine.rateRatio"),
    ("CPU per fetch, µs", "engine.cpuUs", "engine.limitCpuUs", "engine.cpuRatio"),
    ("memory per idle transfer, KB", "engine.idleTransferKB", "engine.limitIdleTransferKB",
     "engine.idleTransferRatio"),
    ("jobs/s, durable, batches of 100", "e2e.batchRate", "e2e.limitBatchRate", "e2e.batchRatio"),
    ("CPU of the service per job, µs", "e2e.serviceCpuUs", None, None),
    ("CPU of PostgreSQL per job, µs", "e2e.postgresCpuUs", "e2e.limitPostgresCpuUs", "e2e.postgresCpuRatio"),
    ("jobs/s, durable, one by one", "e2e.singleRate", "e2e.limitSingleRate", "e2e.singleRatio"),
    ("idle latency p50, ms", "e2e.idleP50Ms", "e2e.limitIdleP50Ms", "e2e.idleP50Ratio"),
    ("idle latency p99, ms", "e2e.idleP99Ms", "e2e.limitIdleP99Ms", None),
    ("jobs/s in batches (beside Procrastinate)", "e2e.batchRate", "procrastinate.rate", None),
    ("idle latency p50, ms (the same)", "e2e.idleP50Ms", "procrastinate.idleP50Ms", None),
    ("jobs/s in batches (beside PgQueuer)", "e2e.batchRate", "pgqueuer.rate", "pgqueuer.rateRatio"),
    ("idle latency p50, ms (the same)", "e2e.idleP50Ms", "pgqueuer.idleP50Ms", None),
    ("jobs/s in batches (beside Celery)", "e2e.batchRate", "celery.rate", None),
    ("idle latency p50, ms (the same)", "e2e.idleP50Ms", "celery.idleP50Ms", None),
    ("download, wall s (limit: curl)", "bulk.downloadWallSeconds", "bulk.curlWallSeconds",
     "bulk.downloadWallRatio"),
    ("download, CPU s", "bulk.downloadCpuSeconds", "bulk.curlCpuSeconds", "bulk.downloadCpuRatio"),
    ("download, largest memory, MB", "bulk.downloadRSSMB", "bulk.curlRSSMB", None),
]


def table(figures):
    def cell(name):
        value = figures.median(name) if name else None
        return "-" if value is None else f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"
    print(f"{'':42}{'ours':>12}{'limit':>12}{'ratio':>8}")
    for title, ours, limit, ratio in ROWS:
        # Beside nothing, what is measured has a row of its own already.
        if figures.median(limit or ours) is not None:
            print(f"{title:42}{cell(ours):>12}{cell(limit):>12}{cell(ratio):>8}")
    idle = min(figures.samples.get("machine.idlePercent", [100]))
    if idle < 80:
        print(f"The machine was busy (only {idle:.0f} % idle before a run): compare ratios, not figures.")


def serve(stack, origin, database, scratch, fetchd):
    """A running service over the benchmark's database, and a key for it."""
    log = open(scratch / "fetchd.log", "w", encoding="utf-8")
    database.psql("postgres", "-c", "CREATE DATABASE fetchd")
    # As many connections to the origin as the limit has.
    settings = {"WORKER_MAXIMUM_CONNECTIONS_PER_HOST": "64",
                "FETCHD_MASTER_KEYS": master_keys()}
    service = Service(fetchd, scratch / "data", [f"127.0.0.1:{origin.port}"], database.url("fetchd"), log=log,
                      settings=settings)
    stack.append(service)
    service.start()
    return service, service.create_key()


def rounds(options, plan, figures, ours, scratch):
    parts = options.only.split(",")
    services = []
    python = build_queues() if "queues" in parts else None
    with Origin(scratch / "origin", plan.big_bytes) as origin, Database(scratch / "pg") as database:
        try:
            database.psql("postgres", "-c", "CREATE DATABASE bench")
            if ours and "e2e" in parts:
                service, key = serve(services, origin, database, scratch, ours[0])
            for number in range(options.rounds):
                say(f"Round {number + 1} of {options.rounds} …")
                if "engine" in parts:
                    engine(plan, figures, origin, ours)
                if "e2e" in parts:
                    limit_e2e(plan, figures, origin, database)
                    if ours:
                        our_e2e(plan, figures, origin, database, service, key, scratch)
                if "queues" in parts:
                    queues(plan, figures, origin, database, python, scratch)
                if "bulk" in parts:
                    bulk(plan, figures, origin, ours, scratch)
        except BaseException:
            log = scratch / "fetchd.log"
            if log.exists():
                say("The end of the service's log:\n" + "\n".join(log.read_text().splitlines()[-20:]))
            raise
        finally:
            for service in services:
                service.stop()


def main():
    options = round_options("bench", __doc__, "engine,e2e,queues,bulk",
                            limits_only="the C programs alone; builds no Swift")
    stop_in_order()
    raise_descriptor_limit()
    build_limits()
    ours = None if options.limits_only else build_ours()
    figures, scratch, begin = Figures(), pathlib.Path(tempfile.mkdtemp(prefix="fetchd-bench-")), time.monotonic()
    scratch.chmod(0o755)
    try:
        rounds(options, Plan(options.quick), figures, ours, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for name, over, under in RATIOS:
        figures.ratio(name, over, under)
    figures.add(bench_rounds=options.rounds, bench_seconds=time.monotonic() - begin, machine_processors=os.cpu_count())
    table(figures)
    figures.write(options.output)


run_as("bench", main)
