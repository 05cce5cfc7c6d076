"""client.py URL TOKEN DESTINATION: speaks to a service with the unmodified client of QStash.

DESTINATION is an origin that answers 200 below /ok, and records what it gets. Prints a JSON object with what there is
to look up, and ends with a traceback when the client is answered in a way that it does not take.

client.py schedules|failures|groups URL TOKEN DESTINATION: the same about schedules, about messages that were given up,
and about URL groups.
client.py callbacks URL TOKEN DESTINATION HOOKS: the same about callbacks, which go to HOOKS.
client.py verify CURRENT NEXT SIGNATURE URL BODY: whether the client takes a signature.
"""
import contextlib
import hashlib
import json
import sys

from qstash import QStash, Receiver
from qstash.log import LogState
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

    hushed = "REDACTED:" + hashlib.sha256(b"hush").hexdigest()
    secret = client.message.publish(
        url=f"{origin}/secret", body="hush", delay="1h", headers={"X-Own": "hush", "X-Seen": "1"},
        redact={"body": True, "header": ["X-Own"]})
    message = client.message.get(secret.message_id)
    assert (message.body, message.headers["X-Own"], message.headers["X-Seen"]) == (hushed, [hushed], ["1"]), message
    client.message.cancel(secret.message_id)

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

    client.flow_control.pause("k")
    flow = client.flow_control.get("k")
    shown = (flow.key, flow.parallelism_max, flow.rate_max, flow.rate_period, flow.is_paused)
    assert shown == ("k", 3, 100, 60, True), flow
    client.flow_control.resume("k")
    assert not client.flow_control.get("k").is_paused
    client.flow_control.pin("k", {"rate": 50, "period": 30})
    assert client.flow_control.get("k").is_pinned_rate and not client.flow_control.get("k").is_pinned_parallelism
    client.message.cancel(client.message.publish(
        url=f"{origin}/pinned", delay="1h", flow_control={"key": "k", "parallelism": 4, "rate": 7}).message_id)
    flow = client.flow_control.get("k")
    assert (flow.parallelism_max, flow.rate_max, flow.rate_period) == (4, 50, 30), flow
    client.flow_control.unpin("k", {"rate": True})
    assert not client.flow_control.get("k").is_pinned_rate
    client.flow_control.reset_rate("k")
    assert client.flow_control.get("k").rate_count == 0
    refused(lambda: client.flow_control.get("other"), "No message has set limits")
    assert client.flow_control.get_global_parallelism().parallelism_count >= 0

    batch = client.message.batch_json([
        {"url": f"{origin}/ok/batch", "body": 1}, {"url": f"{origin}/ok/batch", "body": 2, "queue": "fresh"},
    ])
    assert len({one.message_id for one in batch}) == 2, batch

    refused(lambda: client.message.publish(url=origin, retry_delay="1 +"), "Upstash-Retry-Delay")
    refused(lambda: client.message.publish(url_group="group"), "no URL group")
    # The client prints what it is answered.
    with contextlib.redirect_stdout(sys.stderr):
        logs = client.log.list(filter={"state": LogState.CREATED, "url": f"{origin}/plain"})
        assert [one.message_id for one in logs.logs] == [plain.message_id] and logs.cursor is None, logs
        assert logs.logs[0].retry_delay_expression == "1000 * pow(2, retried)" and logs.logs[0].method == "PUT", logs
        assert client.log.list(filter={"state": LogState.CANCELED, "message_id": plain.message_id}).logs, plain
        first = client.log.list(count=2)
        rest = client.log.list(count=1000, cursor=first.cursor)
        assert len(first.logs) == 2 and rest.logs and rest.cursor is None, (first, rest)
        refused(lambda: client.log.list(count=1001), "count")
    refused(lambda: client.message.get("job_01jd3v8m5qf0t8n4r6w2y9bcde"), "no message")

    rotated = client.signing_key.rotate()
    assert rotated.current == keys.next and rotated.next not in (keys.current, keys.next)
    print(json.dumps({"sent": sent.message_id, "keys": [keys.current, keys.next], "rotated": rotated.next}))


