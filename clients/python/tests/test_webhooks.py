"""Webhook messages: those of the service, and those that somebody else made."""
from __future__ import annotations

import http.server
import os
import queue
import threading

import pytest
from conftest import Origin

from fetchd import Fetchd, InvalidSignature, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
# The example of the Standard Webhooks specification, with a time of its own.
HEADERS = {"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
           "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
NOW = 1614265330


def test_a_message_of_the_service_is_verified(fetchd: Fetchd, origin: Origin) -> None:
    received: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.put((dict(self.headers.items()), self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["RECEIVER_PORT"])), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = fetchd.webhooks.create({"url": f"http://127.0.0.1:{server.server_port}/"})
        assert endpoint.secret not in repr(endpoint)
        job = fetchd.jobs.submit(f"{origin.url}/text", webhook={"endpoint": endpoint.id})
        headers, body = received.get(timeout=20)
        server.shutdown()
    message = verify_webhook(endpoint.secret, headers, body)
    assert message.type == "job.finished" and message.data["job"]["id"] == job.id
    assert verify_webhook(["whsec_b3RoZXI=", endpoint.secret], headers, body) == message
    for wrong in ({**headers, "webhook-id": "msg_other"}, {**headers, "webhook-timestamp": "x"}, {}):
        with pytest.raises(InvalidSignature):
            verify_webhook(endpoint.secret, wrong, body)
    with pytest.raises(InvalidSignature, match="old"):
        verify_webhook(endpoint.secret, headers, body, now=message.timestamp.timestamp() + 3600)
    with pytest.raises(InvalidSignature):
        verify_webhook(endpoint.secret, headers, body + b" ")
    deliveries = list(fetchd.webhooks.deliveries(job=job.id))
    assert [one.id for one in deliveries] == [message.id]
    fetchd.webhooks.delete(endpoint.id)


def test_a_polled_endpoint_has_a_stream_that_goes_on_where_a_client_was(fetchd: Fetchd, origin: Origin) -> None:
    endpoint = fetchd.webhooks.create({"polled": True, "events": ["job.finished"]})
    jobs = [fetchd.jobs.submit(f"{origin.url}/text", webhook={"endpoint": endpoint.id}, wait=30).id for _ in range(3)]
    first = next(iter(fetchd.webhooks.events(endpoint.id)))
    rest = fetchd.webhooks.events(endpoint.id, last_event_id=first.id)
    told = [first, next(rest), next(rest)]
    assert {event.data["data"]["job"]["id"] for event in told} == set(jobs)
    assert {event.type for event in told} == {"job.finished"}
    fetchd.webhooks.delete(endpoint.id)


def test_the_example_of_the_specification_is_signed_and_is_no_event() -> None:
    with pytest.raises(InvalidSignature, match="no event"):
        verify_webhook(SECRET, HEADERS, BODY, now=NOW)


@pytest.mark.parametrize("body", ["text", {"test": 1}])
def test_a_body_that_is_not_as_it_came_is_a_mistake_of_the_program(body: object) -> None:
    with pytest.raises(TypeError, match="bytes"):
        verify_webhook(SECRET, HEADERS, body)  # type: ignore[arg-type]
