"""A worker in Python, with nothing but the standard library.

    python3 examples/worker.py http://127.0.0.1:8700

It serves the lane `python` until it is interrupted. ONWARD_API_KEY holds its key when the server requires one.
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from http.client import HTTPException

LEASE_SECONDS = 30


class Server:
    """Calls of one server."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.headers = {"content-type": "application/json"}
        if "ONWARD_API_KEY" in os.environ:
            self.headers["authorization"] = "Bearer " + os.environ["ONWARD_API_KEY"]

    def post(self, path, body, more=None):
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {**self.headers, **(more or {})}, method="POST")
        with urllib.request.urlopen(request, timeout=90) as answer:
            return json.load(answer)


def greet(name):
    return "hello " + name


def divide(numbers):
    return numbers[0] / numbers[1]


HANDLERS = {"greet": greet, "divide": divide}


def keep(server, lease, over):
    """Renews a lease at half its time until the handler is done."""
    while not over.wait(LEASE_SECONDS / 2):
        try:
            server.post("/v1/work/renew", {"leases": [lease], "lease": f"{LEASE_SECONDS}s"})
        except (OSError, HTTPException) as error:
            print("not renewed:", error, file=sys.stderr)


def attempt(work):
    """Runs one execution; answers how it ended, as a route and what to say there."""
    try:
        result = HANDLERS[work["kind"]](work.get("input"))
        json.dumps(result)
        return "/v1/work/complete", {"result": result}
    except Exception as error:
        return "/v1/work/fail", {"message": repr(error)}


def report(server, path, body):
    """Reports an end until somebody hears it; the same key makes a repeat harmless."""
    key = uuid.uuid4().hex
    while True:
        try:
            return server.post(path, body, {"idempotency-key": key})
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                print("the report was refused:", error.read().decode(errors="replace"), file=sys.stderr)
                return None
        except (OSError, HTTPException) as error:
            print("not reported yet:", error, file=sys.stderr)
        time.sleep(1)


def run(server, work):
    over = threading.Event()
    threading.Thread(target=keep, args=(server, work["lease"], over), daemon=True).start()
    try:
        path, said = attempt(work)
        report(server, path, {"lease": work["lease"], **said})
    finally:
        over.set()


def main(url):
    server = Server(url)
    claim = {
        "worker": f"python-{os.getpid()}",
        "lanes": ["python"],
        "kinds": list(HANDLERS),
        "lease": f"{LEASE_SECONDS}s",
        "wait": "30s",
    }
    print("ready", flush=True)
    while True:
        try:
            for work in server.post("/v1/work/claim", claim)["executions"]:
                run(server, work)
        except (OSError, HTTPException) as error:
            # The server is away or stopping; it comes back, or another one does.
            print("trying again:", error, file=sys.stderr)
            time.sleep(1)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8700")
    except KeyboardInterrupt:
        pass
