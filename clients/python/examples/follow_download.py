"""follow_download URL FILE: downloads a file, tells how far it is, and compares its checksum.

The service resumes the download when its connection breaks, and the client resumes its own.
"""
import asyncio
import sys

from fetchd import AsyncFetchd, JobFailed


async def main(url: str, path: str) -> None:
    async with AsyncFetchd() as fetchd:
        job = await fetchd.jobs.submit(url, kind="download", retry={"maximumAttempts": 5})
        async for event in job.events():
            if event.type == "job.progress":
                progress = event.data
                total = progress.get("bytesExpectedToReceive", "?")
                print(f"{progress['bytesReceived']} of {total} bytes", flush=True)
        try:
            await job.result()
        except JobFailed as failure:
            sys.exit(str(failure))
        print(await job.save(path))


asyncio.run(main(*sys.argv[1:]))
