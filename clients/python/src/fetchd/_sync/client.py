# Made by clients/generate from _async/. Do not edit.
"""The client."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import httpx

from .. import models
from .._events import Event
from .._requests import key_of, seconds, url_of
from .blobs import Blobs
from .events import follow
from .groups import Groups
from .jobs import Jobs
from .questions import Questions
from .schedules import Schedules
from .sessions import Sessions
from .transport import Transport
from .webhooks import Webhooks


class Fetchd:
    """A client of a Fetchd service, with one pool of connections.

    `url` and `key` default to FETCHD_URL and FETCHD_KEY. A call may take `timeout` seconds, and as many more as it asks
    the service to wait. It is sent up to `retries` times more when it cannot have had an effect, or means the same when
    it comes twice: after errors of the connection, and after 429, 502, 503 and 504, when `Retry-After` says or after
    delays that grow. `http` is a client of httpx with settings of yours, for proxies or certificates, which you close.

    Used as a context manager it closes its connections. One client serves many threads tasks.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout: float = 30, retries: int = 3,
                 http: httpx.Client | None = None) -> None:
        self._transport = Transport(url_of(url), key_of(key), seconds("timeout", timeout), retries, http)
        self.jobs = Jobs(self._transport)
        """Fetches: submit, list, follow, read."""
        self.questions = Questions(self._transport)
        """What loads ask their delegates."""
        self.schedules = Schedules(self._transport)
        """Jobs that are made when their times come."""
        self.groups = Groups(self._transport)
        """Jobs that belong together."""
        self.sessions = Sessions(self._transport)
        """Configuration, cookies and cache that jobs share."""
        self.blobs = Blobs(self._transport)
        """Bytes for jobs to send, and files that they downloaded."""
        self.webhooks = Webhooks(self._transport)
        """Where events are sent, and what became of each message."""

    def usage(self) -> models.TenantUsage:
        """What the tenant uses, beside what it may use."""
        return models.TenantUsage.from_json(self._transport.get("/v1/usage"))

    def events(self, *, last_event_id: str | None = None) -> Iterator[Event]:
        """The events of all jobs, without end, from the endpoint that is both `polled` and `default`.

        Begins as `webhooks.events` does. Raises `NotFound` when there is no such endpoint.
        """
        return follow(self._transport, "/v1/events", last_event_id)

    def request(self, method: str, path: str, document: Any = None) -> Any:
        """What has no method here: one request, with JSON as `json.loads` reads it.

        POST carries an `Idempotency-Key`, so that it can be repeated.
        """
        call = method.upper()
        if call == "POST":
            return self._transport.post(path, document)
        if call in ("PUT", "PATCH"):
            return (self._transport.put if call == "PUT" else self._transport.patch)(path, document)
        if call not in ("GET", "DELETE") or document is not None:
            raise ValueError(f"{method}: GET and DELETE without a document, or POST, PUT, PATCH were expected")
        return (self._transport.get if call == "GET" else self._transport.delete)(path)

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._transport.url}>"
