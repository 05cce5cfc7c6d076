"""What schemathesis does not know of the API: media types, how long calls wait, and that tenants see nothing of others.
"""
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def ndjson(_context, value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@schemathesis.serializer("application/partial-upload")
def partial_upload(_context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if case.operation.label == "GET /v1/jobs/{id}/events":
        end_job((case.path_parameters or {}).get("id"))
    wait_briefly(case)
    send_whole(case)
    name_new_things(case)


@schemathesis.check
def other_tenants_see_nothing(_context, response, case):
    """The object that a call has found by its id is not there for another tenant (SEC-41)."""
    path = urllib.parse.urlsplit(response.request.url).path
    # Every tenant has a default session.
    if case.operation.path.startswith("/v1/admin/") or (case.path_parameters or {}).get("id") in (None, "default"):
        return
    # What is not there any more is nobody's.
    if case.operation.method.upper() != "GET" or response.status_code != 200:
        return
    request = urllib.request.Request(os.environ["API_URL"] + path)
    request.add_header("Authorization", f"Bearer {os.environ['API_OTHER_KEY']}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    assert status == 404, f"another tenant is answered {status}, and not 404"


def end_job(job):
    """The events of a job end with it, and jobs that wait for their time or are suspended do not end by themselves."""
    path = f"/v1/jobs/{urllib.parse.quote(str(job), safe='')}/cancel"
    request = urllib.request.Request(os.environ["API_URL"] + path, method="POST")
    request.add_header("Authorization", f"Bearer {os.environ['API_KEY']}")
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError:
        pass  # There is no such job, or it is final.


def wait_briefly(case):
    """What a call waits for does not come here; a second tells as much as the ten of the example.

    Not where something else is wrong on purpose: schemathesis judges a changed case anew, and would expect success.
    """
    headers = case.headers or {}
    is_valid = case.meta is None or case.meta.generation.mode.is_positive
    if is_valid and re.fullmatch(r"wait=\d+", headers.get("Prefer") or ""):
        headers["Prefer"] = "wait=1"


def name_new_things(case):
    """Each request is a new one.

    An Idempotency-Key of an earlier case stands for that one, and for what it has made, which may be gone since.
    """
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if is_valid and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


def send_whole(case):
    """Python's HTTP client takes 104, which announces where an upload can go on, for the final answer (RFC 9110 §15.2).

    So that operation is tried as one request; the tests of the service try it in pieces, with a client of their own.
    """
    headers = case.headers or {}
    if case.operation.label == "POST /v1/blobs" and headers.get("Upload-Complete") in ("?0", "?1"):
        del headers["Upload-Complete"]
