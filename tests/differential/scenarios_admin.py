"""Topics, partitions, replicas, log directories, producers: what administrators ask."""
from common import UNKNOWN_ID, fill, make_topic, numbered, produced, topic_id
from records import batch


def topic(name, partitions=1, replicas=1, assignments=None, **configs):
    return {"name": name, "numPartitions": partitions, "replicationFactor": replicas,
            "assignments": [{"partitionIndex": p, "brokerIds": b} for p, b in (assignments or {}).items()],
            "configs": [{"name": k.replace("_", "."), "value": v} for k, v in configs.items()]}


def create(*topics, **more):
    return {"topics": list(topics), "timeoutMs": 30000, **more}


def create_topics(s):
    s.ask_all("CreateTopics", lambda v: create(topic(f"create-v{v}", 2)))
    s.ask_all("CreateTopics", lambda v: create(topic(f"create-v{v}", 2)), "again")
    s.ask_all("CreateTopics", lambda v: create(topic(f"create-valid-v{v}", 2), validateOnly=True), "validate only")
    s.ask_all("CreateTopics", lambda v: create(topic(f"create-config-v{v}", retention_ms="1000", cleanup_policy="compact")),
              "with settings")
    s.ask_all("CreateTopics", lambda v: create(topic(f"create-bad-v{v}", retention_ms="soon")), "a bad setting")
    for version in (4, 7):
        s.ask("CreateTopics", create(topic(f"create-defaults-{version}", -1, -1)), version, "defaults")
    s.ask("CreateTopics", create(topic("create-default-3", -1, -1)), 3, "defaults before version 4")
    one = lambda note, *topics, **more: s.ask("CreateTopics", create(*topics, **more), note=note)
    one("none")
    one("no partitions", topic("create-0", 0))
    one("negative partitions", topic("create-0", -2))
    one("two replicas", topic("create-0", 1, 2))
    one("no replica", topic("create-0", 1, 0))
    one("negative replicas", topic("create-0", 1, -2))
    one("many partitions", topic("create-many", 100001))
    for name in ("", ".", "..", "a b", "a/b", "x" * 250, "ä", "a:b"):
        one(f"the name {name[:4]!r} {len(name)}", topic(name))
    one("the longest name", topic("x" * 249), validateOnly=True)
    one("a metric's name", topic("create.v2"))
    one("the name of offsets", topic("__consumer_offsets", 1), validateOnly=True)
    one("__cluster_metadata", topic("__cluster_metadata", 1), validateOnly=True)
    one("one twice", topic("create-twice"), topic("create-twice"))
    one("one twice and a good one", topic("create-twice"), topic("create-twice"), topic("create-beside"))
    one("good and bad ones", topic("create-good"), topic("create-bad", 0), topic("create-v2"), topic("create-good-2", 3))
    one("assigned", topic("create-assigned", -1, -1, {0: [1], 1: [1]}))
    one("assigned and counted", topic("create-assigned-2", 2, -1, {0: [1], 1: [1]}))
    one("assigned and replicated", topic("create-assigned-2", -1, 1, {0: [1], 1: [1]}))
    one("assigned to nobody", topic("create-assigned-2", -1, -1, {0: []}))
    one("assigned to an unknown broker", topic("create-assigned-2", -1, -1, {0: [7]}))
    one("assigned twice to one", topic("create-assigned-2", -1, -1, {0: [1, 1]}))
    one("assigned with a hole", topic("create-assigned-2", -1, -1, {0: [1], 2: [1]}))
    one("assigned from 1", topic("create-assigned-2", -1, -1, {1: [1]}))
    one("assigned unevenly", topic("create-assigned-2", -1, -1, {0: [1], 1: [1, 7]}))
    one("assigned, negative partition", topic("create-assigned-2", -1, -1, {-1: [1]}))
    for key, value in (("unknown.key", "1"), ("retention.ms", ""), ("retention.ms", None), ("retention.ms", "-2"),
                       ("segment.bytes", "1"), ("segment.bytes", "99999999999"), ("cleanup.policy", "keep"),
                       ("cleanup.policy", "compact,delete"), ("cleanup.policy", ""), ("compression.type", "brotli"),
                       ("compression.type", "gzip"), ("compression.gzip.level", "11"), ("compression.zstd.level", "100"),
                       ("max.message.bytes", "-1"), ("min.insync.replicas", "0"), ("min.cleanable.dirty.ratio", "1.5"),
                       ("message.timestamp.type", "Now"), ("preallocate", "yes"), ("unclean.leader.election.enable", "true"),
                       ("remote.storage.enable", "true"), ("local.retention.ms", "10"), ("min.compaction.lag.ms", "9"),
                       ("message.timestamp.before.max.ms", "-1"), ("index.interval.bytes", "-1"), ("", "1"),
                       ("flush.messages", "0"), ("segment.ms", "0"), ("follower.replication.throttled.replicas", "0:1"),
                       ("follower.replication.throttled.replicas", "x"), ("delete.retention.ms", " 10 "),
                       ("message.format.version", "3.0"), ("message.downconversion.enable", "false")):
        one(f"{key}={value}", {**topic("create-checked"), "configs": [{"name": key, "value": value}]}, validateOnly=True)
    one("compaction lags crossed", topic("create-checked", min_compaction_lag_ms="10", max_compaction_lag_ms="5"),
        validateOnly=True)
    one("a setting twice", {**topic("create-checked"), "configs": [{"name": "retention.ms", "value": v} for v in "12"]},
        validateOnly=True)


