"""Keeps a program that uses QStash: its client (`pip install qstash`) gets another address and another token.

Sends itself a message at PORT through the service at FETCHD_URL with the key FETCHD_KEY, and prints what arrived.
"""
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from qstash import QStash, Receiver
from qstash.errors import SignatureError

# All that is not as it was: without these two, QSTASH_URL and QSTASH_TOKEN of the environment count.
client = QStash(os.environ["FETCHD_KEY"], base_url=os.environ["FETCHD_URL"])

URL = f"http://127.0.0.1:{os.environ['PORT']}/orders"
keys = client.signing_key.get()
receiver = Receiver(current_signing_key=keys.current, next_signing_key=keys.next)


class Orders(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        try:
            receiver.verify(signature=self.headers["Upstash-Signature"], body=body, url=URL)
        except SignatureError as refusal:
            self.send_error(401, explain=str(refusal))
            return
        self.send_response(204)
        self.end_headers()
        print(self.headers["Upstash-Message-Id"], body, flush=True)

    def log_message(self, *_: object) -> None:
        pass


with HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Orders) as server:
    client.message.publish_json(url=URL, body={"order": 7}, retries=1)
    server.handle_request()
