#!/usr/bin/python3
"""Lets many clients do as they like with a node for a long time and looks whether it grows or loses anything.

usage: soak.py --programs DIR [--minutes N] [--io uring,epoll] [--seed N]

Rounds of two parts take turns. In the first, clients of all kinds come and go while topics are made, changed and deleted:
memory and descriptors of each process, measured at rest after a warm-up and again at the end of the part, must be what
they were. In the second, each process is killed once under the same load. Throughout, records that were acknowledged in
a topic that keeps them are read back at random. The last line is `N passed, N failed`.
"""
import argparse
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from node import LIMIT_S, SERVICES, Node, tally, wait_until

KEPT = "soak-kept"
KEPT_PARTITIONS = 3
WARM_UP_S = 40
REST_S = 4
# At rest a process may have so much more than before: a heap does not give back every page.
GROWTH_MIB = 4
GROWTH_DESCRIPTORS = 20  # of connections that are being closed; segment files that are there do not count


def quiet_client(address, **more):
    return {"bootstrap.servers": address, "log_level": 0, "socket.timeout.ms": 10000, "reconnect.backoff.max.ms": 500, **more}


class Actor(threading.Thread):
    """Something that a client does over and over, until it is told to rest or to end."""

    def __init__(self, soak):
        super().__init__(daemon=True)
        self.soak, self.random, self.done = soak, random.Random(soak.random.random()), False
        self.start()

    def run(self):
        while not self.done:
            if self.soak.resting.is_set():
                time.sleep(0.1)
                continue
            try:
                self.act()
            except Exception as error:  # a client that ends in silence would load nothing
                self.soak.broken.append(f"{type(self).__name__}: {error!r}")
                time.sleep(1)

    def act(self):
        raise NotImplementedError


class Writer(Actor):
    """Produces to one topic, with a new producer now and then; what is acknowledged of the kept topic is remembered."""

    def act(self):
        generator = self.random
        topic = generator.choice([KEPT, generator.choice(self.soak.topics)])
        codec = generator.choice(["none", "gzip", "snappy", "lz4", "zstd"])
        producer = Producer(quiet_client(self.soak.node.address, **{
            "enable.idempotence": generator.random() < 0.5, "compression.type": codec, "linger.ms": generator.choice([0, 1, 20]),
            "message.timeout.ms": 60000}))
        end = time.monotonic() + generator.uniform(0.5, 10)
        while time.monotonic() < end and not self.soak.resting.is_set():
            try:
                producer.produce(topic, os.urandom(8) * generator.randrange(1, 150), key=str(generator.random()),
                                 on_delivery=self.soak.on_delivery if topic == KEPT else None)
            except (BufferError, KafkaException):
                pass
            producer.poll(0.002)
        producer.flush(LIMIT_S)


