# Made by clients/generate from _async/. Do not edit.
"""Webhook endpoints, and what was sent to them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from .. import models
from .._events import Event
from .._requests import segment
from ..parameters import (
    DeliveryReplay,
    ListWebhookDeliveriesQuery,
    SecretRotation,
    WebhookEndpointPatch,
    WebhookEndpointSpec,
)
from .events import follow
from .transport import Transport


class Webhooks:
    """The endpoints of the tenant. Messages are verified by `fetchd.verify_webhook`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, spec: WebhookEndpointSpec) -> models.NewWebhookEndpoint:
        """Registers an endpoint. Its `secret` is shown this once, so the call is not repeated by itself."""
        document = self._transport.post("/v1/webhooks/endpoints", spec, is_repeatable=False)
        return models.NewWebhookEndpoint.from_json(document)

    def list(self) -> Iterator[models.WebhookEndpoint]:
        """The endpoints."""
        for item in self._transport.pages("/v1/webhooks/endpoints"):
            yield models.WebhookEndpoint.from_json(item)

    def get(self, endpoint: str) -> models.WebhookEndpoint:
        """An endpoint, without its secret."""
        return models.WebhookEndpoint.from_json(self._transport.get(_of(endpoint)))

    def change(self, endpoint: str, patch: WebhookEndpointPatch) -> models.WebhookEndpoint:
        """Changes members of an endpoint."""
        return models.WebhookEndpoint.from_json(self._transport.patch(_of(endpoint), patch))

    def rotate(self, endpoint: str, rotation: SecretRotation | None = None) -> models.NewWebhookEndpoint:
        """Makes a new secret, shown this once; messages have signatures of both for a while."""
        document = self._transport.post(f"{_of(endpoint)}/rotate", rotation or {}, is_repeatable=False)
        return models.NewWebhookEndpoint.from_json(document)

    def delete(self, endpoint: str) -> None:
        """Removes an endpoint."""
        self._transport.delete(_of(endpoint))

    def events(self, endpoint: str, *, last_event_id: str | None = None) -> Iterator[Event]:
        """The events of an endpoint that is polled, without end.

        Begins behind the event with `last_event_id`, or with the first one that is kept. The `data` of an event is its
        message: an object with `type`, `timestamp` and `data`.
        """
        return follow(self._transport, f"{_of(endpoint)}/events", last_event_id)

    def deliveries(self, **filters: Unpack[ListWebhookDeliveriesQuery]) -> Iterator[models.WebhookDelivery]:
        """The messages, the newest first, over all pages."""
        for item in self._transport.pages("/v1/webhooks/deliveries", **filters):
            yield models.WebhookDelivery.from_json(item)

    def delivery(self, delivery: str) -> models.WholeWebhookDelivery:
        """A message with every attempt to deliver it."""
        document = self._transport.get(f"/v1/webhooks/deliveries/{segment(delivery)}")
        return models.WholeWebhookDelivery.from_json(document)

    def replay(self, delivery: str) -> models.WholeWebhookDelivery:
        """Sends a message again."""
        document = self._transport.post(f"/v1/webhooks/deliveries/{segment(delivery)}/replay")
        return models.WholeWebhookDelivery.from_json(document)

    def replay_failed(self, replay: DeliveryReplay) -> models.DeliveryReplayed:
        """Sends again what an endpoint did not accept."""
        return models.DeliveryReplayed.from_json(self._transport.post("/v1/webhooks/deliveries/replay", replay))


def _of(endpoint: str) -> str:
    return f"/v1/webhooks/endpoints/{segment(endpoint)}"
