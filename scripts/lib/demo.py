"""Shows fetchd at work: starts it with a private PostgreSQL, fetches a URL with it, prints what came back.

    scripts/demo [URL]        # `make demo URL=https://…`

Without a URL it fetches a page of a small origin of its own, so it needs no internet. The service stays up until
Ctrl-C; then everything that was started here, and nothing else, is stopped and the scratch directory is removed.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from demo_origin import DemoOrigin
from processes import ROOT, Failed, say, stop_in_order
from service import Service

WAIT_SECONDS = 20
BUILD_SECONDS_PER_LINE = 15


class Progress:
    """A line that grows while something takes long; silent when it is over at once."""

    def __init__(self, title):
        self.title, self.begin, self.shown = title, time.monotonic(), 0

    def __call__(self):
        seconds = int(time.monotonic() - self.begin)
        if seconds > self.shown:
            self.shown = seconds
            say(f"  {self.title}: {seconds} s …")


def build():
    """The release binary; shows the build's own output, for it is the longest step."""
    given = os.environ.get("FETCHD")
    if given:
        return pathlib.Path(given).resolve()
    say("Building fetchd for release; the compiler counts its steps …")
    began = time.monotonic()
    with subprocess.Popen([ROOT / "scripts/build-release"], stdout=subprocess.PIPE, text=True) as build:
        while True:
            try:
                output, _ = build.communicate(timeout=BUILD_SECONDS_PER_LINE)
                break
            except subprocess.TimeoutExpired:
                # One step of an optimizing compiler may take minutes.
                say(f"  building: {int(time.monotonic() - began)} s …")
    if build.returncode != 0:
        raise Failed("the build failed; its output is above")
    say(f"  built after {int(time.monotonic() - began)} s")
    return pathlib.Path(output.strip().splitlines()[-1])


def register_webhook(service, key, origin):
    """An endpoint at the demonstration's receiver, which checks signatures with the secret shown this once."""
    status, _, body = service.call("POST", "/v1/webhooks/endpoints", key, {"url": f"{origin.url}/webhook"})
    if status != 201:
        raise Failed(f"registering the webhook was answered {status}: {body.decode()}")
    endpoint = json.loads(body)
    origin.secret = endpoint["secret"]
    return endpoint["id"]


def submit(service, key, url, endpoint):
    job = {"request": {"url": url}, "webhook": {"endpoint": endpoint}, "labels": {"from": "demo"}}
    say(f"POST {service.url}/v1/jobs  {json.dumps(job)}")
    status, headers, body = service.call("POST", "/v1/jobs", key, job, {"Prefer": f"wait={WAIT_SECONDS}"})
    if status not in (201, 202):
        raise Failed(f"the submission was answered {status}: {body.decode()}")
    job, deadline = json.loads(body), time.monotonic() + 60
    while job["state"] not in ("succeeded", "failed", "cancelled") and time.monotonic() < deadline:
        job = json.loads(service.call("GET", headers["Location"], key)[2])
        time.sleep(0.5)
    return job


def show(service, key, job):
    attempts = job["attempts"]
    print(f"\nWhat happened: {job['id']} {job['state']} after {len(attempts)} attempt{'s' * (len(attempts) != 1)}.")
    for hop in [hop for attempt in attempts for hop in attempt.get("metrics") or []]:
        print(f"  {hop.get('status') or '–':>4}  {hop['duration'] * 1000:8.1f} ms  {hop['url']}")
    if job["state"] != "succeeded":
        error = job.get("error") or {}
        print(f"\nThe job did not succeed: {error.get('name', job['state'])}: {error.get('message', '')}")
        return
    status, headers, body = service.call("GET", f"/v1/jobs/{job['id']}/body", key)
    print(f"\nThe body's first lines ({len(body)} bytes, {headers.get('Content-Type')}):" if status == 200
          else f"\nThe body was answered {status}.")
    for line in body.decode("utf-8", "replace").splitlines()[:8]:
        print(f"  {line[:110]}")


def wait_for_interrupt(service):
    """Until Ctrl-C or SIGTERM; an end of the service itself is an error."""
    stop = []
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: stop.append(True))
    while not stop:
        if service.process.poll() is not None:
            raise Failed(f"fetchd ended by itself with status {service.process.returncode}")
        time.sleep(0.2)


def demonstrate(url, scratch, started):
    binary = build()
    origin = DemoOrigin()
    started.append(origin)
    # Exactly this origin is opened in the address guard, nothing else that is not public.
    log = open(scratch / "fetchd.log", "w", encoding="utf-8")
    service = Service(binary, scratch / "data", [f"127.0.0.1:{origin.port}"], log=log)
    say("Starting fetchd with a private PostgreSQL …")
    began = time.monotonic()
    started.append(service)
    service.start(60, Progress("waiting for /readyz"))
    key = service.create_key()
    job = submit(service, key, url or f"{origin.url}/moved", register_webhook(service, key, origin))
    show(service, key, job)
    print()
    if origin.wait_for_webhook(20):
        print("\n".join(f"Webhook: {line}" for line in origin.webhooks))
    else:
        print("No webhook came within 20 s.")
    seconds = time.monotonic() - began
    print(f"""
{"─" * 72}
fetchd is running; all this took {seconds:.1f} s from the start of the service.

  Dashboard  {service.dashboard_link()}
             (signs in once; after that with the API key)
  API docs   {service.url}/docs
  API key    {key}
  Log        {log.name}

Try next, in another terminal:
  export KEY={key}
  curl -H "Authorization: Bearer $KEY" {service.url}/v1/jobs/{job["id"]}
  curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -H 'Prefer: wait=10' \\
       -d '{{"request": "https://example.com/"}}' {service.url}/v1/jobs
Then: docs/tutorial.md, twenty minutes.

Ctrl-C stops the service and removes {scratch}.""", flush=True)
    wait_for_interrupt(service)


def main():
    stop_in_order()
    url = sys.argv[1] if len(sys.argv) > 1 else None
    if len(sys.argv) > 2 or url in ("-h", "--help"):
        sys.exit(__doc__)
    scratch, started = pathlib.Path(tempfile.mkdtemp(prefix="fetchd-demo-")), []
    # The private cluster drops to another user when we are root, who must be able to pass.
    scratch.chmod(0o711)
    try:
        demonstrate(url, scratch, started)
    except Failed:
        log = scratch / "fetchd.log"
        if log.exists():
            say("The end of the service's log:\n" + "\n".join(log.read_text().splitlines()[-20:]))
        raise
    finally:
        if started:
            say("\nStopping …")
        for one in reversed(started):
            one.stop()
        shutil.rmtree(scratch, ignore_errors=True)


try:
    main()
except Failed as failure:
    sys.exit(f"demo: {failure}")
except KeyboardInterrupt:
    sys.exit(130)
