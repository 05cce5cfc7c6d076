# Made by clients/generate from _async/. Do not edit.
"""Schedules: jobs that are made when their times come."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from .. import models
from .._requests import segment
from ..parameters import ListSchedulesQuery, SchedulePatch, ScheduleSpec
from .transport import Transport


class Schedules:
    """The schedules of the tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, spec: ScheduleSpec, *, key: str | None = None) -> models.Schedule:
        """Makes a schedule; `key` is an `Idempotency-Key`."""
        return models.Schedule.from_json(self._transport.post("/v1/schedules", spec, key=key))

    def list(self, **filters: Unpack[ListSchedulesQuery]) -> Iterator[models.Schedule]:
        """The schedules, over all pages."""
        for item in self._transport.pages("/v1/schedules", **filters):
            yield models.Schedule.from_json(item)

    def get(self, schedule: str) -> models.Schedule:
        """A schedule as it stands."""
        return models.Schedule.from_json(self._transport.get(_of(schedule)))

    def change(self, schedule: str, patch: SchedulePatch) -> models.Schedule:
        """Changes members of a schedule; None takes one away (RFC 7396)."""
        return models.Schedule.from_json(self._transport.patch(_of(schedule), patch))

    def pause(self, schedule: str) -> models.Schedule:
        """Makes no jobs until it is resumed."""
        return models.Schedule.from_json(self._transport.post(f"{_of(schedule)}/pause"))

    def resume(self, schedule: str) -> models.Schedule:
        """Makes jobs again."""
        return models.Schedule.from_json(self._transport.post(f"{_of(schedule)}/resume"))

    def run(self, schedule: str) -> models.SubmittedJob:
        """Makes a job now, besides those of its times."""
        return models.SubmittedJob.from_json(self._transport.post(f"{_of(schedule)}/run"))

    def delete(self, schedule: str) -> None:
        """Removes a schedule; its jobs stay."""
        self._transport.delete(_of(schedule))


def _of(schedule: str) -> str:
    return f"/v1/schedules/{segment(schedule)}"
