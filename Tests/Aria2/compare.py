"""compare.py URL TOKEN FILE GONE AUTH BUSY LOOP: makes the same calls to aria2c and to a service, and compares.

FILE is a URL that answers with the body `hello`, and the others answer 404, 401, 503, and redirects without an end. For
each call the status is compared, and of an error its code and text, and of a result its form: the names of members, and
the kinds of values. Where the two differ on purpose a reason stands beside the call. Prints what is compared, and fails
when something else differs, or when a call that has a reason differs no more.
"""
import base64
import hashlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import xmlrpc.client

import websocket

GID = "0123456789abcdef"
OTHER = "fedcba9876543210"
THIRD = "00112233445566aa"
PAUSED = {"gid": GID, "pause": "true", "out": "x.iso", "header": ["A: b", "C: d"], "user-agent": "ua"}
URI = ["https://a.example/x.iso", "https://b.example/x.iso"]

# A method, its parameters behind the secret, and why the answers differ.
CALLS = [
    ("aria2.getVersion", [], None), ("aria2.getSessionInfo", [], None), ("no.such", [], None),
    ("system.listMethods", [], "BitTorrent, Metalink, shutting down"),
    ("system.listNotifications", [], "BitTorrent"),
    ("aria2.addUri", [], None), ("aria2.addUri", [[]], None), ("aria2.addUri", ["https://a.example/"], None),
    ("aria2.addUri", [[5]], None), ("aria2.addUri", [["nonsense"]], None), ("aria2.addUri", [URI, []], None),
    ("aria2.addUri", [URI, {}, -1], None), ("aria2.addUri", [URI, {}, "x"], None),
    ("aria2.addUri", [URI, {"max-tries": "x"}], None), ("aria2.addUri", [URI, {"pause": "maybe"}], None),
    ("aria2.addUri", [URI, {"checksum": "md5=1"}], None), ("aria2.addUri", [URI, {"checksum": "no=1"}], None),
    ("aria2.addUri", [URI, {"max-download-limit": "1x"}], None), ("aria2.addUri", [URI, {"split": "0"}], None),
    ("aria2.addUri", [URI, {"timeout": "601"}], None), ("aria2.addUri", [URI, {"file-allocation": "x"}], None),
    ("aria2.addUri", [URI, {"gid": "xyz"}], "the option is named"),
    ("aria2.addUri", [["magnet:?xt=1"]], "says that it is not supported"),
    ("aria2.addUri", [URI, PAUSED], None),
    ("aria2.addUri", [URI, PAUSED], "says that the gid is used"),
    ("aria2.tellStatus", [], None), ("aria2.tellStatus", ["zz"], None), ("aria2.tellStatus", [""], None),
    ("aria2.tellStatus", [5], None), ("aria2.tellStatus", [GID + "0"], None), ("aria2.tellStatus", [OTHER], None),
    ("aria2.tellStatus", [OTHER[:8]], None), ("aria2.tellStatus", [GID], None), ("aria2.tellStatus", [GID[:6]], None),
    ("aria2.tellStatus", [GID[:2]], "six digits are needed"),
    ("aria2.tellStatus", [GID, ["gid", "status", "no", 5]], None), ("aria2.tellStatus", [GID, "gid"], None),
    ("aria2.tellStatus", [GID, []], None),
    ("aria2.tellActive", [], None), ("aria2.tellActive", [["gid"]], None), ("aria2.tellActive", ["gid"], None),
    ("aria2.tellWaiting", [], None), ("aria2.tellWaiting", [0], None), ("aria2.tellWaiting", ["0", 1], None),
    ("aria2.tellWaiting", [0, -1], None), ("aria2.tellWaiting", [0, 9], None), ("aria2.tellWaiting", [-1, 9], None),
    ("aria2.tellWaiting", [0, 0], None), ("aria2.tellWaiting", [5, 9], None), ("aria2.tellWaiting", [-5, 9], None),
    ("aria2.tellWaiting", [0, 9, ["gid", "status"]], None), ("aria2.tellStopped", [0, 9], None),
    ("aria2.getUris", [GID], None), ("aria2.getFiles", [GID], None), ("aria2.getServers", [GID], None),
    ("aria2.getPeers", [GID], None), ("aria2.getUris", [OTHER], None), ("aria2.getFiles", [OTHER], None),
    ("aria2.getServers", [OTHER], None), ("aria2.getPeers", [OTHER], None), ("aria2.getOption", [OTHER], None),
    ("aria2.getOption", [GID], "options of other protocols are left out"),
    ("aria2.getGlobalOption", [], "options of the program are left out"),
    ("aria2.changeOption", [GID], None), ("aria2.changeOption", [GID, {"max-download-limit": "20K"}], None),
    ("aria2.changeOption", [GID, {"max-download-limit": "q"}], None), ("aria2.changeOption", [GID, {"no": "q"}], None),
    ("aria2.changeOption", [OTHER, {}], None),
    ("aria2.changeGlobalOption", [], None), ("aria2.changeGlobalOption", [{"no": "x"}], None),
    ("aria2.changeGlobalOption", [{"max-concurrent-downloads": "7"}], None),
    ("aria2.changeGlobalOption", [{"max-concurrent-downloads": "x"}], None),
    ("aria2.pause", [GID], None), ("aria2.forcePause", [GID], None), ("aria2.pause", [OTHER], None),
    ("aria2.unpause", [OTHER], None), ("aria2.pauseAll", [], None), ("aria2.forcePauseAll", [], None),
    ("aria2.changeUri", [], None), ("aria2.changeUri", [GID], None), ("aria2.changeUri", [GID, 0, [], []], None),
    ("aria2.changeUri", [GID, "1", [], []], None), ("aria2.changeUri", [GID, 1, "x", []], None),
    ("aria2.changeUri", [GID, 1, []], None), ("aria2.changeUri", [GID, 2, [], []], None),
    ("aria2.changeUri", [GID, 1, [], []], None), ("aria2.changeUri", [GID, 1, [], [], -1], None),
    ("aria2.changeUri", [GID, 1, URI[1:], ["https://c.example/x.iso", "nonsense"]], None),
    ("aria2.changeUri", [GID, 1, ["https://c.example/x.iso", "https://no.example/"], URI[1:], 9], None),
    ("aria2.changeUri", [GID, 1, [], ["https://d.example/x.iso"], 0], None), ("aria2.getUris", [GID], None),
    ("aria2.changeUri", [OTHER, 1, [], []], None),
    ("aria2.removeDownloadResult", [GID], None), ("aria2.removeDownloadResult", [OTHER], None),
    ("aria2.remove", [GID], None), ("aria2.remove", [OTHER], None), ("aria2.purgeDownloadResult", [], None),
    ("aria2.getGlobalStat", [], None), ("aria2.unpauseAll", [], None),
    ("aria2.saveSession", [], "there is no file to be named"),
    ("aria2.changePosition", [GID], None), ("aria2.changePosition", [GID, 0], None),
    ("aria2.changePosition", [GID, "x", "POS_SET"], None), ("aria2.changePosition", [GID, 0, "x"], None),
    ("aria2.changePosition", [GID, 0, 5], None), ("aria2.changePosition", ["zz", 0, "POS_SET"], None),
    ("aria2.changePosition", [OTHER, 0, "POS_SET"], None),
    ("aria2.changeUri", [GID, 1, [], []], None),
    ("aria2.addTorrent", [""], "is not supported"), ("aria2.addMetalink", [""], "is not supported"),
]
CALLS_OF_XML = [
    ("aria2.getVersion", [], None), ("aria2.tellStatus", [OTHER], None), ("aria2.tellStatus", ["a<b>&\"'"], None),
    ("aria2.addUri", [URI, {**PAUSED, "gid": THIRD}], None), ("aria2.tellStatus", [THIRD], None),
    ("aria2.getUris", [THIRD], None),
    ("aria2.tellWaiting", [0, 9, ["gid"]], None), ("aria2.changeUri", [THIRD, 1, URI[1:], []], None),
    ("aria2.changeOption", [THIRD, {"timeout": "0"}], None), ("aria2.pause", [THIRD], None), ("no.such", [], None),
    ("system.multicall", [[{"methodName": "no.such", "params": []}, 5, {}]], None),
    ("aria2.remove", [THIRD], None), ("aria2.purgeDownloadResult", [], None),
]
BODIES = [
    "{bad", "", "5", '"x"', "[]", "{}", '{"id": "1"}', '{"method": "aria2.getVersion"}', '{"id": "1", "method": 5}',
    '{"id": "1", "method": "aria2.getVersion"}', '{"id": "1", "method": "no.such"}',
    '{"id": "1", "method": "aria2.getVersion", "params": {}}',
    '{"id": "1", "method": "aria2.getVersion", "params": ["token:wrong"]}',
    '{"id": {"a": 1}, "method": "aria2.getVersion", "params": ["SECRET"]}',
    '[{"id": 1, "method": "aria2.getVersion", "params": ["SECRET"]}, 5, {"id": 9}, {"id": 2, "method": "no.such"}]',
    '{"id": 1, "method": "system.multicall"}', '{"id": 1, "method": "system.multicall", "params": ["SECRET"]}',
    ('{"id": 1, "method": "system.multicall", "params": [[{"methodName": "aria2.getVersion", "params": ["SECRET"]}, 5,'
     ' {},'
     ' {"methodName": "aria2.getVersion", "params": []}, {"methodName": "aria2.getVersion", "params": 5},'
     ' {"methodName": "system.multicall", "params": [[]]}, {"methodName": "no.such", "params": ["SECRET"]},'
     ' {"methodName": "aria2.tellStatus", "params": ["SECRET", "fedcba9876543210"]}]]}'),
]
# Bodies for XML-RPC; the answers to these have a status alone in common.
XML = ["", "<bad", "{}", "<methodCall>", "<methodCall><methodName>aria2.getVersion</methodName></methodCall>",
       "<methodCall><methodName>no.such</methodName><params/></methodCall>"]
