"""Measures what several nodes and several servers cost beside one, and writes bench-scale.json (docs/SCALE.md).

    scripts/bench-scale [--quick] [--rounds N] [--only nodes,shards] [--output FILE]

A durable PostgreSQL, one nginx, and services, all on loopback. Nodes: 200 jobs a second, submitted one by one to one
node, and to three in turn, each over a database of its own on the same server; what a job costs PostgreSQL, of one URL,
and of URLs that are new each time and cannot or can be cached. Shards: jobs of a hundred tenants, a batch of each, over
one server, and over coordinators of Citus with one worker and with two, turn by turn; what each server has to do for a
job. It is left out where that extension is not installed.
"""
import concurrent.futures
import contextlib
import functools
import http.client
import itertools
import json
import pathlib
import shutil
import statistics
import tempfile
import time

from binaries import build
from database import Database, has_citus, servers
from figures import Figures, round_options, settle_down
from job_bench import report
from origin import Origin
from processes import Failed, raise_descriptor_limit, run_as, say, stop_in_order
from service import Service, master_keys

PARTS = "nodes,shards"
RATE, CLIENTS, NODES = 200, 12, 3
# One URL, and URLs that are new each time, of what cannot be cached and of what can.
PATHS = {"same": "/1k", "new": "/1k?{}", "cached": "/cached/1k?{}"}
TENANTS, SUBMITTERS = 100, 4
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.max": "5000"}
SENT = """
    SELECT round(coalesce(sum(s.total_exec_time), 0)::numeric, 3)
    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = '%s'"""


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.node_seconds, self.node_turns = 4, 2 if quick else 5
        self.shard_turns = 2 if quick else 7
        self.batch = 20


