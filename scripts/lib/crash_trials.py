"""What can go wrong under a service, each made to happen a few times while it works."""
import os
import signal
import time

from counting_origin import content
from processes import Failed, run, say

LEASE_SECONDS = 2


class Trial:
    """Something that goes wrong, the jobs that run meanwhile, and what may come of them."""
    nodes = 1
    # Method, state and error.
    ends = {("GET", "succeeded", ""), ("POST", "succeeded", ""), ("POST", "failed", "networkConnectionLost")}

    def spec(self, url, number):
        """Half of the jobs may be repeated, half must not."""
        request = {"url": f"{url}/job/{number}", "method": "GET" if number % 2 == 0 else "POST"}
        if request["method"] == "POST":
            request["body"] = {"text": "once"}
        return {"request": request}

    def prepare(self, scratch):
        """Called before anything is started."""

    def tidy(self, scratch):
        """Called when all is stopped."""

    def judge(self, _place, _accepted):
        """What else is wrong afterwards; `accepted` has the number of each job by its id."""
        return []


class KillService(Trial):
    """kill -9 of the service, which is started again."""

    def __call__(self, place):
        place.service.process.kill()
        place.service.process.wait()
        place.service.start()


class StopService(Trial):
    """SIGSTOP of one of two nodes for longer than its lease, then SIGCONT."""
    nodes = 2

    def __call__(self, place):
        place.service.process.send_signal(signal.SIGSTOP)
        time.sleep(3 * LEASE_SECONDS)
        place.service.process.send_signal(signal.SIGCONT)


class RestartDatabase(Trial):
    """A restart of PostgreSQL, and kill -9 of it."""

    def __init__(self):
        self.is_next_hard = False

    def __call__(self, place):
        place.database.stop(signal.SIGKILL if self.is_next_hard else signal.SIGINT)
        self.is_next_hard = not self.is_next_hard
        time.sleep(1)
        place.database.start()


class KillBackends(Trial):
    """pg_terminate_backend of every connection, again and again; then kill -9 of one, which restarts PostgreSQL."""
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


class LoseConnections(Trial):
    """Connections to PostgreSQL that break in the middle of a statement, or after it and before its answer."""

    def __call__(self, place):
        for _ in range(5):
            place.proxy.cut()
            time.sleep(0.1)
        place.proxy.lose_answers(True)
        time.sleep(1)
        place.proxy.lose_answers(False)


class SmallDisk(Trial):
    """A disk of its own for one directory, which is full for a while; needs root."""

    def prepare(self, scratch):
        directory = scratch / self.directory
        directory.mkdir(mode=0o700)
        run(["mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m,mode=700", "tmpfs", directory])

    def tidy(self, scratch):
        run(["umount", "-l", scratch / self.directory])

    def fill(self, place, meanwhile):
        """Leaves no room until `meanwhile` has returned."""
        filler = place.scratch / self.directory / "filler"
        with open(filler, "wb", buffering=0) as file:
            # Whole pieces, then what is left to the last byte.
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(b"\0" * size) == size:
                        pass
                except OSError:
                    pass
        try:
            meanwhile()
        finally:
            filler.unlink()


class FillDisk(SmallDisk):
    """No room left where PostgreSQL has its data, and its log of changes."""
    directory = "database"
    megabytes = 700

    def __call__(self, place):
        self.fill(place, lambda: time.sleep(3))
        if place.database.process.poll() is not None:
            say("PostgreSQL gave up without room; starting it again …")
            place.database.start()


class FillData(SmallDisk):
    """No room left in the service's data directory, where bodies and downloads are."""
    directory = "data0"
    megabytes = 600
    error = "cannotWriteToFile"
    ends = {("GET", "succeeded", ""), ("GET", "failed", error)}

    def __init__(self):
        self.uploads = []

    def spec(self, url, number):
        """Downloads and data jobs with bodies for the blob store; half of each are tried again when that is full."""
        spec = {"kind": "download" if number % 2 else "data",
                "request": {"url": f"{url}/job/{number}/large", "method": "GET"}}
        if self.is_tried_again(number):
            spec["configuration"] = {"retry": {"errors": [self.error], "maximumAttempts": 20,
                                               "backoff": {"initial": 1, "factor": 1}}}
        return spec

    @staticmethod
    def is_tried_again(number):
        return number % 4 >= 2

    def __call__(self, place):
        def meanwhile():
            time.sleep(1)
            self.uploads.append(self.upload(place))
            time.sleep(2)

        self.fill(place, meanwhile)
        # A node believes what it saw of its disk for a second.
        time.sleep(1.5)
        self.uploads.append(self.upload(place))

    def upload(self, place):
        """How an upload of a blob is answered."""
        headers = {"Content-Type": "application/octet-stream"}
        return place.service.call("POST", "/v1/blobs", place.key, bytes(100_000), headers)[0]

    def judge(self, place, accepted):
        """Every body that is there is whole, and who asked for more attempts has got a body."""
        count, wrong, given_up = 0, [], []
        for job, number in accepted.items():
            status, _, body = place.service.call("GET", f"/v1/jobs/{job}/body", place.key)
            if status == 200:
                count += 1
                if body != content(f"/job/{number}/large"):
                    wrong.append(job)
            elif self.is_tried_again(number):
                given_up.append(job)
        print(f"{count:6} bodies were read again; uploads while there was no room, and after: {self.uploads}")
        faults = []
        if wrong:
            faults.append(f"{len(wrong)} bodies are not what the origin sent, such as that of {wrong[0]}")
        if given_up:
            faults.append(f"{len(given_up)} jobs were given up that had attempts left, such as {given_up[0]}")
        if set(self.uploads[::2]) != {507} or set(self.uploads[1::2]) != {201}:
            faults.append("uploads were not answered 507 while there was no room, or not 201 after it")
        failed = "SELECT FROM attempts UNION ALL SELECT FROM results WHERE state = 'failed' AND attempt IS NOT NULL"
        if not place.number(f"SELECT count(*) FROM ({failed}) AS failed"):
            raise Failed("no job has met the full disk: there was nothing to judge")
        return faults


class BreakNothing(Trial):
    """Nothing breaks: clients alone get into each other's way, at two nodes."""
    nodes = 2

    def __call__(self, place):
        time.sleep(2)


TRIALS = {
    "storm": BreakNothing, "kill": KillService, "stop": StopService, "restart": RestartDatabase,
    "backends": KillBackends, "connections": LoseConnections, "disk": FillDisk, "data": FillData,
}