ENDS = ["status", "errorCode", "errorMessage", "totalLength", "completedLength"]


class Peer:
    def __init__(self, base, token):
        self.url, self.secret = f"{base}/jsonrpc", f"token:{token}"

    def ask(self, request):
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.headers.get_content_type(), answer.read().decode()

    def post(self, body):
        return self.ask(urllib.request.Request(self.url, body.replace("SECRET", self.secret).encode()))

    def get(self, query):
        params = base64.b64encode(json.dumps([self.secret]).encode()).decode()
        return self.ask(f"{self.url}?{query.replace('PARAMS', urllib.parse.quote(params))}")

    def call(self, method, parameters):
        secret = [] if method.startswith("system.") else [self.secret]
        return self.post(json.dumps({"jsonrpc": "2.0", "id": "q", "method": method, "params": secret + parameters}))

    def xml(self, method, parameters):
        secret = [] if method.startswith("system.") else [self.secret]
        body = xmlrpc.client.dumps(tuple(secret + parameters), method).encode()
        url = self.url.replace("/jsonrpc", "/rpc")
        status, kind, text = self.ask(urllib.request.Request(url, body))
        try:
            return status, kind, form(list(xmlrpc.client.loads(text)[0]))
        except xmlrpc.client.Fault as fault:
            return status, kind, fault.faultCode, fault.faultString

    def body_of_xml(self, body):
        return self.ask(urllib.request.Request(self.url.replace("/jsonrpc", "/rpc"), body.encode()))[0]

    def by_socket(self, bodies):
        """The answers to some bodies by WebSocket, one after the other."""
        peer = websocket.create_connection(self.url.replace("http", "ws", 1), timeout=30)
        try:
            for body in bodies:
                peer.send(body.replace("SECRET", self.secret))
                answer = json.loads(peer.recv())
                while "method" in answer:
                    answer = json.loads(peer.recv())
                yield form(answer)
        finally:
            peer.close()

    def result(self, method, *parameters):
        return json.loads(self.call(method, list(parameters))[2])["result"]


