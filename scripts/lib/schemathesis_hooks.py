"""Lets schemathesis send NDJSON, which it does not know: a generated text is the body as it is."""
import json

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def ndjson(_context, value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
