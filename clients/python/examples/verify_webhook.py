"""Receives webhook messages: PORT and WEBHOOK_SECRET (`whsec_…`) say where, and signed with what.

Answers at once, drops what came before, and prints a line for each job that ended.
"""
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fetchd import InvalidSignature, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
# A program that is started again keeps them in its database.
seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            message = verify_webhook(SECRET, dict(self.headers.items()), body)
        except InvalidSignature as refusal:
            self.send_error(401, explain=str(refusal))
            return
        self.send_response(204)
        self.end_headers()
        if message.id not in seen and message.type == "job.finished":
            seen.add(message.id)
            job = message.data["job"]
            print(job["id"], job["state"], flush=True)

    def log_message(self, *_: object) -> None:
        pass


with ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver) as server:
    server.serve_forever()
