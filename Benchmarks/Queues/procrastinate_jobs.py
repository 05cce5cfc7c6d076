"""Procrastinate with aiohttp, doing what a job does: durable enqueue, fetch, status and body durably stored.

    procrastinate_jobs.py JOBS CONCURRENCY IDLE_JOBS URL

The PG* variables name an empty database. Prints rate=, cpu_us= (of this process, for each job), p50_ms= and p99_ms=
(of jobs that come alone, from their submission until what they brought is stored).
"""
import asyncio
import sys
import time

import aiohttp
import procrastinate
from fetched import BATCH, COUNT, END, TABLE, WAITS, cpu, report
from psycopg_pool import AsyncConnectionPool

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo="", max_size=12))


class Work:
    """What the tasks share."""

    http = None
    pool = None


@app.task(name="fetch", queue="fetches")
async def fetch(url, submitted=None):
    async with Work.http.get(url) as answer:
        headers = "\r\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        body = await answer.read()
    async with Work.pool.connection() as connection:
        await connection.execute("INSERT INTO fetched (submitted, status, headers, body) VALUES (%s, %s, %s, %s)",
                                 (submitted, answer.status, headers, body), prepare=True)


async def ask(query):
    async with Work.pool.connection() as connection:
        return await (await connection.execute(query)).fetchall()


async def stored(count):
    deadline = time.monotonic() + 240
    while (await ask(COUNT))[0][0] < count:
        if time.monotonic() > deadline:
            sys.exit("the jobs do not end")
        await asyncio.sleep(0.02)


async def measure(jobs, idle_jobs, url):
    begin, used = time.time(), cpu()
    for _ in range(jobs // BATCH):
        await fetch.batch_defer_async(*[{"url": url}] * BATCH)
    await stored(jobs)
    used = cpu() - used
    end = (await ask(END))[0][0]
    for _ in range(idle_jobs):
        await fetch.defer_async(url=url, submitted=time.time())
        await asyncio.sleep(0.05)
    await stored(jobs + idle_jobs)
    report(jobs, end - begin, used, await ask(WAITS))


async def main():
    jobs, concurrency, idle_jobs, url = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    Work.pool = AsyncConnectionPool("", min_size=4, max_size=8, kwargs={"autocommit": True}, open=False)
    async with app.open_async(), Work.pool:
        await app.schema_manager.apply_schema_async()
        async with Work.pool.connection() as connection:
            await connection.execute(TABLE)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as Work.http:
            worker = asyncio.create_task(app.run_worker_async(
                queues=["fetches"], concurrency=concurrency, wait=True, install_signal_handlers=False))
            await measure(jobs, idle_jobs, url)
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)


asyncio.run(main())
