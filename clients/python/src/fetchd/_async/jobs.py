"""Jobs: submit them, look for them, and read what came of them."""
from __future__ import annotations

import math
import os
import pathlib
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import Any, Unpack

from .. import models
from .._events import Event
from .._requests import LONGEST_WAIT, Call, decoded, encoded, idempotency_key, query, seconds, segment
from .._spec import Headers, job_spec
from .._waiting import async_each
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
from .body import AsyncBody, AsyncDownload
from .events import follow
from .job import AsyncJob
from .transport import AsyncTransport

# A batch is cut into requests of so many lines and bytes, each of which can be repeated.
LINES = 500
BYTES = 1 << 20


class AsyncJobs:
    """The jobs of the tenant."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def submit(self, request: str | Request, *, method: str | None = None, headers: Headers | None = None,
                     body: RequestBody | None = None, wait: float | None = None, key: str | None = None,
                     **options: Unpack[JobOptions]) -> AsyncJob:
        """Stores a job durably and returns it, at once or, with `wait`, when it is final or so many seconds are over.

        `request` is a URL or a whole request; `method`, `headers` and `body` are parts of it. `key` is an
        `Idempotency-Key`: for 24 hours the same key names the job that it made first. Without one each call has its
        own, so that its repeats make one job. `options` are members of a job (`run_at`, `labels`, `webhook` …) and of
        its configuration (`retry`, `timeouts`, `redirects` …), whose values have the names of the API.
        """
        spec = job_spec(request, method, headers, body, options)
        return AsyncJob(self, await self._transport.post("/v1/jobs", spec, key=key, wait=wait))

    async def submit_many(
        self, specs: Iterable[BatchSpec | JobSpec] | AsyncIterable[BatchSpec | JobSpec],
    ) -> AsyncIterator[models.BatchResult]:
        """Submits any number of jobs in constant memory; what became of each comes in their order.

        A job that is refused has a `problem` in its result and does not stop the others. A member `idempotencyKey` of
        a job makes it count once over all submissions.
        """
        pending: deque[bytes] = deque()
        before = size = 0
        async for spec in async_each(specs):
            line = encoded(spec)
            if pending and (len(pending) >= LINES or size + len(line) > BYTES):
                async for result in self._batch(pending, before):
                    yield result
                before, size = before + len(pending), 0
                pending.clear()
            pending.append(line)
            size += len(line)
        if pending:
            async for result in self._batch(pending, before):
                yield result

    async def _batch(self, lines: deque[bytes], before: int) -> AsyncIterator[models.BatchResult]:
        response = await self._transport.send(Call(
            method="POST", target="/v1/jobs/batch", body=b"\n".join(lines) + b"\n", is_repeatable=True,
            headers={"Content-Type": "application/x-ndjson", "Idempotency-Key": idempotency_key(None)}))
        results = [decoded(line) for line in response.content.splitlines()]
        for result in results:
            yield models.BatchResult.from_json({**result, "line": result["line"] + before})
        if len(results) != len(lines):
            raise InvalidAnswer(f"{len(lines)} jobs were submitted, and {len(results)} answered")

    def download(self, request: str | Request, *, method: str | None = None, headers: Headers | None = None,
                 key: str | None = None, **options: Unpack[JobOptions]) -> AsyncDownload:
        """A download, whose file is read in a block: iterated over, or written with `save`.

        Takes what `submit` takes.
        """
        return AsyncDownload(self._transport, job_spec(request, method, headers, None, {**options, "kind": "download"}),
                             key)

    async def get(self, job: str, *, wait: float | None = None) -> AsyncJob:
        """The job as it stands; with `wait` once it is final, or so many seconds (60 at most) are over."""
        return AsyncJob(self, await self.document(job, wait))

    async def wait(self, job: str, timeout: float | None = None) -> AsyncJob:
        """The job once it is final, however it ended; `WaitTimedOut` after so many seconds."""
        return AsyncJob(self, await self.final(job, timeout))

    async def result(self, job: str, timeout: float | None = None) -> AsyncJob:
        """The job once it succeeded; `JobFailed` when it failed or was cancelled, `WaitTimedOut` as `wait`."""
        return await (await self.wait(job, timeout)).result()

    async def document(self, job: str, wait: float | None = None) -> Any:
        """The JSON of a job."""
        return await self._transport.get(_of(job), wait=wait)

    async def final(self, job: str, timeout: float | None) -> Any:
        """The JSON of a job that is final."""
        deadline = time.monotonic() + (float("inf") if timeout is None else seconds("timeout", timeout))
        while True:
            left = min(LONGEST_WAIT, deadline - time.monotonic())
            # The service counts whole seconds.
            document = await self.document(job, math.ceil(left) if left > 0 else None)
            if document.get("finishedAt"):
                return document
            if timeout is not None and time.monotonic() >= deadline:
                raise WaitTimedOut(job, timeout)

    async def list(self, **filters: Unpack[ListJobsQuery]) -> AsyncIterator[models.JobSummary]:
        """The jobs that a filter means, the newest first, over all pages; `limit` is the size of a page."""
        async for item in self._transport.pages("/v1/jobs", **filters):
            yield models.JobSummary.from_json(item)

    async def export(self, **filters: Unpack[ExportJobsQuery]) -> AsyncIterator[dict[str, Any]]:
        """The jobs that a filter means, whole, as JSON, the newest first; `form="submission"` for `submit_many`."""
        call = Call(method="GET", target="/v1/jobs/export" + query(filters), is_repeatable=True)
        async with self._transport.stream(call) as response:
            async for line in response.aiter_lines():
                yield decoded(line.encode())

    async def cancel(self, job: str, *, produce_resume_data: bool | None = None) -> AsyncJob:
        """Asks a job to stop. A running one ends soon, and may still succeed; a final one stays as it is.

        With `produce_resume_data` a download keeps what it has, and `error.resume_data` names the blob for another
        job's `resume_from`.
        """
        return AsyncJob(self, await self.act(job, "cancel", produce_resume_data=produce_resume_data))

    async def suspend(self, job: str) -> AsyncJob:
        """Holds a job until it is resumed."""
        return AsyncJob(self, await self.act(job, "suspend"))

    async def resume(self, job: str) -> AsyncJob:
        """Lets a suspended job go on."""
        return AsyncJob(self, await self.act(job, "resume"))

    async def retry(self, job: str) -> AsyncJob:
        """Lets a job that failed or was cancelled run again, under its id."""
        return AsyncJob(self, await self.act(job, "retry"))

    async def act(self, job: str, action: str, **parameters: Any) -> Any:
        """The JSON of a job after one of its actions."""
        return await self._transport.post(f"{_of(job)}/{action}", **parameters)

    async def act_on_all(self, action: JobAction) -> models.JobActionResult:
        """Does something to all jobs of a filter, up to `limit`; `next_cursor` leads to the rest."""
        return models.JobActionResult.from_json(await self._transport.post("/v1/jobs/actions", action))

    async def change(self, job: str, change: JobChange) -> AsyncJob:
        """Changes a job's `priority`, `runAt`, `labels` or speed; None takes a member away (RFC 7396)."""
        return AsyncJob(self, await self.changed(job, change))

    async def changed(self, job: str, change: Mapping[str, Any]) -> Any:
        """The JSON of a job after a change."""
        return await self._transport.patch(_of(job), change)

    async def delete(self, job: str) -> None:
        """Removes a final job with its attempts and its body. The file of a download stays."""
        await self._transport.delete(_of(job))

    def events(self, job: str, last_event_id: str | None = None) -> AsyncIterator[Event]:
        """What happens to a job, up to `job.finished`.

        A connection that breaks is made anew, and goes on after the last event. `last_event_id` is the `id` of the last
        event that you have seen, to go on after it.
        """
        return follow(self._transport, f"{_of(job)}/events", last_event_id, "job.finished")

    def body(self, job: str, timeout: float | None = None) -> AsyncBody:
        """The body of a job as a stream, which resumes by itself and compares its checksum at the end.

        It begins once the job has a body to read, for which it waits so many seconds, or as long as it takes.
        """
        return AsyncBody(self._transport, job, timeout)

    async def read(self, job: str) -> bytes:
        """All of a job's body."""
        async with self.body(job) as body:
            return await body.read()

    async def save(self, job: str, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes a job's body to a file, which appears once it is complete and its checksum is right."""
        async with self.body(job) as body:
            return await body.save(path)

    async def send_body(self, job: str, data: bytes | Iterable[bytes] | AsyncIterable[bytes]) -> None:
        """Feeds a job whose request has the body `{"stream": True}`; held until the job takes it.

        It cannot be repeated: `Conflict` says that the job is to send its body again, and wants another one.
        """
        await self._transport.send(Call(method="PUT", target=f"{_of(job)}/body", body=data, patience=LONGEST_WAIT))

    async def questions(self, job: str, state: models.QuestionState | None = None) -> AsyncIterator[models.Question]:
        """What a job has asked its delegate, the oldest first."""
        async for item in self._transport.pages(f"{_of(job)}/questions", state=state):
            yield models.Question.from_json(item)

    async def explain(self, job: str) -> models.Explanation:
        """Where each value of a job's configuration comes from, and what was decided."""
        return models.Explanation.from_json(await self._transport.get(f"{_of(job)}/explain"))

    async def har(self, job: str) -> dict[str, Any]:
        """The attempts of a job as an HTTP Archive."""
        archive: dict[str, Any] = await self._transport.get(f"{_of(job)}/har")
        return archive


def _of(job: str) -> str:
    return f"/v1/jobs/{segment(job)}"
