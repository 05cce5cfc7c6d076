"""The suites of the clients in clients/, each against a service that is there."""
import os
import re
import shutil
import sys

from processes import ROOT, run

CLIENTS = ROOT / "clients"
PYTHON = CLIENTS / "python"
TOOLS = ROOT / ".venv/bin"
WHEELS = ROOT / ".venv/wheels"
# What a program does that has nothing but the package.
FIRST_PROGRAM = """
import os
from fetchd import Fetchd
with Fetchd() as fetchd:
    assert fetchd.jobs.submit(os.environ["ORIGIN"] + "/text", wait=20).read() == b"read by a client"
"""


def check_generated():
    """Whether what is generated is what openapi.yaml says."""
    run([TOOLS / "python", CLIENTS / "generate", "--check"])


def python_client(folder, environment):
    """Types, style and tests, and a program in an empty environment that the package was installed into."""
    environment = {**environment, "PYTHONDONTWRITEBYTECODE": "1"}
    at_home = {"cwd": PYTHON, "env": {**environment, "PYTHONPATH": str(PYTHON / "src")}}
    run([TOOLS / "ruff", "check", "--no-cache", "."], **at_home)
    run([TOOLS / "python", "-m", "mypy", "--cache-dir", folder / "mypy", "src", "tests", "examples"], **at_home)
    tests = run([TOOLS / "python", "-m", "pytest", "-p", "no:cacheprovider"], **at_home)
    install_into_empty_environment(folder, environment)
    return re.search(r"\d+ passed", tests)[0]


def install_into_empty_environment(folder, environment):
    """From a copy, because building leaves files; with the wheels that scripts/install-dependencies has fetched."""
    source, empty = folder / "source", folder / "empty"
    shutil.copytree(PYTHON, source)
    pip = [TOOLS / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source])
    run([sys.executable, "-m", "venv", "--without-pip", empty])
    wheel = next(folder.glob("fetchd-*.whl"))
    run([*pip, "--python", empty / "bin/python", "install", "--no-index", "--find-links", WHEELS, wheel])
    run([empty / "bin/python", "-W", "error", "-c", FIRST_PROGRAM], cwd=folder, env=environment)


def environment_of(service, key, origin, front, port):
    """What the suites are told of what runs."""
    return {**os.environ, "FETCHD_URL": service.url, "FETCHD_KEY": key, "ORIGIN": origin.url, "FRONT": front.url,
            "RECEIVER_PORT": str(port)}
