"""Server-sent events."""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import InvalidAnswer

LONGEST_EVENT = 16 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happened to a job."""

    id: str | None
    """Where to go on after it: `last_event_id`."""
    type: str
    """Such as `job.progress`."""
    data: dict[str, Any]
    """With the names of the API."""


class EventParser:
    """Bytes in, events out. An event that is not ended by an empty line does not count."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        self._id: str | None = None
        self._type = ""
        self._data: list[str] = []
        self.retry: float | None = None
        """Seconds that the server wants clients to wait before they come back."""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        self._buffer += chunk
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._buffer[:end]).removesuffix(b"\r")
            del self._buffer[:end + 1]
            self._scanned = 0
            event = self._take(line.decode("utf-8", "replace"))
            if event is not None:
                yield event
        self._scanned = len(self._buffer)
        if len(self._buffer) + sum(map(len, self._data)) > LONGEST_EVENT:
            raise InvalidAnswer("an event is too long")

    def _take(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and value.isascii() and value.isprintable() and len(value) < 200:
            self._id = value or None
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) < 9:
            self.retry = int(value) / 1000
        return None

    def _dispatch(self) -> Event | None:
        kind, lines, self._type, self._data = self._type, self._data, "", []
        if not lines:
            return None
        try:
            data = json.loads("\n".join(lines))
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise InvalidAnswer("the data of an event is no JSON object")
        return Event(id=self._id, type=kind or "message", data=data)
