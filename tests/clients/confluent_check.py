"""confluent-kafka (librdkafka): topics, idempotent production with each codec, reading by partition. confluent_check.py BOOTSTRAP"""
import os
import random
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

BOOTSTRAP = sys.argv[1]
LIMIT_S = 25
failures = 0


def verdict(ok, what):
    global failures
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} - confluent: {what}", flush=True)


def unique(what):
    return f"confluent-{what}-{os.getpid()}-{random.randrange(1 << 30)}"


def error_of(future):
    try:
        future.result(LIMIT_S)
    except KafkaException as error:
        return error.args[0].code()
    return None


def produce(topic, records, **settings):
    """Sends (partition, key, value, headers); returns {(partition, offset): (key, value)} and the errors."""
    acknowledged, errors = {}, []

    def on_delivery(error, message):
        if error:
            errors.append(error.code())
        else:
            acknowledged[message.partition(), message.offset()] = (message.key(), message.value())

    producer = Producer({"bootstrap.servers": BOOTSTRAP, "message.timeout.ms": LIMIT_S * 1000, **settings})
    for partition, key, value, headers in records:
        producer.produce(topic, value, key, partition=partition, headers=headers, on_delivery=on_delivery)
        producer.poll(0)
    if producer.flush(LIMIT_S) != 0:
        errors.append("not flushed")
    return acknowledged, errors


def consume(topic, partitions, **settings):
    """All records from the beginning to the end of the partitions."""
    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": unique("group"), "enable.auto.commit": False,
                         "enable.partition.eof": True, **settings})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    left, messages, give_up = set(range(partitions)), [], time.monotonic() + LIMIT_S
    while left and time.monotonic() < give_up:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise KafkaException(message.error())
            left.discard(message.partition())
        else:
            messages.append(message)
    consumer.close()
    return messages


def topics(admin):
    topic = unique("topic")
    verdict(error_of(admin.create_topics([NewTopic(topic, 3, 1)])[topic]) is None, "create a topic")
    verdict(error_of(admin.create_topics([NewTopic(topic, 3, 1)])[topic]) == KafkaError.TOPIC_ALREADY_EXISTS,
            "creating it again says that it exists")
    bad = "not/a/topic"
    verdict(error_of(admin.create_topics([NewTopic(bad, 1, 1)])[bad]) == KafkaError.TOPIC_EXCEPTION,
            "a bad name is refused")
    many = unique("replicas")
    verdict(error_of(admin.create_topics([NewTopic(many, 1, 3)])[many]) == KafkaError.INVALID_REPLICATION_FACTOR,
            "more replicas than brokers are refused")
    configured = unique("configured")
    made = error_of(admin.create_topics([NewTopic(configured, 1, 1, config={"retention.ms": "3600000"})])[configured])
    resource = ConfigResource(ConfigResource.Type.TOPIC, configured)
    configs = admin.describe_configs([resource])[resource].result(LIMIT_S)
    verdict(made is None and configs["retention.ms"].value == "3600000", "a topic keeps the setting it was made with")
    resource.set_config("retention.ms", "7200000")
    altered = error_of(admin.alter_configs([resource])[resource])
    value, give_up = None, time.monotonic() + LIMIT_S  # a broker may hear of it a little after the controller has answered
    while value != "7200000" and time.monotonic() < give_up:
        value = admin.describe_configs([resource])[resource].result(LIMIT_S)["retention.ms"].value
    verdict(altered is None and value == "7200000", "alter a setting of a topic")
    resource.set_config("retention.ms", "soon")
    verdict(error_of(admin.alter_configs([resource])[resource]) == KafkaError.INVALID_CONFIG, "a wrong value is refused")
    node = str(admin.list_topics(timeout=LIMIT_S).controller_id)
    broker = ConfigResource(ConfigResource.Type.BROKER, node)
    configs = admin.describe_configs([broker])[broker].result(LIMIT_S)
    verdict(configs["message.max.bytes"].value == "1048588" and configs["log.dirs"].is_read_only, "describe the broker's settings")
    wrong = unique("wrong")
    refused = error_of(admin.create_topics([NewTopic(wrong, 1, 1, config={"no.such.setting": "1"})])[wrong])
    verdict(refused == KafkaError.INVALID_CONFIG, "a setting that does not exist is refused")

    verdict(error_of(admin.create_partitions([NewPartitions(topic, 5)])[topic]) is None, "add partitions")
    give_up = time.monotonic() + LIMIT_S
    partitions = 0
    while partitions != 5 and time.monotonic() < give_up:
        partitions = len(admin.list_topics(topic, LIMIT_S).topics[topic].partitions)
    verdict(partitions == 5, "metadata shows the added partitions")
    verdict(error_of(admin.create_partitions([NewPartitions(topic, 2)])[topic]) == KafkaError.INVALID_PARTITIONS,
            "partitions can't be taken away")
    verdict(error_of(admin.delete_topics([topic])[topic]) is None, "delete a topic")
    verdict(error_of(admin.delete_topics([topic])[topic]) == KafkaError.UNKNOWN_TOPIC_OR_PART,
            "deleting it again says that it is not there")


