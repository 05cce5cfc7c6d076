"""What origins on loopback have in common that run in a thread of their own."""
import asyncio
import threading


class ThreadedOrigin:
    """Runs until `stop()`; `serve(reader, writer)` is called for each connection, and ends as that does."""

    def __init__(self, port=0):
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.guarded, "127.0.0.1", port, backlog=4096))
        self.port = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def guarded(self, reader, writer):
        try:
            await self.serve(reader, writer)
        except (asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.end)

    def end(self):
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        # Once they have let go of their connections.
        self.loop.call_later(0.1, self.loop.stop)