def form(value):
    """A value with what is the peer's own taken out of it: errors stay, and texts become their kind."""
    if isinstance(value, dict):
        if set(value) == {"code", "message"}:
            return value
        return {name: form(one) for name, one in value.items() if name not in ("jsonrpc",)}
    if isinstance(value, list):
        forms = [form(one) for one in value]
        # A list of texts may be as long as it likes.
        return forms if any(not isinstance(one, str) for one in forms) else sorted(set(forms))
    return "text" if isinstance(value, str) else value


def seen(answer):
    status, kind, text = answer
    return status, kind, form(json.loads(text)) if kind.endswith("json-rpc") else text.split("(")[0]


def named(answer):
    """The same with the names in lists of methods."""
    status, kind, text = answer
    return status, kind, json.loads(text)


def compare(what, aria2, ours, reason, faults):
    same = aria2 == ours
    print(f"{'same' if same else 'differs'}: {what}{f' ({reason})' if reason else ''}")
    if same == bool(reason):
        faults.append(f"{what}\n  aria2c: {aria2}\n  fetchd: {ours}")


def ended(peer, gid):
    for _ in range(300):
        told = peer.result("aria2.tellStatus", gid, ENDS)
        if told["status"] in ("complete", "error"):
            return told
        time.sleep(0.1)
    raise AssertionError(f"{peer.url}: {gid} does not end")


# The number of a download, a place and what it is counted from.
MOVES = [(5, 0, "POS_SET"), (5, 1, "POS_CUR"), (5, -1, "POS_CUR"), (1, -1, "POS_END"), (1, 0, "POS_END"),
         (1, 99, "POS_SET"), (1, -5, "POS_SET"), (1, -99, "POS_CUR"), (1, 1, "POS_END"), (3, 2, "POS_SET")]


