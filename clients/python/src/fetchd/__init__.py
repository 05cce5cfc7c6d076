"""A client of Fetchd, fetch as a service.

    from fetchd import Fetchd

    with Fetchd() as fetchd:
        job = fetchd.jobs.submit("https://example.com/", wait=10)
        print(job.state, job.read())

`Fetchd` is for threads, `AsyncFetchd` for asyncio. `fetchd.models` has what the service answers with, and
`fetchd.parameters` what it takes.
"""
from . import models, parameters
from ._async.body import AsyncBody, AsyncDownload
from ._async.client import AsyncFetchd
from ._async.job import AsyncJob
from ._events import Event
from ._sync.body import Body, Download
from ._sync.client import Fetchd
from ._sync.job import Job
from ._version import VERSION as __version__
from .errors import (
    CallTimedOut,
    Conflict,
    ConnectionFailed,
    DigestMismatch,
    Fault,
    FetchdError,
    Forbidden,
    InterruptedBody,
    InvalidAnswer,
    InvalidRequest,
    InvalidSignature,
    JobFailed,
    NotFound,
    Problem,
    RateLimited,
    Unauthorized,
    Unavailable,
    WaitTimedOut,
)
from .webhooks import WebhookMessage, verify_webhook

__all__ = [
    "AsyncBody", "AsyncDownload", "AsyncFetchd", "AsyncJob", "Body", "CallTimedOut", "Conflict", "ConnectionFailed",
    "DigestMismatch", "Download", "Event", "Fault", "Fetchd", "FetchdError", "Forbidden", "InterruptedBody",
    "InvalidAnswer", "InvalidRequest", "InvalidSignature", "Job", "JobFailed", "NotFound", "Problem", "RateLimited",
    "Unauthorized", "Unavailable", "WaitTimedOut", "WebhookMessage", "__version__", "models", "parameters",
    "verify_webhook",
]
