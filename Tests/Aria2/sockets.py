"""sockets.py URL OPEN TOKEN OTHER FILE GONE SLOW: speaks to a service by WebSocket.

It does so as clients of aria2 do, and as none should. URL is the API, whose keys of two tenants are TOKEN and OTHER,
and OPEN the port that needs no secret. FILE answers with a body, GONE with 404, and SLOW begins a body and does not end
it. Ends with a traceback when something is not as it should be.
"""
import base64
import contextlib
import http.client
import json
import os
import socket
import struct
import sys
import time
import urllib.parse
import urllib.request

import aria2p
import websocket
from loguru import logger

NOTICES = ["Start", "Pause", "Stop", "Complete", "Error"]


def address(base):
    url = urllib.parse.urlsplit(base)
    return url.hostname, url.port


def open_socket(base, query="", **options):
    host, port = address(base)
    return contextlib.closing(websocket.create_connection(f"ws://{host}:{port}/jsonrpc{query}", timeout=30, **options))


def call(method, *parameters, token=None, id="q"):
    secret = [f"token:{token}"] if token else []
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": f"aria2.{method}", "params": secret + list(parameters)})


def ask(peer, text):
    """The answer to a call; what comes meanwhile is kept."""
    peer.send(text)
    return answer(peer)


def answer(peer):
    while True:
        message = json.loads(peer.recv())
        if isinstance(message, list) or "id" in message:
            return message
        peer.__dict__.setdefault("notices", []).append(message)


def notices(peer, count):
    """The next notices, as pairs of what happened and to which download."""
    found = peer.__dict__.setdefault("notices", [])
    while len(found) < count:
        found.append(json.loads(peer.recv()))
    taken, found[:] = found[:count], found[count:]
    for one in taken:
        assert one["jsonrpc"] == "2.0" and "id" not in one, one
    return [(one["method"].removeprefix("aria2.onDownload"), one["params"][0]["gid"]) for one in taken]


def of(gid, found):
    return [word for word, name in found if name == gid]


# The listener of aria2p


def listen(opened, file, gone, slow):
    host, port = address(opened)
    api = aria2p.API(aria2p.Client(f"http://{host}", port, ""))
    heard = []

    def note(word):
        return lambda api, gid: heard.append((word, gid))

    api.listen_to_notifications(
        threaded=True, timeout=1, on_download_start=note("Start"), on_download_pause=note("Pause"),
        on_download_stop=note("Stop"), on_download_complete=note("Complete"), on_download_error=note("Error"))
    try:
        time.sleep(1)
        done, failed = (api.add_uris([url], {"max-tries": "1"}).gid for url in (file, gone))
        held = api.add_uris([slow]).gid
        wait(lambda: of(held, heard) == ["Start"], heard)
        assert api.client.pause(held) == held
        wait(lambda: of(held, heard) == ["Start", "Pause"], heard)
        assert api.client.remove(held) == held
        wait(lambda: of(held, heard) == ["Start", "Pause", "Stop"], heard)
        wait(lambda: of(done, heard) == ["Start", "Complete"], heard)
        wait(lambda: of(failed, heard) == ["Start", "Error"], heard)
    finally:
        api.stop_listening()


def wait(condition, told):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(told)


# Calls and notices


