"""Stands between a service and its database, and cuts their connections."""
import asyncio

from threaded_origin import ThreadedOrigin


class CuttingProxy(ThreadedOrigin):
    """Passes connections on to a Unix socket until it is told to cut them."""

    def __init__(self, socket_path):
        self.socket_path = str(socket_path)
        self.writers = set()
        self.loses_answers = False
        super().__init__()

    async def serve(self, reader, writer):
        upstream_reader, upstream_writer = await asyncio.open_unix_connection(self.socket_path)
        self.writers.add(writer)
        try:
            await asyncio.gather(self.pump(reader, upstream_writer),
                                 self.pump(upstream_reader, writer, is_answer=True))
        finally:
            self.writers.discard(writer)
            upstream_writer.close()

    async def pump(self, reader, writer, is_answer=False):
        while data := await reader.read(65536):
            if is_answer and self.loses_answers:
                # The statement is done, and its sender will never know.
                writer.transport.abort()
                return
            writer.write(data)
            await writer.drain()
        writer.close()

    def lose_answers(self, loses):
        """From now on every connection is cut when the database answers on it."""
        self.loses_answers = loses

    def cut(self):
        """Cuts all connections at once."""
        self.loop.call_soon_threadsafe(lambda: [writer.transport.abort() for writer in list(self.writers)])
