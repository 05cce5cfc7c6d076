"""Questions of loads, and their answers."""
from __future__ import annotations

import uuid

import pytest
from conftest import Origin

from fetchd import Conflict, Fetchd
from fetchd.parameters import Delegate, QuestionAction

ASKED: Delegate = {"via": "api", "questions": ["willPerformHTTPRedirection"], "timeout": 30}


def test_a_question_is_watched_for_and_answered(fetchd: Fetchd, origin: Origin) -> None:
    job = fetchd.jobs.submit(f"{origin.url}/moved", delegate=ASKED)
    question = next(iter(fetchd.questions.watch(job=job.id)))
    assert question.kind == "willPerformHTTPRedirection" and question.job == job.id
    answered = fetchd.questions.answer(question, "follow", note="It is ours.")
    assert answered.state == "answered" and answered.note == "It is ours."
    assert fetchd.questions.get(question.id) == answered
    assert job.result(20).read() == b"read by a client"
    assert [one.id for one in job.questions()] == [question.id]
    with pytest.raises(Conflict):
        fetchd.questions.answer(question.id, "cancel")


def test_questions_are_given_once_while_they_are_open(fetchd: Fetchd, origin: Origin) -> None:
    label = uuid.uuid4().hex
    jobs = [fetchd.jobs.submit(f"{origin.url}/moved", delegate=ASKED, labels={"l": label}) for _ in range(3)]
    watch = fetchd.questions.watch(label=f"l:{label}")
    asked = {next(watch).job for _ in range(3)}
    assert asked == {job.id for job in jobs}
    assert len(list(fetchd.questions.list(label=f"l:{label}", state="open", limit=2))) == 3
    action: QuestionAction = {"filter": {"kind": "willPerformHTTPRedirection", "labels": {"l": label}},
                              "answer": "cancel"}
    meant = fetchd.questions.answer_all({**action, "dryRun": True})
    assert meant.matched == 3
    assert fetchd.questions.answer_all({**action, "askedBefore": meant.asked_before}).changed == 3
    assert {job.wait(20).state for job in jobs} <= {"failed", "cancelled"}
