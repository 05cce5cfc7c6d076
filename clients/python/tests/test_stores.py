"""Blobs, groups, schedules and sessions."""
from __future__ import annotations

import io
import os
import pathlib

import pytest
from conftest import Front, Origin

from fetchd import ConnectionFailed, Fetchd, NotFound


def test_a_blob_is_stored_sent_and_read(fetchd: Fetchd, origin: Origin) -> None:
    blob = fetchd.blobs.create(b"hello", "text/plain")
    job = fetchd.jobs.submit(f"{origin.url}/echo", kind="upload", method="POST", body={"blob": blob.id}, wait=20)
    assert job.read() == b"hello" == fetchd.blobs.read(blob.id)
    fetchd.blobs.delete(blob.id)
    with pytest.raises(NotFound):
        fetchd.blobs.read(blob.id)


@pytest.mark.parametrize("size", [100, 8 << 20, (8 << 20) + 5])
def test_a_file_is_uploaded_in_parts(fetchd: Fetchd, tmp_path: pathlib.Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    blob = fetchd.blobs.upload(tmp_path / "file")
    assert blob.bytes == size and fetchd.blobs.read(blob.id) == content


@pytest.mark.parametrize("spared", [0, 1, 2])
def test_an_upload_goes_on_when_an_answer_is_lost(front: Front, fetchd: Fetchd, spared: int) -> None:
    content = os.urandom((16 << 20) + 1)
    file = io.BytesIO(b"before" + content)
    file.seek(6)
    with Fetchd(front.url("lost", 1, spared)) as client:
        blob = client.blobs.upload(file)
    assert fetchd.blobs.read(blob.id) == content


def test_an_upload_whose_last_answer_is_lost_is_to_be_repeated(front: Front) -> None:
    with Fetchd(front.url("lost", 1, 2)) as client, pytest.raises(ConnectionFailed):
        client.blobs.upload(io.BytesIO(b"x" * (8 << 20)))


def test_a_body_is_streamed_to_the_origin(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/echo", method="POST", body={"stream": True})
    fetchd.jobs.send_body(job.id, iter([b"abc", b"def"]))
    assert job.result(20).read() == b"abcdef"


def test_a_group_counts_its_jobs(fetchd: Fetchd, origin: Origin) -> None:
    group = fetchd.groups.create({"labels": {"a": "b"}})
    fetchd.jobs.submit(f"{origin.url}/text", group=group.id, wait=20)
    assert fetchd.groups.close(group.id).state in ("closed", "finished")
    counts = fetchd.groups.get(group.id).jobs
    assert counts and counts["succeeded"] == counts["total"] == 1
    assert group.id in [one.id for one in fetchd.groups.list(limit=2)]


def test_a_schedule_makes_jobs(fetchd: Fetchd, origin: Origin) -> None:
    schedule = fetchd.schedules.create({"cron": "30 8 * * mon-fri", "timeZone": "Europe/Berlin",
                                        "job": {"request": f"{origin.url}/text"}})
    assert fetchd.jobs.wait(fetchd.schedules.run(schedule.id).id, 20).state == "succeeded"
    assert fetchd.schedules.pause(schedule.id).state == "paused"
    assert fetchd.schedules.change(schedule.id, {"labels": {"a": "b"}}).labels == {"a": "b"}
    assert fetchd.schedules.resume(schedule.id).state == "active"
    assert schedule.id in [one.id for one in fetchd.schedules.list()]
    fetchd.schedules.delete(schedule.id)


def test_jobs_share_a_session(fetchd: Fetchd, origin: Origin) -> None:
    session = fetchd.sessions.create({"configuration": {"redirects": {"policy": "return"}}})
    job = fetchd.jobs.submit(f"{origin.url}/moved", session=session.id, wait=20)
    assert job.response and job.response.status == 302
    assert session.id in [one.id for one in fetchd.sessions.list()]
    assert fetchd.sessions.invalidate(session.id, "cancel").state in ("cancelling", "invalidated")