def delete_topics(s):
    for version in s.versions("DeleteTopics"):
        name = f"delete-v{version}"
        made = make_topic(s, name)
        by = {"topics": [{"name": name}]} if version >= 6 else {"topicNames": [name]}
        s.ask("DeleteTopics", {**by, "timeoutMs": 30000}, version)
        s.ask("DeleteTopics", {**by, "timeoutMs": 30000}, version, "again")
        if version >= 6:
            s.ask("DeleteTopics", {"topics": [{"topicId": made, "name": None}], "timeoutMs": 30000}, version, "its id again")
    first = make_topic(s, "delete-by-id")
    by_id = lambda *ids: {"topics": [{"topicId": i, "name": None} for i in ids], "timeoutMs": 30000}
    s.ask("DeleteTopics", by_id(UNKNOWN_ID), note="an unknown id")
    s.ask("DeleteTopics", by_id(first, first), note="an id twice")
    s.ask("DeleteTopics", {"topics": [{"topicId": first, "name": "delete-by-id"}], "timeoutMs": 1000}, note="id and name")
    s.ask("DeleteTopics", {"topics": [{"name": "delete-by-id"}, {"topicId": first, "name": None}], "timeoutMs": 1000},
          note="once by name, once by id")
    s.ask("DeleteTopics", {"topics": [{"name": None}], "timeoutMs": 1000}, note="neither")
    s.ask("DeleteTopics", {"topics": [{"name": "delete-by-id"}, {"name": "delete-by-id"}], "timeoutMs": 1000}, note="a name twice")
    s.ask("DeleteTopics", {"topics": [], "timeoutMs": 1000}, note="none")
    s.ask("DeleteTopics", {"topics": [{"name": "a b"}, {"name": ""}], "timeoutMs": 1000}, note="names that none may have")
    made = topic_id(s, "delete-by-id")
    s.ask("DeleteTopics", {"topics": [{"topicId": made, "name": None}, {"name": "delete-unknown"}], "timeoutMs": 30000},
          note="one good, one unknown")
    again = make_topic(s, "delete-by-id", 2)
    version = s.versions("Produce")[-1]
    s.ask("Produce", produced("delete-by-id", made, version, 0, numbered(1)), note="to the id of a deleted topic")
    s.ask("Produce", produced("delete-by-id", again, version, 1, numbered(1)), note="to the topic made anew")
    s.ask("Metadata", {"topics": [{"name": "delete-by-id"}], "allowAutoTopicCreation": False}, note="made anew")


