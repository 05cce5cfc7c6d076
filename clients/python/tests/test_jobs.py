"""Jobs, against the service."""
from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from conftest import Origin

from fetchd import Conflict, Fetchd, InvalidRequest, JobFailed, NotFound, Unauthorized, WaitTimedOut
from fetchd.parameters import JobSpec

TEXT = b"read by a client"


def test_a_job_is_submitted_waited_for_and_read(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/moved", wait=20, labels={"test": "jobs"})
    assert job.is_final and job.state == "succeeded"
    assert job.response and job.response.status == 200
    assert job.details and job.details.labels == {"test": "jobs"}
    assert [one.location for one in job.details.redirects or ()] == [f"{origin.url}/text"]
    assert job.read() == TEXT
    assert repr(job) == f"<Job {job.id} succeeded>"


def test_a_job_that_was_not_waited_for_is_brought_up_to_date(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(origin.held)
    assert not job.is_final and job.details is None and job.response is None
    with pytest.raises(WaitTimedOut) as caught:
        job.wait(0)
    assert caught.value.job_id == job.id
    assert not job.refresh().is_final
    origin.release()
    assert job.result(20) is job and job.state == "succeeded"
    assert fetchd.jobs.get(job.id).state == "succeeded"


def test_parts_of_a_request_are_arguments(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/echo", method="POST", headers={"X-Test": "1"}, body={"json": {"a": 1}},
                             redirects={"maximum": 3}, configuration={"retry": {"maximumAttempts": 2}},
                             expires_at=datetime.now(UTC) + timedelta(hours=1), wait=20)
    assert job.read() == b'{"a":1}'
    assert job.details and job.details.configuration and job.details.configuration.redirects
    assert job.details.configuration.redirects.maximum == 3
    assert job.details.configuration.retry and job.details.configuration.retry.maximum_attempts == 2
    assert job.details.expires_at and job.details.expires_at > datetime.now(UTC)


def test_a_failure_is_raised_with_its_name(fetchd: Fetchd) -> None:
    job = fetchd.jobs.submit("http://127.0.0.1:9/", wait=20)
    assert job.state == "failed" and job.error
    with pytest.raises(JobFailed, match=job.error.name) as caught:
        job.result()
    assert caught.value.job.id == job.id
    with pytest.raises(JobFailed):
        job.read()


def test_lists_go_over_all_pages(fetchd: Fetchd, origin: Origin) -> None:
    label = uuid.uuid4().hex
    specs: list[JobSpec] = [{"request": f"{origin.url}/{number}", "labels": {"l": label}} for number in range(7)]
    results = list(fetchd.jobs.submit_many(specs))
    assert [result.line for result in results] == [1, 2, 3, 4, 5, 6, 7]
    listed = [job.id for job in fetchd.jobs.list(label=f"l:{label}", limit=3)]
    assert listed == [result.id for result in reversed(results)]
    exported = [job["id"] for job in fetchd.jobs.export(label=f"l:{label}")]
    assert exported == listed


def test_many_jobs_are_submitted_in_several_requests(fetchd: Fetchd, origin: Origin) -> None:
    def specs() -> list[JobSpec]:
        many: list[JobSpec] = [{"request": origin.url, "runAt": "2100-01-01T00:00:00Z", "labels": {"l": label}}] * 1100
        many[701] = {"request": "http://a b/"}
        return many

    label = uuid.uuid4().hex
    results = list(fetchd.jobs.submit_many(specs()))
    assert [result.line for result in results] == list(range(1, 1101))
    refused = [result for result in results if result.problem]
    assert [result.line for result in refused] == [702]
    done = fetchd.jobs.act_on_all({"action": "cancel", "filter": {"labels": {"l": label}}, "limit": 10})
    assert done.changed == 10 and done.next_cursor


def test_a_job_is_cancelled_and_run_again(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(origin.held)
    job.cancel()
    with pytest.raises(JobFailed, match="cancelled"):
        job.result(20)
    job.retry()
    origin.release()
    assert job.wait(20).state == "succeeded"
    with pytest.raises(Conflict) as caught:
        fetchd.jobs.retry(job.id)
    assert caught.value.code == "jobNotRetriable" and not caught.value.retryable
    job.delete()
    with pytest.raises(NotFound):
        job.refresh()


def test_a_job_is_held_changed_and_let_go(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/text", suspended=True)
    assert job.refresh().state == "suspended"
    job.change({"labels": {"a": "b"}, "priority": 1})
    assert job.details and job.details.labels == {"a": "b"} and job.details.priority == 1
    assert job.resume().wait(20).state == "succeeded"
    assert fetchd.jobs.har(job.id)["log"]["entries"]
    assert fetchd.jobs.explain(job.id)


def test_the_same_key_names_the_same_job(fetchd: Fetchd, origin: Origin) -> None:
    key = uuid.uuid4().hex
    first = fetchd.jobs.submit(f"{origin.url}/text", key=key)
    assert fetchd.jobs.submit(f"{origin.url}/text", key=key).id == first.id
    assert fetchd.jobs.submit(f"{origin.url}/text").id != first.id


def test_a_problem_names_what_is_wrong(fetchd: Fetchd) -> None:
    with pytest.raises(InvalidRequest) as caught:
        fetchd.jobs.submit("http://a b/", priority=2)
    problem = caught.value
    assert problem.status == 422 and problem.code == "invalidInput" and problem.request_id
    assert problem.pointer == "/request/url" or problem.pointer == "/priority"
    assert "/request/url" in str(problem)
    with pytest.raises(NotFound):
        fetchd.jobs.get("job_00000000000000000000000000")


def test_a_wrong_key_is_refused_and_never_shown() -> None:
    with Fetchd(key="fk_wrong") as client, pytest.raises(Unauthorized) as caught:
        client.jobs.get("job_00000000000000000000000000")
    assert "fk_wrong" not in str(caught.value) + repr(client) + repr(vars(caught.value))


def test_what_has_no_method_is_a_request(fetchd: Fetchd) -> None:
    assert fetchd.request("GET", "/v1/queue")
    fetchd.request("PUT", "/v1/flows/python", {"parallelism": 2})
    assert fetchd.request("GET", "/v1/flows/python")["parallelism"] == 2
    assert fetchd.request("POST", "/v1/flows/python/pause")["paused"]
    assert fetchd.request("DELETE", "/v1/flows/python") is None
    assert fetchd.usage().waiting_jobs.count >= 0
