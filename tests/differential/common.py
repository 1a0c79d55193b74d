"""What several scenarios need."""
from records import batch

UNKNOWN_ID = "zzzzzzzzzzzzzzzzzzzzzA"


def make_topic(s, name, partitions=1, configs=None):
    """Makes a topic and waits until it has its leaders; returns its id."""
    s.quietly("CreateTopics", {"timeoutMs": 30000, "topics": [
        {"name": name, "numPartitions": partitions, "replicationFactor": 1,
         "configs": [{"name": k, "value": v} for k, v in (configs or {}).items()]}]})
    made = wait_for_topic(s, name, partitions)
    # Kafka says that a topic is there a little before its leader says so.
    s.quietly("ListOffsets", {"replicaId": -1, "topics": [{"name": name, "partitions": [
        {"partitionIndex": p, "timestamp": -1} for p in range(partitions)]}]},
              until=lambda answer: all(p["errorCode"] == 0 for t in answer["topics"] for p in t["partitions"]))
    return made


def wait_for_topic(s, name, partitions=1):
    def has_leaders(answer):
        topics = [t for t in answer.get("topics", []) if t["name"] == name and t["errorCode"] == 0]
        return topics and len([p for p in topics[0]["partitions"] if p["errorCode"] == 0]) == partitions
    answer = s.quietly("Metadata", {"topics": [{"name": name}], "allowAutoTopicCreation": False}, until=has_leaders)
    return next((t["topicId"] for t in answer.get("topics", []) if t["name"] == name), None)


def wait_until_gone(s, name):
    s.quietly("Metadata", {"topics": [{"name": name}], "allowAutoTopicCreation": False},
              until=lambda answer: all(t["errorCode"] == 3 for t in answer.get("topics", [])))


def produced(topic, topic_id, version, partition, records, acks=-1, **more):
    """The body of a Produce request for one partition; topics go by id from version 13 on."""
    where = {"topicId": topic_id} if version >= 13 else {"name": topic}
    return {"acks": acks, "timeoutMs": 10000, **more,
            "topicData": [{**where, "partitionData": [{"index": partition, "records": records}]}]}


def fill(s, topic, topic_id, batches, partition=0):
    for each in batches:
        s.quietly("Produce", produced(topic, topic_id, s.versions("Produce")[-1], partition, each), until=is_taken)


def is_taken(answer):
    return all(p["errorCode"] == 0 for t in answer["responses"] for p in t["partitionResponses"])


def numbered(records, first=0, **more):
    return batch(*[(b"k%d" % i, b"v%d" % i) for i in range(first, first + records)], **more)
