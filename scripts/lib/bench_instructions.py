"""Counts the instructions that a job and a fetch cost, which no neighbour on the machine changes.

    scripts/bench-instructions [--jobs N] [--fetches N] [--only jobs,engine] [--profile DIR] [--output FILE]

The service runs under valgrind's callgrind beside an nginx and a PostgreSQL of its own, which do not. Its start and a
first part of the jobs are not counted. A fetch is counted as the difference of two runs of one program, for the engine
and for the loop in C. docs/PERFORMANCE.md explains each figure.
"""
import argparse
import base64
import os
import pathlib
import shutil
import tempfile

from binaries import build, engine_bench
from database import Database
from figures import Figures
from origin import Origin
from processes import ROOT, Failed, raise_descriptor_limit, run, run_as, say, stop_in_order
from service import Service

BATCH = 100
IN_FLIGHT = 8


def total(folder):
    """The instructions in the files that callgrind has written to a folder."""
    lines = (line for file in folder.glob("callgrind.out.*") for line in open(file, encoding="utf-8", errors="replace"))
    return sum(int(line.split()[1]) for line in lines if line.startswith("totals: "))


def counted(folder, *options):
    """The words before a command that is to be counted."""
    folder.mkdir(parents=True)
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out.%p", "--quiet", *options]


def serve(origin, database, fetchd, profile, scratch):
    """A service that is counted when callgrind is told to."""
    command, wrapper = counted(profile, "--instr-atstart=no"), scratch / "counted"
    wrapper.write_text("#!/bin/sh\nexec " + " ".join(command) + f' {fetchd} "$@"\n')
    wrapper.chmod(0o755)
    database.psql("postgres", "-c", "CREATE DATABASE fetchd")
    settings = {"FETCHD_MASTER_KEYS": "1:" + base64.b64encode(os.urandom(32)).decode()}
    return Service(wrapper, scratch / "data", [f"127.0.0.1:{origin.port}"], database.url("fetchd"),
                   log=open(scratch / "fetchd.log", "w", encoding="utf-8"), settings=settings)


def jobs(options, figures, origin, fetchd, scratch):
    """Instructions of the service for a job of 1 KB that is submitted in a batch."""
    profile = scratch / "jobs"
    with Database(scratch / "pg") as database, serve(origin, database, fetchd, profile, scratch) as service:
        service.binary = str(fetchd)
        key, specs = service.create_key(), [{"request": {"url": f"{origin.url}/1k"}}] * BATCH

        def submit(count):
            for _ in range(count // BATCH):
                status, _, answer = service.submit_lines(key, specs)
                if status != 200 or b'"problem"' in answer:
                    raise Failed(f"a batch was answered with {status}: {answer[:300]}")
            database.wait_until("fetchd", "NOT EXISTS (SELECT FROM queue)", 240, "jobs still wait")

        say("Jobs that are not counted …")
        submit(2 * BATCH)
        say("Jobs that are counted …")
        run(["callgrind_control", "--instr=on", service.process.pid])
        submit(options.jobs)
        run(["callgrind_control", "--instr=off", service.process.pid])
    figures.add(instructions_job=total(profile) / options.jobs)


def fetches(options, figures, origin, bench, curlbench, scratch):
    """Instructions of a fetch of 1 KB, by the engine and by the loop in C."""
    def cost(name, command):
        few, many = options.fetches, 3 * options.fetches
        counts = []
        for count in (few, many):
            folder = scratch / f"{name}-{count}"
            run([*counted(folder), *map(str, command(count))])
            counts.append(total(folder))
        return (counts[1] - counts[0]) / (many - few)

    say("Fetches …")
    url = f"{origin.url}/1k"
    figures.add(
        instructions_fetch=cost("engine", lambda count: [
            "env", "ENGINE_BENCH_ON_LOOP=1", bench, "fetch", url, count, IN_FLIGHT]),
        instructions_limitFetch=cost("limit", lambda count: [
            curlbench, "-1", "-n", count, "-c", IN_FLIGHT, url]))
    figures.ratio("instructions.fetchRatio", "instructions.fetch", "instructions.limitFetch")


def main():
    parser = argparse.ArgumentParser(prog="bench-instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1000, help=f"a multiple of {BATCH}; default 1000")
    parser.add_argument("--fetches", type=int, default=1000, help="of the shorter run; default 1000")
    parser.add_argument("--only", default="jobs,engine", help="parts, comma separated")
    parser.add_argument("--profile", help="keep callgrind's files in this folder, for callgrind_annotate")
    parser.add_argument("--output", default=ROOT / "bench-instructions.json")
    options = parser.parse_args()
    if options.jobs % BATCH or options.jobs < BATCH or options.fetches < 1:
        raise Failed(f"--jobs must be a multiple of {BATCH}, and --fetches at least 1")
    stop_in_order()
    raise_descriptor_limit()
    curlbench = ROOT / ".build/bench/curlbench"
    fetchd, figures = build(), Figures()
    run(["gcc", "-O2", "-o", curlbench, ROOT / "Benchmarks/Limits/curlbench.c", "-lcurl"])
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="fetchd-bench-"))
    scratch.chmod(0o755)
    try:
        with Origin(scratch / "origin", 1 << 20) as origin:
            if "jobs" in options.only.split(","):
                jobs(options, figures, origin, fetchd, scratch)
            if "engine" in options.only.split(","):
                fetches(options, figures, origin, engine_bench(fetchd), curlbench, scratch)
        if options.profile:
            for file in scratch.glob("*/callgrind.out.*"):
                folder = pathlib.Path(options.profile) / file.parent.name
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for name, value in figures.flat().items():
        print(f"{name:28}{value:>14,.2f}")
    figures.write(options.output)


run_as("bench-instructions", main)
