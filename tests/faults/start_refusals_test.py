#!/usr/bin/python3
"""Starts nodes that must not run, and looks whether each says why in one sentence, ends, and touches nothing.

usage: start_refusals_test.py --programs DIR [--io uring|epoll]

Each case starts `tailrace up` with something wrong: the configuration, the port, the data directory or the rights to it.
- the exit status is not 0, `ready` is not said, and no process is left;
- on stderr, beside the log, there is one sentence of the program that refuses (and the supervisor's word that it stops);
- the data directory has the same files with the same bytes as before.
The last line is `N passed, N failed`.
"""
import argparse
import fcntl
import hashlib
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

LIMIT_S = 60
NOBODY = 65534
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+ ")


class Tally:
    passed = failed = 0

    def verdict(self, ok, what, more=""):
        self.passed, self.failed = (self.passed + 1, self.failed) if ok else (self.passed, self.failed + 1)
        print(f"{'ok' if ok else 'not ok'} - {what}{'' if ok else more}", flush=True)


tally = Tally()


def contents(directory):
    """Path to what is there; lock files are files whose bytes do not matter."""
    found = {}
    for folder, folders, files in os.walk(directory):
        for name in folders:
            found[os.path.join(folder, name)] = "a directory"
        for name in files:
            path = os.path.join(folder, name)
            if not name.endswith("lock"):
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def processes_of(directory):
    """Processes that were started for something in the directory."""
    found = []
    for word in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{word}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if int(word) != os.getpid() and directory.encode() in line and b"tailrace" in line:
            found.append(int(word))
    return found


