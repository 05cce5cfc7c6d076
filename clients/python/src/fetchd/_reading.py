"""How JSON becomes models."""
from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Self

from .errors import InvalidAnswer


class Member(NamedTuple):
    """A member of a document: its name, that of the attribute, and how its value is read."""

    name: str
    attribute: str
    read: Callable[[Any], Any]
    is_required: bool


class Model:
    """A document of the service.

    Members that this version does not know are ignored. A member without which the document makes no sense, or of
    another type, raises `InvalidAnswer`, which names it.
    """

    __slots__ = ()
    _members: ClassVar[tuple[Member, ...]] = ()

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The model of what `json.loads` gave."""
        if not isinstance(value, dict):
            raise InvalidAnswer(f"{cls.__name__}: an object was expected, not {type(value).__name__}")
        arguments: dict[str, Any] = {}
        for member in cls._members:
            given = value.get(member.name)
            if given is None:
                if member.is_required and member.read is not anything:
                    raise InvalidAnswer(f"{cls.__name__}.{member.name} is missing")
                arguments[member.attribute] = None
                continue
            try:
                arguments[member.attribute] = member.read(given)
            except (TypeError, ValueError) as error:
                raise InvalidAnswer(f"{cls.__name__}.{member.name}: {error}") from None
        return cls(**arguments)


def anything(value: Any) -> Any:
    return value


def _one_of(*kinds: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) not in kinds:
            raise TypeError(f"{kinds[0].__name__} was expected, not {type(value).__name__}")
        return value

    return read


text = _one_of(str)
integer = _one_of(int)
number = _one_of(float, int)
boolean = _one_of(bool)


def time(value: Any) -> datetime:
    return datetime.fromisoformat(text(value))


def listed(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def items(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError(f"list was expected, not {type(value).__name__}")
        return [read(one) for one in value]

    return items


def mapped(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def values(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError(f"dict was expected, not {type(value).__name__}")
        return {name: read(one) for name, one in value.items()}

    return values
