"""Producing, fetching, and finding offsets."""
import base64
import time

from common import UNKNOWN_ID, fill, make_topic, numbered, produced
from records import batch


def produce(s):
    made = make_topic(s, "produced", 2)
    newest = s.versions("Produce")[-1]
    s.ask_all("Produce", lambda v: produced("produced", made, v, 0, numbered(2)))
    s.ask_all("Produce", lambda v: produced("produced", made, v, 9, numbered(2)), "an unknown partition")
    s.ask_all("Produce", lambda v: produced("produced-unknown", UNKNOWN_ID, v, 0, numbered(2)), "an unknown topic")
    s.ask_all("Produce", lambda v: produced("produced", made, v, 0, numbered(2, crc_off=1)), "a wrong checksum")
    one = lambda note, records, **more: s.ask("Produce", produced("produced", made, newest, 0, records, **more), note=note)
    one("acks 1", numbered(1), acks=1)
    one("acks 2", numbered(1), acks=2)
    one("acks -2", numbered(1), acks=-2)
    one("compressed", numbered(3, codec=1))
    one("no records", batch())
    one("no bytes", "")
    s.ask("Produce", produced("produced", made, newest, 0, None), note="null", none_ms=3000)
    one("magic 1", numbered(1, magic=1))
    one("magic 3", numbered(1, magic=3))
    one("two batches", base64.b64encode(base64.b64decode(numbered(1)) * 2).decode())
    one("cut short", base64.b64encode(base64.b64decode(numbered(1))[:-3]).decode())
    one("bytes left over", base64.b64encode(base64.b64decode(numbered(1)) + b"xyz").decode())
    one("a wrong count", numbered(3, count=2))
    one("a negative count", numbered(3, count=-1))
    one("a wrong last delta", numbered(3, last_delta=5))
    one("an offset of its own", numbered(2, base_offset=55))
    one("a control batch", numbered(1, control=True))
    one("unreadable gzip", batch((b"k", b"v"), codec=1, payload=b"not gzip at all"))
    one("an unknown codec", numbered(1, codec=7))
    one("append time claimed", numbered(1, append_time=True))
    one("too large", batch((b"k", b"v" * 1_100_000)))
    one("a negative timestamp", batch((b"k", b"v"), timestamp=-1))
    one("a far future", batch((b"k", b"v"), timestamp=9_000_000_000_000))
    one("headers", batch((b"k", b"v", [(b"a", b"1"), (b"a", None), (b"", b"")], 0), (None, None)))
    one("transactional without a transaction", numbered(1, transactional=True, producer=(9, 0, 0)))
    one("transactional id, plain records", numbered(1), transactionalId="nobody")
    version = newest
    s.ask("Produce", {"acks": -1, "timeoutMs": 1000, "topicData": []}, version, "no topics")
    s.ask("Produce", {"acks": -1, "timeoutMs": 1000, "topicData": [{"topicId": made, "partitionData": [
        {"index": 0, "records": numbered(1)}, {"index": 0, "records": numbered(1)}]}]}, version, "a partition twice")
    s.ask("Produce", {"acks": -1, "timeoutMs": 1000, "topicData": [{"topicId": made, "partitionData": [
        {"index": 0, "records": numbered(1)}, {"index": 1, "records": numbered(1, crc_off=1)}, {"index": 7, "records": numbered(1)}]}]},
          version, "good and bad")
    s.ask("Produce", produced("produced", made, version, 0, numbered(1), acks=0), version, "acks 0", connection="silent", none_ms=300)
    s.ask("Produce", produced("produced", made, version, 0, numbered(1, crc_off=1), acks=0), version, "acks 0, unsound", connection="silent2",
          none_ms=300)
    s.ask("ListOffsets", {"replicaId": -1, "topics": [{"name": "produced", "partitions": [{"partitionIndex": p, "timestamp": -1} for p in (0, 1)]}]},
          7, "the ends")