def speak_of_schedules(base, token, origin):
    client = QStash(token, base_url=base, retry=False)
    own = client.schedule.create(
        destination=f"{origin}/ok?a=1", cron="CRON_TZ=Europe/Vienna 0 3 * * *", body="first", schedule_id="nightly",
        headers={"X-Own": "1"}, retries=1, label="l", queue="slow")
    assert own == "nightly", own
    schedule = client.schedule.get("nightly")
    assert schedule.cron == "CRON_TZ=Europe/Vienna 0 3 * * *" and schedule.destination == f"{origin}/ok?a=1", schedule
    assert (schedule.body, schedule.retries, schedule.method, schedule.paused) == ("first", 1, "POST", False), schedule
    assert schedule.headers["X-Own"] == ["1"] and schedule.queue == "slow" and schedule.label == "l", schedule
    assert "Upstash-Schedule-Id" not in schedule.headers and schedule.next_schedule_time > schedule.created_at, schedule

    # The same id: it takes the place of the first.
    client.schedule.create(destination=f"{origin}/ok", cron="*/5 * * * *", body=b"\xff", schedule_id="nightly")
    schedule = client.schedule.get("nightly")
    assert schedule.cron == "*/5 * * * *" and schedule.body_base64 == "/w==" and schedule.queue is None, schedule
    given = client.schedule.create_json(destination=f"{origin}/ok", cron="0 0 1 * *", body={"a": 1})
    assert {one.schedule_id for one in client.schedule.list()} == {"nightly", given}, client.schedule.list()

    client.schedule.pause("nightly")
    assert client.schedule.get("nightly").paused and not client.schedule.get(given).paused
    client.schedule.resume("nightly")
    assert not client.schedule.get("nightly").paused
    client.schedule.delete(given)
    refused(lambda: client.schedule.get(given), "no schedule")
    refused(lambda: client.schedule.delete("never"), "no schedule")
    refused(lambda: client.schedule.create(destination=origin, cron="every day"), "Upstash-Cron")
    refused(lambda: client.schedule.create(destination=origin, cron="CRON_TZ=Mars/Base 0 0 * * *"), "Upstash-Cron")
    refused(lambda: client.schedule.create(destination=origin, cron="0 0 * * *", delay="1h"), "Upstash-Delay")
    told = client.schedule.create(destination=origin, cron="0 0 1 1 *", callback=f"{origin}/told", retries=7)
    assert client.schedule.get(told).callback == f"{origin}/told" and client.schedule.get(told).retries == 7
    client.schedule.delete(told)
    print(json.dumps({}))


def speak_of_failures(base, token, origin):
    """The messages to ORIGIN/gone, of which there are three, have failed."""
    client = QStash(token, base_url=base, retry=False)
    everything = client.dlq.list()
    assert len(everything.messages) == 3 and everything.cursor is None, everything
    first = everything.messages[0]
    assert first.dlq_id == first.message_id and first.response_status == 410 and first.max_retries == 0, first
    assert first.response_headers["X-Why"] == ["a", "b"], first
    pages = client.dlq.list(count=2)
    rest = client.dlq.list(count=2, cursor=pages.cursor)
    assert [one.dlq_id for one in pages.messages + rest.messages] == [one.dlq_id for one in everything.messages]
    for filter, count in [({"label": "odd"}, 2), ({"response_status": 410}, 3), ({"response_status": 500}, 0),
                          ({"url": f"{origin}/gone"}, 3), ({"url": f"{origin}/other"}, 0), ({"from_time": 1}, 3),
                          ({"to_time": 1}, 0), ({"message_id": first.message_id}, 1), ({"queue": "none"}, 0)]:
        found = client.dlq.list(filter=filter).messages
        assert len(found) == count, (filter, found)
    one = client.dlq.get(first.dlq_id)
    assert one.response_body == "went" and one.body == "x", one
    client.dlq.delete(first.dlq_id)
    refused(lambda: client.dlq.get(first.dlq_id), "given up")
    refused(lambda: client.dlq.delete(first.dlq_id), "given up")
    assert client.dlq.list(filter={"url_group": "group"}).messages == []
    assert client.dlq.delete_many([everything.messages[1].dlq_id, first.dlq_id, "nonsense"]) == 1
    print(json.dumps({"left": everything.messages[2].dlq_id}))


