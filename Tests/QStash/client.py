"""client.py URL TOKEN DESTINATION: speaks to a service with the unmodified client of QStash.

DESTINATION is an origin that answers 200 below /ok, and records what it gets. Prints a JSON object with what there is
to look up, and ends with a traceback when the client is answered in a way that it does not take.

client.py verify CURRENT NEXT SIGNATURE URL BODY: whether the client takes a signature.
"""
import json
import sys

from qstash import QStash, Receiver
from qstash.errors import QStashError


def refused(call, words):
    try:
        call()
    except QStashError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"is not refused: {words}")


def speak(base, token, origin):
    client = QStash(token, base_url=base, retry=False)
    keys = client.signing_key.get()
    assert keys.current.startswith("sig_") and keys.next.startswith("sig_"), keys

    plain = client.message.publish(
        url=f"{origin}/plain", body=b"\xff\x00", method="PUT", delay="1h", retry_delay="1000 * pow(2, retried)")
    message = client.message.get(plain.message_id)
    assert message.body_base64 == "/wA=" and message.retry_delay_expression == "1000 * pow(2, retried)", message
    assert message.not_before - message.created_at > 3500_000, message
    client.message.cancel(plain.message_id)
    refused(lambda: client.message.cancel(plain.message_id), "no message")

    twice = [client.message.publish(url=f"{origin}/twice", deduplication_id="d", delay=3600) for _ in range(2)]
    assert [one.deduplicated for one in twice] == [False, True], twice
    assert twice[0].message_id == twice[1].message_id, twice
    alike = [client.message.publish(url=f"{origin}/alike", body="x", content_based_deduplication=True, delay=3600)
             for _ in range(2)]
    assert alike[0].message_id == alike[1].message_id and alike[1].deduplicated, alike
    assert client.message.cancel_many([one.message_id for one in twice + alike]) == 2

    client.queue.upsert("emails", parallelism=2, paused=True)
    queue = client.queue.get("emails")
    assert (queue.name, queue.parallelism, queue.paused) == ("emails", 2, True), queue
    assert 0 < queue.created_at <= queue.updated_at, queue
    client.message.enqueue(queue="emails", url=f"{origin}/queued", body="1")
    client.message.enqueue_json(queue="fresh", url=f"{origin}/ok/queued", body=2)
    assert {one.name: one.parallelism for one in client.queue.list()} == {"emails": 2, "fresh": 1}
    assert client.message.cancel_all() >= 1
    client.queue.resume("emails")
    assert not client.queue.get("emails").paused
    client.queue.pause("fresh")
    client.queue.delete("emails")
    client.queue.delete("emails")
    refused(lambda: client.queue.get("emails"), "no queue")
    client.queue.resume("fresh")

    # After all was cancelled, so that nothing keeps it from arriving.
    sent = client.message.publish_json(
        url=f"{origin}/ok?a=1&b=%20", body={"hello": "wörld"}, headers={"X-Own": "1"}, retries=2, label="first,second",
        flow_control={"key": "k", "parallelism": 3, "rate": 100, "period": "1m"}, timeout="20s")
    message = client.message.get(sent.message_id)
    assert message.url == f"{origin}/ok?a=1&b=%20" and message.method == "POST", message
    assert json.loads(message.body) == {"hello": "wörld"} and message.max_retries == 2, message
    assert message.headers["X-Own"] == ["1"] and message.headers["Content-Type"] == ["application/json"], message
    assert message.label == "first" and message.flow_control.key == "k", message

    batch = client.message.batch_json([
        {"url": f"{origin}/ok/batch", "body": 1}, {"url": f"{origin}/ok/batch", "body": 2, "queue": "fresh"},
    ])
    assert len({one.message_id for one in batch}) == 2, batch

    refused(lambda: client.message.publish(url=origin, retry_delay="1 +"), "Upstash-Retry-Delay")
    refused(lambda: client.message.publish(url=origin, callback=origin), "is not built")
    refused(lambda: client.message.publish(url_group="group"), "is not built")
    refused(lambda: client.url_group.list(), "is not built")
    refused(lambda: client.schedule.list(), "is not built")
    refused(lambda: client.dlq.list(), "is not built")
    refused(lambda: client.log.list(), "is not built")
    refused(lambda: client.message.get("job_01jd3v8m5qf0t8n4r6w2y9bcde"), "no message")

    rotated = client.signing_key.rotate()
    assert rotated.current == keys.next and rotated.next not in (keys.current, keys.next)
    print(json.dumps({"sent": sent.message_id, "keys": [keys.current, keys.next], "rotated": rotated.next}))


def verify(current, following, signature, url, body):
    Receiver(current, following).verify(signature=signature, body=body, url=url)
    print("verified")


verify(*sys.argv[2:]) if sys.argv[1] == "verify" else speak(*sys.argv[1:])
