#!/usr/bin/python3
"""What many groups cost: memory of an idle member, processor time of idle groups, and commits in a second.

usage: groups.py --programs DIR [--groups 1000] [--members 5] [--protocol classic|consumer|both] [--seconds 10] [--address HOST:PORT]

Starts a node on a temporary directory (or takes the broker at --address, of which it then knows no processes) and opens a
connection for each member. It prints, as one JSON object a line,
- joined: seconds until every member has its assignment;
- idle: over --seconds in which members only send their heartbeats, in time: processor milliseconds a second of each process,
  and its memory (PSS, KiB) beside what it was before the first member;
- silent: the same without heartbeats (the session timeout is longer than that);
- commits: every member commits an offset for each of its partitions, and again when it is acknowledged: requests and offsets a
  second, milliseconds until the answer (median, 99 of 100), processor microseconds a request.
It measures and judges nothing; an error in an answer ends it.
"""
import argparse
import asyncio
import json
import os
import resource
import statistics
import struct
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "faults"))
from node import Node, wait_until  # noqa: E402

TOPIC = "scale"
PARTITIONS_EACH = 2
SESSION_MS = 120_000
HEARTBEAT_S = 3.0
SETTINGS = {"group.initial.rebalance.delay.ms": 3000, "group.max.session.timeout.ms": 1_800_000,
            "group.consumer.session.timeout.ms": SESSION_MS, "group.consumer.max.session.timeout.ms": SESSION_MS}
JOIN_GROUP, HEARTBEAT, SYNC_GROUP, OFFSET_COMMIT, CREATE_TOPICS, CONSUMER_HEARTBEAT = 11, 12, 14, 8, 19, 68
FIND_COORDINATOR = 10


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def blob(value):
    return struct.pack(">i", len(value)) + value


def uvarint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def compact(value):
    return uvarint(0) if value is None else uvarint(len(value) + 1) + value.encode()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0]

    def bytes(self, length):
        self.at += length
        return self.data[self.at - length:self.at]

    def text(self):
        length = self.take("h")
        return None if length < 0 else self.bytes(length).decode()

    def blob(self):
        return self.bytes(self.take("i"))

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def compact(self):
        length = self.uvarint()
        return None if length == 0 else self.bytes(length - 1).decode()


