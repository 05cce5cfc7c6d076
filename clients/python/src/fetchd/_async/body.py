"""Bodies as streams that go on when a connection breaks."""
from __future__ import annotations

import hashlib
import os
import pathlib
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Self

from .. import models
from .._requests import LONGEST_WAIT, Call, backoff, segment, sha256_of
from .._waiting import async_sleep
from ..errors import (
    ConnectionFailed,
    DigestMismatch,
    FetchdError,
    InterruptedBody,
    JobFailed,
    Problem,
    WaitTimedOut,
)
from .transport import AsyncTransport, chunks


class AsyncBody:
    """The body of a job, as bytes that come while the job runs.

    A connection that breaks is made anew, and the body goes on where it was. At its end its SHA-256 is compared with
    the one that the service has: `DigestMismatch` is raised when they differ, and `JobFailed` when the job fails.
    """

    def __init__(self, transport: AsyncTransport, job: str, timeout: float | None = None) -> None:
        self._transport = transport
        self._job = job
        self._timeout = timeout
        self._digest: bytes | None = None
        self._tag: str | None = None
        self._sha256 = hashlib.sha256()
        self._iterator: AsyncIterator[bytes] | None = None
        self.offset = 0
        """How many bytes have come."""
        self.is_complete = False
        """Whether all bytes have come, and are those that the service has."""

    @property
    def sha256(self) -> str:
        """The SHA-256 of what has come, in hexadecimal digits."""
        return self._sha256.hexdigest()

    async def read(self) -> bytes:
        """All of it."""
        pieces = []
        async for chunk in self:
            pieces.append(chunk)
        return b"".join(pieces)

    async def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes it to a file, which appears under its name once it is complete and on disk.

        A file of that name gives way. Nothing is left when this fails.
        """
        place = pathlib.Path(path)
        partial = place.with_name(f".{place.name}.{os.urandom(4).hex()}.part")
        try:
            with open(partial, "xb") as out:
                async for chunk in self:
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            os.replace(partial, place)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        return place

    def __aiter__(self) -> AsyncIterator[bytes]:
        if self._iterator is None:
            self._iterator = self._chunks()
        return self._iterator

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the connection of a body that was not read to its end."""
        close: Any = getattr(self._iterator, "aclose", None)
        if close is not None:
            await close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        failures, waits, missing, began = 0, 0, 0, time.monotonic()
        while True:
            before = self.offset
            try:
                async for chunk in self._connection():
                    self.offset += len(chunk)
                    self._sha256.update(chunk)
                    yield chunk
                break
            except Problem as problem:
                if problem.status == 416 and self.offset:
                    break
                if problem.status not in (404, 409):
                    raise
                await self._raise_if_failed()
                # As a download ends its file is in neither place for an instant.
                missing += problem.status == 404
                if problem.code not in ("jobNotFinal", "notFound") or missing > self._transport.retries:
                    raise
                if self._timeout is not None and time.monotonic() - began > self._timeout:
                    raise WaitTimedOut(self._job, self._timeout) from None
                await async_sleep(min(1.0, 0.05 * 1.5 ** min(waits, 20)))
                waits += 1
            except ConnectionFailed as failure:
                failures = 0 if self.offset > before else failures + 1
                if failures > self._transport.retries:
                    message = f"the body broke off at byte {self.offset}: {failure}"
                    raise InterruptedBody(message, self.offset) from failure
                await async_sleep(backoff(failures))
        await self._verify()

    async def _connection(self) -> AsyncIterator[bytes]:
        """What one connection brings from the offset on."""
        headers = {"Accept-Encoding": "identity"}
        if self.offset and self._tag:
            headers |= {"Range": f"bytes={self.offset}-", "If-Range": self._tag}
        call = Call(method="GET", target=f"/v1/jobs/{segment(self._job)}/body", headers=headers)
        async with self._transport.stream(call) as response:
            tag = response.headers.get("etag")
            if self.offset and self._tag and tag != self._tag:
                raise InterruptedBody("the body was replaced by another one meanwhile", self.offset)
            self._tag = tag
            self._digest = sha256_of(response.headers.get("repr-digest")) or self._digest
            # While a job runs its body comes from the start, whatever range was asked for.
            skipped = self.offset if response.status_code == 200 else 0
            async for chunk in chunks(response):
                rest = chunk[skipped:]
                skipped -= len(chunk) - len(rest)
                if rest:
                    yield rest

    async def _document(self, wait: float | None = None) -> models.Job:
        return models.Job.from_json(await self._transport.get(f"/v1/jobs/{segment(self._job)}", wait=wait))

    async def _raise_if_failed(self) -> None:
        job = await self._document()
        if job.state in ("failed", "cancelled"):
            raise JobFailed(job)

    async def _verify(self) -> None:
        if self._digest is None:
            # The job was running when its body began, so that nobody knew.
            job = await self._document(wait=LONGEST_WAIT)
            if job.state in ("failed", "cancelled"):
                raise JobFailed(job)
            self._digest = sha256_of(job.body.digest) if job.body else None
        if self._digest is not None and self._digest != self._sha256.digest():
            raise DigestMismatch(f"{self.offset} bytes have come, and they are not those of the body")
        self.is_complete = True


class AsyncDownload(AsyncBody):
    """A download that begins with the block and whose file comes as bytes.

    Leaving the block before the end cancels the job.
    """

    def __init__(self, transport: AsyncTransport, spec: dict[str, Any], key: str | None) -> None:
        super().__init__(transport, "")
        self._spec = spec
        self._key = key

    @property
    def job_id(self) -> str:
        return self._job

    async def __aenter__(self) -> Self:
        document = await self._transport.post("/v1/jobs", self._spec, key=self._key)
        self._job = models.SubmittedJob.from_json(document).id if "href" in document else document["id"]
        return self

    async def __aexit__(self, *arguments: object) -> None:
        await super().__aexit__(*arguments)
        if not self.is_complete and self._job:
            # What made the block end is what its caller must hear of.
            with suppress(FetchdError):
                await self._transport.post(f"/v1/jobs/{segment(self._job)}/cancel")