def idempotence(s):
    made = make_topic(s, "sequenced")
    version = s.versions("Produce")[-1]
    one = lambda note, *producer, count=2: s.ask("Produce", produced("sequenced", made, version, 0, numbered(count, producer=producer)), note=note)
    one("first", 700, 0, 0)
    one("next", 700, 0, 2)
    one("the last again", 700, 0, 2)
    one("the first again", 700, 0, 0)
    one("a gap", 700, 0, 10)
    one("overlapping", 700, 0, 3)
    one("a new epoch", 700, 1, 0)
    one("the old epoch", 700, 0, 4)
    one("a new epoch not from 0", 700, 2, 5)
    one("an unknown producer not from 0", 701, 0, 5)
    one("an unknown producer", 702, 0, 0)
    one("a negative sequence", 703, 0, -1)
    one("a negative epoch", 704, -1, 0)
    one("wrapping around", 705, 0, 2147483646)
    for first in range(2, 14, 2):
        one("more", 700, 1, first)
    one("six back", 700, 1, 2)
    one("one back", 700, 1, 10)


def topic_rules(s):
    version = s.versions("Produce")[-1]
    def on(name, note, records, **configs):
        made = make_topic(s, f"rules-{name}", 1, {k.replace("_", "."): v for k, v in configs.items()})
        s.ask("Produce", produced(f"rules-{name}", made, version, 0, records), version, note)
        fetched = {"maxWaitMs": 100, "minBytes": 1, "maxBytes": 1 << 20, "topics": [{"topicId": made, "partitions": [
            {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}]}]}
        if "message_timestamp_type" in configs:  # the times are those of the brokers
            return s.note(f"count after {note}", [{"index": i, "offset": h["offset"]} for i, h in enumerate(headers(s.quietly("Fetch", fetched, 13)))])
        return s.ask("Fetch", fetched, 13, f"after {note}")
    on("compacted", "no key on a compacted topic", batch((b"k", b"v"), (None, b"v"), (None, b"w")), cleanup_policy="compact")
    on("compacted-gzip", "no key on a compacted topic, compressed", batch((b"k", b"v"), (None, b"v"), codec=1), cleanup_policy="compact")
    on("small", "larger than the topic's bound", batch((b"k", b"v" * 2000)), max_message_bytes="1000")
    on("isr", "too few replicas", numbered(1), min_insync_replicas="2")
    on("before", "too old", batch((b"k", b"v"), timestamp=1_600_000_000_000), message_timestamp_before_max_ms="1000")
    on("after", "too new", batch((b"k", b"v"), timestamp=int(time.time() * 1000) + 7_200_000), message_timestamp_after_max_ms="3600000")
    on("append-time", "append time", batch((b"k", b"v"), (b"l", b"w")), message_timestamp_type="LogAppendTime")
    made = make_topic(s, "rules-isr-1", 1, {"min.insync.replicas": "2"})
    s.ask("Produce", produced("rules-isr-1", made, version, 0, numbered(1), acks=1), version, "too few replicas, acks 1")


def recompression(s):
    version = s.versions("Produce")[-1]
    for codec in ("gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"):
        made = make_topic(s, f"recompressed-{codec}", 1, {"compression.type": codec})
        for records in (numbered(20), numbered(20, codec=1), batch(*[(b"k", b"x" * 500)] * 50, producer=(800, 3, 0))):
            s.ask("Produce", produced(f"recompressed-{codec}", made, version, 0, records), version, codec)
        answer = s.quietly("Fetch", {"maxWaitMs": 100, "minBytes": 1, "maxBytes": 1 << 20, "topics": [{"topicId": made, "partitions": [
            {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}]}]}, 13)
        s.note(f"headers of {codec}", headers(answer))
        s.ask("Produce", produced(f"recompressed-{codec}", made, version, 0, batch((b"k", b"v"), codec=1, payload=b"nonsense")), version,
              f"{codec}, unreadable")
        s.ask("Produce", produced(f"recompressed-{codec}", made, version, 0, numbered(3, count=2, codec=1)), version, f"{codec}, a wrong count")