def idempotent(admin, codec):
    topic = unique(codec)
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(LIMIT_S)
    records = [(i % 3, f"key-{i}".encode(), os.urandom(5) + b"x" * (i % 300), [("n", str(i).encode())])
               for i in range(5000)]
    acknowledged, errors = produce(topic, records, **{"enable.idempotence": True, "compression.type": codec,
                                                      "linger.ms": 5, "batch.num.messages": 200})
    verdict(not errors and len(acknowledged) == 5000, f"5000 records acknowledged, {codec} ({errors[:3]})")
    messages = consume(topic, 3)
    read = {(m.partition(), m.offset()): (m.key(), m.value()) for m in messages}
    verdict(read == acknowledged and len(messages) == 5000, f"the same 5000 records read back, {codec}")
    dense = all(sorted(o for p, o in read if p == partition) == list(range(sum(p == partition for p, _ in read)))
                for partition in range(3))
    verdict(dense, f"offsets are dense, {codec}")
    in_order = all([m.headers()[0][1] for m in messages if m.partition() == partition]
                   == [str(i).encode() for i in range(partition, 5000, 3)] for partition in range(3))
    verdict(in_order, f"order and headers are kept, {codec}")
    return topic


def offsets(topic):
    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": unique("group"), "enable.auto.commit": False})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), LIMIT_S)
    verdict((low, high) == (0, 1667), "watermarks")
    found = consumer.offsets_for_times([TopicPartition(topic, 0, 0), TopicPartition(topic, 1, 2 ** 42)], LIMIT_S)
    verdict(found[0].offset == 0 and found[1].offset in (-1, 1667), f"offsets for times ({found})")
    consumer.assign([TopicPartition(topic, 0, 1660)])
    first = consumer.poll(LIMIT_S)
    verdict(first is not None and not first.error() and first.offset() == 1660, "start at an offset")
    consumer.seek(TopicPartition(topic, 0, 3))
    message = consumer.poll(LIMIT_S)
    while message is not None and not message.error() and message.offset() >= 1660:
        message = consumer.poll(LIMIT_S)
    verdict(message is not None and not message.error() and message.offset() == 3, "seek")
    consumer.close()

    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": unique("group"), "enable.auto.commit": False,
                         "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0, 99999)])
    message = consumer.poll(LIMIT_S)
    verdict(message is not None and not message.error() and message.offset() == 0,
            "an offset behind the end starts over as auto.offset.reset says")
    consumer.close()


def refused():
    topic = unique("refused")
    produce(topic, [(0, None, b"first", None)])
    acknowledged, errors = produce(topic, [(0, None, os.urandom(2_000_000), None)], **{"message.max.bytes": 4_000_000})
    verdict(errors == [KafkaError.MSG_SIZE_TOO_LARGE], f"a record above message.max.bytes is refused ({errors})")
    acknowledged, errors = produce(topic, [(7, None, b"x", None)], **{"message.timeout.ms": 5000})
    verdict(errors == [KafkaError._UNKNOWN_PARTITION], f"a partition that does not exist is refused ({errors})")
    acknowledged, errors = produce(topic, [(0, b"k", None, None), (0, b"", b"", None)])
    messages = consume(topic, 1)
    shapes = [(m.key(), m.value()) for m in messages]
    verdict(shapes == [(None, b"first"), (b"k", None), (b"", b"")],
            f"null and empty keys and values ({shapes})")


def main():
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    topics(admin)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        topic = idempotent(admin, codec)
    offsets(topic)
    refused()
    sys.exit(1 if failures else 0)


main()
