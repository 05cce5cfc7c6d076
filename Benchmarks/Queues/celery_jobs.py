"""Celery over Redis with pycurl, doing what a job does: durable enqueue, fetch, status and body durably stored.

    celery_jobs.py JOBS WORKERS IDLE_JOBS URL

REDIS_URL names a Redis that syncs each write to disk. Prints rate=, cpu_us= (of the workers and this process, for each
job), p50_ms= and p99_ms= (of jobs that come alone, until what they brought can be read).
"""
import io
import os
import resource
import statistics
import subprocess
import sys
import time

import pycurl
import redis
from celery import Celery

URL = os.environ["REDIS_URL"]
app = Celery("celery_jobs", broker=f"{URL}/0", backend=f"{URL}/1")
# Late, so that a job whose worker was killed runs again.
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=8, result_serializer="pickle",
                accept_content=["json", "pickle"], result_expires=3600, worker_hijack_root_logger=False)
handles = []


@app.task(name="fetch")
def fetch(url):
    if not handles:
        handles.append(pycurl.Curl())
    handle, body, headers = handles[0], io.BytesIO(), io.BytesIO()
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.WRITEDATA, body)
    handle.setopt(pycurl.HEADERFUNCTION, headers.write)
    handle.setopt(pycurl.TIMEOUT, 60)
    handle.perform()
    return {"status": handle.getinfo(pycurl.RESPONSE_CODE), "headers": headers.getvalue(), "body": body.getvalue()}


def cpu(whose):
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def measure(jobs, idle_jobs, url):
    results, begin = redis.Redis.from_url(f"{URL}/1"), time.monotonic()
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(jobs):
            fetch.apply_async((url,), producer=producer)
    while results.dbsize() < jobs:
        if time.monotonic() - begin > 240:
            sys.exit("the jobs do not end")
        time.sleep(0.02)
    wall, waits = time.monotonic() - begin, []
    for _ in range(idle_jobs):
        start = time.monotonic()
        fetch.apply_async((url,)).get(timeout=10, interval=0.0005)
        waits.append((time.monotonic() - start) * 1000)
        time.sleep(0.05)
    return wall, sorted(waits)


def main():
    jobs, workers, idle_jobs, url = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "celery_jobs", "worker", "-c", workers, "-P", "prefork",
         "--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "error"],
        # Celery asks before it unpickles as root; here all it reads is its own.
        env={**os.environ, "C_FORCE_ROOT": "1"}, cwd=os.path.dirname(os.path.abspath(__file__)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # Answered by a worker, so that their start is not measured.
        fetch.apply_async((url,)).get(timeout=30)
        redis.Redis.from_url(f"{URL}/1").flushdb()
        wall, waits = measure(jobs, idle_jobs, url)
    finally:
        worker.terminate()
        worker.wait(30)
    used = cpu(resource.RUSAGE_SELF) + cpu(resource.RUSAGE_CHILDREN)
    print(f"rate={jobs / wall:.0f} cpu_us={used / (jobs + idle_jobs) * 1e6:.0f} p50_ms={statistics.median(waits):.2f} "
          f"p99_ms={waits[int(len(waits) * 0.99)]:.2f}")


if __name__ == "__main__":
    main()
