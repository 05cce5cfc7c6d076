"""Waiting and iterating, for threads and for asyncio."""
from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
sleep = time.sleep
async_sleep = asyncio.sleep


def each(items: Iterable[T]) -> Iterator[T]:
    yield from items


async def async_each(items: AsyncIterable[T] | Iterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
