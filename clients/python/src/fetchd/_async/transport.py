"""Requests over one pool of connections, sent again when that is safe."""
from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from .._http import translated
from .._requests import Call, decoded, delay_before_repeat, encoded, idempotency_key, query, retry_after, wait_header
from .._version import VERSION
from .._waiting import async_sleep
from ..errors import ConnectionFailed, InvalidAnswer, Problem, problem_of

LOGGER = logging.getLogger("fetchd")
# The service sends something at least every 15 seconds.
SILENCE = 45.0


class AsyncTransport:
    """Sends calls to the service."""

    def __init__(self, url: str, key: str, timeout: float, retries: int, http: httpx.AsyncClient | None) -> None:
        self.url = url
        self.timeout = timeout
        self.retries = retries
        self._is_ours = http is None
        self._http = http or httpx.AsyncClient(follow_redirects=False)
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": f"fetchd-python/{VERSION}"}

    async def send(self, call: Call) -> httpx.Response:
        """Sends a call until it is answered, within its time, and at most `retries` times more."""
        deadline = time.monotonic() + self.timeout + call.patience
        attempt = 0
        while True:
            try:
                return await self._once(call, deadline)
            except (ConnectionFailed, Problem) as failure:
                delay = delay_before_repeat(call, failure, attempt, self.retries)
                if delay is None or time.monotonic() + delay > deadline:
                    raise
                LOGGER.info("%s %s is sent again in %.1f s: %s", call.method, call.target.partition("?")[0], delay,
                            type(failure).__name__)
            attempt += 1
            await async_sleep(delay)

    async def _once(self, call: Call, deadline: float) -> httpx.Response:
        request = self._request(call, max(0.001, deadline - time.monotonic()))
        with translated():
            response = await self._http.send(request, follow_redirects=False)
        return _checked(response)

    def _request(self, call: Call, timeout: float) -> httpx.Request:
        return self._http.build_request(call.method, self.url + call.target, headers={**self._headers, **call.headers},
                                        content=call.body, timeout=timeout)

    @asynccontextmanager
    async def stream(self, call: Call, *, silence: float = SILENCE) -> AsyncIterator[httpx.Response]:
        """An answer that is read as it comes, by `chunks`; it may be silent for so many seconds."""
        request = self._request(call, silence)
        with translated():
            response = await self._http.send(request, stream=True, follow_redirects=False)
        try:
            if response.status_code >= 300:
                with translated():
                    await response.aread()
            yield _checked(response)
        finally:
            await response.aclose()

    async def get(self, target: str, wait: float | None = None, **values: Any) -> Any:
        """What a document is read from."""
        return await self._document(Call(method="GET", target=target + query(values), headers=wait_header(wait),
                                         is_repeatable=True, patience=wait or 0))

    async def post(self, target: str, document: Any = None, *, key: str | None = None, wait: float | None = None,
                   is_repeatable: bool = True, **values: Any) -> Any:
        """Posts with an `Idempotency-Key`, the same over all repeats of this call."""
        headers = wait_header(wait)
        if is_repeatable:
            headers["Idempotency-Key"] = idempotency_key(key)
        return await self._document(self._with(Call(method="POST", target=target + query(values), headers=headers,
                                                    is_repeatable=is_repeatable, patience=wait or 0), document))

    async def patch(self, target: str, document: Any, if_match: str | None = None) -> Any:
        # Merging a patch twice is merging it once, but not when it had to meet a version.
        headers = {} if if_match is None else {"If-Match": if_match}
        call = Call(method="PATCH", target=target, headers=headers, is_repeatable=if_match is None)
        return await self._document(self._with(call, document))

    async def put(self, target: str, document: Any) -> Any:
        return await self._document(self._with(Call(method="PUT", target=target, is_repeatable=True), document))

    async def delete(self, target: str, **values: Any) -> Any:
        return await self._document(Call(method="DELETE", target=target + query(values)))

    async def pages(self, target: str, **values: Any) -> AsyncIterator[Any]:
        """The items of all pages of a list."""
        cursor = None
        while True:
            page = await self.get(target, **values, cursor=cursor)
            for item in page["data"]:
                yield item
            cursor = page.get("nextCursor")
            if not cursor:
                return

    async def _document(self, call: Call) -> Any:
        response = await self.send(call)
        return decoded(response.content) if response.content else None

    @staticmethod
    def _with(call: Call, document: Any) -> Call:
        if document is not None:
            call.body = encoded(document)
            call.headers["Content-Type"] = "application/json"
        return call

    async def aclose(self) -> None:
        """Closes the connections, but not those of a client of httpx that was given."""
        if self._is_ours:
            await self._http.aclose()


async def chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """The content as it comes. An early end raises `ConnectionFailed`."""
    with translated():
        async for chunk in response.aiter_raw():
            yield chunk


def _checked(response: httpx.Response) -> httpx.Response:
    status = response.status_code
    if status >= 400:
        raise problem_of(status, response.content, response.headers.get("request-id"), retry_after(response.headers))
    if status >= 300 and status != 304:
        raise InvalidAnswer(f"status {status}: redirects are not followed; check the URL of the service")
    return response
