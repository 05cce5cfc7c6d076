"""Several nodes of the service over a replicated PostgreSQL, on loopback: what scripts/topology starts and breaks.

etcd elects; Patroni keeps three members of PostgreSQL, two of them replicas, one synchronous; haproxy stands before the
nodes and follows their readiness; pgbouncer stands before the primary, which it reaches through haproxy; moto plays S3
and checks signatures. In place of the members there may be a coordinator of Citus and its workers, each a server of its
own, where the extension is installed. A file holds which processes these are, so that one command starts them and
another ends them.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from database import SHARDED_SETTINGS, bindir, citus_control, has_citus
from processes import ROOT, Failed, free_ports, is_listening, program, run, say, wait_until
from service import Service, debug_binary, master_keys

STATE = "topology.json"

PATRONI = """\
scope: fetchd
name: {name}
etcd: {{hosts: "127.0.0.1:{etcd}"}}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
watchdog: {{mode: "off"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 200, shared_buffers: 128MB, max_wal_size: 1GB, log_min_messages: error}}
  initdb: [data-checksums, {{encoding: UTF8}}, {{locale: C.UTF-8}}]
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust"]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {data}
  bin_dir: {bindir}
  pgpass: {place}/pgpass
  authentication: {{superuser: {{username: postgres}}, replication: {{username: postgres}}}}
  parameters: {{unix_socket_directories: ""}}
"""

HAPROXY = """\
defaults
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    retries 0
listen nodes
    mode http
    timeout client 60s
    timeout server 60s
    bind 127.0.0.1:{front}
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 200ms fall 2 rise 1
{nodes}
"""

HAPROXY_PRIMARY = """\
listen primary
    mode tcp
    bind 127.0.0.1:{primary}
    option httpchk GET /primary
    http-check expect status 200
    default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{members}
"""

PGBOUNCER = """\
[databases]
fetchd = host=127.0.0.1 port={primary} dbname=fetchd
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {pooler}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 400
default_pool_size = 40
ignore_startup_parameters = extra_float_digits
"""

# Makes an administrator while moto does not ask for signatures yet, which ends after three calls, and the bucket.
STORE = """\
import json, sys
import boto3
def client(name, **keys):
    return boto3.client(name, endpoint_url=sys.argv[1], region_name="us-east-1", **keys)
