"""The surface for asyncio. What both surfaces decide is tested by the one for threads, which is made from this one."""
from __future__ import annotations

import asyncio
import gc
import os
import pathlib
import uuid
from collections.abc import AsyncIterator

import pytest
from conftest import Front, Origin

from fetchd import AsyncFetchd, JobFailed
from fetchd.parameters import JobSpec


def test_jobs_run_beside_each_other(origin: Origin) -> None:
    async def main() -> None:
        async with AsyncFetchd() as fetchd:
            jobs = await asyncio.gather(*(fetchd.jobs.submit(f"{origin.url}/moved") for _ in range(20)))
            await asyncio.gather(*(job.result(30) for job in jobs))
            assert {await job.read() for job in jobs} == {b"read by a client"}
            kinds = [event.type async for event in jobs[0].events()]
            assert kinds[-1] == "job.finished"

    asyncio.run(main())


def test_a_download_is_written_to_a_file(origin: Origin, front: Front, tmp_path: pathlib.Path) -> None:
    async def main() -> None:
        async with AsyncFetchd(front.url("cut", 3, 100_000)) as fetchd:
            async with fetchd.jobs.download(f"{origin.url}/big?bytes=300000&milliseconds=2") as download:
                await download.save(tmp_path / "big")
            assert (tmp_path / "big").stat().st_size == 300_000 and download.is_complete
            async with fetchd.jobs.download(f"{origin.url}/big?bytes=99000000&milliseconds=5") as left:
                async for _ in left:
                    break
            with pytest.raises(JobFailed):
                await fetchd.jobs.result(left.job_id, 20)

    asyncio.run(main())


def test_many_jobs_come_from_an_iterator_of_either_kind(origin: Origin) -> None:
    async def specs() -> AsyncIterator[JobSpec]:
        for number in range(3):
            yield {"request": f"{origin.url}/{number}"}

    async def main() -> None:
        async with AsyncFetchd() as fetchd:
            assert len([one async for one in fetchd.jobs.submit_many(specs())]) == 3
            assert len([one async for one in fetchd.jobs.submit_many([{"request": origin.url}])]) == 1

    asyncio.run(main())


def test_a_call_is_cancelled_with_its_task(origin: Origin) -> None:
    async def main() -> None:
        async with AsyncFetchd() as fetchd:
            job = await fetchd.jobs.submit(origin.held)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await job.wait()
            assert not (await job.refresh()).is_final

    asyncio.run(main())


def test_answers_that_are_lost_make_no_second_job(origin: Origin, front: Front) -> None:
    async def main() -> None:
        label = uuid.uuid4().hex
        async with AsyncFetchd(front.url("lost", 2)) as fetchd:
            job = await fetchd.jobs.submit(f"{origin.url}/text", labels={"l": label})
            assert [one.id async for one in fetchd.jobs.list(label=f"l:{label}")] == [job.id]

    asyncio.run(main())


def test_no_socket_is_left(origin: Origin) -> None:
    def sockets() -> int:
        gc.collect()
        return sum(os.readlink(one).startswith("socket:") for one in pathlib.Path("/proc/self/fd").iterdir()
                   if one.is_symlink() and os.path.lexists(one))

    async def main() -> None:
        before = sockets()
        async with AsyncFetchd() as fetchd:
            job = await fetchd.jobs.submit(f"{origin.url}/big?bytes=10000000", wait=20)
            async with job.body() as body:
                async for _ in body:
                    break
            async for _ in job.events():
                break
        assert sockets() == before

    asyncio.run(main())