def speak(base, token, other, file, gone):
    with open_socket(base, f"?token={token}") as one, open_socket(base, f"?token={other}") as two, \
            open_socket(base, header=[f"Authorization: Bearer {token}"]) as three, open_socket(base) as four:
        assert ask(four, call("getVersion"))["error"] == {"code": 1, "message": "Unauthorized"}
        assert ask(four, call("getVersion", token=token))["result"]["version"] == "1.36.0"
        assert ask(one, call("getVersion", id={"a": 1}))["id"] == {"a": 1}
        assert ask(one, call("getVersion", token=other))["result"]["version"] == "1.36.0"
        assert ask(one, "{bad")["error"]["code"] == -32700
        assert ask(one, f"[{call('getVersion')}, {call('no')}]")[1]["error"]["message"] == "No such method: aria2.no"
        told = ask(one, json.dumps({"id": 1, "method": "system.listNotifications"}))["result"]
        assert told == [f"aria2.onDownload{word}" for word in NOTICES], told
        gid = ask(one, call("addUri", [file]))["result"]
        # The other tenant cannot even name it, and hears of its own alone.
        assert ask(two, call("tellStatus", gid))["error"]["message"] == f"GID {gid} is not found"
        mine = ask(two, call("addUri", [gone], {"max-tries": "1"}))["result"]
        for peer in (one, three, four):
            assert notices(peer, 2) == [("Start", gid), ("Complete", gid)]
        assert notices(two, 2) == [("Start", mine), ("Error", mine)]
        for peer in (one, two, three, four):
            assert ask(peer, call("getSessionInfo", token=token))["result"]
            assert not peer.__dict__.get("notices"), peer.notices


# Frames, as they are on the wire


class Raw:
    def __init__(self, base, query="", fields=()):
        self.socket = socket.create_connection(address(base), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET /jsonrpc{query} HTTP/1.1", f"Host: 127.0.0.1:{address(base)[1]}", "Upgrade: websocket",
                 "Connection: keep-alive, Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", *fields]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        status = self.file.readline()
        assert status.startswith(b"HTTP/1.1 101 "), status
        while self.file.readline() != b"\r\n":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, first, content=b"", mask=True, length=None):
        count = len(content) if length is None else length
        head = bytes([first])
        marked = 0x80 if mask else 0
        if count < 126:
            head += bytes([marked | count])
        elif count < 1 << 16:
            head += bytes([marked | 126]) + struct.pack("!H", count)
        else:
            head += bytes([marked | 127]) + struct.pack("!Q", count)
        key = b"\1\2\3\4" if mask else b""
        hidden = bytes(byte ^ key[index % 4] for index, byte in enumerate(content)) if mask else content
        self.socket.sendall(head + key + hidden)

    def receive(self):
        first, second = self.file.read(2)
        assert second < 128, "the server masks"
        count = second
        if second == 126:
            count, = struct.unpack("!H", self.file.read(2))
        elif second == 127:
            count, = struct.unpack("!Q", self.file.read(8))
        return first, self.file.read(count)

    def end(self):
        """The code of the close frame, behind which the connection ends."""
        first, content = self.receive()
        assert first == 0x88, (first, content)
        assert self.file.read() == b"", "goes on behind the end"
        return struct.unpack("!H", content[:2])[0] if content else None


def frames(base, token):
    text = call("getVersion").encode()
    query = f"?token={token}"
    with Raw(base, query) as raw:
        raw.send(0x01, text[:5])
        raw.send(0x89, b"are you there?")
        raw.send(0x00, text[5:9])
        raw.send(0x00)
        assert raw.receive() == (0x8A, b"are you there?")
        raw.send(0x80, text[9:])
        first, content = raw.receive()
        assert first == 0x81 and json.loads(content)["result"]["version"] == "1.36.0", content
        raw.send(0x8A, b"nobody asked")
        long = call("getVersion", "x" * 70_000).encode()
        raw.send(0x81, long)
        assert json.loads(raw.receive()[1])["result"]["version"] == "1.36.0"
        raw.send(0x88, struct.pack("!H", 4321) + b"bye")
        assert raw.end() == 4321
    for what, code in [
            ([(0x81, text, False)], 1002), ([(0xC1, text)], 1002), ([(0x82, text)], 1003), ([(0x83, text)], 1002),
            ([(0x80, text)], 1002), ([(0x01, text), (0x81, text)], 1002), ([(0x81, b"\xff\xfe")], 1007),
            ([(0x09, b"x")], 1002), ([(0x89, b"x" * 126)], 1002), ([(0x88, b"x")], 1002),
            ([(0x88, struct.pack("!H", 1005))], 1002), ([(0x88,)], None),
            ([(0x81, b"", True, (1 << 20) + 1)], 1009), ([(0x81, b"", True, (1 << 62))], 1009),
            ([(0x01, b"x" * (1 << 19)), (0x00, b"x" * (1 << 19)), (0x80, b"x")], 1009),
            ([(0x01, b"x")] + [(0x00,)] * 1024, 1009)]:
        with Raw(base, query) as raw:
            for frame in what:
                raw.send(*frame)
            end = raw.end()
            assert end == code, (what[0][0], end, code)
    # Who shows no key is heard for a while only.
    with Raw(base) as raw:
        for _ in range(101):
            raw.send(0x81, b"5")
        for _ in range(100):
            assert raw.receive()[0] == 0x81
        assert raw.end() == 1008