def headers(fetched):
    """What of the batches does not depend on how well the codec compresses."""
    found = []
    for response in fetched.get("responses", []):
        for partition in response["partitions"]:
            data = base64.b64decode(partition["records"] or "")
            while len(data) >= 61:
                length = int.from_bytes(data[8:12], "big")
                found.append({"index": len(found), "offset": data[0:8].hex(), "epochs": data[12:17].hex(), "header": data[21:61].hex()})
                data = data[12 + length:]
    return found


def fetch(s):
    made = make_topic(s, "fetched", 2)
    fill(s, "fetched", made, [numbered(3), numbered(3, 3), numbered(4, 6, codec=1)])
    def one(version, offset=0, partition=0, **more):
        by_id, by_name = more.pop("id", made), more.pop("name", "fetched")
        where = {"topicId": by_id} if version >= 13 else {"topic": by_name}
        limits = {key: more.pop(key) for key in ("maxBytes", "minBytes", "maxWaitMs", "isolationLevel", "sessionId", "sessionEpoch") if key in more}
        return {"replicaId": -1, "maxWaitMs": 100, "minBytes": 1, "maxBytes": 1 << 20, **limits, "topics": [{**where, "partitions": [
            {"partition": partition, "fetchOffset": offset, "partitionMaxBytes": 1 << 20, **more}]}]}
    s.ask_all("Fetch", lambda v: one(v))
    s.ask_all("Fetch", lambda v: one(v, 4), "from inside a batch")
    s.ask_all("Fetch", lambda v: one(v, 10), "at the end")
    s.ask_all("Fetch", lambda v: one(v, 11), "beyond the end")
    s.ask_all("Fetch", lambda v: one(v, -1), "a negative offset")
    s.ask_all("Fetch", lambda v: one(v, 0, 9), "an unknown partition")
    s.ask_all("Fetch", lambda v: one(v, 0, name="fetched-unknown", id=UNKNOWN_ID), "an unknown topic")
    s.ask_all("Fetch", lambda v: one(v, 0, isolationLevel=1), "committed")
    s.ask_all("Fetch", lambda v: one(v, 0, 1), "an empty partition")
    for note, more in (("one byte of a partition", {"partitionMaxBytes": 1}), ("one byte in all", {"maxBytes": 1}), ("bytes for one batch", {"partitionMaxBytes": 150}),
                       ("no bytes", {"partitionMaxBytes": 0}), ("negative bytes", {"maxBytes": -1}), ("the right epoch", {"currentLeaderEpoch": 0}),
                       ("an old epoch", {"currentLeaderEpoch": -5}), ("a future epoch", {"currentLeaderEpoch": 9}), ("more bytes than there are", {"minBytes": 1 << 30}),
                       ("a last epoch", {"lastFetchedEpoch": 0}), ("a wrong last epoch", {"lastFetchedEpoch": 3}), ("no wait", {"maxWaitMs": 0, "minBytes": 1 << 30})):
        for version in (12, 13, s.versions("Fetch")[-1]):
            s.ask("Fetch", one(version, 3, **more), version, note)
    two = lambda **more: {"maxWaitMs": 100, "minBytes": 1, "maxBytes": 1 << 20, **more}
    version = s.versions("Fetch")[-1]
    both = [{"topicId": made, "partitions": [{"partition": p, "fetchOffset": 0, "partitionMaxBytes": 1 << 20} for p in (0, 1)]}]
    s.ask("Fetch", two(topics=both), version, "both")
    s.ask("Fetch", two(topics=[]), version, "nothing")
    s.ask("Fetch", two(topics=both * 2), version, "twice")
    answer = s.ask("Fetch", two(topics=both, sessionId=0, sessionEpoch=0), version, "a session begins")
    session = answer.get("sessionId", 0)
    s.ask("Fetch", two(topics=[], sessionId=session, sessionEpoch=1), version, "a session goes on")
    s.ask("Fetch", two(topics=[{"topicId": made, "partitions": [{"partition": 0, "fetchOffset": 10, "partitionMaxBytes": 1 << 20}]}], sessionId=session,
                       sessionEpoch=2), version, "a session reads on")
    s.ask("Fetch", two(topics=[], sessionId=session, sessionEpoch=9), version, "a wrong epoch of a session")
    s.ask("Fetch", two(topics=[], sessionId=session, sessionEpoch=3, forgottenTopicsData=[{"topicId": made, "partitions": [1]}]), version, "a session forgets")
    s.ask("Fetch", two(topics=both, sessionId=session, sessionEpoch=-1), version, "a session ends")
    s.ask("Fetch", two(topics=[], sessionId=session, sessionEpoch=4), version, "a session that is gone")
    s.ask("Fetch", two(topics=[], sessionId=77, sessionEpoch=0), version, "a session by another number")


