"""submit.py plain|threads|asyncio: submits jobs one after the other; prints the seconds and those of its processor."""
import asyncio
import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit

WAY, COUNT, WARM = sys.argv[1], int(os.environ["COUNT"]), 50
SPEC = {"request": "https://example.com/", "runAt": "2100-01-01T00:00:00Z"}


def plain():
    url = urlsplit(os.environ["FETCHD_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port)
    headers = {"Authorization": f"Bearer {os.environ['FETCHD_KEY']}", "Content-Type": "application/json"}

    def submit(number):
        headers["Idempotency-Key"] = f"{os.getpid()}-{number}"
        connection.request("POST", "/v1/jobs", json.dumps(SPEC), headers)
        return json.load(connection.getresponse())["id"]

    measured(submit)


def threads():
    from fetchd import Fetchd
    with Fetchd() as fetchd:
        measured(lambda _: fetchd.jobs.submit("https://example.com/", run_at=SPEC["runAt"]).id)


def measured(submit):
    for number in range(WARM):
        submit(number)
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(WARM, WARM + COUNT):
        submit(number)
    tell(began, cpu)


async def with_asyncio():
    from fetchd import AsyncFetchd
    async with AsyncFetchd() as fetchd:
        for _ in range(WARM):
            await fetchd.jobs.submit("https://example.com/", run_at=SPEC["runAt"])
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(COUNT):
            await fetchd.jobs.submit("https://example.com/", run_at=SPEC["runAt"])
        tell(began, cpu)


def tell(began, cpu):
    print(json.dumps([time.perf_counter() - began, time.process_time() - cpu]))


if WAY == "asyncio":
    asyncio.run(with_asyncio())
else:
    {"plain": plain, "threads": threads}[WAY]()
