"""The programs that benchmarks of jobs run: the service, and the driver that submits to it."""
import os
import pathlib

from processes import ROOT, run, say

LOAD = ROOT / ".build/bench/load"


def build():
    """The service, built for release unless FETCHD names it; the load driver is there then too."""
    LOAD.parent.mkdir(parents=True, exist_ok=True)
    run(["gcc", "-O2", "-Wall", "-Wextra", "-o", LOAD, ROOT / "Benchmarks/Load/load.c"])
    if given := os.environ.get("FETCHD"):
        return pathlib.Path(given).resolve()
    say("Building fetchd for release …")
    shipped = pathlib.Path(run([ROOT / "scripts/build-release"]).strip().splitlines()[-1])
    # The same with the names of functions, for profiles.
    return shipped.parent.parent / shipped.name


def engine_bench(fetchd):
    """The engine's own bench beside the service, built for release unless FETCHD names one that is built already."""
    bench = fetchd.with_name("engine-bench")
    if not os.environ.get("FETCHD"):
        run(["swift", "build", "-c", "release", "--static-swift-stdlib", "-Xlinker", "--no-export-dynamic", "--product",
             bench.name], cwd=ROOT)
    return bench