first = dict(aws_access_key_id="first", aws_secret_access_key="first")
iam = client("iam", **first)
iam.create_user(UserName="fetchd")
key = iam.create_access_key(UserName="fetchd")["AccessKey"]
iam.put_user_policy(UserName="fetchd", PolicyName="all", PolicyDocument=json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}))
keys = dict(aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
client("s3", **keys).create_bucket(Bucket="bodies")
print(json.dumps(keys))
"""


def ticks(pid):
    """When a process began, in ticks of the clock since the machine did; nil when it is gone.

    With the pid it names a process: a later one may have the same pid.
    """
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if words[0] == "Z" else int(words[19])


def children(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[1] == str(pid):
            found.append(int(stat.parent.name))
    return found


class Topology:
    """The parts by name: etcd, store, member-1 … or coordinator, worker-1 …, balancer, pooler, node-1 …"""

    def __init__(self, directory, binary=None):
        self.directory = pathlib.Path(directory)
        # What the nodes begin with; the debug build without it.
        self.binary = binary
        self.state = None

    # MARK: The file

    @property
    def file(self):
        return self.directory / STATE

    def load(self):
        if not self.file.exists():
            raise Failed(f"nothing runs in {self.directory}; start it with: scripts/topology up")
        self.state = json.loads(self.file.read_text())
        return self

    def save(self):
        self.file.write_text(json.dumps(self.state, indent=1))

    # MARK: Processes

    def begin(self, name):
        """Starts a part as its record says."""
        part = self.state["parts"][name]
        with open(self.directory / f"{name}.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                part["command"], env={**os.environ, **part["environment"]}, cwd="/", stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        part["pid"], part["began"] = process.pid, ticks(process.pid)
        self.save()
        return process

    def add(self, name, command, environment=None, as_postgres=False):
        drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        command = (drop if as_postgres and os.geteuid() == 0 else []) + [str(word) for word in command]
        self.state["parts"][name] = {"command": command, "environment": environment or {}}
        return self.begin(name)

    def is_running(self, name):
        part = self.state["parts"][name]
        return part["began"] is not None and ticks(part["pid"]) == part["began"]

    def processes(self, name):
        """The pids of a part: of a member, Patroni's and its server's, as if they were a machine."""
        part, found = self.state["parts"][name], []
        if self.is_running(name):
            found += [part["pid"]] + children(part["pid"])
        pidfile = self.directory / name / "data" / "postmaster.pid"
        if pidfile.exists():
            lines = pidfile.read_text().splitlines()
            # The second line names the data directory.
            if len(lines) > 1 and lines[0].isdigit() and pathlib.Path(f"/proc/{lines[0]}").exists():
                if b"postgres" in pathlib.Path(f"/proc/{lines[0]}/cmdline").read_bytes():
                    found += [int(lines[0])] + children(int(lines[0]))
        return sorted(set(found))

    def signal(self, name, sign):
        for pid in self.processes(self.resolve(name)):
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                pass

    def resolve(self, name):
        """`primary` is the member that is one now."""
        if name == "primary":
            return self.primary()
        if name not in self.state["parts"]:
            raise Failed(f"there is no {name}; there are {', '.join(self.state['parts'])}")
        return name

    # MARK: Members

    @property
    def members(self):
        return [name for name in self.state["parts"] if name.startswith("member-")]

    def patroni(self, name, path="/patroni"):
        """What a member's Patroni says of it, or of all members (`/cluster`); empty while it says nothing."""
        url = f"http://127.0.0.1:{self.state['ports'][name + '.rest']}{path}"
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)
        except (OSError, ValueError):
            return {}

    @property
    def shards(self):
        """The coordinator and the workers, where they are in place of members."""
        return [name for name in self.state["parts"] if name == "coordinator" or name.startswith("worker-")]

    def primary(self):
        if self.shards:
            return "coordinator"
        for name in self.members:
            told = self.patroni(name)
            if told.get("role") in ("master", "primary") and told.get("state") == "running":
                return name
        raise Failed("no member is primary now")

    def is_whole(self):
        """One primary from which every other member streams, and one of them may take its place at once."""
        if self.shards:
            return all(self.is_writable(name) for name in self.shards)
        told = [self.patroni(name) for name in self.members]
        primaries = [one for one in told if one.get("role") in ("master", "primary")]
        if len(primaries) != 1 or any(one.get("state") not in ("running", "streaming") for one in told):
            return False
        # What etcd has counts at the next election, not what the server knows.
        roles = [one.get("role") for one in self.patroni(self.primary(), "/cluster").get("members", [])]
        return len(primaries[0].get("replication", [])) == len(told) - 1 and (
            len(told) == 1 or "sync_standby" in roles and len(roles) == len(told))

    def is_writable(self, name):
        """Whether the server itself takes writes now."""
        url = f"host=127.0.0.1 port={self.state['ports'][name]} user=postgres dbname=postgres connect_timeout=2"
        try:
            done = subprocess.run(
                [f"{bindir()}/psql", "-qXAt", "-d", url, "-c", "SELECT pg_is_in_recovery()"],
                capture_output=True, text=True, timeout=3, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.stdout.strip() == "f"

    def psql(self, name, database, *statements):
        url = f"host=127.0.0.1 port={self.state['ports'][name]} user=postgres dbname={database}"
        words = [word for statement in statements for word in ("-c", statement)]
        return run([f"{bindir()}/psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", url, *words])

    def switch(self):
        """Patroni hands over from the primary to a replica; returns the name of the primary until then."""
        before = self.primary()
        port = self.state["ports"][before + ".rest"]
        body = json.dumps({"leader": before}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/switchover", body, method="POST")
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError as error:
            raise Failed(f"the switch-over was refused: {error.read().decode()}") from None
        return before

    # MARK: Up and down

    def up(self, nodes, members, through_pooler, allow, settings=None, workers=0):
        """Starts all of it; with `workers`, over so many of Citus in place of members."""
        if workers and not has_citus():
            raise Failed(
                f"the extension Citus is not installed: there is no {citus_control()}. Build it from its source "
                "(https://github.com/citusdata/citus: ./configure, make, make install) or take its package")
        if self.file.exists():
            raise Failed(f"something runs in {self.directory}; end it with: scripts/topology down")
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o711)
        names = ["etcd", "etcd.peer", "store", "front", "primary", "pooler"]
        names += [f"member-{n}{more}" for n in range(1, members + 1) for more in ("", ".rest")]
        names += ["coordinator"] + [f"worker-{n}" for n in range(1, workers + 1)]
        names += [f"node-{n}" for n in range(1, nodes + 1)]
        self.state = {"ports": dict(zip(names, free_ports(len(names)), strict=True)), "parts": {}, "allow": list(allow)}
        self.save()
        if workers:
            self.start_store()
            self.start_shards(workers)
            self.start_balancer(nodes)
            self.start_nodes(nodes, False, settings or {})
            return
        self.start_etcd()
        self.start_store()
        self.start_members(members)
        self.start_proxies(nodes, members)
        self.start_nodes(nodes, through_pooler, settings or {})

    def start_etcd(self):
        ports = self.state["ports"]
        client, peer = (f"http://127.0.0.1:{ports[name]}" for name in ("etcd", "etcd.peer"))
        self.add("etcd", [
            program("etcd"), "--data-dir", self.directory / "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}", "--unsafe-no-fsync",
            # By the newer interface Patroni 3.0 loses track of the synchronous member after some elections.
            "--enable-v2=true"])
        wait_until(lambda: is_listening(ports["etcd"]), 30, "etcd")
        say("etcd is ready.")

    def start_store(self):
        port = self.state["ports"]["store"]
        python = ROOT / ".venv" / "bin" / "python"
        self.add("store", [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", port],
                 {"INITIAL_NO_AUTH_ACTION_COUNT": "3"})
        wait_until(lambda: is_listening(port), 30, "moto")
        self.state["keys"] = json.loads(run([python, "-W", "ignore", "-c", STORE, f"http://127.0.0.1:{port}"]))
        say("The object store is ready, and checks signatures.")

    def start_members(self, count):
        ports = self.state["ports"]
        for number in range(1, count + 1):
            name = f"member-{number}"
            place = self.directory / name
            place.mkdir(mode=0o700)
            (place / "patroni.yaml").write_text(PATRONI.format(
                name=name, etcd=ports["etcd"], rest=ports[name + ".rest"], port=ports[name], place=place,
                data=place / "data", bindir=bindir()))
            if os.geteuid() == 0:
                run(["chown", "-R", "postgres:", place])
            process = self.add(name, [program("patroni"), place / "patroni.yaml"], as_postgres=True)
            if number == 1:
                wait_until(lambda: self.is_writable("member-1"), 120, "the first member", process)
                say("member-1 is the primary.")
        wait_until(self.is_whole, 180, "the members do not replicate")
        self.psql("member-1", "postgres", "CREATE DATABASE fetchd")
        say("All members replicate.")

    def start_shards(self, workers):
        """A coordinator and workers, which know each other and have the extension."""
        names = ["coordinator"] + [f"worker-{n}" for n in range(1, workers + 1)]
        for name in names:
            self.start_server(name)
        for name in names:
            wait_until(lambda name=name: self.is_writable(name), 60, name)
            self.psql(name, "postgres", "CREATE DATABASE fetchd")
            self.psql(name, "fetchd", "CREATE EXTENSION citus")
        ports = self.state["ports"]
        self.psql("coordinator", "fetchd", f"SELECT citus_set_coordinator_host('127.0.0.1', {ports['coordinator']})")
        for name in names[1:]:
            self.psql("coordinator", "fetchd", f"SELECT citus_add_node('127.0.0.1', {ports[name]})")
        say(f"The coordinator knows {workers} workers.")

    def start_server(self, name):
        """A server of its own, as the coordinator and the workers are."""
        place = self.directory / name
        place.mkdir(mode=0o700)
        drop = []
        if os.geteuid() == 0:
            run(["chown", "postgres:", place])
            drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        run([*drop, f"{bindir()}/initdb", "-D", place / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-instructions"], cwd="/")
        settings = {
            "port": self.state["ports"][name], "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
            "max_wal_size": "1GB", "jit": "off", "log_min_messages": "error", **SHARDED_SETTINGS}
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        self.add(name, [f"{bindir()}/postgres", "-D", place / "data", *words], {"HOME": str(place)}, as_postgres=True)

    def start_balancer(self, nodes, more=""):
        """haproxy before the nodes, and before what `more` names."""
        ports, file = self.state["ports"], self.directory / "haproxy.cfg"
        servers = "\n".join(f"    server node-{n} 127.0.0.1:{ports[f'node-{n}']}" for n in range(1, nodes + 1))
        file.write_text(HAPROXY.format(front=ports["front"], nodes=servers) + more)
        self.add("balancer", [program("haproxy", "/usr/sbin"), "-db", "-q", "-f", file])
        wait_until(lambda: is_listening(ports["front"]), 30, "haproxy")

    def start_proxies(self, nodes, members):
        ports, directory = self.state["ports"], self.directory
        self.start_balancer(nodes, HAPROXY_PRIMARY.format(primary=ports["primary"], members="\n".join(
            f"    server member-{n} 127.0.0.1:{ports[f'member-{n}']} check port {ports[f'member-{n}.rest']}"
            for n in range(1, members + 1))))
        place = directory / "pooler.ini"
        place.write_text(PGBOUNCER.format(primary=ports["primary"], pooler=ports["pooler"]))
        place.chmod(0o644)
        self.add("pooler", [program("pgbouncer", "/usr/sbin"), "-q", place], as_postgres=True)
        wait_until(lambda: is_listening(ports["pooler"]), 30, "pgbouncer")
        say("haproxy and pgbouncer are ready.")

    def start_nodes(self, count, through_pooler, settings):
        ports, directory = self.state["ports"], self.directory
        servers = self.members or ["coordinator"]
        places = ",".join(f"127.0.0.1:{ports[name]}" for name in servers)
        database = f"postgresql://postgres@{places}/fetchd"
        shared = {
            "FETCHD_MASTER_KEYS": master_keys(),
            "DATABASE_URL": database, "GUARD_ALLOW": ",".join(self.state["allow"]), "SERVER_LAME_DUCK_SECONDS": "1",
            "S3_ENDPOINT": f"http://127.0.0.1:{ports['store']}", "S3_BUCKET": "bodies",
            "S3_ACCESS_KEY": self.state["keys"]["aws_access_key_id"],
            "S3_SECRET_KEY": self.state["keys"]["aws_secret_access_key"], **settings,
        }
        if through_pooler:
            shared |= {"DATABASE_URL": f"postgresql://postgres@127.0.0.1:{ports['pooler']}/fetchd",
                       "DATABASE_DIRECT_URL": database, "DATABASE_PREPARED_STATEMENTS": "false"}
        for number in range(1, count + 1):
            name = f"node-{number}"
            binary = self.binary or debug_binary()
            process = self.add(name, [
                binary, "serve", "--host", "127.0.0.1", "--port", ports[name], "--data-directory", directory / name],
                shared)
            wait_until(lambda name=name: self.node(name).status("/readyz") == 200, 90, name, process)
            say(f"{name} is ready.")
        self.state["key"] = self.node("node-1").create_key()
        self.save()

    def node(self, name):
        """A client of a node, or of `front`, the address of all."""
        part = self.state["parts"].get(name, self.state["parts"]["node-1"])
        client = Service(debug_binary(), self.directory / "node-1", port=self.state["ports"][name])
        client.storage += ["--database-url", part["environment"]["DATABASE_URL"]]
        client.environment |= part["environment"]
        del client.environment["DATABASE_URL"]
        return client

    def down(self):
        """Ends the parts, nodes first, and removes the directory."""
        for name in reversed(self.state["parts"]):
            pids = self.processes(name)
            began = {pid: ticks(pid) for pid in pids}
            for sign, seconds in ((signal.SIGCONT, 0), (signal.SIGTERM, 30), (signal.SIGKILL, 5)):
                for pid in [pid for pid in pids if began[pid] is not None and ticks(pid) == began[pid]]:
                    try:
                        os.kill(pid, sign)
                    except ProcessLookupError:
                        pass
                end = time.monotonic() + seconds
                while time.monotonic() < end and any(ticks(pid) == began[pid] is not None for pid in pids):
                    time.sleep(0.05)
        shutil.rmtree(self.directory, ignore_errors=True)