def create_partitions(s):
    grow = lambda *topics, **more: {"topics": [
        {"name": n, "count": c, "assignments": a and [{"brokerIds": b} for b in a]} for n, c, a in topics],
        "timeoutMs": 30000, "validateOnly": False, **more}
    for version in s.versions("CreatePartitions"):
        make_topic(s, f"grow-v{version}")
        s.ask("CreatePartitions", grow((f"grow-v{version}", 3, None)), version)
        s.ask("Metadata", {"topics": [{"name": f"grow-v{version}"}], "allowAutoTopicCreation": False}, note="grown")
    make_topic(s, "grow", 2)
    one = lambda note, *topics, **more: s.ask("CreatePartitions", grow(*topics, **more), note=note)
    one("none")
    one("the same count", ("grow", 2, None))
    one("fewer", ("grow", 1, None))
    one("none of them", ("grow", 0, None))
    one("negative", ("grow", -1, None))
    one("unknown", ("grow-unknown", 2, None))
    one("an impossible name", ("a b", 2, None))
    one("validate only", ("grow", 5, None), validateOnly=True)
    one("twice", ("grow", 3, None), ("grow", 4, None))
    one("too many", ("grow", 100001, None))
    one("assigned", ("grow", 3, [[1]]))
    one("assigned too few", ("grow", 6, [[1]]))
    one("assigned too many", ("grow", 4, [[1], [1]]))
    one("assigned to an unknown broker", ("grow", 4, [[7]]))
    one("assigned twice to one", ("grow", 4, [[1, 1]]))
    one("assigned to nobody", ("grow", 4, [[]]))
    one("good and bad", ("grow", 5, None), ("grow-unknown", 2, None))


def describe_topic_partitions(s):
    for name in ("described-a", "described-b"):
        make_topic(s, name, 3)
    wanted = [{"name": n} for n in ("described-b", "described-a", "described-unknown")]
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 2000})
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 4}, note="four of them")
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 2000,
                                      "cursor": {"topicName": "described-b", "partitionIndex": 1}}, note="from a cursor")
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 2000,
                                      "cursor": {"topicName": "described-b", "partitionIndex": 7}}, note="beyond the end")
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 2000,
                                      "cursor": {"topicName": "described-zzz", "partitionIndex": 0}}, note="from an unknown topic")
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 2000,
                                      "cursor": {"topicName": "described-b", "partitionIndex": -1}}, note="a negative cursor")
    s.ask("DescribeTopicPartitions", {"topics": wanted, "responsePartitionLimit": 0}, note="a limit of 0")
    s.ask("DescribeTopicPartitions", {"topics": [{"name": "a b"}], "responsePartitionLimit": 10}, note="an impossible name")
    s.ask("DescribeTopicPartitions", {"topics": wanted[:1] * 2, "responsePartitionLimit": 10}, note="twice")


def reassignments(s):
    make_topic(s, "moved", 2)
    one = lambda replicas, partition=0, name="moved", **more: {"topics": [
        {"name": name, "partitions": [{"partitionIndex": partition, "replicas": replicas}]}], "timeoutMs": 10000, **more}
    s.ask_all("AlterPartitionReassignments", one([1]), "where it is")
    s.ask("AlterPartitionReassignments", one(None), note="cancelled")
    s.ask("AlterPartitionReassignments", one([7]), note="an unknown broker")
    s.ask("AlterPartitionReassignments", one([1, 1]), note="twice")
    s.ask("AlterPartitionReassignments", one([]), note="nobody")
    s.ask("AlterPartitionReassignments", one([-1]), note="a negative broker")
    s.ask("AlterPartitionReassignments", one([1], 9), note="an unknown partition")
    s.ask("AlterPartitionReassignments", one([1], name="moved-unknown"), note="an unknown topic")
    s.ask("AlterPartitionReassignments", one(None, name="moved-unknown"), note="cancelled of an unknown topic")
    s.ask("AlterPartitionReassignments", {"topics": [], "timeoutMs": 1000}, note="none")
    s.ask("AlterPartitionReassignments", one([1], allowReplicationFactorChange=False), 1, note="no other factor")
    s.ask("AlterPartitionReassignments", one([1, 7], allowReplicationFactorChange=False), 1, note="another factor")
    s.ask("ListPartitionReassignments", {"topics": None, "timeoutMs": 1000})
    s.ask("ListPartitionReassignments", {"topics": [{"name": "moved", "partitionIndexes": [0, 9]},
                                                    {"name": "moved-unknown", "partitionIndexes": [0]}], "timeoutMs": 1000},
          note="some")
    elect = lambda partitions, how=0: {"electionType": how, "timeoutMs": 10000, "topicPartitions": partitions and [
        {"topic": t, "partitions": p} for t, p in partitions]}
    s.ask_all("ElectLeaders", elect([("moved", [0, 1])]))
    s.ask("ElectLeaders", elect([("moved", [0])], 1), note="unclean")
    s.ask("ElectLeaders", elect([("moved", [0])], 9), note="an unknown type")
    s.ask("ElectLeaders", elect([("moved", [9]), ("moved-unknown", [0])]), note="unknown ones")
    s.ask("ElectLeaders", {"electionType": 0, "timeoutMs": 10000, "topicPartitions": None}, note="all")
    s.ask("ElectLeaders", elect([]), note="none")
    s.ask("ElectLeaders", elect([("moved", [0, 0])]), note="one twice")


