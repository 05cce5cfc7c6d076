# Made by clients/generate from _async/. Do not edit.
"""A job, and what can be done with it."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from .. import models
from .._events import Event
from .._requests import FINAL
from ..errors import JobFailed
from .body import Body

if TYPE_CHECKING:
    from .jobs import Jobs


class Job:
    """A job as the service told of it last; each method that asks the service brings it up to date."""

    def __init__(self, jobs: Jobs, document: Any) -> None:
        self._jobs = jobs
        self.details: models.Job | None = None
        """All that the service tells of it. None right after a submission that did not wait for the end."""
        self._take(document)

    def _take(self, document: Any) -> Self:
        if "createdAt" in document:
            self.details = models.Job.from_json(document)
            self.id, self.state = self.details.id, self.details.state
        else:
            submitted = models.SubmittedJob.from_json(document)
            self.id, self.state = submitted.id, submitted.state
        return self

    @property
    def is_final(self) -> bool:
        """Whether it has ended; what `details` say stays then."""
        return self.state in FINAL

    @property
    def response(self) -> models.Response | None:
        """The response of the last hop, once there is one."""
        return self.details.response if self.details else None

    @property
    def error(self) -> models.LoadError | None:
        """Why it failed."""
        return self.details.error if self.details else None

    @property
    def progress(self) -> models.Progress | None:
        """How far it is, while it runs."""
        return self.details.progress if self.details else None

    @property
    def file(self) -> models.DownloadedFile | None:
        """The file of a download that succeeded."""
        return self.details.file if self.details else None

    def refresh(self, wait: float | None = None) -> Self:
        """Asks how it stands; with `wait` once it is final, or so many seconds (60 at most) are over."""
        return self._take(self._jobs.document(self.id, wait))

    def wait(self, timeout: float | None = None) -> Self:
        """Waits until it is final, as long as it takes or so many seconds; then raises `WaitTimedOut`."""
        return self if self.is_final and self.details else self._take(self._jobs.final(self.id, timeout))

    def result(self, timeout: float | None = None) -> Self:
        """As `wait`, and raises `JobFailed` unless it succeeded: a response arrived, with whatever status."""
        self.wait(timeout)
        if self.state != "succeeded" and self.details:
            raise JobFailed(self.details)
        return self

    def cancel(self, *, produce_resume_data: bool | None = None) -> Self:
        """Asks it to stop; see `jobs.cancel`."""
        return self._take(self._jobs.act(self.id, "cancel", produce_resume_data=produce_resume_data))

    def suspend(self) -> Self:
        """Holds it until it is resumed."""
        return self._take(self._jobs.act(self.id, "suspend"))

    def resume(self) -> Self:
        """Lets it go on after `suspend`."""
        return self._take(self._jobs.act(self.id, "resume"))

    def retry(self) -> Self:
        """Lets it run again after it failed or was cancelled."""
        return self._take(self._jobs.act(self.id, "retry"))

    def change(self, change: Mapping[str, Any]) -> Self:
        """Changes its priority, time, labels or speed; see `jobs.change`."""
        return self._take(self._jobs.changed(self.id, change))

    def delete(self) -> None:
        """Removes it with its attempts and its body, once it is final."""
        self._jobs.delete(self.id)

    def events(self, last_event_id: str | None = None) -> Iterator[Event]:
        """What happens to it, up to `job.finished`; see `jobs.events`."""
        return self._jobs.events(self.id, last_event_id)

    def body(self, timeout: float | None = None) -> Body:
        """Its body as a stream; see `jobs.body`."""
        return self._jobs.body(self.id, timeout)

    def read(self) -> bytes:
        """All of its body."""
        with self.body() as body:
            return body.read()

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes its body to a file, which appears once it is complete and its checksum is right."""
        with self.body() as body:
            return body.save(path)

    def questions(self, state: models.QuestionState | None = None) -> Iterator[models.Question]:
        """What it has asked its delegate, the oldest first."""
        return self._jobs.questions(self.id, state)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.state}>"
