"""A PostgreSQL of the benchmarks' own, durable and tuned, reached over a Unix socket only."""
import contextlib
import glob
import os
import pathlib
import re
import signal
import subprocess

from processes import Failed, cpu_seconds, run, stop, wait_until

SETTINGS = {
    "listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
    "shared_buffers": "1GB", "max_wal_size": "4GB", "checkpoint_timeout": "10min", "jit": "off",
    "max_connections": "100", "log_min_messages": "error",
}

# Besides, of a coordinator of Citus and its workers: they commit what several of them have in two phases, and move
# shards by logical replication.
SHARDED_SETTINGS = {
    "shared_preload_libraries": "citus", "max_connections": "300", "max_prepared_transactions": "300",
    "wal_level": "logical", "max_wal_senders": "20", "max_replication_slots": "20", "max_worker_processes": "40",
    "citus.shard_count": "16", "citus.node_connection_timeout": "5s", "citus.node_conninfo": "sslmode=disable",
    "citus.recover_2pc_interval": "2s",
}


def bindir():
    """The newest server Debian has installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise Failed("no PostgreSQL server; scripts/install-dependencies installs it")
    return os.path.dirname(found[-1])


def citus_control():
    """The file that the extension Citus has where it is installed for the server that we start."""
    return pathlib.Path(f"/usr/share/postgresql/{bindir().split('/')[4]}/extension/citus.control")


def has_citus():
    return citus_control().exists()


class Database:
    """Runs as user `postgres` when we are root (PostgreSQL refuses root), otherwise as ourselves."""

    def __init__(self, directory, settings=None):
        self.directory = pathlib.Path(directory)
        self.settings = {**SETTINGS, **(settings or {})}
        self.process = None
        self.drop = []

    def conninfo(self, name):
        return f"host={self.directory} user=postgres dbname={name}"

    def url(self, name):
        return f"postgresql://postgres@/{name}?host={self.directory}"

    def psql(self, name, *arguments):
        return run([f"{bindir()}/psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo(name), *arguments])

    def wait_until(self, name, condition, seconds, what):
        """Until a condition in SQL holds, asked by one client: one after the other would disturb what is measured."""
        ask = f"""
            DO $$ BEGIN
                FOR tick IN 1..{round(seconds / 0.05)} LOOP
                    IF {condition} THEN RETURN; END IF;
                    COMMIT;
                    PERFORM pg_sleep(0.05);
                END LOOP;
            END $$"""
        if self.psql(name, "-c", ask, "-c", f"SELECT {condition}").strip() != "t":
            raise Failed(f"{what}: not within {seconds} s")

    @contextlib.contextmanager
    def logged(self, name):
        """Milliseconds that each of the statements of a name takes meanwhile, by the server's log."""
        times, log = [], pathlib.Path(f"{self.directory}.log")
        start = log.stat().st_size
        self.psql("postgres", "-c", "ALTER SYSTEM SET log_min_duration_statement = 0", "-c", "SELECT pg_reload_conf()")
        try:
            yield times
        finally:
            self.psql("postgres", "-c", "ALTER SYSTEM RESET log_min_duration_statement", "-c",
                      "SELECT pg_reload_conf()")
        with open(log, encoding="utf-8", errors="replace") as file:
            file.seek(start)
            found = re.findall(rf"duration: ([\d.]+) ms  execute [^:]*: -- {re.escape(name)}$", file.read(), re.M)
        times += [float(time) for time in found]

    def log_bytes(self, name, start, end):
        """The bytes of the write-ahead log between two places in it, by the table or index of a record, or its kind."""
        relations = dict(row.split() for row in self.psql(name, "-F", " ", "-c", """
            SELECT pg_relation_filenode(oid), relname FROM pg_class WHERE pg_relation_filenode(oid) IS NOT NULL
            """).splitlines())
        records = run([*self.drop, f"{bindir()}/pg_waldump", "-p", self.directory / "data/pg_wal", "-s", start, "-e",
                       end])
        written = {}
        for line in records.splitlines():
            kind, size = re.match(r"rmgr: (\w+) +len \(rec/tot\): +\d+/ *(\d+)", line).groups()
            relation = re.search(r"blkref #0: rel \d+/\d+/(\d+)", line)
            about = relations.get(relation[1], "other") if relation else kind
            written[about] = written.get(about, 0) + int(size)
        return written

    def cpu(self):
        """Processor seconds of the server so far."""
        return cpu_seconds(self.process.pid)

    def __enter__(self):
        self.directory.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            run(["chown", "postgres:", self.directory])
            self.drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        # The directory is 0700, so `trust` means this user and root.
        run([*self.drop, f"{bindir()}/initdb", "-D", self.directory / "data", "-U", "postgres", "-A", "trust", "-E",
             "UTF8", "--locale=C.UTF-8", "--no-instructions"], cwd="/")
        self.start()
        return self

    def start(self):
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        command = [f"{bindir()}/postgres", "-D", self.directory / "data", "-k", self.directory, *settings]
        with open(f"{self.directory}.log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([*self.drop, *command], cwd="/", stderr=log)
        self.wait_until_ready()

    def wait_until_ready(self):
        ready = [f"{bindir()}/pg_isready", "-q", "-U", "postgres", "-h", str(self.directory)]
        wait_until(lambda: subprocess.run(ready, check=False).returncode == 0, 60, "PostgreSQL", self.process)

    def stop(self, sign=signal.SIGINT):
        """SIGINT is PostgreSQL's fast shutdown."""
        stop(self.process, 60, sign)

    def __exit__(self, *_):
        self.stop()


def servers(stack, directory, workers=0, settings=None):
    """A server with an empty database `fetchd`; with workers of Citus, the first of them is their coordinator.

    They know each other by their sockets, and stop with the stack.
    """
    started = []
    for place in [pathlib.Path(directory), *(pathlib.Path(f"{directory}-worker-{n + 1}") for n in range(workers))]:
        sharded = {**SHARDED_SETTINGS, "citus.local_hostname": str(place)} if workers else {}
        server = stack.enter_context(Database(place, {**sharded, **(settings or {})}))
        server.psql("postgres", "-c", "CREATE DATABASE fetchd")
        if workers:
            server.psql("fetchd", "-c", "CREATE EXTENSION citus")
        started.append(server)
    if workers:
        calls = [f"citus_set_coordinator_host('{directory}', 5432)",
                 *(f"citus_add_node('{server.directory}', 5432)" for server in started[1:])]
        started[0].psql("fetchd", *(word for call in calls for word in ("-c", f"SELECT {call}")))
    return started
