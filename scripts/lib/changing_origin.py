"""An origin on loopback whose files change: for trials of downloads that go on after a crash."""
import asyncio
import hashlib
import random
import re

from threaded_origin import ThreadedOrigin

PIECE = 64 * 1024


class ChangingOrigin(ThreadedOrigin):
    """`/file/N` is a file with a strong tag and ranges, sent slowly."""

    def __init__(self, bytes_per_second):
        self.pause = PIECE / bytes_per_second
        self.versions = {}
        self.digests = {}
        self.bytes_sent = 0
        self.continued = 0
        self.whole = 0
        super().__init__()

    def change(self, path, size):
        """Puts other bytes there, of the same length; the digests of all that were there stay known."""
        version = self.versions.get(path, (0, b""))[0] + 1
        content = random.Random(f"{path} {version}").randbytes(size)
        self.versions[path] = (version, content)
        self.digests.setdefault(path, set()).add(hashlib.sha256(content).digest())

    async def serve(self, reader, writer):
        while (head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")):
            await self.answer(head, writer)

    async def answer(self, head, writer):
        version, content = self.versions[head.split(" ")[1]]
        tag = f'"v{version}"'
        start = 0
        asked = re.search(r"(?im)^range: bytes=(\d+)-\r?$", head)
        condition = re.search(r"(?im)^if-range: (.*?)\r?$", head)
        if asked and (not condition or condition[1] == tag) and int(asked[1]) < len(content):
            start = int(asked[1])
            self.continued += 1
            status = f"206 Partial Content\r\nContent-Range: bytes {start}-{len(content) - 1}/{len(content)}"
        else:
            self.whole += 1
            status = "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\nETag: {tag}\r\nContent-Length: {len(content) - start}\r\n\r\n".encode())
        for offset in range(start, len(content), PIECE):
            piece = content[offset:offset + PIECE]
            writer.write(piece)
            await writer.drain()
            self.bytes_sent += len(piece)
            await asyncio.sleep(self.pause)
