"""nightly_batch FILE: fetches the URLs of a file, one a line, once a day however often it is started.

A line's key is the day and the URL: a second run on a day, after a crash for example, finds the jobs of the first.
"""
import hashlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

from fetchd import Fetchd
from fetchd.parameters import BatchSpec

DAY = datetime.now(UTC).date().isoformat()


def specs(path: str) -> Iterator[BatchSpec]:
    with open(path, encoding="utf-8") as file:
        for url in filter(None, map(str.strip, file)):
            key = hashlib.sha256(f"{DAY} {url}".encode()).hexdigest()
            yield {"request": url, "idempotencyKey": key, "labels": {"batch": DAY},
                   "configuration": {"retry": {"maximumAttempts": 4, "statuses": [429, 500, 502, 503]}}}


def main(path: str) -> None:
    with Fetchd() as fetchd:
        ids = []
        for result in fetchd.jobs.submit_many(specs(path)):
            if result.problem:
                print(f"line {result.line}: {result.problem.title}", file=sys.stderr)
            elif result.id:
                ids.append(result.id)
        for job in (fetchd.jobs.wait(one) for one in ids):
            print(job.id, job.state, job.response.status if job.response else job.error and job.error.name)


main(sys.argv[1])
