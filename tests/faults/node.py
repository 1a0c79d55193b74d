"""A node of four processes under a supervisor, to be killed and started again, and how a test says what it found."""
import os
import selectors
import signal
import subprocess
import time

SERVICES = ("zkbridge", "engine", "groupcoord", "broker")
LIMIT_S = 60


class Tally:
    passed = failed = 0

    def verdict(self, ok, what):
        self.passed, self.failed = (self.passed + 1, self.failed) if ok else (self.passed, self.failed + 1)
        print(f"{'ok' if ok else 'not ok'} - {what}", flush=True)
        return ok


tally = Tally()


def alive(process):
    """A zombie is dead."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(") ", 1)[1][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, limit=LIMIT_S):
    """The condition's value once it is true, or None when it did not become so."""
    give_up = time.monotonic() + limit
    while time.monotonic() < give_up:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    return None


class Node:
    """`tailrace up` on a data directory; started again on the same port after its death."""

    def __init__(self, programs, data, io, *arguments):
        self.programs, self.data, self.io, self.arguments = programs, data, io, arguments
        self.address = "127.0.0.1:0"
        self.up = None

    def start(self):
        self.up = subprocess.Popen(
            [os.path.join(self.programs, "tailrace"), "up", "--data", self.data, "--listen", self.address,
             *self.arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**os.environ, "TAILRACE_IO": self.io})
        with selectors.DefaultSelector() as selector:
            selector.register(self.up.stdout, selectors.EVENT_READ)
            line = self.up.stdout.readline().decode().strip() if selector.select(LIMIT_S) else "nothing"
        if not line.startswith("ready "):
            self.up.kill()
            raise SystemExit(f"the node said {line!r} instead of ready")
        self.address = line.removeprefix("ready ")

    def processes(self):
        """Name to process id of the services that live now, by their executables."""
        found = {}
        for word in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{word}/stat") as stat:
                    state, parent = stat.read().rsplit(") ", 1)[1].split()[:2]
                if int(parent) != self.up.pid or state == "Z":
                    continue
                name = os.path.basename(os.readlink(f"/proc/{word}/exe"))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if name.startswith("tailrace-"):
                found[name.removeprefix("tailrace-")] = int(word)
        return found

    def all_processes(self):
        found = self.processes()
        return found if set(found) == set(SERVICES) else None

    def kill(self, victim):
        """SIGKILL to one service, or to the supervisor and all services; waits for the death. Returns what must stay."""
        before = wait_until(self.all_processes)
        if before is None:
            raise SystemExit(f"not all services run: {self.processes()}")
        if victim != "all":
            os.kill(before[victim], signal.SIGKILL)
            wait_until(lambda: not alive(before[victim]))
            return {name: process for name, process in before.items() if name != victim}
        for process in (self.up.pid, *before.values()):
            os.kill(process, signal.SIGKILL)
        self.up.wait()
        wait_until(lambda: not any(alive(process) for process in before.values()))
        return {}

    def stop(self):
        self.up.send_signal(signal.SIGTERM)
        try:
            return self.up.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.up.kill()
            return self.up.wait()
