"""Measures what the clients in clients/ cost for each job that is submitted, beside requests without them.

    scripts/bench-clients [--count N] [--rounds N]

Each way submits the same jobs, which are never due, one after the other over one connection to a service on loopback:
curl from a file of requests, http.client, `fetch` of Node, and the clients. The ways take turns, and the table has the
median of the rounds: milliseconds a job by the clock, and microseconds of the processor in the process that submits.
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

from binaries import build
from processes import ROOT, program, run, run_as, stop_in_order
from service import Service

FOLDER = ROOT / "Benchmarks/Clients"
BODY = '{"request": "https://example.com/", "runAt": "2100-01-01T00:00:00Z"}'


def with_curl(folder, environment, count):
    """One curl for all requests; its start is in its figures."""
    part = "\n".join([
        f'url = "{environment["FETCHD_URL"]}/v1/jobs"', f'header = "Authorization: Bearer {environment["FETCHD_KEY"]}"',
        'header = "Content-Type: application/json"', f"data = {json.dumps(BODY)}", 'output = "/dev/null"', "silent"])
    requests = folder / "requests"
    requests.write_text("\nnext\n".join([part] * count), encoding="utf-8")
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run([program("curl"), "--config", requests])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def ways(folder, environment, count):
    python = [ROOT / ".venv/bin/python", FOLDER / "submit.py"]
    node = [program("node"), FOLDER / "submit.mjs"]

    def printed(*command):
        return lambda: json.loads(run(command, env=environment))

    return {
        "curl": lambda: with_curl(folder, environment, count),
        "Python, http.client": printed(*python, "plain"),
        "Python, `Fetchd`": printed(*python, "threads"),
        "Python, `AsyncFetchd`": printed(*python, "asyncio"),
        "Node, `fetch`": printed(*node, "plain"),
        "Node, `Fetchd`": printed(*node, "client", folder / "dist/index.js"),
    }


def measure(folder, arguments):
    run([program("tsc"), "-p", ROOT / "clients/typescript", "--outDir", folder / "dist"])
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    with (open(folder / "log", "w", encoding="utf-8") as log,
          Service(build(), folder / "data", log=log) as service):
        environment = {**os.environ, "FETCHD_URL": service.url, "FETCHD_KEY": service.create_key(),
                       "COUNT": str(arguments.count), "PYTHONPATH": str(ROOT / "clients/python/src")}
        found = {name: [] for name in ways(folder, environment, 1)}
        for _ in range(arguments.rounds):
            for name, way in ways(folder, environment, arguments.count).items():
                found[name].append(way())
    print("| way | ms a job | processor, µs a job |\n| --- | ---: | ---: |")
    for name, rounds in found.items():
        seconds, cpu = (statistics.median(values) / arguments.count for values in zip(*rounds, strict=True))
        print(f"| {name} | {seconds * 1e3:.2f} | {cpu * 1e6:.0f} |")


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
