"""A worker in Python, with nothing but the standard library.

    python3 examples/worker.py http://127.0.0.1:8700

It serves the lane `python` until it is interrupted. ONWARD_API_KEY holds its key when the server requires one.
"""

import json
import os
import sys
import threading
import urllib.error
import urllib.request

LEASE_SECONDS = 30


class Server:
    """Calls of one server."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.headers = {"content-type": "application/json"}
        if "ONWARD_API_KEY" in os.environ:
            self.headers["authorization"] = "Bearer " + os.environ["ONWARD_API_KEY"]

    def post(self, path, body):
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self.headers, method="POST")
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
        except OSError as error:
            print("not renewed:", error, file=sys.stderr)


def run(server, work):
    """Runs one execution and reports how it ended."""
    over = threading.Event()
    threading.Thread(target=keep, args=(server, work["lease"], over), daemon=True).start()
    try:
        handler = HANDLERS.get(work["kind"])
        if handler is None:
            path, report = "/v1/work/unclaim", {}
        else:
            path, report = "/v1/work/complete", {"result": handler(work.get("input"))}
    except Exception as error:
        path, report = "/v1/work/fail", {"message": repr(error)}
    finally:
        over.set()
    try:
        server.post(path, {"lease": work["lease"], **report})
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        print("the report was refused:", problem["code"], problem["hint"], file=sys.stderr)


def main(url):
    server = Server(url)
    claim = {"worker": f"python-{os.getpid()}", "lanes": ["python"], "lease": f"{LEASE_SECONDS}s", "wait": "30s"}
    print("ready", flush=True)
    while True:
        try:
            for work in server.post("/v1/work/claim", claim)["executions"]:
                run(server, work)
        except OSError as error:
            # The server is away or stopping; it comes back, or another one does.
            print("trying again:", error, file=sys.stderr)
            threading.Event().wait(1)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8700")
    except KeyboardInterrupt:
        pass
