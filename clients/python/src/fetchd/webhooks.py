"""Verification of webhook messages (Standard Webhooks)."""
from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .errors import InvalidSignature


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookMessage:
    """A message that is from the service."""

    id: str
    """The same each time the message is sent: drop what you have seen."""
    type: str
    """The event, such as `job.finished`."""
    timestamp: datetime
    data: dict[str, Any]
    """What happened, with the names of the API."""


def verify_webhook(secret: str | Iterable[str], headers: Mapping[str, str], body: bytes, *,
                   tolerance: float = 300, now: float | None = None) -> WebhookMessage:
    """The message in a request to a webhook endpoint, or `InvalidSignature`.

    `secret` is that of the endpoint (`whsec_…`); give several while it is rotated. `headers` are those of the request,
    in any case of letters, and `body` its bytes as they came. A message that was sent more than `tolerance` seconds
    before or after `now` (the clock's time) is refused.
    """
    if not isinstance(body, bytes | bytearray):
        raise TypeError("body: bytes are needed as they came, not text or JSON")
    fields = {str(name).lower(): str(value) for name, value in headers.items()}
    missing = [name for name in ("webhook-id", "webhook-timestamp", "webhook-signature") if name not in fields]
    if missing:
        raise InvalidSignature(f"the header {missing[0]} is missing")
    identifier, sent = fields["webhook-id"], fields["webhook-timestamp"]
    if not (sent.isascii() and sent.isdigit() and len(sent) < 16):
        raise InvalidSignature("webhook-timestamp is no number of seconds")
    signed = f"{identifier}.{sent}.".encode() + bytes(body)
    given = [one.encode("utf-8", "replace") for one in fields["webhook-signature"].split()]
    # Every secret and signature is compared, so that the time tells nothing.
    matches = [hmac.compare_digest(_signature(one, signed), other)
               for one in ([secret] if isinstance(secret, str) else secret) for other in given]
    if not any(matches):
        raise InvalidSignature("no signature is that of the secret")
    if abs((time.time() if now is None else now) - int(sent)) > tolerance:
        raise InvalidSignature("the message is too old, or from the future")
    return _message(identifier, bytes(body))


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("secret: a text that begins with whsec_ was expected")
    return b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))


def _message(identifier: str, body: bytes) -> WebhookMessage:
    try:
        document = json.loads(body)
        return WebhookMessage(id=identifier, type=document["type"], data=document["data"],
                              timestamp=datetime.fromisoformat(document["timestamp"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidSignature("the message is signed, and no event") from error
