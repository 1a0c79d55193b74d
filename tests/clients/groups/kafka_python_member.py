"""A member of a group by kafka-python 2.0.2, that says what it owns, reads and commits. kafka_python_member.py BOOTSTRAP
GROUP TOPIC [NAME=VALUE...]: assignor, session_ms; a TOPIC that begins with ^ is a pattern."""
import signal
import sys
import time

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError, NoBrokersAvailable

BOOTSTRAP, GROUP, TOPIC = sys.argv[1:4]
SETTINGS = dict(word.split("=", 1) for word in sys.argv[4:])
ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
COMMIT_EVERY_S = 0.2
stopping = False


def say(word, *rest):
    print(int(time.time() * 1000), word, *rest, flush=True)


def names(partitions):
    return [f"{p.topic}:{p.partition}" for p in sorted(partitions)]


class Member(ConsumerRebalanceListener):
    def __init__(self):
        self.consumer = None
        while self.consumer is None and not stopping:  # it asks for the broker's versions once, and gives up
            try:
                self.consumer = self.connect()
            except (NoBrokersAvailable, ValueError) as error:  # ValueError: it waits for a socket that it has just closed
                say("note", "no broker", repr(error))
        self.next = {}  # TopicPartition: what is to be committed

    def connect(self):
        return KafkaConsumer(
            bootstrap_servers=BOOTSTRAP, group_id=GROUP, enable_auto_commit=False, auto_offset_reset="earliest",
            partition_assignment_strategy=[ASSIGNORS[SETTINGS.get("assignor", "range")]],
            session_timeout_ms=int(SETTINGS.get("session_ms", 6000)), heartbeat_interval_ms=500, metadata_max_age_ms=1000,
            fetch_max_wait_ms=100)

    def on_partitions_assigned(self, assigned):
        if assigned:
            say("assigned", *names(assigned))

    def on_partitions_revoked(self, revoked):
        self.commit()
        if revoked:
            say("revoked", *names(revoked))

    def commit(self):
        offsets, self.next = self.next, {}
        if not offsets:
            return
        try:
            self.consumer.commit({p: OffsetAndMetadata(offset, "") for p, offset in offsets.items()})
            for p, offset in offsets.items():
                say("committed", f"{p.topic}:{p.partition}", offset)
        except KafkaError as error:
            say("note", "not committed:", repr(error))

    def run(self):
        if self.consumer is None:
            return
        if TOPIC.startswith("^"):
            self.consumer.subscribe(pattern=TOPIC, listener=self)
        else:
            self.consumer.subscribe([TOPIC], listener=self)
        committed = alive = time.monotonic()
        while not stopping:
            if time.monotonic() - alive > 1:
                alive = time.monotonic()
                say("note", "alive")
            for partition, records in self.consumer.poll(100).items():
                first = records[0].offset
                for before, record in zip(records, records[1:]):
                    if record.offset != before.offset + 1:
                        say("read", *names([partition]), first, before.offset)
                        first = record.offset
                say("read", *names([partition]), first, records[-1].offset)
                self.next[partition] = records[-1].offset + 1
            if time.monotonic() - committed > COMMIT_EVERY_S:
                committed = time.monotonic()
                self.commit()
        self.on_partitions_revoked(self.consumer.assignment())  # close() does not ask the listener
        self.consumer.close(autocommit=False)
        say("note", "closed")


def stop(*_):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
Member().run()
