"""Groups: jobs that belong together, and one event for the end of all."""
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Unpack

from .. import models
from .._requests import segment
from ..parameters import GroupSpec, ListGroupsQuery
from .transport import AsyncTransport


class AsyncGroups:
    """The groups of the tenant."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, spec: GroupSpec | None = None, *, key: str | None = None) -> models.Group:
        """Makes a group; `key` is an `Idempotency-Key`. Jobs name it when they are submitted."""
        return models.Group.from_json(await self._transport.post("/v1/groups", spec or {}, key=key))

    async def list(self, **filters: Unpack[ListGroupsQuery]) -> AsyncIterator[models.Group]:
        """The groups, the newest first, over all pages."""
        async for item in self._transport.pages("/v1/groups", **filters):
            yield models.Group.from_json(item)

    async def get(self, group: str) -> models.Group:
        """A group, with how many of its jobs are in each state."""
        return models.Group.from_json(await self._transport.get(_of(group)))

    async def close(self, group: str) -> models.Group:
        """Lets it take no more jobs; `group.finished` is sent when all of them are final."""
        return models.Group.from_json(await self._transport.post(f"{_of(group)}/close"))

    async def delete(self, group: str) -> None:
        """Removes a group that is finished; its jobs stay."""
        await self._transport.delete(_of(group))


def _of(group: str) -> str:
    return f"/v1/groups/{segment(group)}"