def speak_of_callbacks(base, token, origin, hooks):
    """ORIGIN fails, and HOOKS is told of it."""
    client = QStash(token, base_url=base, retry=False)
    sent = client.message.publish(
        url=f"{origin}?a=1", body="asked", retries=1, retry_delay="1",
        headers={"X-Own": "1", "Authorization": "Basic eDp5"},
        callback=f"{hooks}/each", failure_callback=f"{hooks}/end?b=1",
        callback_headers={"X-Told": "yes", "Forward-X-More": "2", "Method": "PUT"},
        failure_callback_headers={"Authorization": "Bearer hook"})
    message = client.message.get(sent.message_id)
    assert message.callback == f"{hooks}/each" and message.failure_callback == f"{hooks}/end?b=1", message
    assert message.callback_headers == {"X-Told": ["yes"], "X-More": ["2"]}, message
    assert "hook" not in str(message.failure_callback_headers), message
    print(json.dumps({"sent": sent.message_id}))


def speak_of_groups(base, token, origin):
    client = QStash(token, base_url=base, retry=False)
    first, second = f"{origin}/ok/first", f"{origin}/ok/second?a=1"
    client.url_group.upsert_endpoints("both", [{"url": first, "name": "one"}, {"url": second}])
    client.url_group.upsert_endpoints("both", [{"url": second, "name": "two"}])
    client.url_group.upsert_endpoints("alone", [{"url": f"{origin}/old", "name": "it"}])
    client.url_group.upsert_endpoints("alone", [{"url": f"{origin}/ok/new", "name": "it"}])
    group = client.url_group.get("both")
    assert {one.url: one.name for one in group.endpoints} == {first: "one", second: "two"}, group
    assert 0 < group.created_at <= group.updated_at, group
    assert [one.name for one in client.url_group.list()] == ["alone", "both"], client.url_group.list()
    assert [one.url for one in client.url_group.get("alone").endpoints] == [f"{origin}/ok/new"]

    sent = client.message.publish_json(url_group="both", body={"a": 1}, headers={"X-Own": "1"})
    assert {one.url for one in sent} == {first, second} and len({one.message_id for one in sent}) == 2, sent
    message = client.message.get(sent[0].message_id)
    assert message.url_group == "both" and message.endpoint in ("one", "two"), message
    queued = client.message.enqueue(queue="q", url_group="both", body="x")
    assert len(queued) == 2, queued
    batch = client.message.batch_json([{"url_group": "alone", "body": 1}, {"url": first, "body": 2}])
    assert batch[0][0].url == f"{origin}/ok/new" and batch[1].message_id, batch

    client.url_group.remove_endpoints("both", [{"name": "one"}])
    assert [one.name for one in client.url_group.get("both").endpoints] == ["two"]
    client.url_group.remove_endpoints("both", [{"url": second}])
    refused(lambda: client.url_group.get("both"), "no URL group")
    client.url_group.delete("alone")
    client.url_group.delete("alone")
    assert client.url_group.list() == []
    client.url_group.upsert_endpoints("kept", [{"url": first}])
    print(json.dumps({"sent": [one.message_id for one in sent]}))


def verify(current, following, signature, url, body):
    Receiver(current, following).verify(signature=signature, body=body, url=url)
    print("verified")


subjects = {
    "verify": verify, "schedules": speak_of_schedules, "failures": speak_of_failures, "callbacks": speak_of_callbacks,
    "groups": speak_of_groups,
}
subjects[sys.argv[1]](*sys.argv[2:]) if sys.argv[1] in subjects else speak(*sys.argv[1:])
