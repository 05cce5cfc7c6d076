"""What calls raise. No message and no attribute has the API key."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .models import Job


class FetchdError(Exception):
    """Everything that a client raises, but for wrong arguments (`TypeError`, `ValueError`)."""


class ConnectionFailed(FetchdError):
    """The service could not be reached, or the connection broke, also after the repeats."""

    was_sent: bool
    """False when there was no connection, so that the service has nothing of the call."""

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class CallTimedOut(ConnectionFailed, TimeoutError):
    """The service did not answer in time."""


class InvalidAnswer(FetchdError):
    """What answered does not speak the API: no HTTP, no JSON, a redirect, or another document than was expected."""


class InterruptedBody(FetchdError):
    """A body ended early and could not be resumed; `offset` bytes of it had come."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class DigestMismatch(FetchdError):
    """The bytes of a body are not those that the service has the digest of."""


class WaitTimedOut(FetchdError, TimeoutError):
    """The job was not final in time. It goes on; `job_id` names it."""

    def __init__(self, job_id: str, seconds: float) -> None:
        super().__init__(f"job {job_id} goes on after {seconds:g} s")
        self.job_id = job_id


class JobFailed(FetchdError):
    """The job ended without a response; `job.error` says why, and is None when it was cancelled."""

    def __init__(self, job: Job) -> None:
        error = job.error
        super().__init__(f"job {job.id} {job.state}" + (f": {error.name}: {error.message}" if error else ""))
        self.job = job


class InvalidSignature(FetchdError):
    """A webhook message is not from the service, or too old."""


class Fault(NamedTuple):
    """A rule that a request broke."""

    message: str
    pointer: str | None
    """The member of the body, as a JSON Pointer."""
    parameter: str | None
    """Or the name of the parameter or header field."""


class Problem(FetchdError):
    """The service refused a request (RFC 9457). Subclasses name the kinds that programs tell apart."""

    status: int
    code: str
    """A stable word, such as `invalidInput`."""
    title: str
    detail: str | None
    """What was wrong, in a sentence."""
    errors: tuple[Fault, ...]
    """Each rule that was broken."""
    request_id: str | None
    """Quote it when you report a fault."""
    retry_after: float | None
    """After how many seconds a repeat makes sense."""
    type: str | None
    """A page about this kind of problem, below the URL of the service."""

    def __init__(self, status: int, document: dict[str, Any], request_id: str | None = None,
                 retry_after: float | None = None) -> None:
        def text(name: str, source: dict[str, Any] = document) -> str | None:
            value = source.get(name)
            return value if isinstance(value, str) else None

        faults = document.get("errors")
        self.status = status
        self.code = text("code") or "unknown"
        self.title = text("title") or f"status {status}"
        self.detail = text("detail")
        self.type = text("type")
        self.errors = tuple(
            Fault(text("message", one) or "", text("pointer", one), text("parameter", one))
            for one in (faults if isinstance(faults, list) else []) if isinstance(one, dict))
        self.request_id = request_id
        self.retry_after = retry_after
        super().__init__(self._sentence())

    @property
    def pointer(self) -> str | None:
        """The first member that is wrong, as a JSON Pointer."""
        return next((fault.pointer for fault in self.errors if fault.pointer is not None), None)

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (408, 429, 502, 503, 504)

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.errors:
            return "Correct what `errors` names."
        if self.retry_after is not None:
            return f"Try again in {self.retry_after:g} s."
        return _ADVICE.get(self.status, "Try again later." if self.status >= 500 else "See `detail`.")

    def _sentence(self) -> str:
        said = f"{self.status} {self.code}: {self.detail or self.title}"
        for fault in self.errors:
            place = fault.pointer if fault.pointer is not None else fault.parameter
            said += f"\n  {place or 'request'} {fault.message}"
        return said + (f" (request {self.request_id})" if self.request_id else "")


_ADVICE = {
    401: "Check the key: FETCHD_KEY, or the argument `key`.",
    403: "Use a key that has the scope and is bound to nothing else, or ask the operator for one.",
    404: "Check the id, and that the key belongs to the same tenant.",
    409: "Get it again: its state does not allow this.",
    412: "Get it again: it was changed in between.",
    429: "Try again later, or ask the operator for more.",
}


class Unauthorized(Problem):
    """401: the key is missing or wrong."""


class Forbidden(Problem):
    """403: the key may not do this."""


class NotFound(Problem):
    """404: there is no such thing, or it belongs to another tenant."""


class Conflict(Problem):
    """409, 410, 412: what it is about is in another state."""


class InvalidRequest(Problem):
    """400, 413, 415, 422: `errors` names each wrong member."""


class RateLimited(Problem):
    """429: too much; `retry_after` tells when there is room."""


class Unavailable(Problem):
    """5xx: the service cannot answer now."""


_KINDS: dict[int, type[Problem]] = {
    400: InvalidRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Conflict, 412: Conflict,
    413: InvalidRequest, 415: InvalidRequest, 422: InvalidRequest, 429: RateLimited,
}


def problem_of(status: int, body: bytes, request_id: str | None, retry_after: float | None) -> Problem:
    """The exception for an answer of 4xx or 5xx, whatever its body is."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    kind = _KINDS.get(status, Unavailable if status >= 500 else Problem)
    return kind(status, document if isinstance(document, dict) else {}, request_id, retry_after)
