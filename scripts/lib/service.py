"""A fetchd service on loopback, for the scripts that need a running one."""
import base64
import json
import os
import pathlib
import re
import subprocess
import urllib.error
import urllib.request

from processes import ROOT, Failed, free_ports, run, stop, wait_until


def debug_binary():
    """The debug build, or the binary that FETCHD names."""
    given = os.environ.get("FETCHD")
    if given:
        return pathlib.Path(given).resolve()
    flags = os.environ.get("SWIFT_BUILD_FLAGS", "").split()
    built = pathlib.Path(run(["swift", "build", *flags, "--show-bin-path"], cwd=ROOT).strip()) / "fetchd"
    if not built.exists():
        raise Failed(f"{built} is missing; run scripts/check build first")
    return built


def master_keys():
    """Keys that are new each time, as the setting FETCHD_MASTER_KEYS has them."""
    return "1:" + base64.b64encode(os.urandom(32)).decode()


class Service:
    """Starts `fetchd serve` and waits until it is ready; stops it at the end.

    Without a database URL it runs its private cluster in `data_directory`.
    """

    def __init__(self, binary, data_directory, allow=(), database_url=None, port=None, log=None, settings=None):
        self.binary = str(binary)
        self.port = port or free_ports(1)[0]
        self.log = log
        self.process = None
        self.storage = ["--data-directory", str(data_directory)]
        if database_url:
            self.storage += ["--database-url", database_url]
        self.environment = {**os.environ, "GUARD_ALLOW": ",".join(allow), **(settings or {})}
        self.environment.pop("DATABASE_URL", None)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self, seconds=60, progress=None, pause=0.05):
        command = [self.binary, "serve", "--host", "127.0.0.1", "--port", str(self.port), *self.storage]
        # A session of its own: Ctrl-C in the terminal reaches us, and we stop it in order.
        self.process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, start_new_session=True)

        def ready():
            if progress:
                progress()
            return self.status("/readyz") == 200

        try:
            wait_until(ready, seconds, "fetchd is not ready", self.process, pause)
        except BaseException:
            self.stop()
            raise

    def status(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def create_key(self, *arguments):
        """A new API key; the command prints it this once."""
        printed = run([self.binary, "keys", "create", *self.storage, *arguments], env=self.environment)
        return re.search(r"\bfk_\S+", printed)[0]

    def dashboard_link(self):
        """A link that signs in to the dashboard once."""
        environment = {**self.environment, "DASHBOARD_URL": self.url}
        return run([self.binary, "dashboard", "link", *self.storage], env=environment).strip()

    def doctor(self, patience=5):
        """What `fetchd doctor` finds broken about jobs, line by line."""
        command = [self.binary, "doctor", "--patience", str(patience), *self.storage]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise Failed(f"fetchd doctor has exited with {done.returncode}: {done.stderr}")
        return [line for line in done.stdout.splitlines() if line.startswith("WRONG  jobs")]

    def submit_lines(self, key, specs):
        """A batch of jobs, one document a line."""
        lines = "".join(json.dumps(spec) + "\n" for spec in specs).encode()
        return self.call("POST", "/v1/jobs/batch", key, lines, {"Content-Type": "application/x-ndjson"})

    def submit(self, key, specs):
        """A batch of jobs, all of which have to be accepted."""
        status, _, answer = self.submit_lines(key, specs)
        if status != 200 or b'"status":4' in answer:
            raise Failed(f"a batch was answered with {status}: {answer[:300]}")

    def call(self, method, path, key=None, body=None, headers=None, timeout=90):
        """One request; returns status, headers and body bytes, whatever the status.

        A body that is not bytes is sent as JSON.
        """
        request = urllib.request.Request(self.url + path, method=method, headers=dict(headers or {}))
        if key:
            request.add_header("Authorization", f"Bearer {key}")
        if isinstance(body, bytes):
            request.data = body
        elif body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def stop(self):
        stop(self.process, 40)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
