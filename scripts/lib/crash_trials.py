"""What can go wrong under a service, each made to happen a few times while it works."""
import os
import signal
import time

from processes import run, say

LEASE_SECONDS = 2


class KillService:
    """kill -9 of the service, which is started again."""
    nodes = 1

    def __call__(self, place):
        place.service.process.kill()
        place.service.process.wait()
        place.service.start()


class StopService:
    """SIGSTOP of one of two nodes for longer than its lease, then SIGCONT."""
    nodes = 2

    def __call__(self, place):
        place.service.process.send_signal(signal.SIGSTOP)
        time.sleep(3 * LEASE_SECONDS)
        place.service.process.send_signal(signal.SIGCONT)


class RestartDatabase:
    """A restart of PostgreSQL, and kill -9 of it."""
    nodes = 1

    def __init__(self):
        self.is_next_hard = False

    def __call__(self, place):
        place.database.stop(signal.SIGKILL if self.is_next_hard else signal.SIGINT)
        self.is_next_hard = not self.is_next_hard
        time.sleep(1)
        place.database.start()


class KillBackends:
    """pg_terminate_backend of every connection, again and again; then kill -9 of one, which restarts PostgreSQL."""
    nodes = 1
    every = "FROM pg_stat_activity WHERE datname = 'fetchd' AND pid <> pg_backend_pid()"

    def __call__(self, place):
        for _ in range(10):
            place.database.psql("postgres", "-c", f"SELECT pg_terminate_backend(pid) {self.every}")
            time.sleep(0.1)
        pids = place.database.psql("postgres", "-c", f"SELECT pid {self.every}").split()
        if pids:
            os.kill(int(pids[0]), signal.SIGKILL)
            time.sleep(0.2)
            place.database.wait_until_ready()


class LoseConnections:
    """Connections to PostgreSQL that break in the middle of a statement, or after it and before its answer."""
    nodes = 1

    def __call__(self, place):
        for _ in range(5):
            place.proxy.cut()
            time.sleep(0.1)
        place.proxy.lose_answers(True)
        time.sleep(1)
        place.proxy.lose_answers(False)


class FillDisk:
    """No room left where PostgreSQL has its data, and its log of changes."""
    nodes = 1
    megabytes = 700

    def prepare(self, directory):
        """Gives the database a small disk of its own; needs root."""
        directory.mkdir(mode=0o700)
        run(["mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m,mode=700", "tmpfs", directory])

    def tidy(self, directory):
        run(["umount", "-l", directory])

    def __call__(self, place):
        filler = place.database.directory / "filler"
        with open(filler, "wb") as file:
            try:
                while file.write(b"\0" * (1 << 20)):
                    file.flush()
            except OSError:
                pass
        time.sleep(3)
        filler.unlink()
        if place.database.process.poll() is not None:
            say("PostgreSQL gave up without room; starting it again …")
            place.database.start()


TRIALS = {
    "kill": KillService, "stop": StopService, "restart": RestartDatabase, "backends": KillBackends,
    "connections": LoseConnections, "disk": FillDisk,
}