def compare_positions(aria2, ours, faults):
    """Moves downloads among those that wait, and compares the whole order after each move."""
    def gid(number):
        return f"{0x100 + number:016x}"

    def compare_orders(what, *window):
        compare(f"the order {what}", *([one["gid"] for one in peer.result("aria2.tellWaiting", *window, ["gid"])]
                                       for peer in (aria2, ours)), None, faults)

    def add(number, *place):
        for peer in (aria2, ours):
            peer.result("aria2.addUri", URI, {"gid": gid(number), "pause": "true"}, *place)

    for number in range(1, 6):
        add(number)
    for number, place, origin in MOVES:
        move = f"of {number} by {place} {origin}"
        compare(f"the place {move}", *(peer.result("aria2.changePosition", gid(number), place, origin)
                                       for peer in (aria2, ours)), None, faults)
        compare_orders(move, 0, 9)
    for number, place in [(6, 1), (7, 99)]:
        add(number, place)
        compare_orders(f"with {number} added at {place}", 0, 9)
    for window in [(2, 3), (-1, 9), (-2, 2), (9, 9)]:
        compare_orders(f"in {window}", *window)


def main(base, token, file, gone, auth, busy, loop):
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        program = subprocess.Popen([
            "aria2c", "--enable-rpc", "--rpc-secret=secret", f"--rpc-listen-port={port}", f"--dir={folder}", "--quiet",
            "--no-conf", "--enable-dht=false"])
        try:
            for _ in range(100):
                if socket.socket().connect_ex(("127.0.0.1", port)) == 0:
                    break
                time.sleep(0.1)
            faults = speak(Peer(f"http://127.0.0.1:{port}", "secret"), Peer(base, token), folder,
                           [file, gone, auth, busy, loop])
        finally:
            program.terminate()
            program.wait()
        assert (pathlib.Path(folder) / "0").read_text() == "hello"
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


def speak(aria2, ours, folder, urls):
    faults = []
    for body in BODIES:
        compare(body, seen(aria2.post(body)), seen(ours.post(body)), None, faults)
    for method, parameters, reason in CALLS:
        view = named if method.startswith("system.list") else seen
        compare(f"{method} {json.dumps(parameters)}", view(aria2.call(method, parameters)),
                view(ours.call(method, parameters)), reason, faults)
    for body in XML:
        compare(f"XML {body}", aria2.body_of_xml(body), ours.body_of_xml(body), None, faults)
    for method, parameters, reason in CALLS_OF_XML:
        compare(f"XML {method} {json.dumps(parameters)}", aria2.xml(method, parameters), ours.xml(method, parameters),
                reason, faults)
    sent = [body for body in BODIES if body]
    for body, one, other in zip(sent, aria2.by_socket(sent), ours.by_socket(sent), strict=True):
        compare(f"by WebSocket {body}", one, other, None, faults)
    for query, reason in [("method=aria2.getVersion&id=a&params=PARAMS", None),
                          ("method=aria2.getVersion&id=a&params=PARAMS&jsoncallback=f", None),
                          ("method=aria2.getVersion&id=a&jsoncallback=f", None), ("", None), ("id=a", None),
                          ("method=aria2.getVersion&id=a&params=!!!", None),
                          ("method=aria2.getVersion&id=a&params=PARAMS&jsoncallback=f(1)", "is no name of a function")]:
        compare(f"GET {query}", seen(aria2.get(query)), seen(ours.get(query)), reason, faults)
    checksums = ["md5=" + hashlib.md5(b"hello").hexdigest(), "sha-1=" + hashlib.sha1(b"hello").hexdigest(),
                 "md5=" + "0" * 32, "sha-1=" + "0" * 40, "sha-256=" + "0" * 64]
    downloads = [(url, {}) for url in urls] + [(urls[0], {"checksum": checksum}) for checksum in checksums]
    for index, (url, more) in enumerate(downloads):
        gid = f"{index + 1:016x}"
        for peer in (aria2, ours):
            options = {"gid": gid, "out": str(index), "dir": folder, "max-tries": "1", **more}
            assert peer.result("aria2.addUri", [url], options) == gid
        told = [ended(peer, gid) for peer in (aria2, ours)]
        # The words of errors of the network are each one's own.
        names = ["status", "errorCode"] + (ENDS[2:] if index < 3 and not more else [])
        compare(f"the end of {url} {more}", *({name: one.get(name) for name in names if name in one} for one in told),
                None, faults)
        statuses = (sorted(peer.result("aria2.tellStatus", gid)) for peer in (aria2, ours))
        compare(f"the status of it {url} {more}", *statuses, "has no bitfield" if url == urls[0] else None, faults)
    compare_positions(aria2, ours, faults)
    return faults


sys.exit(main(*sys.argv[1:]))
