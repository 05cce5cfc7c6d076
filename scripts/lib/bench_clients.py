"""Measures what the clients in clients/ cost for each job that is submitted, beside requests without them.

    scripts/bench-clients [--count N] [--rounds N]

Each way submits jobs that do not run, one after the other over one connection to a service on loopback: curl from a
file of requests, also as the clients of QStash and aria2 ask for the same, http.client, `fetch` of Node, the engine,
and the clients. The ways take turns, and the table has the median of the rounds: milliseconds a job by the clock,
microseconds of the processor in the process that submits, and what the service itself used.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import tempfile
import time

from binaries import build, engine_bench
from processes import ROOT, cpu_seconds, program, run, run_as, stop_in_order
from service import Service

FOLDER = ROOT / "Benchmarks/Clients"
BODY = '{"request": "https://example.com/", "runAt": "2100-01-01T00:00:00Z"}'
JSON_TYPE = "Content-Type: application/json"


def v1(_):
    """The path, the header fields and the body of a request for a job."""
    return "/v1/jobs", [JSON_TYPE], BODY


def qstash(_):
    return "/v2/publish/https://example.com/", [JSON_TYPE, "Upstash-Not-Before: 4102444800"], "{}"


def aria2(key):
    params = [f"token:{key}", ["https://example.com/"], {"pause": "true"}]
    return "/jsonrpc", [JSON_TYPE], json.dumps({"jsonrpc": "2.0", "id": 1, "method": "aria2.addUri", "params": params})


def with_curl(folder, environment, count, request=v1):
    """One curl for all requests; its start is in its figures."""
    path, fields, body = request(environment["FETCHD_KEY"])
    fields = [f"Authorization: Bearer {environment['FETCHD_KEY']}", *fields]
    part = "\n".join([
        f'url = "{environment["FETCHD_URL"]}{path}"', *(f"header = {json.dumps(field)}" for field in fields),
        f"data = {json.dumps(body)}", 'output = "/dev/null"', "silent", "fail"])
    requests = folder / "requests"
    requests.write_text("\nnext\n".join([part] * count), encoding="utf-8")
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run([program("curl"), "--config", requests])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def ways(folder, environment, count, bench):
    python = [ROOT / ".venv/bin/python", FOLDER / "submit.py"]
    node = [program("node"), FOLDER / "submit.mjs"]

    def printed(*command):
        return lambda: json.loads(run(command, env=environment))

    return {
        "curl": lambda: with_curl(folder, environment, count),
        "curl, as QStash publishes": lambda: with_curl(folder, environment, count, qstash),
        "curl, as aria2's addUri": lambda: with_curl(folder, environment, count, aria2),
        "Python, http.client": printed(*python, "plain"),
        "Python, `Fetchd`": printed(*python, "threads"),
        "Python, `AsyncFetchd`": printed(*python, "asyncio"),
        "Node, `fetch`": printed(*node, "plain"),
        "Node, `Fetchd`": printed(*node, "client", folder / "dist/index.js"),
        "Swift, `Session`": printed(bench, "submit", str(count), "plain"),
        "Swift, `FetchdService`": printed(bench, "submit", str(count), "client"),
    }


def measure(folder, arguments):
    run([program("tsc"), "-p", ROOT / "clients/typescript", "--outDir", folder / "dist"])
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    with (open(folder / "log", "w", encoding="utf-8") as log,
          Service(fetchd := build(), folder / "data", log=log) as service):
        bench = engine_bench(fetchd)
        environment = {**os.environ, "FETCHD_URL": service.url, "FETCHD_KEY": service.create_key(),
                       "COUNT": str(arguments.count), "PYTHONPATH": str(ROOT / "clients/python/src")}
        found = {name: [] for name in ways(folder, environment, 1, bench)}
        for _ in range(arguments.rounds):
            for name, way in ways(folder, environment, arguments.count, bench).items():
                before = cpu_seconds(service.process.pid)
                own = way()
                found[name].append((*own, cpu_seconds(service.process.pid) - before))
    print("| way | ms a job | processor, µs a job | the service's, µs a job |\n| --- | ---: | ---: | ---: |")
    for name, rounds in found.items():
        seconds, cpu, served = (statistics.median(values) / arguments.count for values in zip(*rounds, strict=True))
        print(f"| {name} | {seconds * 1e3:.2f} | {cpu * 1e6:.0f} | {served * 1e6:.0f} |")


def main():
    stop_in_order()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="jobs a round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fetchd-bench-clients-"))
    folder.chmod(0o711)
    try:
        measure(folder, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


run_as("bench-clients", main)
