"""Questions: what loads ask their delegates, and the answers."""
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Unpack

from .. import models
from .._requests import segment
from .._waiting import async_sleep
from ..parameters import AnswerObject, AnswerWord, ListQuestionsQuery, QuestionAction, Remember
from .transport import AsyncTransport

# Seconds between looks while questions are open that nobody has answered.
PAUSE = 1.0


class AsyncQuestions:
    """The questions of the tenant's loads."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, **filters: Unpack[ListQuestionsQuery]) -> AsyncIterator[models.Question]:
        """The questions that a filter means, the oldest first."""
        async for item in self._transport.pages("/v1/questions", **filters):
            yield models.Question.from_json(item)

    async def watch(self, **filters: Unpack[ListQuestionsQuery]) -> AsyncIterator[models.Question]:
        """Each open question that a filter means, once, as they are asked; it does not end by itself."""
        given: set[str] = set()
        filters["state"] = "open"
        while True:
            page = models.QuestionList.from_json(await self._transport.get("/v1/questions", wait=30, **filters))
            questions = page.data
            if page.has_more:
                questions = [models.Question.from_json(item)
                             async for item in self._transport.pages("/v1/questions", **filters)]
            new = [question for question in questions if question.id not in given]
            for question in new:
                yield question
            given = {question.id for question in questions}
            if questions and not new:
                await async_sleep(PAUSE)

    async def get(self, question: str) -> models.Question:
        """A question as it stands."""
        return models.Question.from_json(await self._transport.get(f"/v1/questions/{segment(question)}"))

    async def answer(self, question: models.Question | str, answer: AnswerWord | AnswerObject, *,
                     note: str | None = None, remember: Remember | None = None) -> models.Question:
        """Answers a question; the first answer counts, and the same one is accepted again.

        `answer` is a word of the question's `answers`, or an object with the word and what goes with it. With
        `remember` the session of the job gives it again to similar questions. `Conflict` is raised when it was
        answered otherwise, or is over.
        """
        asked = await self.get(question) if isinstance(question, str) else question
        reply: dict[str, Any] = {"answer": answer} if isinstance(answer, str) else {**answer}
        reply |= {name: value for name, value in (("note", note), ("remember", remember)) if value is not None}
        target = f"/v1/jobs/{segment(asked.job)}/questions/{segment(asked.id)}"
        return models.Question.from_json(await self._transport.post(target, reply))

    async def answer_all(self, action: QuestionAction) -> models.QuestionActionResult:
        """Gives one answer to all open questions of a filter."""
        return models.QuestionActionResult.from_json(await self._transport.post("/v1/questions/actions", action))
