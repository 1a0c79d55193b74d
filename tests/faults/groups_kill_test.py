#!/usr/bin/python3
"""Kills the processes of a node while groups rebalance and offsets are committed, and looks whether anything is lost.

usage: groups_kill_test.py --programs DIR [--rounds N] [--io uring,epoll] [--victims groupcoord,broker,engine,all]

Committers without members write growing offsets to several groups, as fast as they are acknowledged. Groups of real members
(tests/clients/groups) read a topic that grows; in each round one member leaves and another joins, and while they rebalance
one process, or all of them with their supervisor, gets SIGKILL. After each kill
- OffsetFetch finds for each partition no less than the last commit that was acknowledged, and nothing that was not sent;
- committers go on by themselves, and all groups are settled again: each partition has one owner, and groups of the classic
  protocol are Stable;
- processes that were not killed are the same as before.
At the end everything was read, no partition ever had two owners and each new owner went on at what was committed; the node
stops cleanly, and all offsets are there after a new start.
The last line is `N passed, N failed`.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from node import LIMIT_S, SERVICES, Node, tally, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "groups"))
import judge  # noqa: E402
from group import SHORT_MS, Group, Load, prepare  # noqa: E402

PARTITIONS = 4
COMMITTERS = 3
COMMITTED = "committed"
SETTINGS = [word for setting in ("group.initial.rebalance.delay.ms=0", "group.consumer.min.session.timeout.ms=6000",
                                 "group.consumer.session.timeout.ms=6000", "group.consumer.min.heartbeat.interval.ms=1000",
                                 "group.consumer.heartbeat.interval.ms=1000") for word in ("--set", setting)]
# name: kinds of members, which take turns; those whose toolchain is missing are left out
GROUPS = {"cooperative": [("confluent", {"assignor": "cooperative-sticky"})],
          "range": [("confluent", {"assignor": "range"}), ("kafka_python", {"assignor": "range"}), ("franz", {"assignor": "range"})],
          "consumer": [("franz", {"protocol": "consumer"})]}


def client(address, group):
    return Consumer({"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False, "retry.backoff.ms": 20,
                     "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 200, "socket.timeout.ms": 10000, "log_level": 1})


class Committer(threading.Thread):
    """Commits growing offsets to one group, without being a member of it."""

    def __init__(self, address, name):
        super().__init__(daemon=True)
        self.group, self.address = name, address
        self.sent, self.acknowledged = [0] * PARTITIONS, [0] * PARTITIONS
        self.done = threading.Event()

    def run(self):
        consumer = client(self.address, self.group)
        while not self.done.is_set():
            self.sent = [offset + 1 for offset in self.sent]
            offsets = list(self.sent)
            try:
                answers = consumer.commit(offsets=[TopicPartition(COMMITTED, p, o) for p, o in enumerate(offsets)], asynchronous=False)
            except KafkaException:  # whether it was written is not known
                self.done.wait(0.02)
                continue
            for answer in answers:
                if not answer.error:
                    self.acknowledged[answer.partition] = offsets[answer.partition]
        consumer.close()

    def progressed(self):
        """A condition: commits sent after this call have been acknowledged for each partition."""
        marks = list(self.sent)
        return lambda: all(last > mark for last, mark in zip(self.acknowledged, marks))

    def lost(self):
        """What OffsetFetch finds that it should not, or None when it does not answer in time."""
        consumer = client(self.address, self.group)  # a new one, which has to find the coordinator

        def ask():
            low = list(self.acknowledged)
            try:
                found = consumer.committed([TopicPartition(COMMITTED, p) for p in range(PARTITIONS)], 10)
            except KafkaException:
                return None
            high = list(self.sent)
            if any(p.error for p in found):
                return None
            return True, [f"{self.group} {p}: found {f.offset}, acknowledged {l}, sent {h}"
                          for p, (f, l, h) in enumerate(zip(found, low, high)) if not l <= max(f.offset, 0) <= h]

        answer = wait_until(ask)
        consumer.close()
        return answer and answer[1]


def look_at_offsets(committers, what):
    found = [committer.lost() for committer in committers]
    tally.verdict(None not in found, f"{what}: committed offsets can be fetched")
    wrong = [line for lines in found for line in lines or []]
    return tally.verdict(not wrong, f"{what}: no committed offset is lost {wrong[:3] or ''}".rstrip())


def stable(admin, groups):
    """Whether the coordinator, too, says that these groups of the classic protocol are Stable."""
    def ask():
        try:
            return all(found.state == "Stable" for group in groups for found in admin.list_groups(group.name, 10))
        except KafkaException:
            return False
    return wait_until(ask) is not None


class Run:
    def __init__(self, programs, io, directory):
        self.node = Node(programs, os.path.join(directory, "data"), io, *SETTINGS)
        self.io, self.directory = io, directory
        self.committers, self.groups, self.load = [], [], None

    def start(self, kinds):
        self.node.start()
        address = self.node.address
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 1, "reconnect.backoff.max.ms": 200})
        for made in self.admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in (COMMITTED, "read")]).values():
            made.result(LIMIT_S)
        self.committers = [Committer(address, f"committer-{i}") for i in range(COMMITTERS)]
        self.load = Load(address, "read", PARTITIONS)
        for thread in (*self.committers, self.load):
            thread.start()
        for name, members in kinds.items():
            group = Group(members, address, self.directory, f"group-{name}", "read")
            group.wants("read", PARTITIONS)
            for _ in range(2):
                group.join(session_ms=SHORT_MS)
            self.groups.append(group)

    def settled(self, what):
        ok = wait_until(lambda: all(group.settled() for group in self.groups), 2 * LIMIT_S) is not None
        tally.verdict(ok, f"{what}: each partition has one owner in each group")
        if not ok:
            print(*("  " + line for group in self.groups for line in group.state()), sep="\n", flush=True)
        ok &= tally.verdict(stable(self.admin, [g for g in self.groups if "consumer" not in g.name]), f"{what}: groups are Stable")
        return ok

    def round(self, victim, what, generator):
        for group in self.groups:
            group.leave(generator.choice(group.members))
            group.join(session_ms=SHORT_MS)
        time.sleep(generator.uniform(0, 0.6))  # the kill shall come at any point of the rebalance
        stay = self.node.kill(victim)
        if victim == "all":
            self.node.start()
        progress = [committer.progressed() for committer in self.committers]
        ok = look_at_offsets(self.committers, what)
        went_on = wait_until(lambda: all(condition() for condition in progress)) is not None
        ok &= tally.verdict(went_on, f"{what}: the committers went on")
        ok &= self.settled(what)
        now = wait_until(self.node.all_processes) or self.node.processes()
        tally.verdict(all(now.get(name) == process for name, process in stay.items()) and len(now) == len(SERVICES),
                      f"{what}: the other processes are the same")
        return ok

    def end(self, what):
        self.load.stop()
        tally.verdict(not self.load.errors, f"{what}: all was written {self.load.errors[:3] or ''}".rstrip())
        for committer in self.committers:
            committer.done.set()
        for committer in self.committers:
            committer.join(LIMIT_S)

        def unread():
            for group in self.groups:
                group.update()
            return [judge.unread([m.log for m in group.all], self.load.ends) for group in self.groups]

        read = wait_until(lambda: not any(unread()))
        tally.verdict(read, f"{what}: each group has read all {sum(self.load.ends.values())} records {unread() if not read else ''}".rstrip())
        for group in self.groups:
            bad = group.end()
            tally.verdict(not bad, f"{what}: members of {group.name} end well")
            print(*("  " + line for line in bad), sep="\n", end="\n" if bad else "", flush=True)
            logs = [member.log for member in group.all]
            wrong = judge.two_owners(logs)
            tally.verdict(not wrong, f"{what}: no partition of {group.name} had two owners {wrong[:3] or ''}".rstrip())
            wrong, handovers = judge.went_back(logs)
            tally.verdict(not wrong, f"{what}: {handovers} new owners in {group.name} went on at what was committed {wrong[:3] or ''}".rstrip())
        tally.verdict(self.node.stop() == 0, f"{what}: the node stops cleanly")
        self.node.start()
        look_at_offsets(self.committers, f"{what} and a new start")
        tally.verdict(self.node.stop() == 0, f"{what}: and stops cleanly again")

    def clean(self):
        for committer in self.committers:
            committer.done.set()
        if self.load:
            self.load.done.set()
        for group in self.groups:
            for member in group.all:
                if member.process.poll() is None:
                    member.kill()
        if self.node.up and self.node.up.poll() is None:
            self.node.stop()


def run(programs, io, victims, rounds, kinds, generator):
    directory = tempfile.mkdtemp(prefix="tailrace-groups-kill-")
    run = Run(programs, io, directory)
    try:
        run.start(kinds)
        if run.settled(f"{io}, before"):
            for number in range(rounds):
                victim = victims[number % len(victims)]
                if not run.round(victim, f"{io}, round {number + 1}, {victim}", generator):
                    break
            run.end(f"{io}, after {rounds} rounds")
    finally:
        run.clean()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="directory with tailrace and its services")
    parser.add_argument("--rounds", type=int, default=8, help="kills per kind of I/O; victims take turns")
    parser.add_argument("--io", default="uring,epoll")
    parser.add_argument("--victims", default="groupcoord,broker,engine,all")
    parser.add_argument("--groups", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    generator = random.Random(options.seed)
    wanted = {name: GROUPS[name] for name in options.groups.split(",") if name}
    there = {kind: prepare(kind) == 0 for kind in sorted({kind for members in wanted.values() for kind, _ in members})}
    kinds = {name: [m for m in members if there[m[0]]] for name, members in wanted.items()}
    kinds = {name: members for name, members in kinds.items() if members}
    for io in options.io.split(","):
        run(os.path.abspath(options.programs), io, options.victims.split(","), options.rounds, kinds, generator)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


sys.exit(main())
