"""Figures of a benchmark: samples by name, the programs that give them, and how quiet the machine was."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import time

from processes import ROOT, Failed, say


class Figures:
    """Samples by name; the report is their medians."""

    def __init__(self):
        self.samples = {}

    def add(self, **figures):
        for name, value in figures.items():
            self.samples.setdefault(name.replace("_", ".", 1), []).append(value)

    def median(self, name):
        return statistics.median(self.samples[name]) if self.samples.get(name) else None

    def ratio(self, name, ours, limit):
        over, under = self.median(ours), self.median(limit)
        if over is not None and under:
            self.samples[name] = [over / under]

    def flat(self):
        return {name: round(statistics.median(values), 4) for name, values in self.samples.items()}

    def write(self, path):
        pathlib.Path(path).write_text(json.dumps(self.flat(), indent=2, sort_keys=True) + "\n")
        say(f"Wrote {path}.")


def pairs(line):
    """The key=value words of a program's report."""
    return {key: float(value) for key, value in re.findall(r"(\w+)=(-?[\d.]+)", line)}


def measure(command, **options):
    """Runs a program that reports key=value on its last line; its work must have had no failure."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        raise Failed(f"{' '.join(command)}\nended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
    figures = pairs(lines[-1])
    if figures.get("failed"):
        raise Failed(f"{' '.join(command)}\nhad failures: {lines[-1]}")
    return figures


def timed(command):
    """Wall seconds, CPU seconds and the largest resident set of one command."""
    begin = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} ended with status {child.returncode}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def round_options(name, description, parts, **flags):
    """The options of a bench that runs its parts in rounds, from the command line; further flags by their help."""
    parser = argparse.ArgumentParser(prog=name, description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", default=parts, help="parts, comma separated")
    parser.add_argument("--rounds", type=int, help="default 3, quick 1")
    parser.add_argument("--output", default=ROOT / f"{name}.json")
    for flag, text in flags.items():
        parser.add_argument("--" + flag.replace("_", "-"), action="store_true", help=text)
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def idle_share(seconds=0.5):
    """The idle share of the machine's processors right now."""
    def times():
        return [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    before = times()
    time.sleep(seconds)
    delta = [b - a for a, b in zip(before, times(), strict=True)]
    return (delta[3] + delta[4]) / max(1, sum(delta))


def settle_down(plan, figures):
    """Waits a little for a quiet machine; records how quiet it was."""
    for _ in range(plan.patience):
        share = idle_share()
        if share > 0.9:
            break
    figures.add(machine_idlePercent=share * 100)
