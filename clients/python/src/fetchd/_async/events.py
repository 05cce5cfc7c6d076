"""Events, over as many connections as it takes."""
from __future__ import annotations

from collections.abc import AsyncIterator

from .._events import Event, EventParser
from .._requests import Call, backoff
from .._waiting import async_sleep
from ..errors import ConnectionFailed, Problem
from .transport import AsyncTransport, chunks


async def follow(transport: AsyncTransport, target: str, last_event_id: str | None,
                 final: str | None = None) -> AsyncIterator[Event]:
    """The events after the last one that was seen, up to one of the type `final`."""
    call = Call(method="GET", target=target, headers={"Accept": "text/event-stream"})
    failures = 0
    while True:
        if last_event_id is not None:
            call.headers["Last-Event-ID"] = last_event_id
        # What is half there when the connection breaks comes again.
        parser = EventParser()
        try:
            async with transport.stream(call) as response:
                if response.status_code == 204:
                    return
                async for chunk in chunks(response):
                    for event in parser.feed(chunk):
                        last_event_id, failures = event.id or last_event_id, 0
                        yield event
                        if event.type == final:
                            return
            delay = parser.retry
        except (ConnectionFailed, Problem) as failure:
            is_final = isinstance(failure, Problem) and not failure.retryable
            if is_final or failures >= transport.retries:
                raise
            delay = failure.retry_after if isinstance(failure, Problem) else None
        # The stream ends with the service too, which may be there again soon.
        await async_sleep(backoff(failures) if delay is None else delay)
        failures += 1
