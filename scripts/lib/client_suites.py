"""The suites of the clients in clients/, each against a service that is there."""
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

from client_rig import Pages
from processes import ROOT, Failed, program, run

CLIENTS = ROOT / "clients"
PYTHON = CLIENTS / "python"
TYPESCRIPT = CLIENTS / "typescript"
TOOLS = ROOT / ".venv/bin"
WHEELS = ROOT / ".venv/wheels"
# What a program does that has nothing but the package.
FIRST_PROGRAM = """
import os
from fetchd import Fetchd
with Fetchd() as fetchd:
    assert fetchd.jobs.submit(os.environ["ORIGIN"] + "/text", wait=20).read() == b"read by a client"
"""
FIRST_SCRIPT = """
import { Fetchd } from "fetchd";
const job = await new Fetchd().jobs.submit(process.env.ORIGIN + "/text", { wait: 20 });
if (await job.text() !== "read by a client") process.exit(1);
"""
PAGE = """<!doctype html><script type="module">
import { Fetchd } from "/index.js";
const tell = (told) => fetch("/told", { method: "POST", body: JSON.stringify(told) });
try {
  const fetchd = new Fetchd({ url: location.origin, key: "KEY" });
  const job = await fetchd.jobs.submit("ORIGIN/text");
  let last;
  for await (const event of job.events()) last = event.type;
  const refusal = await fetchd.jobs.submit("nonsense").catch((error) => error);
  await tell({ text: await job.text(), last, status: refusal.status });
} catch (error) { await tell({ error: String(error) }); }
</script>"""


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


def typescript_client(folder, environment):
    """Types and tests, and a program that finds the package among its modules."""
    # A copy, because building leaves files; its tests compile the examples of its page.
    copy = folder / "fetchd"
    shutil.copytree(TYPESCRIPT, copy, ignore=shutil.ignore_patterns("dist"))
    run([program("tsc")], cwd=copy)
    run([program("tsc"), "-p", "tests"], cwd=copy)
    tests = run([program("node"), "--test", *sorted(copy.glob("tests/*.test.mjs"))], cwd=copy, env=environment)
    modules = folder / "empty/node_modules/fetchd"
    modules.mkdir(parents=True)
    # What package.json says that a package has.
    for name in ("package.json", *json.loads((copy / "package.json").read_text())["files"]):
        (shutil.copytree if (copy / name).is_dir() else shutil.copy)(copy / name, modules / name)
    run([program("node"), "--input-type=module", "-e", FIRST_SCRIPT], cwd=folder / "empty", env=environment)
    run_in_browser(folder, copy / "dist", environment)
    return re.search(r"^(?:#|ℹ) pass (\d+)", tests, re.M)[1] + " passed, and a page in Chromium"


def run_in_browser(folder, dist, environment):
    """The same in a page, which follows the job by its events."""
    page = folder / "page"
    shutil.copytree(dist, page)
    (page / "page.html").write_text(
        PAGE.replace("KEY", environment["FETCHD_KEY"]).replace("ORIGIN", environment["ORIGIN"]), encoding="utf-8")
    pages = Pages(urlsplit(environment["FETCHD_URL"]).port, page)
    browser = subprocess.Popen(
        [program("chromium-headless-shell"), "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
         # Without somebody to steer it, it would end when the page is loaded.
         "--remote-debugging-port=0", f"{pages.url}/page.html"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        told = pages.told.get(timeout=60)
    except queue.Empty:
        raise Failed("The page in Chromium told nothing within a minute.") from None
    finally:
        # Its program is started by a script, which would end without it.
        os.killpg(browser.pid, signal.SIGTERM)
        browser.wait()
        pages.stop()
    if told != {"text": "read by a client", "last": "job.finished", "status": 422}:
        raise Failed(f"The page in Chromium told {told}.")


def environment_of(service, key, origin, front, ports):
    """What the suites are told of what runs."""
    return {**os.environ, "FETCHD_URL": service.url, "FETCHD_KEY": key, "ORIGIN": origin.url, "FRONT": front.url,
            "RECEIVER_PORT": str(ports[0]), "EXAMPLE_PORT": str(ports[1])}
