#!/usr/bin/python3
"""Kills the processes of a node in the middle of production and looks whether anything acknowledged was lost.

usage: kill_test.py --programs DIR [--rounds N] [--io uring,epoll] [--victims engine,broker,zkbridge,groupcoord,all]

Each round: two real producers (one idempotent, both acks=all) write numbered records to several partitions; one process,
or all of them with their supervisor, gets SIGKILL; the producers must go on by themselves, which is shown by records
acknowledged after the kill on each partition. At the end a consumer reads everything:
- each acknowledged record is there, at the offset that was acknowledged;
- offsets are dense; the idempotent producer's records are there once and in order;
- processes that were not killed are the same as before.
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

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from node import LIMIT_S, SERVICES, Node, tally, wait_until

PARTITIONS = 4
TOPIC = "kill"


class Writer(threading.Thread):
    """A producer that never stops by itself: numbered records to all partitions, and what was acknowledged."""

    def __init__(self, name, address, idempotent):
        super().__init__(daemon=True)
        self.label, self.idempotent = name, idempotent
        self.producer = Producer({
            "bootstrap.servers": address, "enable.idempotence": idempotent, "acks": "all", "linger.ms": 1,
            "message.timeout.ms": LIMIT_S * 1000, "retry.backoff.ms": 20, "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 200, "topic.metadata.refresh.fast.interval.ms": 20,
            "socket.timeout.ms": 10000, "log_level": 1})
        self.acknowledged = {}  # (partition, offset): value
        self.without_offset = set()  # (partition, value): a repeat that the broker knew too long ago to say where it is
        self.sent = [0] * PARTITIONS
        self.last_number = [-1] * PARTITIONS
        self.errors = []
        self.done = threading.Event()

    def on_delivery(self, error, message):
        if error:
            self.errors.append(str(error))
            return
        at = (message.partition(), message.offset())
        if message.offset() < 0:
            self.without_offset.add((message.partition(), message.value()))
        elif at in self.acknowledged:
            self.errors.append(f"offset {at} acknowledged twice")
        else:
            self.acknowledged[at] = message.value()
        self.last_number[message.partition()] = max(self.last_number[message.partition()], int(message.value().split()[1]))

    def run(self):
        while not self.done.is_set():
            for partition in range(PARTITIONS):
                value = b"%s %d %s" % (self.label.encode(), self.sent[partition], b"x" * (self.sent[partition] % 700))
                try:
                    self.producer.produce(TOPIC, value, partition=partition, on_delivery=self.on_delivery)
                    self.sent[partition] += 1
                except BufferError:
                    self.producer.poll(0.01)
                except KafkaException as error:  # the idempotent producer found a gap
                    self.errors.append(str(error))
                    return
            self.producer.poll(0)
            if sum(self.sent) - len(self.acknowledged) - len(self.without_offset) > 4000:
                self.producer.poll(0.01)
        self.producer.flush(LIMIT_S)

    def progressed(self):
        """A condition: records sent after this call have been acknowledged on every partition."""
        marks = list(self.sent)
        return lambda: self.errors or all(last >= mark for last, mark in zip(self.last_number, marks))


def read_all(address):
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False,
                         "enable.partition.eof": True, "log_level": 1})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    left, records, give_up = set(range(PARTITIONS)), [[] for _ in range(PARTITIONS)], time.monotonic() + 2 * LIMIT_S
    while left and time.monotonic() < give_up:
        for message in consumer.consume(1000, 1):
            if not message.error():
                records[message.partition()].append((message.offset(), message.value()))
            elif message.error().code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition())
    consumer.close()
    return None if left else records


def check_records(writers, records, what):
    stored = {(partition, offset): value for partition in range(PARTITIONS) for offset, value in records[partition]}
    for writer in writers:
        lost = [at for at, value in writer.acknowledged.items() if stored.get(at) != value]
        values = {(partition, value) for (partition, _), value in stored.items()}
        lost += [(partition, value[:30]) for partition, value in writer.without_offset if (partition, value) not in values]
        tally.verdict(not lost, f"{what}: all {len(writer.acknowledged)} acknowledged records of the {writer.label} producer "
                                f"are there{f'; lost {len(lost)}, first {lost[:3]}' if lost else ''}")
    dense = all([offset for offset, _ in records[p]] == list(range(len(records[p]))) for p in range(PARTITIONS))
    tally.verdict(dense, f"{what}: offsets are dense")
    for writer in writers:
        if not writer.idempotent:
            continue
        prefix = writer.label.encode() + b" "
        for partition in range(PARTITIONS):
            numbers = [int(value.split()[1]) for _, value in records[partition] if value.startswith(prefix)]
            if numbers != list(range(len(numbers))):
                wrong = next(i for i, number in enumerate(numbers) if number != i)
                tally.verdict(False, f"{what}: partition {partition} has {numbers[max(0, wrong - 2):wrong + 3]} at {wrong}")
                break
        else:
            tally.verdict(True, f"{what}: no duplicate and no gap of the idempotent producer")


def run(programs, io, victims, rounds, generator):
    directory = tempfile.mkdtemp(prefix="tailrace-kill-")
    node = Node(programs, os.path.join(directory, "data"), io)
    try:
        node.start()
        admin = AdminClient({"bootstrap.servers": node.address, "log_level": 1})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(LIMIT_S)
        writers = [Writer("idempotent", node.address, True), Writer("plain", node.address, False)]
        for writer in writers:
            writer.start()
        for number in range(rounds):
            victim = victims[number % len(victims)]
            what = f"{io}, round {number + 1}, {victim}"
            if wait_until(lambda: all(len(w.acknowledged) > 1000 for w in writers)) is None:
                tally.verdict(False, f"{what}: nothing is acknowledged {[w.errors[:3] for w in writers]}")
                break
            time.sleep(generator.uniform(0, 0.3))  # the kill shall come at any point of the work
            stay = node.kill(victim)
            if victim == "all":
                node.start()
            recovered = wait_until(lambda conditions=[w.progressed() for w in writers]: all(c() for c in conditions))
            errors = [w.errors[:3] for w in writers if w.errors]
            if not tally.verdict(recovered is not None and not errors, f"{what}: the producers went on {errors or ''}".rstrip()):
                break
            now = wait_until(node.all_processes) or node.processes()
            tally.verdict(all(now.get(name) == process for name, process in stay.items()) and len(now) == len(SERVICES),
                          f"{what}: the other processes are the same")
        for writer in writers:
            writer.done.set()
        for writer in writers:
            writer.join(2 * LIMIT_S)
        what = f"{io}, after {rounds} rounds"
        errors = [w.errors[:3] for w in writers if w.errors]
        tally.verdict(not errors, f"{what}: no record was given up {errors or ''}".rstrip())
        records = read_all(node.address)
        if tally.verdict(records is not None, f"{what}: everything can be read"):
            check_records(writers, records, what)
        tally.verdict(node.stop() == 0, f"{what}: the node stops cleanly")
        node.start()
        records = read_all(node.address)
        if tally.verdict(records is not None, f"{what}: everything can be read after a new start"):
            check_records(writers, records, f"{what} and a new start")
        node.stop()
    finally:
        if node.up and node.up.poll() is None:
            node.up.kill()
            node.up.wait()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="directory with tailrace and its services")
    parser.add_argument("--rounds", type=int, default=10, help="kills per kind of I/O; victims take turns")
    parser.add_argument("--io", default="uring,epoll")
    parser.add_argument("--victims", default=",".join((*SERVICES, "all")))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    generator = random.Random(options.seed)
    for io in options.io.split(","):
        run(options.programs, io, options.victims.split(","), options.rounds, generator)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


sys.exit(main())
