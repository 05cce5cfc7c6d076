"""Compares the engine with other clients for Swift, and with libcurl in a C loop, and writes bench-peers.json.

    scripts/bench-peers [--quick] [--rounds N] [--only fetches,idle,cached,bulk] [--output FILE]

One nginx on loopback; all clients take turns in each round, and the figures are medians. Fetches are of 1 KB, and every
client has one thread for its connections; AsyncHTTPClient's callers run on others, so the engine is measured with two
loops as well, a session on each. FoundationNetworking cannot be given a certificate authority, so it is
measured over plain HTTP/1.1 alone. Bulk is one body each way, compared with the curl command; idle transfers crawl at
1 KB/s.
"""
import os
import pathlib
import shutil
import tempfile

from figures import Figures, measure, round_options, settle_down, timed
from origin import Origin
from processes import ROOT, raise_descriptor_limit, run, run_as, say, stop_in_order

CONCURRENCIES = (1, 8, 64, 512)
PROTOCOLS = ("http1", "tls", "http2")
CLIENTS = ("limit", "engine", "engineOnTwoLoops", "asyncHTTPClient", "foundationNetworking")


class Plan:
    def __init__(self, quick):
        self.patience = 2 if quick else 20
        self.seconds = 0.5 if quick else 2
        self.bulk_bytes = (256 if quick else 3072) << 20
        self.idle_transfers = (300, 1_000) if quick else (1_000, 10_000)
        self.idle_seconds = 6 if quick else 16
        self.cached_loads = 20_000 if quick else 100_000

    def fetches(self, client, concurrency):
        """About so many as a client of its kind makes in the time planned."""
        rate = {"limit": 30_000, "engine": 24_000, "engineOnTwoLoops": 24_000, "asyncHTTPClient": 12_000,
                "foundationNetworking": 3_000}[client]
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
    engine = ours / "engine-bench"
    return {"limit": built / "curlbench", "engine": engine, "engineOnTwoLoops": engine,
            "asyncHTTPClient": theirs / "ahc-bench", "foundationNetworking": theirs / "urlsession-bench"}


def command(client, program, protocol, origin, total, concurrency):
    """What to run, or None where the client cannot do that."""
    url = f"{origin.url if protocol == 'http1' else origin.tls_url}/1k"
    if client == "limit":
        version = "-2" if protocol == "http2" else "-1"
        trust = [] if protocol == "http1" else ["-P", "-C", origin.certificate]
        return [program, version, *trust, "-n", total, "-c", concurrency, url]
    if client == "foundationNetworking" and protocol != "http1" or client == "engineOnTwoLoops" and concurrency == 1:
        return None
    settings = ["env"]
    if protocol != "http1":
        settings.append(f"PEER_CA={origin.certificate}")
    if protocol != "http2":
        settings.append("PEER_HTTP1=1")
    verb = []
    if client.startswith("engine"):
        settings.append("ENGINE_BENCH_ON_LOOP=1")
        verb = ["fetch"]
    if client == "engineOnTwoLoops":
        settings.append("ENGINE_BENCH_LOOPS=2")
    return [*settings, program, *verb, url, total, concurrency]


def fetches(plan, figures, origin, programs):
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
                figures.samples.setdefault(f"{name}.cpuUs", []).append(found.get("cpu_us", found.get("cpu_us_per")))


def bulk(plan, figures, origin, programs, scratch):
    """Processor seconds a gigabyte: a body to nowhere, to a file, from memory and from a file."""
    engine, url, here = programs["engine"], f"{origin.url}/big.bin", scratch / "bulk.bin"
    there, source = f"{origin.url}/put/bulk.bin", origin.directory / "www/big.bin"
    pairs = {
        "downToMemory": (["curl", "-s", "-o", "/dev/null", url],
                         ["env", "ENGINE_BENCH_ON_LOOP=1", engine, "download", url, "-"]),
        "downToFile": (["curl", "-s", "-o", here, url], [engine, "download", url, here]),
        "upFromFile": (["curl", "-s", "-f", "-H", "Expect:", "-T", source, there], [engine, "upload", there, source]),
        "upFromMemory": (None, [engine, "upload", there, plan.bulk_bytes >> 20]),
    }
    for name, (limit, ours) in pairs.items():
        for client, words in (("curl", limit), ("engine", ours)):
            if words is None:
                continue
            settle_down(plan, figures)
            os.sync()
            wall, cpu, rss = timed(words)
            figures.add(**{f"bulk_{name}.{client}.wallSeconds": wall, f"bulk_{name}.{client}.rssMB": rss,
                           f"bulk_{name}.{client}.cpuSecondsPerGB": cpu / (plan.bulk_bytes / 1e9)})
            here.unlink(missing_ok=True)


def idle(plan, figures, origin, programs):
    for count in plan.idle_transfers:
        for client in ("limit", "engine"):
            options = ["-1", "-c", count, "-i", plan.idle_seconds, origin.slow_url]
            words = [programs[client], *options] if client == "limit" else [
                programs[client], "idle", origin.slow_url, count, plan.idle_seconds]
            settle_down(plan, figures)
            found = measure(words)
            figures.samples.setdefault(f"idle_{count}.{client}.perTransferKB", []).append(found["per_transfer_kb"])
            figures.samples.setdefault(f"idle_{count}.{client}.cpuPercent", []).append(found["hold_cpu_pct"])


def cached(plan, figures, origin, programs):
    settle_down(plan, figures)
    for name, settings in (("onLoop", ["env", "ENGINE_BENCH_ON_LOOP=1"]), ("elsewhere", ["env"])):
        found = measure([*settings, programs["engine"], "cached", f"{origin.url}/cached/1k", plan.cached_loads])
        figures.add(**{f"cached_{name}.cpuUs": found["cpu_us"]})


def rounds(options, plan, figures, programs, scratch):
    with Origin(scratch / "origin", plan.bulk_bytes) as origin:
        for number in range(options.rounds):
            say(f"Round {number + 1} of {options.rounds} …")
            if "fetches" in options.only:
                fetches(plan, figures, origin, programs)
            if "idle" in options.only:
                idle(plan, figures, origin, programs)
            if "cached" in options.only:
                cached(plan, figures, origin, programs)
            if "bulk" in options.only:
                bulk(plan, figures, origin, programs, scratch)


def table(figures):
    def cell(name):
        value = figures.median(name)
        return "-" if value is None else f"{value:,.0f}"
    others = [name for name in sorted(figures.samples) if name.split(".")[0] in ("idle", "cached", "bulk")]
    for name in others:
        print(f"{name:44}{figures.median(name):12,.2f}")
    for unit in ("rate", "cpuUs") if figures.median("http1_64.engine.rate") else ():
        print("fetches/s" if unit == "rate" else "CPU per fetch, µs")
        print(f"{'':22}" + "".join(f"{client:>22}" for client in CLIENTS))
        for protocol in PROTOCOLS:
            for concurrency in CONCURRENCIES:
                row = "".join(f"{cell(f'{protocol}_{concurrency}.{client}.{unit}'):>22}" for client in CLIENTS)
                print(f"{protocol + ', ' + str(concurrency) + ' in flight':22}{row}")
    print(f"The machine was at least {min(figures.samples['machine.idlePercent']):.0f} % idle before each run.")


def main():
    options = round_options("bench-peers", __doc__, "fetches,idle,cached,bulk")
    options.only = options.only.split(",")
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
    figures.write(options.output)


run_as("bench-peers", main)
