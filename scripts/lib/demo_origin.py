"""A small origin on loopback for the demonstration: a page, a redirect to it, and a receiver of webhooks."""
import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = """<!doctype html>
<html lang="en">
<head><title>The demonstration's origin</title></head>
<body>
<h1>Fetched over HTTP</h1>
<p>This page was served on loopback, reached through a redirect, and stored in PostgreSQL.</p>
</body>
</html>
"""
TOLERANCE_SECONDS = 300


def is_signed(headers, body, secret, now):
    """Whether a delivery carries a valid signature of the Standard Webhooks specification.

    Signed is `id.timestamp.body` with HMAC-SHA256; the header may hold several signatures, space separated.
    """
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{identifier}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, given) for given in headers.get("webhook-signature", "").split())


class Handler(BaseHTTPRequestHandler):
    """One request; `server.origin` is the DemoOrigin."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "demo-origin/1", ""
    # Head and body leave together; otherwise the second waits for the first to be acknowledged.
    wbufsize = -1

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        if self.path == "/moved":
            self.answer(302, headers=[("Location", "/page.html")])
        elif self.path == "/page.html":
            self.answer(200, PAGE.encode(), [("Content-Type", "text/html; charset=utf-8"), ("ETag", '"one"'),
                                             ("X-Origin", "demo"), ("X-Origin", "again")])
        else:
            self.answer(404)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/webhook":
            self.answer(404)
            return
        self.answer(204 if self.server.origin.receive(self.headers, body) else 401)

    def log_message(self, format, *arguments):
        pass


class DemoOrigin:
    """Serves on a free loopback port from its creation until `stop()`."""

    def __init__(self):
        self.secret = None
        self.webhooks = []
        self.arrived = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.origin = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def receive(self, headers, body):
        """Notes a delivery in one line; false when its signature does not hold."""
        signed = bool(self.secret) and is_signed(headers, body, self.secret, time.time())
        try:
            event = json.loads(body)
        except ValueError:
            event = {}
        data = event.get("data", {})
        job = data.get("job", {}) if isinstance(data.get("job"), dict) else {}
        name = job.get("id") or data.get("jobId") or data.get("id") or "?"
        self.webhooks.append(f"{event.get('type')} {name} {job.get('state') or data.get('state') or ''} "
                             f"({headers.get('webhook-id')}, signature {'valid' if signed else 'NOT VALID'})")
        self.arrived.set()
        return signed

    def wait_for_webhook(self, seconds):
        return self.arrived.wait(seconds)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
