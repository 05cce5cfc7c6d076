"""What the tests of clients need besides a service: an origin, and a front before the service that has faults."""
import http.client
import json
import queue
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TEXT = b"read by a client"
PIECE = 8192
HELD_SECONDS = 30
# Another host, which is this machine too.
ELSEWHERE = "127.0.0.2"
FAULT = re.compile(r"/(refused|lost|cut)-([0-9]+)-([0-9]+)-([0-9a-z]+)(/.*)")


def content(size):
    """Bytes of a size, always the same."""
    line = b"".join(b"%07d " % number for number in range(1024))
    return (line * (size // len(line) + 1))[:size]


class Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Tests cut connections on purpose."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Server:
    """Serves on a free port of this machine's own addresses from its creation until `stop()`."""

    def __init__(self, handler, *addresses):
        self.port, self.servers = 0, []
        for address in ("127.0.0.1", *addresses):
            server = Listener((address, self.port), handler)
            server.owner = self
            self.port = server.server_port
            self.servers.append(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together; otherwise the second waits for the first to be acknowledged.
    wbufsize = -1

    @property
    def owner(self):
        return self.server.owner

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class OriginHandler(Quiet):
    def do_GET(self):
        url = urlsplit(self.path)
        name = url.path.strip("/").partition("/")[2]
        values = {key: int(value[0]) for key, value in parse_qs(url.query).items()}
        if url.path == "/moved":
            self.answer(302, Location="/text")
        elif url.path == "/elsewhere":
            self.answer(302, Location=f"http://{ELSEWHERE}:{self.owner.port}/text")
        elif url.path.startswith("/status/"):
            self.answer(int(name))
        elif url.path.startswith("/held/"):
            # Until the test lets it go.
            self.owner.gate(name).wait(HELD_SECONDS)
            self.answer(200, TEXT)
        elif url.path.startswith("/release/"):
            self.owner.gate(name).set()
            self.answer(204)
        elif url.path == "/big":
            self.send_big(values.get("bytes", 1 << 20), values.get("milliseconds", 0))
        else:
            self.answer(200, TEXT, Content_Type="text/plain", ETag='"one"')

    do_HEAD = do_GET

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            self.answer(200, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            return
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        self.answer(200, b"".join(pieces))

    def send_big(self, size, milliseconds):
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", f'"{size}"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        body = content(size)
        for start in range(0, size, PIECE):
            self.wfile.write(body[start:start + PIECE])
            self.wfile.flush()
            time.sleep(milliseconds / 1000)


class Origin(Server):
    """What jobs fetch from.

    `/text`, `/moved` to it, `/elsewhere` to it at another host, `/status/N`, `/big?bytes=N&milliseconds=N` with a pause
    after each 8 KiB, `/held/NAME`, which is answered after `/release/NAME`; a POST gets its body back.
    """

    def __init__(self):
        self.gates, self.lock = {}, threading.Lock()
        super().__init__(OriginHandler, ELSEWHERE)

    @property
    def allowed(self):
        """What the service's guard is to let through."""
        return [f"127.0.0.1:{self.port}", f"{ELSEWHERE}:{self.port}"]

    def gate(self, name):
        with self.lock:
            return self.gates.setdefault(name, threading.Event())


class FrontHandler(Quiet):
    def do_GET(self):
        if self.path.startswith("/seen/"):
            self.answer(200, json.dumps(self.owner.seen.get(self.path.rpartition("/")[2], [])).encode())
            return
        kind, count, size, name, path = FAULT.fullmatch(self.path).groups()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.owner.lock:
            seen = self.owner.seen.setdefault(name, [])
            seen.append({"method": self.command, "path": path, "key": self.headers.get("Idempotency-Key"),
                         "range": self.headers.get("Range"), "last": self.headers.get("Last-Event-ID")})
            spared = 0 if kind == "cut" else int(size)
            is_faulty = spared < len(seen) <= spared + int(count)
        self.close_connection = True
        if kind == "refused" and is_faulty:
            self.answer(503, b'{"code": "overloaded", "title": "Too much."}', Retry_After="0", Connection="close")
            return
        self.pass_on(path, body, kind if is_faulty else None, int(size))

    do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = do_GET

    def pass_on(self, path, body, fault, size):
        connection = http.client.HTTPConnection("127.0.0.1", self.owner.upstream, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(self.command, path, body or None, headers)
        answer = connection.getresponse()
        if fault == "lost":
            answer.read()
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        is_chunked = answer.getheader("Transfer-Encoding") == "chunked"
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        sent = 0
        while piece := answer.read1(PIECE):
            piece = piece[:size - sent] if fault == "cut" else piece
            sent += len(piece)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
            self.wfile.flush()
            if fault == "cut" and sent >= size:
                return
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")


class Front(Server):
    """Stands before a service, whose URL is then `/FAULT-COUNT-SIZE-NAME` here; `/seen/NAME` lists what has come.

    COUNT requests under a name have the fault: they are `refused` with 503, or their answers are `lost`, both after the
    first SIZE requests; or the bodies of their answers are `cut` after SIZE bytes.
    """

    def __init__(self, upstream):
        self.upstream = upstream
        self.seen, self.lock = {}, threading.Lock()
        super().__init__(FrontHandler)


class PageHandler(FrontHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path.startswith("/v1/"):
            self.close_connection = True
            self.pass_on(self.path, body, None, 0)
        elif url.path == "/told":
            self.owner.told.put(json.loads(body))
            self.answer(204)
        elif (file := self.owner.folder / url.path.lstrip("/")).is_file():
            script = file.suffix == ".js"
            self.answer(200, file.read_bytes(), Content_Type="text/javascript" if script else "text/html")
        else:
            self.answer(404)

    do_POST = do_GET


class Pages(Server):
    """One origin of a service's API, the files of a folder, and `POST /told`, by which a page tells what it saw."""

    def __init__(self, upstream, folder):
        self.upstream, self.folder, self.told = upstream, folder, queue.Queue()
        super().__init__(PageHandler)
