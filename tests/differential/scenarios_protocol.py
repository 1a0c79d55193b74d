"""Headers, versions, what is no request at all, and who the node is."""
import struct

from common import UNKNOWN_ID, make_topic


def api_versions(s):
    s.ask_all("ApiVersions", {"clientSoftwareName": "differential", "clientSoftwareVersion": "1.0"})
    for name, version in (("", "1"), ("a b", "1"), ("a", ""), ("a", "-1"), ("-a", "1"), ("a.b-c", "1.2.3-rc"), ("ä", "1")):
        s.ask("ApiVersions", {"clientSoftwareName": name, "clientSoftwareVersion": version}, 3, f"{name!r} {version!r}",
              connection=f"{name}/{version}")
    # What a client asks that is newer than the broker is answered in version 0.
    s.raw(struct.pack(">hhih", 18, 127, 1, -1), "a version that nobody has yet")


def garbage(s):
    header = struct.pack(">hhih", 3, 1, 1, -1)
    s.raw(struct.pack(">hhih", 999, 0, 1, -1), "an api that nobody has")
    s.raw(struct.pack(">hhih", -1, 0, 1, -1), "a negative api")
    s.raw(struct.pack(">hhih", 3, 99, 1, -1), "a version that Metadata has not")
    s.raw(struct.pack(">hhih", 3, -1, 1, -1), "a negative version")
    s.raw(b"", "nothing")
    s.raw(b"\0\3", "two bytes")
    s.raw(header, "Metadata without a body")
    s.raw(header + struct.pack(">i", 1000000), "an array longer than the frame")
    s.raw(header + struct.pack(">ih", 1, -1), "a null name")
    s.raw(header + struct.pack(">i", -2), "a negative count")
    s.raw(header + struct.pack(">i", 0) + b"left over", "bytes behind the end")
    s.raw(struct.pack(">hhih", 3, 1, 1, 3) + b"\xff\xfe\xfd" + struct.pack(">i", 0), "a client id that is not UTF-8")
    s.raw(struct.pack(">hhih", 4, 0, 1, -1), "LeaderAndIsr")
    s.raw(struct.pack(">hhih", 1, 3, 1, -1), "Fetch before its first version")
    s.raw(struct.pack(">hhih", 0, 2, 1, -1), "Produce before its first version")
    s.raw(struct.pack(">hhih", 17, 1, 1, -1) + b"\0\5PLAIN", "SaslHandshake on a listener without SASL")


def describe_cluster(s):
    s.ask_all("DescribeCluster", {})
    s.ask_all("DescribeCluster", {"includeClusterAuthorizedOperations": True}, "with operations")
    s.ask("DescribeCluster", {"endpointType": 2}, 1, "controllers")
    s.ask("DescribeCluster", {"endpointType": 7}, 1, "an unknown type of endpoint")
    s.ask("DescribeCluster", {"includeFencedBrokers": True}, 2, "fenced, too")


def metadata(s):
    made = make_topic(s, "metadata-a", 3)
    make_topic(s, "metadata.b", 1)
    one = lambda name: {"topics": [{"name": name}], "allowAutoTopicCreation": False}
    s.ask_all("Metadata", one("metadata-a"))
    s.ask_all("Metadata", one("metadata-unknown"), "unknown")
    s.ask_all("Metadata", {"topics": [{"name": n} for n in ("metadata-a", "metadata.b", "metadata-a", "metadata-unknown")],
                           "allowAutoTopicCreation": False}, "several, one twice")
    for name in ("", ".", "..", "a b", "x" * 249, "x" * 250, "a/b", "ä"):
        s.ask("Metadata", one(name), note=f"{name[:5]!r} {len(name)}")
    s.ask_all("Metadata", lambda v: {"topics": [] if v else [{"name": "metadata-a"}]}, "none")
    s.ask("Metadata", {"topics": [{"topicId": made, "name": None}]}, 12, "by id")
    s.ask("Metadata", {"topics": [{"topicId": UNKNOWN_ID, "name": None}]}, 12, "by an unknown id")
    s.ask("Metadata", {"topics": [{"topicId": made, "name": "metadata-a"}]}, 12, "by id and name")
    s.ask("Metadata", {"topics": [{"topicId": made, "name": None}, {"name": "metadata.b"}]}, 12, "one by id, one by name")
    s.ask("Metadata", {"topics": [{"name": None}]}, 12, "neither id nor name")
    s.ask("Metadata", {"topics": [{"topicId": made, "name": None}]}, 10, "by id before version 12")
    for version in (8, 10, 12):
        s.ask("Metadata", {**one("metadata-a"), "includeTopicAuthorizedOperations": True}, version, "topic operations")
    for version in (8, 10):
        s.ask("Metadata", {**one("metadata-a"), "includeClusterAuthorizedOperations": True}, version, "cluster operations")


def auto_create(s):
    for version in (1, 4, 9, 12):
        s.ask("Metadata", {"topics": [{"name": f"auto-{version}"}], "allowAutoTopicCreation": True}, version, "first")
        s.quietly("Metadata", {"topics": [{"name": f"auto-{version}"}], "allowAutoTopicCreation": False},
                  until=lambda answer: answer["topics"][0]["errorCode"] == 0)
        s.ask("Metadata", {"topics": [{"name": f"auto-{version}"}], "allowAutoTopicCreation": True}, version, "then")
    for name in ("auto bad", "auto/bad", "..", "x" * 250):
        s.ask("Metadata", {"topics": [{"name": name}], "allowAutoTopicCreation": True}, note=f"{name[:9]!r}")


def producer_ids(s):
    s.quietly("InitProducerId", {"transactionalId": None, "transactionTimeoutMs": 60000},
              until=lambda answer: answer.get("errorCode") == 0)  # Kafka takes its first ids from the controller meanwhile
    s.ask_all("InitProducerId", {"transactionalId": None, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1})
    s.ask("InitProducerId", {"transactionalId": None, "transactionTimeoutMs": -1}, note="a negative time-out")
    s.ask("InitProducerId", {"transactionalId": "", "transactionTimeoutMs": 60000}, note="an empty transactional id")
    s.ask("InitProducerId", {"transactionalId": None, "transactionTimeoutMs": 60000, "producerId": 5, "producerEpoch": -1},
          note="an id without an epoch")
    s.ask("InitProducerId", {"transactionalId": None, "transactionTimeoutMs": 60000, "producerId": 5, "producerEpoch": 3},
          note="an id and an epoch")


SCENARIOS = [api_versions, garbage, describe_cluster, metadata, auto_create, producer_ids]
