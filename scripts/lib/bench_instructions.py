"""Counts the instructions that a job and a fetch cost, which no neighbour on the machine changes.

    scripts/bench-instructions [--jobs N] [--fetches N] [--only jobs,engine] [--profile DIR] [--output FILE]
        [--hold FILE]

The service runs under valgrind's callgrind beside an nginx and a PostgreSQL of its own, which do not. Its start and a
first part of the jobs are not counted. The jobs of a batch are for so many hosts that none waits for a connection, and
each batch waits for the one before: under valgrind no host answers fast enough, so that jobs would be put to a gate in
the database, which costs as much again. A fetch is counted as the difference of two runs of one program, for the engine
and for the loop in C. Valgrind gives up on the debug sections of a release binary, so that a copy without them runs.
Beside the figures it prints where a job's instructions went (callgrind.py). docs/PERFORMANCE.md explains each figure.
"""
import argparse
import json
import os
import pathlib
import shutil
import tempfile

import callgrind
from binaries import build, engine_bench
from database import Database
from figures import Figures
from origin import Origin
from processes import ROOT, Failed, raise_descriptor_limit, run, run_as, say, stop_in_order
from service import Service, master_keys

BATCH = 100
# By how much a figure may be off the one that is recorded.
TOLERANCE = 0.03
IN_FLIGHT = 8


def without_debug_sections(binary, scratch):
    """A copy that valgrind can read; the names of functions stay."""
    copy = scratch / f"{binary.name}-counted"
    run(["strip", "--strip-debug", "-o", copy, binary])
    return copy


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
    settings = {"FETCHD_MASTER_KEYS": master_keys()}
    allowed = [f"{address}:{origin.port}" for address in origin.addresses]
    return Service(wrapper, scratch / "data", allowed, database.url("fetchd"),
                   log=open(scratch / "fetchd.log", "w", encoding="utf-8"), settings=settings)


def jobs(options, figures, origin, fetchd, scratch):
    """Instructions of the service for a job of 1 KB that is submitted in a batch."""
    profile, counted_binary = scratch / "jobs", without_debug_sections(fetchd, scratch)
    with Database(scratch / "pg") as database, serve(
            origin, database, counted_binary, profile, scratch) as service:
        service.binary = str(fetchd)
        key, urls = service.create_key(), origin.small_urls
        specs = [{"request": {"url": urls[number % len(urls)]}} for number in range(BATCH)]

        def submit(count):
            for _ in range(count // BATCH):
                status, _, answer = service.submit_lines(key, specs)
                if status != 200 or b'"problem"' in answer:
                    raise Failed(f"a batch was answered with {status}: {answer[:300]}")
                database.wait_until("fetchd", "NOT EXISTS (SELECT FROM queue)", 240, "jobs still wait")

        say("Jobs that are not counted …")
        submit(4 * BATCH)
        say("Jobs that are counted …")
        run(["callgrind_control", "--instr=on", service.process.pid])
        submit(options.jobs)
        run(["callgrind_control", "--instr=off", service.process.pid])
        if (gated := database.psql("fetchd", "-c", "SELECT count(*) FROM limiters").strip()) != "0":
            raise Failed(f"jobs of {gated} hosts were put to gates, which is not what is to be counted")
    figures.add(instructions_job=callgrind.total(profile) / options.jobs)
    callgrind.report(profile, options.jobs, "job")


def fetches(options, figures, origin, bench, curlbench, scratch):
    """Instructions of a fetch of 1 KB, by the engine and by the loop in C."""
    def cost(name, command):
        few, many = options.fetches, 3 * options.fetches
        counts = []
        for count in (few, many):
            folder = scratch / f"{name}-{count}"
            # Not by env(1): callgrind does not follow what a program turns itself into.
            run([*counted(folder), *map(str, command(count))], env={**os.environ, "ENGINE_BENCH_ON_LOOP": "1"})
            counts.append(callgrind.total(folder))
        return (counts[1] - counts[0]) / (many - few)

    say("Fetches …")
    counted_bench = without_debug_sections(bench, scratch)
    url = f"{origin.url}/1k"
    figures.add(
        instructions_fetch=cost("engine", lambda count: [
            counted_bench, "fetch", url, count, IN_FLIGHT]),
        instructions_limitFetch=cost("limit", lambda count: [
            curlbench, "-1", "-n", count, "-c", IN_FLIGHT, url]))
    figures.ratio("instructions.fetchRatio", "instructions.fetch", "instructions.limitFetch")


def hold(figures, file):
    """Holds figures to those that a file records; one that has fallen is to be recorded, or it could rise unseen."""
    recorded = json.loads(pathlib.Path(file).read_text())
    found = {name: figures.median(name) for name in recorded}
    if missing := [name for name, value in found.items() if value is None]:
        raise Failed(f"{', '.join(missing)} of {file} was not counted")
    for name, value in recorded.items():
        if abs(found[name] - value) > TOLERANCE * value:
            remedy = "find what they are spent on" if found[name] > value else "record it there"
            raise Failed(f"{name} is {found[name]:,.0f} and not {value:,.0f}, which {file} has: {remedy}")


def main():
    parser = argparse.ArgumentParser(prog="bench-instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1000, help=f"a multiple of {BATCH}; default 1000")
    parser.add_argument("--fetches", type=int, default=1000, help="of the shorter run; default 1000")
    parser.add_argument("--only", default="jobs,engine", help="parts, comma separated")
    parser.add_argument("--profile", help="keep callgrind's files in this folder, for callgrind_annotate")
    parser.add_argument("--output", default=ROOT / "bench-instructions.json")
    parser.add_argument("--hold", help=f"fail when a figure is more than {TOLERANCE:.0%}% off the one in this file")
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
    if options.hold:
        hold(figures, options.hold)


run_as("bench-instructions", main)
