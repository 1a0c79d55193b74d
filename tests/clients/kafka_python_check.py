"""kafka-python 2.0.2, which speaks old versions of the protocol: probing, round trips, topics. kafka_python_check.py BOOTSTRAP"""
import os
import random
import sys
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.codec import has_lz4, has_snappy, has_zstd
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

BOOTSTRAP = sys.argv[1]
LIMIT_S = 25
failures = 0


def verdict(ok, what):
    global failures
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} - kafka_python: {what}", flush=True)


def unique(what):
    return f"kafka-python-{what}-{os.getpid()}-{random.randrange(1 << 30)}"


def raises(kind, call):
    try:
        call()
    except kind:
        return True
    return False


def round_trip(codec):
    topic = unique(codec or "none")
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, compression_type=codec, acks="all", linger_ms=10,
                             max_block_ms=LIMIT_S * 1000)
    values = [f"{i} ".encode() + b"v" * (i % 200) for i in range(1000)]
    sent = [producer.send(topic, value, key=b"k%d" % i, headers=[("n", b"%d" % i)], partition=0)
            for i, value in enumerate(values)]
    producer.flush(LIMIT_S)
    offsets = [future.get(LIMIT_S).offset for future in sent]
    producer.close(LIMIT_S)
    verdict(offsets == list(range(1000)), f"produce with {codec}")

    consumer = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None, auto_offset_reset="earliest",
                             consumer_timeout_ms=LIMIT_S * 1000)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    records = []
    while len(records) < 1000:
        record = next(consumer, None)
        if record is None:
            break
        records.append(record)
    same = [(r.offset, r.key, r.value, r.headers) for r in records] == [
        (i, b"k%d" % i, value, [("n", b"%d" % i)]) for i, value in enumerate(values)]
    verdict(same, f"equal records with {codec}")
    verdict(consumer.end_offsets([partition]) == {partition: 1000}
            and consumer.beginning_offsets([partition]) == {partition: 0}, f"begin and end offsets with {codec}")
    found = consumer.offsets_for_times({partition: records[500].timestamp})[partition] if len(records) == 1000 else None
    verdict(found is not None and found.offset <= 500 and records[found.offset].timestamp == records[500].timestamp,
            f"the offset for a time with {codec}")
    consumer.close()


def topics():
    admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    topic = unique("topic")
    admin.create_topics([NewTopic(topic, 2, 1)])
    verdict(raises(TopicAlreadyExistsError, lambda: admin.create_topics([NewTopic(topic, 2, 1)])),
            "create a topic, once")
    admin.create_partitions({topic: NewPartitions(4)})
    give_up = time.monotonic() + LIMIT_S
    partitions = 0
    while partitions != 4 and time.monotonic() < give_up:
        partitions = len(admin.describe_topics([topic])[0]["partitions"])
    verdict(partitions == 4, "add partitions")
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "7200000"})])
    found, give_up = {}, time.monotonic() + LIMIT_S  # a broker may hear of it a little after the controller has answered
    while found != {"retention.ms": "7200000"} and time.monotonic() < give_up:
        answers = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": None})])
        found = {row[0]: row[1] for answer in answers for resource in answer.resources for row in resource[4]}
    verdict(found == {"retention.ms": "7200000"}, f"alter a setting of a topic ({found})")
    verdict(len(admin.describe_cluster()["brokers"]) == 1, "describe the cluster")
    admin.delete_topics([topic])
    verdict(raises(UnknownTopicOrPartitionError, lambda: admin.delete_topics([topic])), "delete a topic, once")
    admin.close()


def main():
    consumer = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None)
    version = consumer.config["api_version"]
    verdict(version >= (1, 0, 0), f"takes the broker for version {'.'.join(map(str, version))}")
    consumer.close()
    for codec, here in ((None, True), ("gzip", True), ("snappy", has_snappy()), ("lz4", has_lz4()), ("zstd", has_zstd())):
        if here:
            round_trip(codec)
        else:
            print(f"skipped: no Python module for {codec}")
    topics()
    sys.exit(1 if failures else 0)


main()