def handshakes(base, opened, token):
    good = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode()}
    for peer, path, fields, status, text in [
            (base, "/jsonrpc", {"Sec-WebSocket-Version": "8"}, 400, "Sec-WebSocket-Version"),
            (base, "/jsonrpc", {"Sec-WebSocket-Key": "short"}, 400, "Sec-WebSocket-Key"),
            (base, "/jsonrpc", {"Origin": "https://evil.example"}, 403, "ARIA2_ALLOWED_ORIGINS"),
            (base, "/jsonrpc?token=fk_wrong", {}, 400, "Unauthorized"),
            (base, "/jsonrpc", {"Authorization": "Bearer fk_wrong"}, 400, "Unauthorized"),
            (opened, "/jsonrpc", {"Origin": "https://evil.example"}, 403, "ARIA2_ALLOWED_ORIGINS"),
            (opened, "/jsonrpc", {"Host": "evil.example"}, 403, "Host")]:
        connection = http.client.HTTPConnection(*address(peer), timeout=30)
        connection.request("GET", path, headers={**good, **fields})
        told = connection.getresponse()
        body = told.read().decode()
        assert told.status == status and text in body, (fields, told.status, body)
        connection.close()
    # What follows a handshake that was refused is no frame.
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(Raw(base, f"?token={token}"))
        connection = http.client.HTTPConnection(*address(base), timeout=30)
        connection.request("GET", f"/jsonrpc?token={token}", headers=good)
        told = connection.getresponse()
        assert told.status == 429 and told.headers["Retry-After"] == "1", told.status
        connection.close()


def flood(base, token, other):
    """Somebody who reads nothing has nobody else wait."""
    with Raw(base, f"?token={token}") as raw:
        raw.socket.setblocking(False)
        frame = bytes([0x81, 0x80 | 126]) + struct.pack("!H", 1000) + bytes(4) + b"[" * 1000
        try:
            for _ in range(100_000):
                raw.socket.send(frame)
        except BlockingIOError:
            pass
        with open_socket(base, f"?token={other}") as peer:
            start = time.monotonic()
            assert ask(peer, call("getVersion"))["result"]
            assert time.monotonic() - start < 10


def revoke(base, token):
    """A key that was revoked is heard no more, and its socket ends."""
    def send(method, path, body=None):
        request = urllib.request.Request(
            base + path, body and json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as told:
            return json.loads(told.read() or b"null")
    made = send("POST", "/v1/keys", {"name": "socket", "scopes": ["jobs:read"]})
    with Raw(base, f"?token={made['token']}") as raw:
        raw.send(0x81, call("getVersion").encode())
        assert b"1.36.0" in raw.receive()[1]
        send("DELETE", f"/v1/keys/{made['id']}")
        start = time.monotonic()
        assert raw.end() == 1008
        assert time.monotonic() - start < 20


def main(base, opened, token, other, file, gone, slow):
    logger.remove()
    listen(opened, file, gone, slow)
    speak(base, token, other, file, gone)
    frames(base, token)
    handshakes(base, opened, token)
    flood(base, token, other)
    revoke(base, token)


main(*sys.argv[1:])
