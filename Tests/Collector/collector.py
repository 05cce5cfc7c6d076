"""A collector of traces that is stricter than others: python collector.py PORT

POST /v1/traces takes spans by OTLP over HTTP in JSON. Each request is read by OpenTelemetry's own definitions, with no
unknown member; what its specification says besides of ids, numbers and names is looked at here. GET /spans answers
what came, and the faults of what was refused. POST /refuse?status=503 has the next request refused so.
"""
import base64
import http.server
import json
import re
import sys
import urllib.parse

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2


def unique(pairs):
    """The members of an object, none of which is there twice."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"a member is there twice: {names}")
    if any("_" in name for name in names):
        raise ValueError(f"a member is not in camel case: {names}")
    return dict(pairs)


def reform(span):
    """Ids as the general JSON form of these messages has them; OTLP has hexadecimal ones in their place."""
    for name, digits in (("traceId", 32), ("spanId", 16), ("parentSpanId", 16)):
        if name == "parentSpanId" and name not in span:
            continue
        text = span[name]
        if not re.fullmatch(f"[0-9a-f]{{{digits}}}", text) or not text.strip("0"):
            raise ValueError(f"{name} is not {digits} hexadecimal digits: {text}")
        span[name] = base64.b64encode(bytes.fromhex(text)).decode()
    for name in ("startTimeUnixNano", "endTimeUnixNano"):
        if not isinstance(span[name], str):
            raise ValueError(f"{name} is no text")
    for value in (span["kind"], span["flags"], span.get("status", {}).get("code", 0)):
        if not isinstance(value, int):
            raise ValueError(f"{value} is no number")


def read(body):
    """The spans of a request."""
    document = json.loads(body, object_pairs_hook=unique)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                reform(span)
    message = ExportTraceServiceRequest()
    json_format.Parse(json.dumps(document), message, ignore_unknown_fields=False)
    for resource in message.resource_spans:
        owner = attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield shown(span, owner)


def attributes(pairs):
    if len({pair.key for pair in pairs}) < len(pairs):
        raise ValueError(f"an attribute is there twice: {[pair.key for pair in pairs]}")
    values = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        if kind is None:
            raise ValueError(f"{pair.key} has no value")
        values[pair.key] = getattr(pair.value, kind)
    return values


def shown(span, owner):
    if not span.name or span.end_time_unix_nano < span.start_time_unix_nano or not span.start_time_unix_nano:
        raise ValueError(f"the times or the name of {span.name!r} are wrong")
    times = [event.time_unix_nano for event in span.events]
    if any(not event.name for event in span.events):
        raise ValueError(f"{span.name} has an event without a name")
    return {
        "name": span.name, "trace": span.trace_id.hex(), "id": span.span_id.hex(), "parent": span.parent_span_id.hex(),
        "kind": trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        "state": span.trace_state, "flags": span.flags, "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano, "attributes": attributes(span.attributes),
        "events": [event.name for event in span.events], "eventsInside": all(
            span.start_time_unix_nano <= time <= span.end_time_unix_nano for time in times),
        "failed": span.status.code == trace_pb2.Status.STATUS_CODE_ERROR, "resource": owner,
    }


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    spans, faults, fields, refusals = [], [], [], []

    def do_GET(self):  # noqa: N802
        self.answer(200, {"spans": self.spans, "faults": self.faults, "fields": self.fields})

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        place = urllib.parse.urlsplit(self.path)
        if place.path == "/refuse":
            self.refusals.append(int(urllib.parse.parse_qs(place.query)["status"][0]))
            return self.answer(200, {})
        if self.refusals:
            return self.answer(self.refusals.pop(0), {"message": "Not now."})
        try:
            if place.path != "/v1/traces" or self.headers["Content-Type"] != "application/json":
                raise ValueError(f"{place.path} of {self.headers['Content-Type']}")
            self.spans.extend(list(read(body)))
            self.fields.append({name.lower(): value for name, value in self.headers.items()})
        except (ValueError, KeyError, TypeError, json_format.ParseError) as error:
            self.faults.append(f"{error!r}: {body[:2000]!r}")
            return self.answer(400, {"message": str(error)})
        return self.answer(200, {})

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing: what came is answered to who asks."""


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