def list_offsets(s):
    made = make_topic(s, "listed", 2)
    fill(s, "listed", made, [numbered(3, timestamp=1_700_000_000_000), numbered(3, 3, timestamp=1_700_000_500_000), numbered(2, 6, timestamp=1_700_000_100_000)])
    def one(timestamp, partition=0, name="listed", **more):
        top = {key: more.pop(key) for key in ("isolationLevel", "replicaId", "timeoutMs") if key in more}
        return {"replicaId": -1, **top, "topics": [{"name": name, "partitions": [{"partitionIndex": partition, "timestamp": timestamp, **more}]}]}
    for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, 1_700_000_000_000, 1_700_000_000_001, 1_700_000_500_000, 1_700_000_500_001):
        s.ask_all("ListOffsets", one(timestamp), str(timestamp))
        s.ask_all("ListOffsets", one(timestamp, 1), f"{timestamp} of an empty partition")
    s.ask_all("ListOffsets", one(-1, 9), "an unknown partition")
    s.ask_all("ListOffsets", one(-1, name="listed-unknown"), "an unknown topic")
    s.ask_all("ListOffsets", one(-1, isolationLevel=1), "committed")
    s.ask("ListOffsets", one(-1, currentLeaderEpoch=0), note="the right epoch")
    s.ask("ListOffsets", one(-1, currentLeaderEpoch=9), note="a future epoch")
    s.ask("ListOffsets", one(-1, replicaId=1), note="as a replica")
    s.ask("ListOffsets", one(-1, replicaId=-2), note="as a debugger")
    s.ask("ListOffsets", {"replicaId": -1, "topics": []}, note="none")
    s.ask("ListOffsets", {"replicaId": -1, "topics": [{"name": "listed", "partitions": [{"partitionIndex": 0, "timestamp": t} for t in (-1, -2)]}]}, note="twice")


def leader_epochs(s):
    made = make_topic(s, "epochs")
    fill(s, "epochs", made, [numbered(3)])
    def one(epoch, partition=0, name="epochs", current=-1, replica=-1):
        return {"replicaId": replica, "topics": [{"topic": name, "partitions": [{"partition": partition, "currentLeaderEpoch": current, "leaderEpoch": epoch}]}]}
    for epoch in (-1, 0, 1):
        s.ask_all("OffsetForLeaderEpoch", one(epoch), f"epoch {epoch}")
    s.ask_all("OffsetForLeaderEpoch", one(0, 9), "an unknown partition")
    s.ask_all("OffsetForLeaderEpoch", one(0, name="epochs-unknown"), "an unknown topic")
    s.ask_all("OffsetForLeaderEpoch", one(0, current=9), "a future epoch")


SCENARIOS = [produce, idempotence, topic_rules, recompression, fetch, list_offsets, leader_epochs]
