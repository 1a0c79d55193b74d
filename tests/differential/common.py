"""What several scenarios need."""
from records import batch

UNKNOWN_ID = "zzzzzzzzzzzzzzzzzzzzzA"


def make_topic(s, name, partitions=1, configs=None):
    """Makes a topic where there is none; returns its id."""
    s.quietly("CreateTopics", {"timeoutMs": 30000, "topics": [
        {"name": name, "numPartitions": partitions, "replicationFactor": 1,
         "configs": [{"name": k, "value": v} for k, v in (configs or {}).items()]}]})
    return topic_id(s, name)


def topic_id(s, name):
    answer = s.quietly("Metadata", {"topics": [{"name": name}], "allowAutoTopicCreation": False})
    return answer["topics"][0]["topicId"]


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
