"""Sessions: a configuration and stores that jobs share."""
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Unpack

from .. import models
from .._requests import segment
from ..parameters import ListSessionEventsQuery, ListSessionsQuery, SessionSpec
from .transport import AsyncTransport


class AsyncSessions:
    """The sessions of the tenant."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, spec: SessionSpec | None = None, *, key: str | None = None) -> models.Session:
        """Makes a session; `key` is an `Idempotency-Key`."""
        return models.Session.from_json(await self._transport.post("/v1/sessions", spec or {}, key=key))

    async def list(self, **filters: Unpack[ListSessionsQuery]) -> AsyncIterator[models.Session]:
        """The sessions, the newest first, over all pages."""
        async for item in self._transport.pages("/v1/sessions", **filters):
            yield models.Session.from_json(item)

    async def get(self, session: str) -> models.Session:
        """A session as it stands; `default` is the default one."""
        return models.Session.from_json(await self._transport.get(_of(session)))

    async def invalidate(self, session: str, mode: Literal["finish", "cancel"] = "finish") -> models.Session:
        """Lets it take no more jobs; those there are go on, or are cancelled."""
        return models.Session.from_json(await self._transport.post(f"{_of(session)}/invalidate", mode=mode))

    async def events(self, session: str,
                     **filters: Unpack[ListSessionEventsQuery]) -> AsyncIterator[models.SessionEvent]:
        """The events of a background session, the earliest first."""
        async for item in self._transport.pages(f"{_of(session)}/events", **filters):
            yield models.SessionEvent.from_json(item)

    async def acknowledge(self, session: str) -> models.Session:
        """Says that the events of a background session were dealt with."""
        return models.Session.from_json(await self._transport.post(f"{_of(session)}/acknowledge"))

    async def delete(self, session: str) -> None:
        """Removes a session that is invalidated."""
        await self._transport.delete(_of(session))


def _of(session: str) -> str:
    return f"/v1/sessions/{segment(session)}"
