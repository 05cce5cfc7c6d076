"""An origin on loopback that answers slowly and counts what it was asked: for trials of crashes."""
import asyncio
import collections
import hashlib
import json

from threaded_origin import ThreadedOrigin


def content(path):
    """What a large body holds: nothing that another one has."""
    return hashlib.sha256(path.encode()).digest() * 3200


class CountingOrigin(ThreadedOrigin):
    """`/job/N` is answered after a delay, `/job/N/large` with a body of its own; `/webhook` takes events.

    What is not of a trial's jobs (`/storm`, `/storm/fails`, `/webhook/storm`) is answered, and not counted.
    """

    def __init__(self, delay_seconds):
        self.delay_seconds = delay_seconds
        self.requests = collections.Counter()
        self.finished_events = collections.Counter()
        self.in_flight = 0
        super().__init__()

    @property
    def total(self):
        """How many requests there were for jobs."""
        return sum(self.requests.values())

    async def serve(self, reader, writer):
        while (head := await reader.readuntil(b"\r\n\r\n")):
            line, *fields = head.decode("latin-1").split("\r\n")
            length = next((int(field.split(":")[1]) for field in fields
                           if field.lower().startswith("content-length:")), 0)
            body = await reader.readexactly(length)
            await self.answer(line.split(" ")[1], body, writer)

    async def answer(self, path, body, writer):
        if path == "/webhook":
            event = json.loads(body)
            if event.get("type") == "job.finished":
                self.finished_events[event["data"]["job"]["id"]] += 1
        elif path.startswith("/job/"):
            self.requests[path] += 1
            self.in_flight += 1
            try:
                await asyncio.sleep(self.delay_seconds)
            finally:
                self.in_flight -= 1
        body = content(path) if path.endswith("/large") else b"ok\n"
        status = b"500 Internal Server Error" if path == "/storm/fails" else b"200 OK"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)
        await writer.drain()