def log_dirs(s):
    made = make_topic(s, "sized", 2)
    fill(s, "sized", made, [numbered(5), numbered(5, 5)])
    asked = {"topics": [{"topic": "sized", "partitions": [0, 1, 9]}, {"topic": "sized-unknown", "partitions": [0]}]}
    s.ask_all("DescribeLogDirs", asked)
    s.ask("DescribeLogDirs", {"topics": []}, note="none")
    s.ask("DescribeLogDirs", {"topics": [{"topic": "sized", "partitions": []}]}, note="a topic without partitions")


def producers(s):
    made = make_topic(s, "producing", 2)
    version = s.versions("Produce")[-1]
    for base in (0, 3):
        s.quietly("Produce", produced("producing", made, version, 0, numbered(3, producer=(4000, 2, base))))
    s.quietly("Produce", produced("producing", made, version, 0, numbered(1, producer=(4001, 0, 0))))
    s.ask_all("DescribeProducers", {"topics": [{"name": "producing", "partitionIndexes": [0, 1, 9]},
                                               {"name": "producing-unknown", "partitionIndexes": [0]}]})


def delete_records(s):
    made = make_topic(s, "cut", 2)
    make_topic(s, "cut-compacted", 1, {"cleanup.policy": "compact"})
    make_topic(s, "cut-both", 1, {"cleanup.policy": "compact,delete"})
    fill(s, "cut", made, [numbered(5), numbered(5, 5)])
    cut = lambda offset, partition=0, name="cut": {"timeoutMs": 10000, "topics": [
        {"name": name, "partitions": [{"partitionIndex": partition, "offset": offset}]}]}
    for version in s.versions("DeleteRecords"):
        s.ask("DeleteRecords", cut(1 + version), version)
    for note, body in (("back", cut(1)), ("again", cut(3)), ("beyond the end", cut(11)), ("negative", cut(-2)),
                       ("an unknown partition", cut(0, 9)), ("an unknown topic", cut(0, 0, "cut-unknown")),
                       ("compacted", cut(0, 0, "cut-compacted")), ("compacted and deleted", cut(0, 0, "cut-both")),
                       ("all", cut(-1)), ("all again", cut(-1)), ("an empty partition", cut(0, 1)), ("no topic", {"topics": []})):
        s.ask("DeleteRecords", body, note=note)
    s.ask("ListOffsets", {"replicaId": -1, "topics": [{"name": "cut", "partitions": [
        {"partitionIndex": 0, "timestamp": -2}]}]}, 7, "its beginning")
    s.ask("Produce", produced("cut", made, s.versions("Produce")[-1], 0, batch((b"k", b"v"))), note="goes on")


SCENARIOS = [create_topics, delete_topics, create_partitions, describe_topic_partitions, reassignments, log_dirs, producers,
             delete_records]
