"""Clients that change their minds: control requests at random moments, beside what is broken meanwhile."""
import collections
import json
import random
import threading
import time

PATCH = {"Content-Type": "application/merge-patch+json"}


class Storm:
    """What leaves a job what it is (priority, suspending, a pause of its host) happens to the jobs of a trial.

    What does not (cancelling, deleting, retrying, the limits of flows and hosts, the ends of sessions and groups)
    happens to jobs of another tenant, some of which fail and are tried again. No request may be answered with an error
    of the service's own (500), whatever it meets.
    """

    THREADS = 8
    JOBS = 10
    FLOWS = 5

    def __init__(self, place, accepted, seed):
        self.host = "/v1/hosts/" + place.origin.url.removeprefix("http://")
        self.place, self.accepted, self.seed = place, accepted, seed
        self.key = place.services[0].create_key("--tenant", "storm")
        self.is_over = threading.Event()
        self.jobs = collections.deque(maxlen=400)
        self.answers = collections.Counter()
        self.faults = []
        self.threads = [threading.Thread(target=self.rage, args=(number,), daemon=True)
                        for number in range(self.THREADS)]

    def start(self):
        self.endpoint = self.made(self.place.key_call(self.key, "POST", "/v1/webhooks/endpoints",
                                                      {"url": f"{self.place.origin.url}/webhook/storm"}))
        for thread in self.threads:
            thread.start()

    @staticmethod
    def made(answer):
        return json.loads(answer[2])["id"]

    def call(self, key, *request, **more):
        """One request to any node; nobody answers while it is down."""
        try:
            service = random.choice(self.place.services)
            status, _, body = service.call(*request[:2], key, *request[2:], timeout=20, **more)
        except (OSError, ValueError):
            status, body = 0, b""
        self.answers[status] += 1
        if status >= 500 and status not in (503, 507):
            self.faults.append(f"{request[0]} {request[1]} was answered {status}: {body.decode()[:300]}")
        if status in (0, 503):
            time.sleep(0.1)
        return status, body

    def rage(self, number):
        chance = random.Random(f"{self.seed}-{number}")
        acts = [self.change_calm, self.change_calm, self.suspend_calm, self.act, self.act, self.act, self.act_on_all,
                self.limit, self.submit]
        while not self.is_over.is_set():
            chance.choice(acts)(chance)
            if chance.random() < 0.01:
                self.pause_host(chance)

    # What happens to the jobs of the trial.

    def calm(self, chance):
        """One that was accepted lately, as a rule: it may be about to begin, or to end."""
        accepted = list(self.accepted)
        return chance.choice(accepted[-100:] if chance.random() < 0.8 else accepted) if accepted else None

    def change_calm(self, chance):
        if job := self.calm(chance):
            self.call(self.place.key, "PATCH", f"/v1/jobs/{job}", self.priority(chance), headers=PATCH)

    def suspend_calm(self, chance):
        if job := self.calm(chance):
            self.call(self.place.key, "POST", f"/v1/jobs/{job}/suspend")
            self.call(self.place.key, "POST", f"/v1/jobs/{job}/resume")

    @staticmethod
    def priority(chance):
        return json.dumps({"priority": round(chance.random(), 2)}).encode()

    def pause_host(self, chance):
        key = chance.choice([self.place.key, self.key])
        self.call(key, "POST", self.host + "/pause")
        time.sleep(0.05)
        self.call(key, "POST", self.host + "/resume")

    # What happens to the others.

    def submit(self, chance):
        more = {}
        _, session = self.call(self.key, "POST", "/v1/sessions", {"kind": "default"})
        _, group = self.call(self.key, "POST", "/v1/groups", {"webhook": {"endpoint": self.endpoint}})
        for name, made in (("session", session), ("group", group)):
            if b'"id"' in made and chance.random() < 0.7:
                more[name] = json.loads(made)["id"]
        # Tried again at once, three times: it goes back to the queue while others act on it.
        again = {"retry": {"statuses": [500], "maximumAttempts": 4, "backoff": {"initial": 0.01, "factor": 1}}}
        specs = [{"request": {"url": self.place.origin.url + chance.choice(["/storm", "/storm/fails"]),
                              "method": chance.choice(["GET", "POST"])},
                  "configuration": again, "webhook": {"endpoint": self.endpoint}, **more} for _ in range(self.JOBS)]
        if chance.random() < 0.5:
            for spec in specs:
                spec["flow"] = {"key": str(chance.randrange(self.FLOWS))}
        lines = "".join(json.dumps(spec) + "\n" for spec in specs).encode()
        status, body = self.call(self.key, "POST", "/v1/jobs/batch", lines,
                                 headers={"Content-Type": "application/x-ndjson"})
        if status == 200:
            self.jobs.extend(result["id"] for line in body.splitlines() if "id" in (result := json.loads(line)))
        for _ in range(10):
            self.act(chance)
        if group := more.get("group"):
            self.call(self.key, "POST", f"/v1/groups/{group}/close")
        if session := more.get("session"):
            mode = chance.choice(["finish", "cancel"])
            self.call(self.key, "POST", f"/v1/sessions/{session}/invalidate?mode={mode}")

    def act(self, chance):
        if not self.jobs:
            return
        path = f"/v1/jobs/{chance.choice(list(self.jobs))}"
        what = chance.choice(["cancel", "cancel", "suspend", "resume", "retry", "delete", "change"])
        if what == "delete":
            self.call(self.key, "DELETE", path)
        elif what == "change":
            self.call(self.key, "PATCH", path, self.priority(chance), headers=PATCH)
        else:
            self.call(self.key, "POST", f"{path}/{what}")

    def act_on_all(self, chance):
        """The same to all jobs of a filter at once."""
        action = chance.choice(["cancel", "suspend", "resume", "resume", "retry", "delete"])
        state = chance.choice({"delete": ["succeeded", "failed", "cancelled"], "retry": ["failed", "cancelled"],
                               "resume": ["suspended"]}.get(action, ["queued", "running", "scheduled"]))
        self.call(self.key, "POST", "/v1/jobs/actions", {"action": action, "filter": {"state": state}, "limit": 100})

    def limit(self, chance):
        """What a flow or the host lets through becomes less or more, or nothing for a moment."""
        place = chance.choice([self.host, f"/v1/flows/{chance.randrange(self.FLOWS)}"])
        what = chance.choice(["set", "set", "remove", "pause", "drain", "skip"])
        if what == "set":
            limits = {"parallelism": chance.randrange(1, 20)}
            if place != self.host and chance.random() < 0.5:
                limits |= {"order": "fifo", "onFailure": chance.choice(["block", "skip"])}
            self.call(self.key, "PUT", place, limits)
        elif what == "remove":
            self.call(self.key, "DELETE", place)
        else:
            self.call(self.key, "POST", f"{place}/{what}", {})
            self.call(self.key, "POST", f"{place}/resume")

    # The end.

    def end(self):
        """Lets all go on that was held, and says what was answered how often."""
        self.is_over.set()
        for thread in self.threads:
            thread.join(60)
        for number in range(self.FLOWS):
            self.insist(self.key, "DELETE", f"/v1/flows/{number}")
        for key in (self.place.key, self.key):
            self.insist(key, "POST", self.host + "/resume")
            self.insist(key, "POST", "/v1/jobs/actions", {"action": "resume", "filter": {"state": "suspended"}})
        return ", ".join(f"{count} × {status or 'nothing'}" for status, count in sorted(self.answers.items()))

    def insist(self, key, *request):
        for _ in range(50):
            if self.call(key, *request)[0] in (200, 204, 404):
                return
