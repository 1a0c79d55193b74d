"""A member of a group by librdkafka, that says what it owns, reads and commits. confluent_member.py BOOTSTRAP GROUP TOPIC
[NAME=VALUE...]: assignor, instance, session_ms; a TOPIC that begins with ^ is a pattern."""
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

BOOTSTRAP, GROUP, TOPIC = sys.argv[1:4]
SETTINGS = dict(word.split("=", 1) for word in sys.argv[4:])
COMMIT_EVERY_S = 0.2
stopping = False


def say(word, *rest):
    print(int(time.time() * 1000), word, *rest, flush=True)


def names(partitions):
    return [f"{p.topic}:{p.partition}" for p in partitions]


class Member:
    def __init__(self):
        self.consumer = Consumer({
            "bootstrap.servers": BOOTSTRAP, "group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest",
            "partition.assignment.strategy": SETTINGS.get("assignor", "range"), "log_level": 1,
            "session.timeout.ms": int(SETTINGS.get("session_ms", 6000)), "heartbeat.interval.ms": 500,
            "topic.metadata.refresh.interval.ms": 1000, "fetch.wait.max.ms": 100, "reconnect.backoff.max.ms": 500,
            **({"group.instance.id": SETTINGS["instance"]} if "instance" in SETTINGS else {})})
        self.runs = {}  # (topic, partition): first and last offset of what was read since the last word about it
        self.next = {}  # (topic, partition): what is to be committed

    def assigned(self, _, partitions):
        self.flush()
        if partitions:
            say("assigned", *names(partitions))

    def revoked(self, _, partitions):
        self.flush()
        self.commit({(p.topic, p.partition) for p in partitions})
        if partitions:
            say("revoked", *names(partitions))

    def lost(self, _, partitions):
        self.flush()
        for p in partitions:
            self.next.pop((p.topic, p.partition), None)
        say("lost", *names(partitions))

    def read(self, message):
        if message.error():
            say("note", message.error())
            return
        key, offset = (message.topic(), message.partition()), message.offset()
        first, last = self.runs.get(key, (offset, offset - 1))
        if offset != last + 1:
            say("read", "%s:%d" % key, first, last)
            first = offset
        self.runs[key] = (first, offset)

    def flush(self):
        for key, (first, last) in self.runs.items():
            say("read", "%s:%d" % key, first, last)
            self.next[key] = last + 1
        self.runs = {}

    def commit(self, which):
        offsets = [TopicPartition(*key, self.next.pop(key)) for key in sorted(which) if key in self.next]
        if not offsets:
            return
        try:
            for p in self.consumer.commit(offsets=offsets, asynchronous=False):
                if p.error:
                    say("note", "not committed:", p.topic, p.partition, p.error)
                else:
                    say("committed", f"{p.topic}:{p.partition}", p.offset)
        except KafkaException as error:
            say("note", "not committed:", error)

    def run(self):
        self.consumer.subscribe([TOPIC], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)
        committed = alive = time.monotonic()
        while not stopping:
            if time.monotonic() - alive > 1:
                alive = time.monotonic()
                say("note", "alive")
            # One by one: a batch could hold records of partitions that a callback has given up meanwhile.
            message, count = self.consumer.poll(0.1), 0
            while message is not None and count < 500:
                self.read(message)
                message, count = self.consumer.poll(0), count + 1
            if message is not None:
                self.read(message)
            self.flush()
            if time.monotonic() - committed > COMMIT_EVERY_S:
                committed = time.monotonic()
                self.commit(set(self.next))
        self.commit(set(self.next))
        self.consumer.close()
        say("note", "closed")


def stop(*_):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
Member().run()
