"""What people copy: the examples of the README and the programs in examples/."""
from __future__ import annotations

import os
import pathlib
import re
import socket
import subprocess
import sys
import uuid

import pytest
from conftest import Origin

from fetchd import Fetchd

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"^```python\n(.*?)^```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.M | re.S)


def run(name: str, *arguments: str, reply: str | None = None, passing: str | None = None) -> str:
    warnings = ["-W", "error", *(["-W", f"ignore::{passing}"] if passing else [])]
    command = [sys.executable, *warnings, str(PACKAGE / "examples" / name), *arguments]
    # Longer than the client lets a stream be silent, so that it is the client that tells what did not come.
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, input=reply, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def is_listening(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("code", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_an_example_of_the_page_runs(code: str, origin: Origin, tmp_path: pathlib.Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace("https://example.com", origin.url), "README.md", "exec"), {"__name__": "__main__"})


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 6


def test_a_webhook_is_verified(fetchd: Fetchd, origin: Origin) -> None:
    port = os.environ["EXAMPLE_PORT"]
    endpoint = fetchd.webhooks.create({"url": f"http://127.0.0.1:{port}/example"})
    environment = {**os.environ, "PORT": port, "WEBHOOK_SECRET": endpoint.secret}
    with subprocess.Popen([sys.executable, PACKAGE / "examples/verify_webhook.py"], env=environment,
                          stdout=subprocess.PIPE, text=True) as receiver:
        try:
            while not is_listening(int(port)):
                assert receiver.poll() is None
            job = fetchd.jobs.submit(f"{origin.url}/text", webhook={"endpoint": endpoint.id})
            assert receiver.stdout and receiver.stdout.readline() == f"{job.id} succeeded\n"
        finally:
            receiver.terminate()
    fetchd.webhooks.delete(endpoint.id)


def test_a_download_is_followed(origin: Origin, tmp_path: pathlib.Path) -> None:
    output = run("follow_download.py", f"{origin.url}/big?bytes=400000&milliseconds=25", str(tmp_path / "big"))
    assert re.search(r"^\d+ of 400000 bytes$", output, re.M)
    assert output.endswith(f"{tmp_path / 'big'}\n") and (tmp_path / "big").stat().st_size == 400_000


def test_a_person_approves_redirects(origin: Origin) -> None:
    same, other = f"{origin.url}/moved", f"{origin.url}/elsewhere"
    there = f"{origin.url}/text".replace("127.0.0.1", "127.0.0.2")
    output = run("approve_redirects.py", same, other, reply="n\n")
    assert f"{same} succeeded 200\n" in output
    assert f"{other} leads to {there}. Follow? [y/N] " in output
    assert f"{other} cancelled cancelled\n" in output


def test_a_batch_is_submitted_once_a_day(origin: Origin, tmp_path: pathlib.Path) -> None:
    name = uuid.uuid4().hex
    (tmp_path / "urls").write_text(f"{origin.url}/{name}\n\n{origin.url}/status/404?{name}\n")
    first, second = (run("nightly_batch.py", str(tmp_path / "urls")) for _ in range(2))
    assert first == second and re.fullmatch(r"job_\w+ succeeded 200\njob_\w+ succeeded 404\n", first)


def test_a_program_of_qstash_gets_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", os.environ["EXAMPLE_PORT"])
    # The client of QStash leaves its connection open.
    output = run("drop_in_qstash.py", passing="ResourceWarning")
    assert re.fullmatch(r'job_\w+ {"order": ?7}\n', output), output


def test_the_package_is_typed_and_has_one_version() -> None:
    import fetchd

    assert (pathlib.Path(fetchd.__file__).parent / "py.typed").exists()
    assert re.fullmatch(r"\d+\.\d+\.\d+", fetchd.__version__)
