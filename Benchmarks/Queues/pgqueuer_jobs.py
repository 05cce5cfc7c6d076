"""PgQueuer with aiohttp, doing what a job does: durable enqueue, fetch, status and body durably stored.

    pgqueuer_jobs.py JOBS CONCURRENCY IDLE_JOBS URL

The PG* variables name an empty database. Prints rate=, cpu_us= (of this process, for each job), p50_ms= and p99_ms=
(of jobs that come alone, from their submission until what they brought is stored).
"""
import asyncio
import sys
import time

import aiohttp
import asyncpg
from fetched import BATCH, COUNT, END, TABLE, WAITS, cpu, report
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

INSERT = "INSERT INTO fetched (submitted, status, headers, body) VALUES ($1, $2, $3, $4)"


def payload(url, submitted=0):
    return f"{submitted} {url}".encode()


def worker(pool, http):
    queuer = PgQueuer(AsyncpgPoolDriver(pool))

    @queuer.entrypoint("fetch")
    async def fetch(job):
        submitted, url = job.payload.decode().split(" ", 1)
        async with http.get(url) as answer:
            headers = "\r\n".join(f"{name}: {value}" for name, value in answer.headers.items())
            body = await answer.read()
        await pool.execute(INSERT, float(submitted) or None, answer.status, headers, body)

    return queuer.qm


async def stored(pool, count):
    deadline = time.monotonic() + 240
    while await pool.fetchval(COUNT) < count:
        if time.monotonic() > deadline:
            sys.exit("the jobs do not end")
        await asyncio.sleep(0.02)


async def measure(pool, jobs, idle_jobs, url):
    queries, begin, used = Queries(AsyncpgPoolDriver(pool)), time.time(), cpu()
    for _ in range(jobs // BATCH):
        await queries.enqueue(["fetch"] * BATCH, [payload(url)] * BATCH, [0] * BATCH)
    await stored(pool, jobs)
    used = cpu() - used
    end = await pool.fetchval(END)
    for _ in range(idle_jobs):
        await queries.enqueue("fetch", payload(url, time.time()))
        await asyncio.sleep(0.05)
    await stored(pool, jobs + idle_jobs)
    report(jobs, end - begin, used, await pool.fetch(WAITS))


async def main():
    jobs, concurrency, idle_jobs, url = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    async with asyncpg.create_pool(min_size=4, max_size=12) as pool:
        # Durable is how it installs its tables by itself.
        await Queries(AsyncpgPoolDriver(pool)).install()
        await pool.execute(TABLE)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as http:
            manager = worker(pool, http)
            runs = asyncio.create_task(manager.run(batch_size=concurrency))
            await measure(pool, jobs, idle_jobs, url)
            runs.cancel()
            await asyncio.gather(runs, return_exceptions=True)


asyncio.run(main())
