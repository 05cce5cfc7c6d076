"""approve_redirects URL…: fetches pages, and asks you about each redirect to another host.

A load waits for your answer for four minutes, and is cancelled without one.
"""
import asyncio
import sys
from urllib.parse import urlsplit

from fetchd import AsyncFetchd
from fetchd.parameters import Delegate

ASKED: Delegate = {"via": "api", "questions": ["willPerformHTTPRedirection"], "timeout": 240,
                   "otherwise": {"willPerformHTTPRedirection": "cancel"}}


async def answer_questions(fetchd: AsyncFetchd, group: str) -> None:
    async for question in fetchd.questions.watch(group=group):
        here, there = question.request["url"], question.facts["proposed"]["url"]
        if urlsplit(here).hostname == urlsplit(there).hostname:
            await fetchd.questions.answer(question, "follow", note="the same host")
        else:
            reply = await asyncio.to_thread(input, f"{here} leads to {there}. Follow? [y/N] ")
            await fetchd.questions.answer(question, "follow" if reply.lower() == "y" else "cancel")


async def main(urls: list[str]) -> None:
    async with AsyncFetchd() as fetchd:
        group = await fetchd.groups.create()
        jobs = [await fetchd.jobs.submit(url, group=group.id, delegate=ASKED) for url in urls]
        answering = asyncio.create_task(answer_questions(fetchd, group.id))
        for url, job in zip(urls, jobs, strict=True):
            await job.wait()
            print(url, job.state, job.response.status if job.response else job.error and job.error.name, flush=True)
        answering.cancel()


asyncio.run(main(sys.argv[1:]))
