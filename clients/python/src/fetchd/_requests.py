"""What a call is made of, and what both surfaces decide in the same way."""
from __future__ import annotations

import base64
import binascii
import json
import os
import random
import re
import uuid
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import ConnectionFailed, FetchdError, InvalidAnswer, Problem

FINAL = ("succeeded", "failed", "cancelled")
LONGEST_WAIT = 60
"""The longest `Prefer: wait` of the service, in seconds."""


@dataclass(kw_only=True, slots=True)
class Call:
    """A request that may be sent several times."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] | AsyncIterable[bytes] | None = None
    is_repeatable: bool = False
    """Whether it means the same when it has come twice."""
    patience: float = 0
    """Seconds that the service may hold it, besides the timeout of the client."""

    @property
    def has_streamed_body(self) -> bool:
        return self.body is not None and not isinstance(self.body, bytes)


def url_of(url: str | None) -> str:
    """The URL of the service, without a slash at its end."""
    url = url or os.environ.get("FETCHD_URL")
    if not url:
        raise ValueError("url: give it, or set FETCHD_URL")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url: http:// or https:// and a host were expected")
    if parts.username is not None or parts.query or parts.fragment or not url.isascii() or not url.isprintable():
        raise ValueError("url: no user, query, fragment or letters beyond ASCII may be in it")
    return url.rstrip("/")


def key_of(key: str | None) -> str:
    key = key or os.environ.get("FETCHD_KEY")
    if not key:
        raise ValueError("key: give it, or set FETCHD_KEY")
    if not re.fullmatch(r"[!-~]+", key):
        raise ValueError("key: it has a space, a line break or a letter that no key has")
    return key


def seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise ValueError(f"{name}: a number of seconds was expected, not {value!r}")
    return float(value)


def segment(value: str) -> str:
    """An id as one segment of a path."""
    if not isinstance(value, str):
        raise TypeError(f"an id was expected, not {type(value).__name__}")
    if not value or value in (".", ".."):
        raise ValueError("an id was expected, not an empty text")
    return quote(value, safe="")


def camel(name: str) -> str:
    """The name of the API for one of Python: `run_at` is `runAt`."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def query(values: Mapping[str, Any]) -> str:
    """The query of a URL, without what is None."""
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return timestamp(value) if isinstance(value, datetime) else str(value)

    pairs = [(camel(name), text(value)) for name, value in values.items() if value is not None]
    return "?" + urlencode(pairs) if pairs else ""


def timestamp(value: datetime) -> str:
    if value.tzinfo is None:
        raise ValueError("a time without a time zone: use datetime.now(UTC), for example")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _converted(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


def encoded(document: Any) -> bytes:
    return json.dumps(document, default=_converted, allow_nan=False, separators=(",", ":")).encode()


def decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidAnswer("the service answered with something that is no JSON") from None


def wait_header(wait: float | None) -> dict[str, str]:
    """`Prefer`, which asks the service to hold its answer."""
    if wait is None:
        return {}
    return {"Prefer": f"wait={min(LONGEST_WAIT, int(seconds('wait', wait)))}"}


def idempotency_key(given: str | None) -> str:
    """One for each call, kept over its repeats."""
    if given is None:
        return str(uuid.uuid4())
    if not isinstance(given, str) or not re.fullmatch(r"[!-~]{1,128}", given):
        raise ValueError("idempotency_key: 1 to 128 printable letters of ASCII were expected")
    return given


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of `Retry-After`, which has a number or a date."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", value):
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def backoff(attempt: int) -> float:
    """Seconds before the next try: they double from a quarter up to 8, and half of them is chance."""
    return min(8.0, 0.25 * 2.0 ** min(attempt, 10)) * (0.5 + random.random() / 2)


def delay_before_repeat(call: Call, failure: FetchdError, attempt: int, retries: int) -> float | None:
    """Seconds until a call is sent again after a failure; None when it is not."""
    if attempt >= retries or call.has_streamed_body:
        return None
    if isinstance(failure, Problem):
        if failure.code == "idempotencyKeyInUse":
            # The first try is being carried out, whose answer is that of the next one.
            return failure.retry_after
        # 429 and 503 refuse a request before anything is done; the others may come after it.
        if failure.status not in (429, 503) and not (call.is_repeatable and failure.status in (502, 504)):
            return None
        return backoff(attempt) if failure.retry_after is None else failure.retry_after
    if isinstance(failure, ConnectionFailed) and (call.is_repeatable or not failure.was_sent):
        return backoff(attempt)
    return None


def sha256_of(digest: str | None) -> bytes | None:
    """The SHA-256 in a digest as RFC 9530 writes it."""
    found = re.search(r"(?:^|[\s,])sha-256=:([A-Za-z0-9+/=]+):", digest or "")
    try:
        return base64.b64decode(found[1], validate=True) if found else None
    except binascii.Error:
        return None


def digest_field(sha256: bytes) -> str:
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def upload_target(location: str | None) -> str:
    """The path of an upload; one on another server is not followed."""
    found = re.search(r"/v1/uploads/(upl_[0-9a-z]+)$", urlsplit(location or "").path)
    if not found:
        raise InvalidAnswer("the service did not say where the upload goes on")
    return f"/v1/uploads/{found[1]}"