class Reader(Actor):
    """Reads something from somewhere with kcat, and compares what it knows."""

    def act(self):
        generator = self.random
        known = self.soak.some_acknowledged(generator)
        if not known or generator.random() < 0.3:
            topic, offset = generator.choice(self.soak.topics), generator.choice(["beginning", "end", "-100"])
            self.read(generator.uniform(0.5, 3), topic, 0, offset, generator.choice([10, 1000]))
            return
        (partition, offset), value = known
        self.soak.compare(partition, offset, value, *self.read(LIMIT_S, KEPT, partition, offset, 1))

    def read(self, limit, topic, partition, offset, count):
        """What it prints, and why it gave up, if it did."""
        command = ["kcat", "-b", self.soak.node.address, "-C", "-q", "-D", "", "-t", topic, "-p", str(partition), "-o", str(offset),
                   "-c", str(count), "-X", f"fetch.wait.max.ms={self.random.choice([10, 500])}", "-X",
                   f"max.partition.fetch.bytes={self.random.choice([1000, 1 << 20])}"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
            return done.stdout, done.stderr.decode(errors="replace") if done.returncode else ""
        except subprocess.TimeoutExpired:
            return b"", f"it took more than {limit} s"


class Stranger(Actor):
    """Connects and speaks little sense: silence, half a frame, garbage, many connections at once."""

    def act(self):
        generator = self.random
        host, port = self.soak.node.address.rsplit(":", 1)
        sockets = []
        try:
            for _ in range(generator.choice([1, 1, 5, 50])):
                sockets.append(socket.create_connection((host, int(port)), 5))
            for each in sockets:
                request = struct.pack(">hhih", generator.randrange(0, 80), generator.randrange(0, 14), 1, -1) + os.urandom(20)
                each.sendall(generator.choice([b"", os.urandom(30), struct.pack(">i", len(request)) + request,
                                               struct.pack(">i", 100000) + b"the beginning"]))
            time.sleep(generator.uniform(0, 1))
        except OSError:
            time.sleep(0.05)
        for each in sockets:
            each.close()


class Administrator(Actor):
    """Makes, changes, describes and deletes topics, and settings of the broker."""

    def act(self):
        generator = self.random
        admin = self.soak.admin
        name = generator.choice(self.soak.topics)
        settings = {"retention.ms": str(generator.choice([1000, 20000])), "segment.ms": str(generator.choice([1000, 60000])),
                    "compression.type": generator.choice(["producer", "lz4", "gzip"]),
                    "max.message.bytes": str(generator.choice([600, 100000]))}
        futures = {}
        choice = generator.randrange(6)
        if choice == 0:
            futures = admin.delete_topics([name], operation_timeout=10)
        elif choice == 1:
            futures = admin.create_topics([NewTopic(n, generator.randrange(1, 5), 1, config=settings) for n in self.soak.topics])
        elif choice == 2:
            futures = admin.create_partitions([NewPartitions(name, generator.randrange(1, 9))])
        elif choice == 3:
            futures = admin.alter_configs([ConfigResource(ConfigResource.Type.TOPIC, name, set_config=settings)])
        elif choice == 4:
            futures = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name), ConfigResource(ConfigResource.Type.BROKER, "0")])
        else:
            of_the_broker = {"log.retention.ms": str(generator.choice([5000, 600000]))}
            futures = admin.alter_configs([ConfigResource(ConfigResource.Type.BROKER, "0", set_config=of_the_broker)])
        for future in futures.values():
            try:
                future.result(LIMIT_S)
            except KafkaException:
                pass  # it was there already, or is not there any more
        time.sleep(generator.uniform(0, 0.3))


