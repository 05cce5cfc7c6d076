"""Compares the engine with other clients for Swift, and with libcurl in a C loop, and writes bench-peers.json.

    scripts/bench-peers [--quick] [--rounds N] [--output FILE]

One nginx on loopback, 1 KB a fetch, every client in one process and one thread of its own; all take turns in each
round, and the figures are medians. FoundationNetworking cannot be given a certificate authority, so it is measured
over plain HTTP/1.1 alone.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from figures import Figures, measure, settle_down
from origin import Origin
from processes import ROOT, Failed, raise_descriptor_limit, run, say, stop_in_order

CONCURRENCIES = (1, 8, 64, 512)
PROTOCOLS = ("http1", "tls", "http2")
CLIENTS = ("limit", "engine", "asyncHTTPClient", "foundationNetworking")


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.seconds = 0.5 if quick else 2

    def fetches(self, client, concurrency):
        """About so many as a client of its kind makes in the time planned."""
        rate = {"limit": 30_000, "engine": 24_000, "asyncHTTPClient": 12_000, "foundationNetworking": 3_000}[client]
        return int(self.seconds * (rate if concurrency >= 8 else rate / 3))


def build():
    """The programs by client."""
    say("Building the clients for release …")
    built = ROOT / ".build/bench"
    built.mkdir(parents=True, exist_ok=True)
    run(["gcc", "-O2", "-o", built / "curlbench", ROOT / "Benchmarks/Limits/curlbench.c", "-lcurl"])
    run(["swift", "build", "-c", "release", "--product", "engine-bench"], cwd=ROOT)
    ours = pathlib.Path(run(["swift", "build", "-c", "release", "--show-bin-path"], cwd=ROOT).strip())
    peers = ROOT / "Benchmarks/Peers"
    scratch = ["--package-path", peers, "--scratch-path", ROOT / ".build/peers"]
    run(["swift", "build", "-c", "release", *scratch])
    theirs = pathlib.Path(run(["swift", "build", "-c", "release", "--show-bin-path", *scratch]).strip())
    return {"limit": built / "curlbench", "engine": ours / "engine-bench", "asyncHTTPClient": theirs / "ahc-bench",
            "foundationNetworking": theirs / "urlsession-bench"}


def command(client, program, protocol, origin, total, concurrency):
    """What to run, or None where the client cannot do that."""
    url = f"{origin.url if protocol == 'http1' else origin.tls_url}/1k"
    if client == "limit":
        version = "-2" if protocol == "http2" else "-1"
        trust = [] if protocol == "http1" else ["-P", "-C", origin.certificate]
        return [program, version, *trust, "-n", total, "-c", concurrency, url]
    if client == "foundationNetworking" and protocol != "http1":
        return None
    settings = ["env"]
    if protocol != "http1":
        settings.append(f"PEER_CA={origin.certificate}")
    if protocol != "http2":
        settings.append("PEER_HTTP1=1")
    verb = []
    if client == "engine":
        settings.append("ENGINE_BENCH_ON_LOOP=1")
        verb = ["fetch"]
    return [*settings, program, *verb, url, total, concurrency]


def rounds(options, plan, figures, programs, scratch):
    with Origin(scratch / "origin", 1 << 20) as origin:
        for number in range(options.rounds):
            say(f"Round {number + 1} of {options.rounds} …")
            for protocol in PROTOCOLS:
                for concurrency in CONCURRENCIES:
                    for client in CLIENTS:
                        total = plan.fetches(client, concurrency)
                        words = command(client, programs[client], protocol, origin, total, concurrency)
                        if words is None:
                            continue
                        settle_down(plan, figures)
                        found = measure(words)
                        name = f"{protocol}_{concurrency}.{client}"
                        figures.samples.setdefault(f"{name}.rate", []).append(found["rate"])
                        cost = found.get("cpu_us", found.get("cpu_us_per"))
                        figures.samples.setdefault(f"{name}.cpuUs", []).append(cost)


def table(figures):
    def cell(name):
        value = figures.median(name)
        return "-" if value is None else f"{value:,.0f}"
    for unit in ("rate", "cpuUs"):
        print("fetches/s" if unit == "rate" else "CPU per fetch, µs")
        print(f"{'':22}" + "".join(f"{client:>22}" for client in CLIENTS))
        for protocol in PROTOCOLS:
            for concurrency in CONCURRENCIES:
                row = "".join(f"{cell(f'{protocol}_{concurrency}.{client}.{unit}'):>22}" for client in CLIENTS)
                print(f"{protocol + ', ' + str(concurrency) + ' in flight':22}{row}")
    print(f"The machine was at least {min(figures.samples['machine.idlePercent']):.0f} % idle before each run.")


def main():
    parser = argparse.ArgumentParser(prog="bench-peers", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rounds", type=int, help="default 3, quick 1")
    parser.add_argument("--output", default=ROOT / "bench-peers.json")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    stop_in_order()
    raise_descriptor_limit()
    programs = build()
    figures, scratch = Figures(), pathlib.Path(tempfile.mkdtemp(prefix="fetchd-peers-"))
    scratch.chmod(0o755)
    try:
        rounds(options, Plan(options.quick), figures, programs, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    figures.add(machine_processors=os.cpu_count(), bench_rounds=options.rounds)
    table(figures)
    pathlib.Path(options.output).write_text(json.dumps(figures.flat(), indent=2, sort_keys=True) + "\n")
    say(f"Wrote {options.output}.")


try:
    main()
except (Failed, subprocess.TimeoutExpired) as failure:
    sys.exit(f"bench-peers: {failure}")
except KeyboardInterrupt:
    sys.exit(130)
