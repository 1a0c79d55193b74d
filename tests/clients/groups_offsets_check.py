"""Committed offsets without members: librdkafka and kafka-python commit by assigned partitions, with metadata, and read what
the other has committed; a group with members refuses strangers. groups_offsets_check.py BOOTSTRAP"""
import os
import random
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata
from kafka import TopicPartition as Partition

BOOTSTRAP = sys.argv[1]
LIMIT_S = 45
PARTITIONS = 3
failures = 0


def verdict(ok, what):
    global failures
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} - groups_offsets: {what}", flush=True)


def unique(what):
    return f"groups-offsets-{what}-{os.getpid()}-{random.randrange(1 << 30)}"


def librdkafka(group, **settings):
    return Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest",
                     "session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "log_level": 1, **settings})


def python(group):
    return KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest")


def committed(consumer, topic):
    found = consumer.committed([TopicPartition(topic, p) for p in range(PARTITIONS)], LIMIT_S)
    return [None if p.error else p.offset for p in found]


def error_of(call):
    """The error's code of each kind of failing commit, or None."""
    try:
        errors = [p.error.code() for p in call() if p.error]
        return errors[0] if errors else None
    except KafkaException as error:
        return error.args[0].code()


def simple(topic):
    group = unique("simple")
    rd, py = librdkafka(group), python(group)
    verdict(committed(rd, topic) == [-1001] * PARTITIONS, "a group that nobody knows has no offsets")
    rd.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    error = error_of(lambda: rd.commit(offsets=[TopicPartition(topic, 0, 10), TopicPartition(topic, 1, 2 ** 40)], asynchronous=False))
    verdict(error is None, f"commit without being a member ({error})")
    py.assign([Partition(topic, p) for p in range(PARTITIONS)])
    verdict([py.committed(Partition(topic, p)) for p in range(PARTITIONS)] == [10, 2 ** 40, None], "another client finds these offsets")

    texts = ["", "caf\u00e9 \u2713", "x" * 4096]
    py.commit({Partition(topic, p): OffsetAndMetadata(20 + p, text) for p, text in enumerate(texts)})
    found = [py.committed(Partition(topic, p), metadata=True) for p in range(PARTITIONS)]
    verdict(found == [OffsetAndMetadata(20 + p, text) for p, text in enumerate(texts)], "metadata of a commit come back")
    verdict(committed(rd, topic) == [20, 21, 22], "and the last commit counts")
    admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    listed = admin.list_consumer_group_offsets(group)
    verdict({p.partition: o.offset for p, o in listed.items() if p.topic == topic} == {0: 20, 1: 21, 2: 22}, "an admin client lists all of a group's offsets")
    py.commit({Partition(topic, 0): OffsetAndMetadata(5, "back")})
    verdict(py.committed(Partition(topic, 0), metadata=True) == OffsetAndMetadata(5, "back"), "an offset may go back")
    try:
        py.commit({Partition(topic, 0): OffsetAndMetadata(6, "x" * 4097)})
        refused = None
    except Exception as error:  # noqa: BLE001 - which of its errors it is says the verdict
        refused = type(error).__name__
    verdict(refused == "OffsetMetadataTooLargeError" and py.committed(Partition(topic, 0)) == 5, f"metadata of 4097 bytes are refused ({refused})")
    py.close(autocommit=False)
    error = error_of(lambda: rd.commit(offsets=[TopicPartition(unique("no"), 0, 1)], asynchronous=False))
    verdict(error == KafkaError.UNKNOWN_TOPIC_OR_PART, f"an offset of no topic is refused ({error})")
    rd.close()
    return group


def with_members(topic):
    group = unique("members")
    member, stranger = librdkafka(group), librdkafka(group)
    assigned = []
    member.subscribe([topic], on_assign=lambda _, partitions: assigned.extend(p.partition for p in partitions))
    last = [0] * PARTITIONS
    for _ in range(LIMIT_S * 10):
        for message in member.consume(100, 0.1):
            if not message.error():
                last[message.partition()] = message.offset() + 1
        if last == [10] * PARTITIONS:
            break
    verdict(sorted(assigned) == list(range(PARTITIONS)) and last == [10] * PARTITIONS, "a member reads its partitions")
    error = error_of(lambda: member.commit(offsets=[TopicPartition(topic, p, 10) for p in range(PARTITIONS)], asynchronous=False))
    verdict(error is None, f"it commits ({error})")
    error = error_of(lambda: stranger.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False))
    verdict(error == KafkaError.UNKNOWN_MEMBER_ID, f"a stranger may not, while there is a member ({error})")
    verdict(committed(stranger, topic) == [10] * PARTITIONS, "but may ask")
    member.close()
    error = error_of(lambda: stranger.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False))
    verdict(error is None and committed(stranger, topic) == [3, 10, 10], f"when the member has left, the stranger may commit ({error})")
    stranger.close()


def starts_there(topic):
    """A member begins at what a simple consumer has committed, and an offset that is gone is reset."""
    group = unique("start")
    rd = librdkafka(group)
    rd.commit(offsets=[TopicPartition(topic, 0, 7), TopicPartition(topic, 1, 10), TopicPartition(topic, 2, 5000)], asynchronous=False)
    rd.close()
    member, read = librdkafka(group), {}
    member.subscribe([topic])
    for _ in range(LIMIT_S * 10):
        for message in member.consume(100, 0.1):
            if not message.error():
                read.setdefault(message.partition(), []).append(message.offset())
        if len(read.get(0, [])) >= 3 and len(read.get(2, [])) >= 10:
            break
    verdict(read == {0: [7, 8, 9], 2: list(range(10))}, f"members begin at committed offsets; one that is not there is reset ({read})")
    member.close()


def main():
    topic = unique("topic")
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP, "log_level": 1})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(LIMIT_S)
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "log_level": 1})
    for i in range(10 * PARTITIONS):
        producer.produce(topic, b"%d" % i, partition=i % PARTITIONS)
    producer.flush(LIMIT_S)
    group = simple(topic)
    with_members(topic)
    starts_there(topic)
    groups = {g.id for g in admin.list_groups(timeout=LIMIT_S)}
    verdict(group in groups, "groups are listed")
    sys.exit(1 if failures else 0)


main()
