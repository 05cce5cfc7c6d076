"""The service, the origin and the faulty front that `scripts/check-clients` has started."""
from __future__ import annotations

import json
import os
import urllib.request
import uuid
from collections.abc import Iterator

import pytest

from fetchd import Fetchd


class Front:
    """A client's way to the service that has faults for its first requests."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex

    def url(self, fault: str, count: int, size: int = 0) -> str:
        return f"{os.environ['FRONT']}/{fault}-{count}-{size}-{self.name}"

    def seen(self) -> list[dict[str, str]]:
        with urllib.request.urlopen(f"{os.environ['FRONT']}/seen/{self.name}") as answer:
            return list(json.load(answer))


class Origin:
    url = os.environ["ORIGIN"]

    def __init__(self) -> None:
        self.held = f"{self.url}/held/{uuid.uuid4().hex}"

    def release(self) -> None:
        urllib.request.urlopen(self.held.replace("/held/", "/release/")).close()


@pytest.fixture
def fetchd() -> Iterator[Fetchd]:
    with Fetchd() as client:
        yield client


@pytest.fixture
def front() -> Front:
    return Front()


@pytest.fixture
def origin() -> Iterator[Origin]:
    one = Origin()
    yield one
    one.release()
