"""The benchmarks' origin: nginx on loopback with one worker, serving from a directory of its own."""
import os
import pathlib
import random
import subprocess

from processes import ROOT, free_ports, is_listening, program, run, stop, wait_until


class Origin:
    """Serves /1k, /cached/1k, /private/1k (to the user bench), /big.bin, /json, /go (to /1k) and /ask, over TLS too.

    And by a server of its own /slow (1 KB/s) and /crawl (1 B/s). What is not over TLS is at several addresses too.
    """

    addresses = tuple(f"127.0.1.{number}" for number in range(1, 21))

    def __init__(self, directory, big_bytes):
        self.directory = pathlib.Path(directory)
        self.big_bytes = big_bytes
        self.port, self.slow_port, self.tls_port = free_ports(3)
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def tls_url(self):
        return f"https://localhost:{self.tls_port}"

    @property
    def certificate(self):
        """Who trusts it trusts the origin."""
        return self.directory / "origin.crt"

    @property
    def slow_url(self):
        return f"http://127.0.0.1:{self.slow_port}/slow"

    @property
    def crawl_urls(self):
        """Those of several origins: a node takes so many jobs of one at most."""
        return [f"http://{address}:{self.slow_port}/crawl" for address in self.addresses[:16]]

    @property
    def small_urls(self):
        """1 KB of several origins, so that no job waits for a connection to its own."""
        return [f"http://{address}:{self.port}/1k" for address in self.addresses]

    def __enter__(self):
        www = self.directory / "www"
        for folder in (www, self.directory / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        generator = random.Random(1)
        (www / "1k").write_bytes(bytes(generator.choices(b"abcdefghijklmnopqrstuvwxyz", k=1024)))
        block = generator.randbytes(1 << 20)
        (www / "1m").write_bytes(block)
        with open(www / "big.bin", "wb") as big:
            for _ in range(self.big_bytes >> 20):
                big.write(block)
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
             "-keyout", self.directory / "origin.key", "-out", self.certificate])
        (self.directory / "users").write_text("bench:{PLAIN}bench\n")
        # Where PUT leaves what it gets.
        put = self.directory / "put"
        put.mkdir()
        put.chmod(0o777)
        template = (ROOT / "Benchmarks/origin.nginx.conf").read_text()
        user = "user www-data;" if os.geteuid() == 0 else ""
        for word, value in {"@USER@": user, "@DIRECTORY@": str(self.directory),
                            "@LISTENS@": "\n".join(f"    listen {address}:@PORT@;" for address in self.addresses),
                            "@PORT@": str(self.port),
                            "@CRAWL_LISTENS@": "\n".join(f"    listen {address}:@SLOW_PORT@ backlog=4096;"
                                                         for address in self.addresses),
                            "@SLOW_PORT@": str(self.slow_port), "@TLS_PORT@": str(self.tls_port)}.items():
            template = template.replace(word, value)
        configuration = self.directory / "nginx.conf"
        configuration.write_text(template)
        self.process = subprocess.Popen([program("nginx", "/usr/sbin"), "-c", configuration,
                                         "-e", self.directory / "error.log", "-g", "daemon off;"])
        wait_until(lambda: is_listening(self.port), 10, "nginx", self.process)
        return self

    def __exit__(self, *_):
        stop(self.process)