class Bench:
    """The parts."""

    def __init__(self, plan, figures, origin, fetchd, scratch, log):
        self.plan, self.figures, self.origin, self.fetchd = plan, figures, origin, fetchd
        self.scratch, self.log = scratch, log
        self.settings = {"FETCHD_MASTER_KEYS": master_keys(),
                         "WORKER_DRAIN_SECONDS": "1"}

    def service(self, name, url):
        return Service(self.fetchd, self.scratch / name, [f"127.0.0.1:{self.origin.port}"], url, log=self.log,
                       settings=self.settings)

    # MARK: Nodes

    def nodes(self):
        """What a job costs PostgreSQL with one node and with three, turn by turn."""
        with contextlib.ExitStack() as stack:
            database = stack.enter_context(Database(self.scratch / "nodes.pg", STATEMENTS))
            database.psql("postgres", "-c", "CREATE EXTENSION pg_stat_statements")
            fleets = {}
            for name, count in (("one", 1), ("three", NODES)):
                database.psql("postgres", "-c", f"CREATE DATABASE {name}")
                nodes = [stack.enter_context(self.service(f"{name}-{number}", database.url(name)))
                         for number in range(count)]
                fleets[name] = (nodes, nodes[0].create_key())
            for what, path in PATHS.items():
                found = {}
                for turn in range(self.plan.node_turns + 1):
                    for name, (nodes, key) in fleets.items():
                        before = self.costs(database, name)
                        jobs = self.drive(nodes, key, path, self.plan.node_seconds)
                        # The first turn is of plans and caches.
                        for kind, value in self.costs(database, name).items() if turn else ():
                            figure = f"{what}{name.capitalize()}{kind}"
                            found.setdefault(figure, []).append((value - before[kind]) / jobs)
                self.figures.add(**{f"nodes_{name}": statistics.median(values) for name, values in found.items()})

    def costs(self, database, name):
        """Of a database so far; the server's processes tell what they did when they have been idle for a second."""
        time.sleep(2)
        commits = database.psql("postgres", "-c", f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'")
        sent = database.psql("postgres", "-c", SENT % name)
        return {"Commits": int(commits), "StatementMs": float(sent), "PostgresCpuMs": database.cpu() * 1000}

    def drive(self, nodes, key, path, seconds):
        """Submits jobs to the nodes in turn; returns how many."""
        begin, failures = time.monotonic(), []

        def client(place):
            connection = http.client.HTTPConnection("127.0.0.1", nodes[place % len(nodes)].port, timeout=60)
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            for turn in itertools.count():
                due = begin + (place + turn * CLIENTS) / RATE
                if due >= begin + seconds:
                    return turn
                time.sleep(max(0, due - time.monotonic()))
                url = self.origin.url + path.format(f"{begin}-{place}-{turn}")
                body = json.dumps({"request": {"url": url}})
                connection.request("POST", "/v1/jobs", body, headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status not in (201, 202):
                    failures.append(f"{answer.status}: {text[:300]}")
                    return turn

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            jobs = sum(pool.map(client, range(CLIENTS)))
        if failures:
            raise Failed(f"a job was answered with {failures[0]}")
        return jobs

    # MARK: Shards

    def shards(self):
        """The same jobs over one server, and over a coordinator with workers, turn by turn."""
        if not has_citus():
            say("Citus is not installed: shards are left out.")
            return
        with contextlib.ExitStack() as stack:
            fleets = {}
            for workers in (0, 1, 2):
                # Six servers have this machine's memory.
                parts = servers(stack, self.scratch / f"shards-{workers}.pg", workers, {"shared_buffers": "512MB"})
                service = stack.enter_context(self.service(f"shards-{workers}", parts[0].url("fetchd")))
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    names = [f"tenant-{number}" for number in range(TENANTS)]
                    keys = list(pool.map(functools.partial(service.create_key, "--tenant"), names))
                fleets[("none", "one", "two")[workers]] = (parts, service, keys)
            for fleet in fleets.values():
                self.turn(*fleet)
            settle_down(self.plan, self.figures)
            found = {}
            for _ in range(self.plan.shard_turns):
                for name, fleet in fleets.items():
                    for kind, value in self.turn(*fleet).items():
                        found.setdefault(f"{name}{kind}", []).append(value)
            self.figures.add(**{f"shards_{name}": statistics.median(values) for name, values in found.items()})

    def turn(self, parts, service, keys):
        """A batch of each tenant, until all of them are done."""
        specs = [{"request": {"url": f"{self.origin.url}/1k"}}] * self.plan.batch
        used, written = [server.cpu() for server in parts], [self.position(server) for server in parts]
        begin, jobs = time.monotonic(), TENANTS * self.plan.batch
        with concurrent.futures.ThreadPoolExecutor(SUBMITTERS) as pool:
            list(pool.map(lambda key: service.submit(key, specs), keys))
        parts[0].wait_until("fetchd", "NOT EXISTS (SELECT FROM queue)", 120, "jobs do not end")
        seconds = time.monotonic() - begin
        cpu = [(server.cpu() - before) / jobs * 1e6 for server, before in zip(parts, used, strict=True)]
        wal = [(self.position(server) - before) / jobs / 1024 for server, before in zip(parts, written, strict=True)]
        figures = {"PerSecond": jobs / seconds, "PostgresCpuUs": cpu[0], "WalKB": wal[0]}
        if len(parts) > 1:
            figures |= {"WorkerCpuUs": statistics.mean(cpu[1:]), "WorkerWalKB": statistics.mean(wal[1:])}
        return figures

    @staticmethod
    def position(server):
        """The bytes of WAL that the server has written so far."""
        return int(server.psql("postgres", "-c", "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))


RATIOS = [
    *((f"nodes.{what}{kind}Ratio", f"nodes.{what}Three{kind}", f"nodes.{what}One{kind}")
      for what in PATHS for kind in ("Commits", "StatementMs", "PostgresCpuMs")),
    ("shards.oneRatio", "shards.onePerSecond", "shards.nonePerSecond"),
    ("shards.twoRatio", "shards.twoPerSecond", "shards.nonePerSecond"),
]


def main():
    options = round_options("bench-scale", __doc__, PARTS)
    stop_in_order()
    raise_descriptor_limit()
    plan, figures, fetchd = Plan(options.quick), Figures(), build()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="fetchd-bench-"))
    scratch.chmod(0o755)
    try:
        with Origin(scratch / "origin", 1000) as origin, open(scratch / "fetchd.log", "w", encoding="utf-8") as log:
            for number in range(options.rounds):
                say(f"Round {number + 1} of {options.rounds} …")
                place = scratch / str(number)
                place.mkdir(mode=0o755)
                for part in options.only.split(","):
                    say(f"{part} …")
                    getattr(Bench(plan, figures, origin, fetchd, place, log), part)()
                shutil.rmtree(place, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for name, over, under in RATIOS:
        figures.ratio(name, over, under)
    report(figures, options)


run_as("bench-scale", main)