class World:
    """A directory with the data of a node that has run."""

    def __init__(self, programs, io):
        self.programs, self.io = programs, io
        self.root = tempfile.mkdtemp(prefix="tailrace-refusals-")
        os.chmod(self.root, 0o755)
        self.data = os.path.join(self.root, "data")

    def command(self, *arguments, data=None, listen="127.0.0.1:0", run="run"):
        return [os.path.join(self.programs, "tailrace"), "up", *(["--data", data or self.data] if data != "" else []),
                "--run", os.path.join(self.root, run), *(["--listen", listen] if listen else []), *arguments]

    def environment(self, **more):
        return {**os.environ, "TAILRACE_IO": self.io, **more}

    def start(self, *arguments, **options):
        node = subprocess.Popen(self.command(*arguments, **options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, env=self.environment())
        with selectors.DefaultSelector() as selector:
            selector.register(node.stdout, selectors.EVENT_READ)
            line = node.stdout.readline() if selector.select(LIMIT_S) else ""
        if not line.startswith("ready "):
            node.kill()
            raise SystemExit(f"a sound node did not start: {line!r}")
        node.address = line.split()[1]
        return node

    def tailrace(self, *arguments, **options):
        subprocess.run([os.path.join(self.programs, "tailrace"), *arguments], check=True, timeout=LIMIT_S,
                       stdout=subprocess.DEVNULL, text=True, **options)

    def fill(self):
        """A topic with records, and a clean stop."""
        node = self.start()
        self.tailrace("topics", "create", "kept", "-b", node.address)
        self.tailrace("produce", "-t", "kept", "-b", node.address, input="one\ntwo\n")
        stop(node)

    def refused(self, what, words, *arguments, user=None, environment=None, same_data=True, **options):
        """A start that must fail and say all of `words`."""
        before = contents(self.data)
        running = set(processes_of(self.root))
        process = subprocess.Popen(self.command(*arguments, **options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment(**(environment or {})), user=user)
        try:
            output, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate()
            tally.verdict(False, f"{what}: ends", f": it still ran after {LIMIT_S} s")
        sentences = [line for line in errors.splitlines()
                     if not LOG_LINE.match(line) and not line.endswith("refused to start (see above); stopping")]
        told = f": exit status {process.returncode}, said {sentences}"
        tally.verdict(process.returncode > 0 and not output.startswith("ready"), f"{what}: is refused", told)
        tally.verdict(len(sentences) == 1 and all(word in sentences[0] for word in words),
                      f"{what}: says why in one sentence", f": {sentences}, wanted {words}\n{errors}")
        left = set(processes_of(self.root)) - running
        tally.verdict(not left, f"{what}: leaves no process", f": {left}")
        if same_data:
            after = contents(self.data)
            changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
            tally.verdict(not changed, f"{what}: touches nothing", f": {changed}")

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def stop(node):
    node.send_signal(signal.SIGTERM)
    status = node.wait(LIMIT_S)
    node.stdout.close()
    if status != 0:
        raise SystemExit(f"a sound node stopped with status {status}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def configuration(world):
    world.refused("an unknown key", ["log.segment.byte", "nearest is log.segment.bytes"], "--set", "log.segment.byte=1048576")
    world.refused("a key of topics", ["retention.ms", "log.retention.ms"], "--set", "retention.ms=1")
    file = os.path.join(world.root, "server.properties")
    write(file, "# a comment\nnum.partitions=3\n\nnum.partition=4\n")
    world.refused("an unknown key in the file", [f"{file}:4", "num.partition", "num.partitions"], "--config", file)
    write(file, "num.partitions=many\n")
    world.refused("a bad value", [f"{file}:1", "num.partitions", "many"], "--config", file)
    world.refused("a value out of bounds", ["num.partitions", "0"], "--set", "num.partitions=0")
    world.refused("a ZooKeeper cluster", ["zookeeper.connect"], "--set", "zookeeper.connect=localhost:2181")
    other = os.path.join(world.root, "other")
    world.refused("several log.dirs", ["log.dirs", "2 directories"], "--set", f"log.dirs={world.data},{other}")
    tally.verdict(not os.path.exists(other), "several log.dirs: makes none of them")
    world.refused("a configuration that is not there", ["/nowhere.properties", "No such file"], "--config", "/nowhere.properties")
    world.refused("a configuration that is a directory", ["directory"], "--config", world.root)
    world.refused("a nonsensical TAILRACE_IO", ["TAILRACE_IO", "uring or epoll"], environment={"TAILRACE_IO": "nonsense"})
    new = os.path.join(world.root, "new")
    world.refused("an unknown key with new data", ["no.such.key"], "--set", "no.such.key=1", data=new)
    tally.verdict(not os.path.exists(new) or not os.listdir(new), "an unknown key with new data: makes no file")


def listeners(world):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        world.refused("a port in use", [f"127.0.0.1:{port}", "in use"], listen=f"127.0.0.1:{port}", same_data=False)
    world.refused("an address that is not ours", ["192.0.2.1"], listen="192.0.2.1:0", same_data=False)
    world.refused("an address that is none", ["HOST:PORT", "nonsense"], listen="nonsense")


def running_node(world):
    node = world.start()
    world.refused("a node on the same run directory", ["already runs", str(node.pid)], same_data=False)
    world.refused("a node on the same data", [world.data, "running node"], run="other-run", same_data=False)
    world.tailrace("produce", "-t", "kept", "-b", node.address, input="three\n")
    tally.verdict(node.poll() is None, "the running node is not disturbed")
    stop(node)
    # Kafka locks the same file, in the same way.
    with open(os.path.join(world.data, ".lock"), "r+") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        world.refused("data that Kafka serves", [world.data, "locked by a running node"])


def damaged(world, what, words, path, change, undo, **options):
    change(path)
    world.refused(what, words, **options)
    undo(path)


def data_directory(world):
    properties = os.path.join(world.data, "meta.properties")
    sound = read(properties)
    restore = lambda path: write(path, sound)
    damaged(world, "another cluster's data", ["cluster"], properties,
            lambda path: write(path, re.sub(r"(?m)^cluster\.id=.*$", "cluster.id=AAAAAAAAAAAAAAAAAAAAAA", sound)), restore)
    world.refused("another node's data", ["node.id is 5", world.data, "node 0"], "--set", "node.id=5")
    damaged(world, "a meta.properties that is none", ["meta.properties"], properties, lambda path: write(path, "\0\1\2 nonsense"), restore)

    def replace_by_directory(path):
        os.rename(path, path + ".aside")
        os.mkdir(path)

    def put_back(path):
        os.rmdir(path)
        os.rename(path + ".aside", path)

    segment = os.path.join(world.data, "kept-0", "0" * 20 + ".log")
    # Found by the engine, when the controller has begun its epoch and other segments were looked at.
    damaged(world, "a segment that is a directory", [world.data], segment, replace_by_directory, put_back, same_data=False)
    damaged(world, "a meta.properties that is a directory", ["meta.properties"], properties, replace_by_directory, put_back)
    damaged(world, "a journal that is a directory", ["tailrace.metadata.journal"],
            os.path.join(world.data, "tailrace.metadata.journal"), replace_by_directory, put_back)
    copy = os.path.join(world.data, "copied-0")
    shutil.copytree(os.path.join(world.data, "kept-0"), copy)
    # The engine is the second to start: the controller has begun its epoch.
    before = contents(world.data)
    world.refused("a partition that was copied by hand", [copy, os.path.join(world.data, "kept-0"), "same topic"],
                  same_data=False)
    after = contents(world.data)
    tally.verdict(all(after.get(path) == before[path] for path in before if "tailrace." not in path),
                  "a partition that was copied by hand: touches no partition")
    shutil.rmtree(copy)
    journal = os.path.join(world.data, "tailrace.metadata.journal")
    with open(journal, "rb") as file:
        bytes_before = file.read()
    with open(journal, "wb") as file:
        file.write(b"nonsense" * 100)
    world.refused("a journal that is none", ["tailrace.metadata.journal"])
    with open(journal, "wb") as file:
        file.write(bytes_before)

    plain = os.path.join(world.root, "plain")
    write(plain, "a file")
    world.refused("data that is a file", [plain], data=plain)
    world.refused("data below a file", [plain], data=os.path.join(plain, "data"))


def rights(world):
    if os.geteuid() != 0:
        print("# rights are not looked at: only root can give them up")
        return
    home = os.path.join(world.root, "home")
    os.mkdir(home)
    os.chown(home, NOBODY, NOBODY)
    # Where others can run them: the tree may lie in a home that they cannot enter.
    programs = os.path.join(world.root, "programs")
    shutil.copytree(world.programs, programs, ignore=lambda folder, names: [
        name for name in names if not os.path.isfile(os.path.join(folder, name)) or not name.startswith("tailrace")])
    world.programs = programs
    os.chmod(world.data, 0o700)
    world.refused("data of another user", [world.data, "Permission denied"], user=NOBODY, run="home/run")
    os.chmod(world.data, 0o755)
    world.refused("data that may only be read", [world.data, "Permission denied"], user=NOBODY, run="home/run")
    world.refused("a place where no data may be made", ["/nobodys-data", "Permission denied"], user=NOBODY, run="home/run",
                  data="/nobodys-data")
    world.refused("a run directory of another user", [world.root, "belongs to another user"], user=NOBODY)
    world.refused("a run directory that is a file", ["plain", "not a directory"], run="plain")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="directory with tailrace and its services")
    parser.add_argument("--io", default="uring", help="uring or epoll")
    options = parser.parse_args()
    world = World(os.path.abspath(options.programs), options.io)
    try:
        world.fill()
        for part in (configuration, listeners, running_node, data_directory, rights):
            part(world)
        # After all that the data is sound.
        node = world.start()
        read_back = subprocess.run([os.path.join(options.programs, "tailrace"), "consume", "-t", "kept", "-b", node.address,
                                    "--from", "earliest", "--exit-at-end"], stdout=subprocess.PIPE, text=True, timeout=LIMIT_S)
        tally.verdict(read_back.stdout.split() == ["one", "two", "three"], "the records are there", f": {read_back.stdout!r}")
        stop(node)
    finally:
        world.remove()
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


sys.exit(main())
