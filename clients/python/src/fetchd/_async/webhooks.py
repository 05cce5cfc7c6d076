"""Webhook endpoints, and what was sent to them."""
from __future__ import annotations

from collections.abc import AsyncIterator
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
from .transport import AsyncTransport


class AsyncWebhooks:
    """The endpoints of the tenant. Messages are verified by `fetchd.verify_webhook`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, spec: WebhookEndpointSpec) -> models.NewWebhookEndpoint:
        """Registers an endpoint. Its `secret` is shown this once, so the call is not repeated by itself."""
        document = await self._transport.post("/v1/webhooks/endpoints", spec, is_repeatable=False)
        return models.NewWebhookEndpoint.from_json(document)

    async def list(self) -> AsyncIterator[models.WebhookEndpoint]:
        """The endpoints."""
        async for item in self._transport.pages("/v1/webhooks/endpoints"):
            yield models.WebhookEndpoint.from_json(item)

    async def get(self, endpoint: str) -> models.WebhookEndpoint:
        """An endpoint, without its secret."""
        return models.WebhookEndpoint.from_json(await self._transport.get(_of(endpoint)))

    async def change(self, endpoint: str, patch: WebhookEndpointPatch) -> models.WebhookEndpoint:
        """Changes members of an endpoint."""
        return models.WebhookEndpoint.from_json(await self._transport.patch(_of(endpoint), patch))

    async def rotate(self, endpoint: str, rotation: SecretRotation | None = None) -> models.NewWebhookEndpoint:
        """Makes a new secret, shown this once; messages have signatures of both for a while."""
        document = await self._transport.post(f"{_of(endpoint)}/rotate", rotation or {}, is_repeatable=False)
        return models.NewWebhookEndpoint.from_json(document)

    async def delete(self, endpoint: str) -> None:
        """Removes an endpoint."""
        await self._transport.delete(_of(endpoint))

    def events(self, endpoint: str, *, last_event_id: str | None = None) -> AsyncIterator[Event]:
        """The events of an endpoint that is polled, without end.

        Begins behind the event with `last_event_id`, or with the first one that is kept. The `data` of an event is its
        message: an object with `type`, `timestamp` and `data`.
        """
        return follow(self._transport, f"{_of(endpoint)}/events", last_event_id)

    async def deliveries(self, **filters: Unpack[ListWebhookDeliveriesQuery]) -> AsyncIterator[models.WebhookDelivery]:
        """The messages, the newest first, over all pages."""
        async for item in self._transport.pages("/v1/webhooks/deliveries", **filters):
            yield models.WebhookDelivery.from_json(item)

    async def delivery(self, delivery: str) -> models.WholeWebhookDelivery:
        """A message with every attempt to deliver it."""
        document = await self._transport.get(f"/v1/webhooks/deliveries/{segment(delivery)}")
        return models.WholeWebhookDelivery.from_json(document)

    async def replay(self, delivery: str) -> models.WholeWebhookDelivery:
        """Sends a message again."""
        document = await self._transport.post(f"/v1/webhooks/deliveries/{segment(delivery)}/replay")
        return models.WholeWebhookDelivery.from_json(document)

    async def replay_failed(self, replay: DeliveryReplay) -> models.DeliveryReplayed:
        """Sends again what an endpoint did not accept."""
        return models.DeliveryReplayed.from_json(await self._transport.post("/v1/webhooks/deliveries/replay", replay))


def _of(endpoint: str) -> str:
    return f"/v1/webhooks/endpoints/{segment(endpoint)}"
