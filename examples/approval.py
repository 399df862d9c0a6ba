"""A worker in Python that waits for people and callbacks without holding anything, with nothing but the standard library.

    python3 examples/approval.py http://127.0.0.1:8700

It serves the kind `publish` of the lane `python` until it is interrupted: an editor approves, then the printer confirms.

    onward --server http://127.0.0.1:8700 submit publish --lane python --input '"Spring issue"'
    onward --server http://127.0.0.1:8700 signal x-… approval --name approved
    onward --server http://127.0.0.1:8700 signal x-… printed --payload '{"copies": 500}'

A handler that waits is run again from its beginning when what it waits for has come, and a wait that is over is answered at
once. So nothing that must not happen twice stands before a wait.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from http.client import HTTPException


class Server:
    """Calls of one server."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.headers = {"content-type": "application/json"}
        if "ONWARD_API_KEY" in os.environ:
            self.headers["authorization"] = "Bearer " + os.environ["ONWARD_API_KEY"]

    def post(self, path, body):
        """Calls until somebody answers; the same key makes a repeat harmless."""
        headers = dict(self.headers)
        if path != "/v1/work/claim":
            headers["idempotency-key"] = uuid.uuid4().hex
        while True:
            request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=90) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
            except (OSError, HTTPException) as error:
                print("trying again:", error, file=sys.stderr)
            time.sleep(1)


class Suspended(Exception):
    """The handler can only wait; its condition says for what."""

    def __init__(self, condition):
        super().__init__("suspended")
        self.condition = condition


class Waits:
    """The waits of one run of a handler, told apart by their names and their order."""

    def __init__(self, over):
        self.over = over
        self.counts = {}

    def wait_for(self, name, **more):
        """The signal for the next wait for a name, or None when its time was over."""
        self.counts[name] = self.counts.get(name, 0) + 1
        wait = f"{name}#{self.counts[name]}"
        if wait not in self.over:
            raise Suspended({"type": "wait", "wait": wait, **more})
        signals = self.over[wait]["signals"]
        return signals[0] if signals else None


def publish(waits, title):
    approval = waits.wait_for("approval", names=["approved", "rejected"], timeout="7d")
    if approval is None or approval["name"] == "rejected":
        return f"{title} is not published"
    printed = waits.wait_for("printed")
    if printed is None:
        return f"{title}: an operator goes on without the printer"
    return f"{title}: {printed['payload']['copies']} copies"


HANDLERS = {"publish": publish}


def ended(woken):
    """The waits that are over, by their names."""
    return {wait["wait"]: wait for wait in (woken or {}).get("waits", [])}


def run(server, work):
    over = ended(work.get("woke"))
    while True:
        try:
            result = HANDLERS[work["kind"]](Waits(over), work.get("input"))
            server.post("/v1/work/complete", {"lease": work["lease"], "result": result})
        except Suspended as suspended:
            answer = server.post("/v1/work/suspend", {"lease": work["lease"], "condition": suspended.condition})
            if "met" in answer:
                # All had come already, now or in an earlier attempt: the lease is kept, and the handler runs again.
                over.update(ended(answer["met"]))
                continue
        return


def main(url):
    server = Server(url)
    claim = {"worker": f"python-{os.getpid()}", "lanes": ["python"], "kinds": list(HANDLERS), "wait": "30s"}
    print("ready", flush=True)
    while True:
        for work in server.post("/v1/work/claim", claim)["executions"]:
            try:
                run(server, work)
            except urllib.error.HTTPError as error:
                print("abandoned:", error.read().decode(errors="replace"), file=sys.stderr)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8700")
    except KeyboardInterrupt:
        pass
