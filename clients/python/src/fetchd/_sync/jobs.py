# Made by clients/generate from _async/. Do not edit.
"""Jobs: submit them, look for them, and read what came of them."""
from __future__ import annotations

import math
import os
import pathlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Unpack

from .. import models
from .._events import Event
from .._requests import LONGEST_WAIT, Call, decoded, encoded, idempotency_key, query, seconds, segment
from .._spec import Headers, job_spec
from .._waiting import each
from ..errors import InvalidAnswer, WaitTimedOut
from ..parameters import (
    BatchSpec,
    ExportJobsQuery,
    JobAction,
    JobChange,
    JobOptions,
    JobSpec,
    ListJobsQuery,
    Request,
    RequestBody,
)
from .body import Body, Download
from .events import follow
from .job import Job
from .transport import Transport

# A batch is cut into requests of so many lines and bytes, each of which can be repeated.
LINES = 500
BYTES = 1 << 20


class Jobs:
    """The jobs of the tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def submit(self, request: str | Request, *, method: str | None = None, headers: Headers | None = None,
                     body: RequestBody | None = None, wait: float | None = None, key: str | None = None,
                     **options: Unpack[JobOptions]) -> Job:
        """Stores a job durably and returns it, at once or, with `wait`, when it is final or so many seconds are over.

        `request` is a URL or a whole request; `method`, `headers` and `body` are parts of it. `key` is an
        `Idempotency-Key`: for 24 hours the same key names the job that it made first. Without one each call has its
        own, so that its repeats make one job. `options` are members of a job (`run_at`, `labels`, `webhook` …) and of
        its configuration (`retry`, `timeouts`, `redirects` …), whose values have the names of the API.
        """
        spec = job_spec(request, method, headers, body, options)
        return Job(self, self._transport.post("/v1/jobs", spec, key=key, wait=wait))

    def submit_many(
        self, specs: Iterable[BatchSpec | JobSpec] | Iterable[BatchSpec | JobSpec],
    ) -> Iterator[models.BatchResult]:
        """Submits any number of jobs in constant memory; what became of each comes in their order.

        A job that is refused has a `problem` in its result and does not stop the others. A member `idempotencyKey` of
        a job makes it count once over all submissions.
        """
        pending: deque[bytes] = deque()
        before = size = 0
        for spec in each(specs):
            line = encoded(spec)
            if pending and (len(pending) >= LINES or size + len(line) > BYTES):
                for result in self._batch(pending, before):
                    yield result
                before, size = before + len(pending), 0
                pending.clear()
            pending.append(line)
            size += len(line)
        if pending:
            for result in self._batch(pending, before):
                yield result

    def _batch(self, lines: deque[bytes], before: int) -> Iterator[models.BatchResult]:
        response = self._transport.send(Call(
            method="POST", target="/v1/jobs/batch", body=b"\n".join(lines) + b"\n", is_repeatable=True,
            headers={"Content-Type": "application/x-ndjson", "Idempotency-Key": idempotency_key(None)}))
        results = [decoded(line) for line in response.content.splitlines()]
        for result in results:
            yield models.BatchResult.from_json({**result, "line": result["line"] + before})
        if len(results) != len(lines):
            raise InvalidAnswer(f"{len(lines)} jobs were submitted, and {len(results)} answered")

    def download(self, request: str | Request, *, method: str | None = None, headers: Headers | None = None,
                 key: str | None = None, **options: Unpack[JobOptions]) -> Download:
        """A download, whose file is read in a block: iterated over, or written with `save`.

        Takes what `submit` takes.
        """
        return Download(self._transport, job_spec(request, method, headers, None, {**options, "kind": "download"}),
                             key)

    def get(self, job: str, *, wait: float | None = None) -> Job:
        """The job as it stands; with `wait` once it is final, or so many seconds (60 at most) are over."""
        return Job(self, self.document(job, wait))

    def wait(self, job: str, timeout: float | None = None) -> Job:
        """The job once it is final, however it ended; `WaitTimedOut` after so many seconds."""
        return Job(self, self.final(job, timeout))

    def result(self, job: str, timeout: float | None = None) -> Job:
        """The job once it succeeded; `JobFailed` when it failed or was cancelled, `WaitTimedOut` as `wait`."""
        return (self.wait(job, timeout)).result()

    def document(self, job: str, wait: float | None = None) -> Any:
        """The JSON of a job."""
        return self._transport.get(_of(job), wait=wait)

    def final(self, job: str, timeout: float | None) -> Any:
        """The JSON of a job that is final."""
        deadline = time.monotonic() + (float("inf") if timeout is None else seconds("timeout", timeout))
        while True:
            left = min(LONGEST_WAIT, deadline - time.monotonic())
            # The service counts whole seconds.
            document = self.document(job, math.ceil(left) if left > 0 else None)
            if document.get("finishedAt"):
                return document
            if timeout is not None and time.monotonic() >= deadline:
                raise WaitTimedOut(job, timeout)

    def list(self, **filters: Unpack[ListJobsQuery]) -> Iterator[models.JobSummary]:
        """The jobs that a filter means, the newest first, over all pages; `limit` is the size of a page."""
        for item in self._transport.pages("/v1/jobs", **filters):
            yield models.JobSummary.from_json(item)

    def export(self, **filters: Unpack[ExportJobsQuery]) -> Iterator[dict[str, Any]]:
        """The jobs that a filter means, whole, as JSON, the newest first; `form="submission"` for `submit_many`."""
        call = Call(method="GET", target="/v1/jobs/export" + query(filters), is_repeatable=True)
        with self._transport.stream(call) as response:
            for line in response.iter_lines():
                yield decoded(line.encode())

    def cancel(self, job: str, *, produce_resume_data: bool | None = None) -> Job:
        """Asks a job to stop. A running one ends soon, and may still succeed; a final one stays as it is.

        With `produce_resume_data` a download keeps what it has, and `error.resume_data` names the blob for another
        job's `resume_from`.
        """
        return Job(self, self.act(job, "cancel", produce_resume_data=produce_resume_data))

    def suspend(self, job: str) -> Job:
        """Holds a job until it is resumed."""
        return Job(self, self.act(job, "suspend"))

    def resume(self, job: str) -> Job:
        """Lets a suspended job go on."""
        return Job(self, self.act(job, "resume"))

    def retry(self, job: str) -> Job:
        """Lets a job that failed or was cancelled run again, under its id."""
        return Job(self, self.act(job, "retry"))

    def act(self, job: str, action: str, **parameters: Any) -> Any:
        """The JSON of a job after one of its actions."""
        return self._transport.post(f"{_of(job)}/{action}", **parameters)

    def act_on_all(self, action: JobAction) -> models.JobActionResult:
        """Does something to all jobs of a filter, up to `limit`; `next_cursor` leads to the rest."""
        return models.JobActionResult.from_json(self._transport.post("/v1/jobs/actions", action))

    def change(self, job: str, change: JobChange) -> Job:
        """Changes a job's `priority`, `runAt`, `labels` or speed; None takes a member away (RFC 7396)."""
        return Job(self, self.changed(job, change))

    def changed(self, job: str, change: Mapping[str, Any]) -> Any:
        """The JSON of a job after a change."""
        return self._transport.patch(_of(job), change)

    def delete(self, job: str) -> None:
        """Removes a final job with its attempts and its body. The file of a download stays."""
        self._transport.delete(_of(job))

    def events(self, job: str, last_event_id: str | None = None) -> Iterator[Event]:
        """What happens to a job, up to `job.finished`.

        A connection that breaks is made anew, and goes on after the last event. `last_event_id` is the `id` of the last
        event that you have seen, to go on after it.
        """
        return follow(self._transport, f"{_of(job)}/events", last_event_id, "job.finished")

    def body(self, job: str, timeout: float | None = None) -> Body:
        """The body of a job as a stream, which resumes by itself and compares its checksum at the end.

        It begins once the job has a body to read, for which it waits so many seconds, or as long as it takes.
        """
        return Body(self._transport, job, timeout)

    def read(self, job: str) -> bytes:
        """All of a job's body."""
        with self.body(job) as body:
            return body.read()

    def save(self, job: str, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes a job's body to a file, which appears once it is complete and its checksum is right."""
        with self.body(job) as body:
            return body.save(path)

    def send_body(self, job: str, data: bytes | Iterable[bytes] | Iterable[bytes]) -> None:
        """Feeds a job whose request has the body `{"stream": True}`; held until the job takes it.

        It cannot be repeated: `Conflict` says that the job is to send its body again, and wants another one.
        """
        self._transport.send(Call(method="PUT", target=f"{_of(job)}/body", body=data, patience=LONGEST_WAIT))

    def questions(self, job: str, state: models.QuestionState | None = None) -> Iterator[models.Question]:
        """What a job has asked its delegate, the oldest first."""
        for item in self._transport.pages(f"{_of(job)}/questions", state=state):
            yield models.Question.from_json(item)

    def explain(self, job: str) -> models.Explanation:
        """Where each value of a job's configuration comes from, and what was decided."""
        return models.Explanation.from_json(self._transport.get(f"{_of(job)}/explain"))

    def har(self, job: str) -> dict[str, Any]:
        """The attempts of a job as an HTTP Archive."""
        archive: dict[str, Any] = self._transport.get(f"{_of(job)}/har")
        return archive


def _of(job: str) -> str:
    return f"/v1/jobs/{segment(job)}"
