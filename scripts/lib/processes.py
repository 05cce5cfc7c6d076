"""Child processes and addresses that the scripts need: started, waited for with a bound, stopped by their own pid."""
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Failed(Exception):
    """A step that cannot go on; the message is for the person at the terminal."""


def say(message):
    print(message, file=sys.stderr, flush=True)


def run_as(name, main):
    """Runs a script to its end; what it cannot go on with is its last line."""
    try:
        main()
    except (Failed, subprocess.TimeoutExpired) as failure:
        sys.exit(f"{name}: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


def stop_in_order():
    """Makes SIGTERM and a closed terminal do what Ctrl-C does, so that `finally` stops what was started."""
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.default_int_handler)


def raise_descriptor_limit():
    """Lets us, and what we start, open as many descriptors as the administrator allows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def free_ports(count):
    """Loopback ports nobody listens on; all are held until the last is known, so they differ.

    They are not among those that the kernel gives to outgoing connections, one of which may have a port before its
    server does.
    """
    held = []
    for port in random.sample(range(20_000, 32_768), 10_000):
        held.append(socket.socket())
        try:
            held[-1].bind(("127.0.0.1", port))
        except OSError:
            held.pop().close()
        if len(held) == count:
            break
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def is_listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def wait_until(condition, seconds, what, process=None, pause=0.05):
    """Polls until `condition` holds. A process that ended meanwhile ends the wait."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process is not None and process.poll() is not None:
            raise Failed(f"{what}: the process ended with status {process.returncode}")
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(pause)


def stop(process, seconds=20, sign=signal.SIGTERM):
    """Asks the process to stop, and makes it after the bound."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(sign)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        say(f"process {process.pid} did not stop within {seconds} s; killing it")
        process.kill()
        process.wait()


def program(name, *places):
    """The path of a program on the PATH or in one of the places Debian keeps it."""
    found = shutil.which(name)
    for place in places:
        if found is None and os.access(f"{place}/{name}", os.X_OK):
            found = f"{place}/{name}"
    if found is None:
        raise Failed(f"'{name}' is missing; scripts/install-dependencies installs it")
    return found


def run(command, **options):
    """Runs to the end and returns what it printed; a failure shows the command and its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}".strip())
    return done.stdout


def cpu_seconds(pid):
    """Processor seconds of a process and of its children, those that have ended included."""
    total = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        # State, parent, …, and from the 12th on: user, system, and both of children that have ended.
        if stat.parent.name == str(pid):
            total += sum(int(word) for word in words[11:15])
        elif words[1] == str(pid):
            total += int(words[11]) + int(words[12])
    return total / os.sysconf("SC_CLK_TCK")