class Soak:
    def __init__(self, programs, io, generator):
        self.random = generator
        self.directory = tempfile.mkdtemp(prefix="tailrace-soak-")
        self.node = Node(programs, os.path.join(self.directory, "data"), io, "--set", "log.retention.check.interval.ms=1000",
                         "--set", "log.segment.delete.delay.ms=1000", "--set", "connections.max.idle.ms=20000")
        self.topics = [f"soak-{i}" for i in range(12)]
        self.resting = threading.Event()
        self.lock = threading.Lock()
        self.acknowledged = {}
        self.count = 0
        self.lost = []
        self.unread = []  # what a reader gave up on, as it may while processes are killed: read again at the end
        self.broken = []
        self.node.start()
        self.admin = AdminClient(quiet_client(self.node.address))
        self.admin.create_topics([NewTopic(KEPT, KEPT_PARTITIONS, 1, config={"retention.ms": "-1"}),
                                  *(NewTopic(t, 2, 1) for t in self.topics)])[KEPT].result(LIMIT_S)
        self.actors = [*(Writer(self) for _ in range(3)), *(Reader(self) for _ in range(3)), Stranger(self), Administrator(self)]

    def on_delivery(self, error, message):
        if error or message.offset() < 0:
            return
        with self.lock:
            self.count += 1
            at = (message.partition(), message.offset())
            if len(self.acknowledged) < 20000 or self.random.random() < 0.1:
                self.acknowledged[at] = message.value()

    def compare(self, partition, offset, value, found, trouble):
        if found == value:
            return
        if trouble:
            self.unread.append((partition, offset, value))
        else:
            self.lost.append((partition, offset, found[:40]))

    def some_acknowledged(self, generator):
        with self.lock:
            return generator.choice(list(self.acknowledged.items())) if self.acknowledged else None

    def measure(self):
        """{service: (process id, PSS in MiB, descriptors)} at rest; files that are in the data directory are left out."""
        self.resting.set()
        time.sleep(REST_S)
        found = {}
        for name, process in (wait_until(self.node.all_processes) or {}).items():
            with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
                pss = next(int(line.split()[1]) for line in file if line.startswith("Pss_Anon:"))
            found[name] = (process, pss / 1024, sum(not self.is_data(f"/proc/{process}/fd/{fd}") for fd in os.listdir(f"/proc/{process}/fd")))
        self.resting.clear()
        return found

    def is_data(self, descriptor):
        try:
            target = os.readlink(descriptor)
        except OSError:
            return True  # closed meanwhile
        return target.startswith(self.directory) and os.path.exists(target)

    def calm_part(self, seconds, what):
        time.sleep(WARM_UP_S)
        before = self.measure()
        time.sleep(seconds)
        after = self.measure()
        for name in SERVICES:
            old, new = before.get(name), after.get(name)
            ok = (old and new and new[0] == old[0] and new[1] <= old[1] + GROWTH_MIB and new[2] <= old[2] + GROWTH_DESCRIPTORS)
            tally.verdict(bool(ok), f"{what}: {name} at rest, before and after: {self.text(old)}, {self.text(new)}")

    @staticmethod
    def text(measured):
        return f"{measured[1]:.1f} MiB {measured[2]} descriptors" if measured else "nothing"

    def kill_part(self, what):
        for victim in self.random.sample(SERVICES, len(SERVICES)):
            stay = self.node.kill(victim)
            now = wait_until(self.node.all_processes) or {}
            tally.verdict(len(now) == len(SERVICES) and all(now[name] == process for name, process in stay.items()),
                          f"{what}: {victim} was killed and is back, the others are the same")
            count = self.count
            tally.verdict(bool(wait_until(lambda count=count: self.count > count + 50)), f"{what}: records are acknowledged after that")

    def end(self):
        for actor in self.actors:
            actor.done = True
        for actor in self.actors:
            actor.join(2 * LIMIT_S)
        tally.verdict(not any(actor.is_alive() for actor in self.actors), "every client came to its end")
        tally.verdict(not self.broken, f"no client failed by itself {self.broken[:3] or ''}".rstrip())
        for partition, offset, value in self.unread:
            found, trouble = next(a for a in self.actors if isinstance(a, Reader)).read(LIMIT_S, KEPT, partition, offset, 1)
            if found != value:
                self.lost.append((partition, offset, found[:40], trouble))
        tally.verdict(not self.lost, f"of {self.count} acknowledged records those that were read back were there {self.lost[:3] or ''}".rstrip())
        tally.verdict(self.node.stop() == 0, "the node stops cleanly")

    def clean(self):
        if self.node.up and self.node.up.poll() is None:
            self.node.up.kill()
            self.node.up.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="directory with tailrace and its services")
    parser.add_argument("--minutes", type=float, default=30, help="in all, for each kind of I/O")
    parser.add_argument("--io", default="uring", help="uring, epoll, or both with a comma")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    for io in options.io.split(","):
        soak = Soak(os.path.abspath(options.programs), io, random.Random(options.seed))
        try:
            end = time.monotonic() + 60 * options.minutes
            part_s = min(300.0, max(10.0, 60 * options.minutes / 3 - WARM_UP_S))
            number = 0
            while time.monotonic() < end:
                number += 1
                soak.calm_part(part_s, f"{io}, part {number}")
                soak.kill_part(f"{io}, part {number}")
            soak.end()
        finally:
            soak.clean()
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


sys.exit(main())
