"""Members of consumer groups as processes, the groups that they make, and a load for them to read.

A member's kind is a client; member_command.sh knows how to run each, and judge.py what it says. `prepare` comes first.
"""
import os
import signal
import subprocess
import sys
import threading
import time

import judge
from confluent_kafka import KafkaError, KafkaException, Producer

CHECKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_S = 90  # far more than anything takes; a machine may be busy
MISSING = 77  # the exit status that says that a toolchain is missing
RECORDS_PER_S = 100
# A member that leaves must not need its session to end for it: these sessions outlast the limit, and only members that
# are killed have short ones. In the consumer protocol it is the broker that says how long sessions are: SHORT_MS, here.
LONG_MS, SHORT_MS = 180_000, 6_000
commands = {}  # kind: the words that start a member


def prepare(kind):
    """Fetches and builds what members of this kind need. Returns 0, MISSING or another status, and says why on stdout."""
    made = subprocess.run(["bash", "groups/member_command.sh", kind], cwd=CHECKS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True)
    if made.returncode:
        print(made.stdout, end="", flush=True)
    else:
        commands[kind] = made.stdout.splitlines()
    return made.returncode


def wait_until(condition, limit=LIMIT_S):
    give_up = time.monotonic() + limit
    while time.monotonic() < give_up:
        if condition():
            return True
        time.sleep(0.05)
    return False


class Load(threading.Thread):
    """Writes records to all partitions of a topic until it is stopped; knows where each partition ends then."""

    def __init__(self, bootstrap, topic, partitions):
        super().__init__(daemon=True)
        self.topic, self.partitions = topic, partitions
        self.ends, self.errors = {}, []
        self.done = threading.Event()
        self.producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20,
                                  "topic.metadata.refresh.interval.ms": 1000, "reconnect.backoff.max.ms": 500, "log_level": 1})

    def on_delivery(self, error, message):
        if error:
            self.errors.append(str(error))
        else:
            key = f"{message.topic()}:{message.partition()}"
            self.ends[key] = max(self.ends.get(key, 0), message.offset() + 1)

    def write(self, number):
        """False: the producer has not heard of the partition yet, which was added just now."""
        try:
            self.producer.produce(self.topic, b"%d" % number, partition=number % self.partitions, on_delivery=self.on_delivery)
        except KafkaException as exception:
            if exception.args[0].code() == KafkaError._UNKNOWN_PARTITION:
                return False
            raise
        return True

    def run(self):
        number = 0
        while not self.done.wait(0.2):
            for _ in range(RECORDS_PER_S // 5):
                if not self.write(number):
                    break
                number += 1
            self.producer.poll(0)
        self.producer.flush(LIMIT_S)

    def stop(self):
        self.done.set()
        self.join(2 * LIMIT_S)


class Member:
    def __init__(self, group, number, kind, settings):
        self.name = f"{number}-{kind}"
        self.log = judge.Log(self.name, os.path.join(group.directory, f"{group.name}-{self.name}"))
        self.log.session_ms = SHORT_MS if settings.get("protocol") == "consumer" else settings["session_ms"]
        words = [f"{name}={value}" for name, value in settings.items()]
        with open(self.log.path, "wb") as output:
            self.process = subprocess.Popen([*commands[kind], group.bootstrap, group.name, group.topic, *words], cwd=CHECKS,
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def leave(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.died = int(time.time() * 1000)

    def left(self):
        """Whether it has ended well; what does not end is killed, and says before where it hangs, if it is Go or Java."""
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            time.sleep(2)
            self.kill()
        self.log.update()
        return any(rest[:1] == ["closed"] for _, word, rest in self.log.events if word == "note")

    def tail(self, count):
        with open(self.log.path, errors="replace") as file:
            yield from (f"{self.name}: {line.rstrip()}" for line in file.readlines()[-count:])


class Group:
    """A group on a topic; its members come and go."""

    def __init__(self, members, bootstrap, directory, name, topic):
        self.kinds, self.bootstrap, self.directory, self.name, self.topic = members, bootstrap, directory, name, topic
        self.all, self.members, self.wanted = [], [], set()

    def join(self, **more):
        kind, settings = self.kinds[len(self.all) % len(self.kinds)]
        member = Member(self, len(self.all), kind, {"session_ms": LONG_MS, **settings, **more})
        self.all.append(member)
        self.members.append(member)
        return member

    def wants(self, topic, partitions):
        self.wanted |= {f"{topic}:{p}" for p in range(partitions)}

    def update(self):
        for member in self.all:
            member.log.update()

    def settled(self):
        """Each partition has one owner, each member has one or more."""
        self.update()
        owned = [p for member in self.members for p in member.log.owned]
        return set(owned) == self.wanted and len(owned) == len(self.wanted) and all(m.log.owned for m in self.members)

    def state(self):
        """Lines for who asks why it is not settled."""
        for member in self.members:
            yield f"{member.name} has {' '.join(sorted(member.log.owned)) or 'nothing'}"
            yield from member.tail(6)

    def leave(self, member):
        self.members.remove(member)
        member.leave()

    def kill(self, member):
        self.members.remove(member)
        member.kill()

    def end(self):
        """All leave; the last lines of those that do not end well."""
        leaving = list(self.members)
        for member in leaving:
            self.leave(member)
        bad = [line for m in self.all if not m.log.died and not m.left() for line in (f"{m.name}:", *m.tail(60))]
        self.update()
        return bad
