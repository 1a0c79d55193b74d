#!/usr/bin/python3
"""Runs real Kafka clients against a real node and says what they found.

usage: run.py (--programs DIR | --bootstrap HOST:PORT) CHECK...

A check is a program beside this file that gets the bootstrap address as its argument, prints `ok - WHAT` or
`not ok - WHAT` lines, and exits with 0, or with 77 when the toolchain that it needs is not there (its last line says
which). With --programs, each check gets a node of its own, which must stop cleanly; then Kafka's DumpLogSegments reads
the data directory. With --bootstrap, the checks run against a broker that is there already, such as Apache Kafka.
The last line is `N passed, N failed`.
"""
import argparse
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
READY_S = 60
STOP_S = 60
SKIPPED = 77

# name: command, time limit in seconds (most of it for tools that are fetched at the first run)
CHECKS = {
    "kcat": (["bash", "kcat_check.sh"], 120),
    "tools": (["bash", "tools_check.sh"], 240),
    "admin": (["bash", "admin_check.sh"], 300),
    "confluent": (["/usr/bin/python3", "confluent_check.py"], 120),
    "kafka_python": (["/usr/bin/python3", "kafka_python_check.py"], 120),
    "java44": (["bash", "java_check.sh", "4.4.0"], 420),
    "java39": (["bash", "java_check.sh", "3.9.1"], 420),
    "kafkajs": (["bash", "kafkajs_check.sh"], 240),
    "franz": (["bash", "go_check.sh", "franz"], 420),
    "sarama": (["bash", "go_check.sh", "sarama"], 420),
    "groups_admin": (["bash", "groups_admin_check.sh"], 540),
    "groups_offsets": (["/usr/bin/python3", "groups_offsets_check.py"], 120),
    "groups_tools44": (["bash", "groups_tools_check.sh", "4.4.0"], 420),
    "groups_tools39": (["bash", "groups_tools_check.sh", "3.9.1"], 420),
    **{f"groups_{flavour}": (["/usr/bin/python3", "groups_check.py", flavour], 540) for flavour in (
        "java44_range", "java44_cooperative", "java44_consumer", "java44_consumer_range", "java39_sticky",
        "confluent_range", "confluent_roundrobin", "confluent_cooperative", "kafka_python", "kafkajs",
        "franz_cooperative", "franz_consumer", "sarama", "mixed_range", "mixed_roundrobin", "mixed_protocols")},
}
# Groups that need not wait: for members when they are new, and long for members that have been killed.
SETTINGS = ["group.initial.rebalance.delay.ms=0", "group.consumer.min.session.timeout.ms=6000",
            "group.consumer.session.timeout.ms=6000", "group.consumer.min.heartbeat.interval.ms=1000",
            "group.consumer.heartbeat.interval.ms=1000"]


class Node:
    """One `tailrace up` on a data directory and port of its own."""

    def __init__(self, programs, directory):
        self.data = os.path.join(directory, "data")
        self.process = subprocess.Popen(
            [os.path.join(programs, "tailrace"), "up", "--data", self.data, "--listen", "127.0.0.1:0",
             *(word for setting in SETTINGS for word in ("--set", setting))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.address = self.wait_until_ready()

    def wait_until_ready(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(READY_S):
                self.process.kill()
                raise SystemExit(f"the node was not ready in {READY_S} s")
        line = self.process.stdout.readline().decode().strip()
        if not line.startswith("ready "):
            raise SystemExit(f"the node said {line!r} instead of ready (exit status {self.process.wait()})")
        return line.removeprefix("ready ")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Tally:
    def __init__(self):
        self.passed = self.failed = 0
        self.skipped = []

    def add(self, ok, what):
        self.passed, self.failed = (self.passed + 1, self.failed) if ok else (self.passed, self.failed + 1)
        print(f"{'ok' if ok else 'not ok'} - {what}", flush=True)


def run_program(tally, name, command, limit, environment=None):
    """Runs one check in its own process group, so that nothing of it outlives its time."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                               env={**os.environ, **(environment or {})})
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"not ok - {name} took longer than {limit} s\n"
    lines = output.splitlines()
    passed = sum(line.startswith("ok - ") for line in lines)
    failed = sum(line.startswith("not ok - ") for line in lines)
    print(output, end="", flush=True)
    tally.passed += passed
    tally.failed += failed
    if process.returncode == SKIPPED:
        tally.skipped.append(name)
    elif failed == 0:
        tally.add(process.returncode == 0 and passed > 0, f"{name} ended well ({time.monotonic() - start:.1f} s)")


def run_with_node(tally, name, programs):
    command, limit = CHECKS[name]
    directory = tempfile.mkdtemp(prefix="tailrace-clients-")
    try:
        node = Node(programs, directory)
        try:
            run_program(tally, name, [*command, node.address], limit,
                        {"TAILRACE": os.path.join(programs, "tailrace"), "TAILRACE_DATA": node.data})
        finally:
            status = node.stop()
        tally.add(status == 0, f"the node stopped cleanly after {name} (exit status {status})")
        run_program(tally, "dump", ["bash", "dump_check.sh", node.data], 300)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--programs", help="directory with tailrace and its services")
    where.add_argument("--bootstrap", help="HOST:PORT of a broker that runs already")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"of {', '.join(CHECKS)}; all when none is named")
    options = parser.parse_args()
    if options.programs:
        options.programs = os.path.abspath(options.programs)
    tally = Tally()
    names = options.checks or list(CHECKS)
    for name in names:
        if name not in CHECKS:
            parser.error(f"no check is named {name}")
    for name in names:
        print(f"# {name}", flush=True)
        if options.bootstrap:
            command, limit = CHECKS[name]
            run_program(tally, name, [*command, options.bootstrap], limit)
        else:
            run_with_node(tally, name, options.programs)
    print(f"{tally.passed} passed, {tally.failed} failed" + (f", skipped: {' '.join(tally.skipped)}" if tally.skipped else ""))
    if tally.failed:
        return 1
    return SKIPPED if tally.skipped and len(tally.skipped) == len(names) else 0


sys.exit(main())