class Connection:
    """One request at a time."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address):
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def ask(self, key, version, body, flexible=False):
        header = struct.pack(">hhi", key, version, 7) + text("groups-bench") + (b"\0" if flexible else b"")
        self.writer.write(blob(header + body))
        size, = struct.unpack(">i", await self.reader.readexactly(4))
        answer = Reader(await self.reader.readexactly(size))
        answer.take("i")
        if flexible:
            answer.take("B")
        return answer


LOADING = (14, 15, 16)  # the coordinator is not there yet


def expect_none(error, what):
    if error != 0:
        raise RuntimeError(f"{what}: error {error}")


class Member:
    """Of one group; its partitions are (index, …) of the one topic."""

    def __init__(self, connection, group):
        self.connection, self.group = connection, group
        self.id, self.epoch, self.partitions, self.committed = "", -1, [], 0

    async def commit(self):
        self.committed += 1
        body = compact(self.group) + struct.pack(">i", self.epoch) + compact(self.id) + compact(None)
        body += uvarint(2) + compact(TOPIC) + uvarint(len(self.partitions) + 1)
        for partition in self.partitions:
            body += struct.pack(">iqi", partition, self.committed, -1) + compact("") + b"\0"
        answer = await self.connection.ask(OFFSET_COMMIT, 9, body + b"\0\0", True)
        answer.take("i")
        for _ in range(answer.uvarint() - 1):
            answer.compact()
            for _ in range(answer.uvarint() - 1):
                answer.take("i")
                expect_none(answer.take("h"), "OffsetCommit")
                answer.take("B")


class ClassicMember(Member):
    async def join(self, members, partitions):
        """Until all `members` of the group are there and this one has its part of the partitions."""
        while not self.partitions:
            metadata = struct.pack(">hi", 0, 1) + text(TOPIC) + blob(b"")
            body = text(self.group) + struct.pack(">ii", SESSION_MS, 300_000) + text(self.id) + text("consumer")
            answer = await self.connection.ask(JOIN_GROUP, 4, body + struct.pack(">i", 1) + text("range") + blob(metadata))
            answer.take("i")
            error, self.epoch, _, leader, self.id = (answer.take("h"), answer.take("i"), answer.text(), answer.text(), answer.text())
            if error == 79:  # now it has its member id
                continue
            if error in LOADING:
                await asyncio.sleep(0.1)
                continue
            expect_none(error, "JoinGroup")
            ids = []
            for _ in range(answer.take("i")):
                ids.append(answer.text())
                answer.blob()
            body = text(self.group) + struct.pack(">i", self.epoch) + text(self.id)
            if leader == self.id and len(ids) == members:
                body += struct.pack(">i", len(ids))
                for at, member in enumerate(ids):
                    own = range(at, partitions, len(ids))
                    packed = struct.pack(">hi", 0, 1) + text(TOPIC) + struct.pack(f">i{len(own)}i", len(own), *own) + blob(b"")
                    body += text(member) + blob(packed)
            else:
                body += struct.pack(">i", 0)
            answer = await self.connection.ask(SYNC_GROUP, 2, body)
            answer.take("i")
            error, assignment = answer.take("h"), Reader(answer.blob())
            if error == 27 or not assignment.data:  # somebody else came
                continue
            expect_none(error, "SyncGroup")
            assignment.take("hi"), assignment.text()
            self.partitions = [assignment.take("i") for _ in range(assignment.take("i"))]

    async def heartbeat(self):
        body = text(self.group) + struct.pack(">i", self.epoch) + text(self.id)
        answer = await self.connection.ask(HEARTBEAT, 2, body)
        answer.take("i")
        expect_none(answer.take("h"), "Heartbeat")


class ConsumerMember(Member):
    async def beat(self, fields):
        body = compact(self.group) + compact(self.id) + struct.pack(">i", max(self.epoch, 0)) + compact(None) + compact(None)
        answer = await self.connection.ask(CONSUMER_HEARTBEAT, 0, body + fields + b"\0", True)
        answer.take("i")
        error, message, self.id = answer.take("h"), answer.compact(), answer.compact() or self.id
        if error in LOADING:
            await asyncio.sleep(0.1)
            return await self.beat(fields)
        expect_none(error, f"ConsumerGroupHeartbeat ({message})")
        self.epoch, _ = answer.take("i"), answer.take("i")
        if answer.take("b") < 0:
            return
        self.topic, self.partitions = None, []
        for _ in range(answer.uvarint() - 1):
            self.topic = answer.bytes(16)
            self.partitions = [answer.take("i") for _ in range(answer.uvarint() - 1)]
            answer.take("B")

    def owned(self):
        if not self.partitions:
            return uvarint(1)
        return uvarint(2) + self.topic + uvarint(len(self.partitions) + 1) + struct.pack(
            f">{len(self.partitions)}i", *self.partitions) + b"\0"

    async def join(self, members, partitions):
        fields = struct.pack(">i", 300_000) + uvarint(2) + compact(TOPIC) + compact("uniform")
        await self.beat(fields + uvarint(1))
        while len(self.partitions) != partitions // members:
            await self.beat(struct.pack(">i", -1) + uvarint(0) + compact(None) + self.owned())
            await asyncio.sleep(0.05)
        await self.beat(struct.pack(">i", -1) + uvarint(0) + compact(None) + self.owned())

    async def heartbeat(self):
        await self.beat(struct.pack(">i", -1) + uvarint(0) + compact(None) + uvarint(0))


def usage(processes):
    """{process: (processor seconds, PSS in KiB)}"""
    found = {}
    for name, process in processes.items():
        with open(f"/proc/{process}/stat") as stat:
            words = stat.read().rsplit(") ", 1)[1].split()
        with open(f"/proc/{process}/smaps_rollup") as rollup:
            pss = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        found[name] = ((int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"), pss)
    return found


def tell(what, **figures):
    print(json.dumps({"what": what, **figures}), flush=True)


async def prepare(address, partitions):
    connection = await Connection.open(address)
    topic = struct.pack(">i", 1) + text(TOPIC) + struct.pack(">ihii", partitions, 1, 0, 0)
    answer = await connection.ask(CREATE_TOPICS, 2, topic + struct.pack(">i?", 30_000, False))
    answer.take("ii"), answer.text()
    expect_none(answer.take("h"), "CreateTopics")
    while True:  # the first question makes __consumer_offsets
        answer = await connection.ask(FIND_COORDINATOR, 1, text("any") + b"\0")
        answer.take("i")
        if answer.take("h") == 0:
            return
        await asyncio.sleep(0.1)


async def everyone(members, work, seconds):
    """Each member does its work again and again until the time is over."""
    end = time.monotonic() + seconds

    async def one(member):
        while time.monotonic() < end:
            await work(member, end)

    await asyncio.gather(*map(one, members))


async def measure(options, address, processes, kind, protocol):
    empty = usage(processes)
    start = time.monotonic()
    members = []
    for group in range(options.groups):
        for _ in range(options.members):
            members.append(kind(await Connection.open(address), f"{protocol}-{group}"))
    partitions = options.members * PARTITIONS_EACH
    if protocol == "consumer":
        for number, member in enumerate(members):
            member.id = f"{protocol}-member-{number:012}"
    connected = usage(processes)
    await asyncio.gather(*(member.join(options.members, partitions) for member in members))
    tell("joined", protocol=protocol, groups=options.groups, members=len(members), seconds=round(time.monotonic() - start, 2),
         memory_bytes_per_member={name: round((pss - empty[name][1]) * 1024 / len(members))
                                  for name, (_, pss) in usage(processes).items()},
         memory_bytes_per_connection={name: round((pss - empty[name][1]) * 1024 / len(members))
                                      for name, (_, pss) in connected.items()})

    def since(before, seconds):
        after = usage(processes)
        return {"cpu_ms_per_second": {name: round((after[name][0] - before[name][0]) * 1000 / seconds, 2) for name in after},
                "memory_kib": {name: pss for name, (_, pss) in after.items()}}

    before = usage(processes)
    await asyncio.sleep(options.seconds)
    tell("silent", protocol=protocol, **since(before, options.seconds))

    async def heartbeat(member, end):
        await asyncio.sleep(min(HEARTBEAT_S * (0.5 + hash(member.id) % 1000 / 1000), max(0, end - time.monotonic())))
        await member.heartbeat()
        beats.append(1)

    beats = []
    before = usage(processes)
    await everyone(members, heartbeat, options.seconds)
    tell("idle", protocol=protocol, heartbeats_per_second=round(len(beats) / options.seconds), **since(before, options.seconds))

    async def commit(member, _):
        asked = time.monotonic()
        await member.commit()
        waited.append(time.monotonic() - asked)

    for busy in sorted({1, 10, 100, len(members)}):
        waited = []
        before = usage(processes)
        start = time.monotonic()
        await everyone(members[:busy], commit, options.seconds)
        seconds = time.monotonic() - start
        after = usage(processes)
        waited.sort()
        tell("commits", protocol=protocol, members=busy, requests_per_second=round(len(waited) / seconds),
             offsets_per_second=round(PARTITIONS_EACH * len(waited) / seconds), median_ms=round(statistics.median(waited) * 1000, 2),
             p99_ms=round(waited[len(waited) * 99 // 100] * 1000, 2),
             cpu_us_per_request={name: round((after[name][0] - before[name][0]) * 1e6 / len(waited), 1) for name in after})
    for member in members:
        member.connection.writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs")
    parser.add_argument("--address")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--protocol", choices=("classic", "consumer", "both"), default="both")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    if not options.programs and not options.address:
        parser.error("say --programs or --address")
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    kinds = {"classic": ClassicMember, "consumer": ConsumerMember}
    with tempfile.TemporaryDirectory() as directory:
        node, processes, address = None, {}, options.address
        if not address:
            node = Node(options.programs, directory, os.environ.get("TAILRACE_IO", "uring"),
                        *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")))
            node.start()
            processes, address = wait_until(node.all_processes), node.address
        try:
            asyncio.run(prepare(address, options.members * PARTITIONS_EACH))
            for protocol in kinds if options.protocol == "both" else [options.protocol]:
                asyncio.run(measure(options, address, processes, kinds[protocol], protocol))
        finally:
            if node:
                node.stop()


if __name__ == "__main__":
    main()
