"""What a client does about a service that is slow, away or cut off."""
from __future__ import annotations

import hashlib
import pathlib
import uuid

import pytest
from conftest import Front, Origin

from fetchd import CallTimedOut, ConnectionFailed, Fetchd, InterruptedBody, JobFailed, Unavailable

SIZE = 300_000


def test_an_answer_that_is_lost_makes_no_second_job(front: Front, origin: Origin, fetchd: Fetchd) -> None:
    label = uuid.uuid4().hex
    with Fetchd(front.url("lost", 2)) as client:
        job = client.jobs.submit(f"{origin.url}/text", labels={"l": label})
    assert [one.id for one in fetchd.jobs.list(label=f"l:{label}")] == [job.id]
    keys = {request["key"] for request in front.seen()}
    assert len(front.seen()) == 3 and len(keys) == 1 and None not in keys


def test_a_batch_whose_answer_is_lost_makes_no_second_jobs(front: Front, origin: Origin, fetchd: Fetchd) -> None:
    label = uuid.uuid4().hex
    with Fetchd(front.url("lost", 1)) as client:
        results = list(client.jobs.submit_many({"request": origin.url, "labels": {"l": label}} for _ in range(5)))
    assert sorted(one.id for one in fetchd.jobs.list(label=f"l:{label}")) == sorted(one.id or "" for one in results)


def test_a_refusal_is_repeated_when_the_service_says(front: Front, origin: Origin) -> None:
    with Fetchd(front.url("refused", 3)) as client:
        assert client.jobs.submit(f"{origin.url}/text").id
    assert len(front.seen()) == 4


def test_repeats_have_an_end(front: Front) -> None:
    with Fetchd(front.url("refused", 9), retries=1) as client, pytest.raises(Unavailable) as caught:
        list(client.jobs.list())
    assert len(front.seen()) == 2 and caught.value.retryable


def test_what_must_not_come_twice_is_not_repeated(front: Front) -> None:
    with Fetchd(front.url("lost", 1)) as client, pytest.raises(ConnectionFailed):
        client.webhooks.create({"url": "https://example.com/hook"})
    assert len(front.seen()) == 1


def test_a_service_that_is_away_is_an_error_of_the_connection() -> None:
    with Fetchd("http://127.0.0.1:9", retries=1) as client, pytest.raises(ConnectionFailed) as caught:
        client.usage()
    assert not caught.value.was_sent


def test_a_call_has_an_end(origin: Origin) -> None:
    with Fetchd(origin.held, timeout=0.3, retries=0) as client, pytest.raises(CallTimedOut):
        client.usage()
    assert issubclass(CallTimedOut, TimeoutError)


def test_a_body_goes_on_where_it_was_cut(front: Front, origin: Origin, fetchd: Fetchd, tmp_path: pathlib.Path) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/big?bytes={SIZE}", wait=20)
    with Fetchd(front.url("cut", 2, 100_000)) as client, client.jobs.body(job.id) as body:
        saved = body.save(tmp_path / "big")
        assert body.is_complete and body.offset == SIZE
    assert [request["range"] for request in front.seen()] == [None, "bytes=100000-", "bytes=200000-"]
    assert hashlib.sha256(saved.read_bytes()).hexdigest() == body.sha256
    assert [path.name for path in tmp_path.iterdir()] == ["big"]


def test_a_body_that_cannot_go_on_leaves_no_file(front: Front, origin: Origin, fetchd: Fetchd,
                                                 tmp_path: pathlib.Path) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/big?bytes={SIZE}", wait=20)
    with Fetchd(front.url("cut", 9, 0), retries=1) as client, pytest.raises(InterruptedBody) as caught:
        client.jobs.save(job.id, tmp_path / "big")
    assert caught.value.offset == 0 and not list(tmp_path.iterdir())


def test_a_download_comes_while_it_runs(front: Front, origin: Origin, tmp_path: pathlib.Path) -> None:
    # The connection is cut while the job runs, when no range can be asked for.
    with Fetchd(front.url("cut", 0)) as client:
        url = f"{origin.url}/big?bytes={SIZE}&milliseconds=10"
        with client.jobs.download(url, labels={"l": "download"}) as download:
            first = next(iter(download))
            assert not client.jobs.get(download.job_id).is_final
            rest = download.read()
        assert len(first) + len(rest) == SIZE and download.is_complete
        assert client.jobs.get(download.job_id, wait=20).file


def test_a_running_download_goes_on_after_a_cut(front: Front, origin: Origin) -> None:
    with Fetchd(front.url("cut", 4, 50_000)) as client:
        with client.jobs.download(f"{origin.url}/big?bytes={SIZE}&milliseconds=5") as download:
            assert len(download.read()) == SIZE and download.is_complete


def test_leaving_a_download_cancels_it(fetchd: Fetchd, origin: Origin) -> None:
    with fetchd.jobs.download(f"{origin.url}/big?bytes=100000000&milliseconds=5") as download:
        next(iter(download))
    assert fetchd.jobs.wait(download.job_id, 20).state == "cancelled"


def test_a_download_that_fails_says_so(fetchd: Fetchd) -> None:
    with fetchd.jobs.download("http://127.0.0.1:9/") as download, pytest.raises(JobFailed):
        download.read()


def test_events_go_on_after_a_cut(front: Front, origin: Origin) -> None:
    with Fetchd(front.url("cut", 3, 200)) as client:
        # The first request is the submission, whose answer is shorter than the cut.
        job = client.jobs.submit(f"{origin.url}/big?bytes={SIZE}&milliseconds=20", kind="download")
        events = list(job.events())
    # How far a job is has no place of its own, and is told again.
    ids = [event.id for event in events if event.type != "job.progress"]
    assert events[-1].type == "job.finished" and events[-1].data["id"] == job.id
    assert len(set(ids)) == len(ids)
    assert any(request["last"] for request in front.seen())


def test_events_can_be_gone_on_with(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/moved", wait=20)
    last = list(job.events())[-1]
    assert list(fetchd.jobs.events(job.id, last.id)) == []
