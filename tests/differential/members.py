"""Members of groups, played by a script: what they say of themselves, and the usual steps of either protocol."""
import base64
import struct

GROUP_ID_NOT_FOUND = 69
SESSION_MS = 600_000  # no member of a script is too late


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def subscription(*topics, version=1):
    """ConsumerProtocolSubscription, without user data and owned partitions; base64."""
    bytes_ = struct.pack(">hi", version, len(topics)) + b"".join(map(text, topics)) + struct.pack(">i", -1)
    return base64.b64encode(bytes_ + (struct.pack(">i", 0) if version >= 1 else b"")).decode()


def assignment(version=1, **partitions):
    """ConsumerProtocolAssignment, topic=[partition, ...] (a topic's - is _ here); base64."""
    bytes_ = struct.pack(">hi", version, len(partitions))
    for topic, numbers in partitions.items():
        bytes_ += text(topic.replace("_", "-")) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return base64.b64encode(bytes_ + struct.pack(">i", -1)).decode()


def find_coordinator(s):
    """Until each partition of offsets has its coordinator, which has read what there is."""
    s.quietly("FindCoordinator", {"keyType": 0, "coordinatorKeys": ["any"]},
              until=lambda answer: answer["coordinators"][0]["errorCode"] == 0)
    # As many names as it takes for each partition to have one.
    s.quietly("DescribeGroups", {"groups": [f"any-{i}" for i in range(20)]},
              until=lambda answer: all(group["errorCode"] == GROUP_ID_NOT_FOUND for group in answer["groups"]))


def joining(group, member="", protocols=(("range", None),), topics=("groups-a",), instance=None, **more):
    """The body of a JoinGroup."""
    return {"groupId": group, "memberId": member, "groupInstanceId": instance, "protocolType": "consumer",
            "sessionTimeoutMs": SESSION_MS, "rebalanceTimeoutMs": SESSION_MS,
            "protocols": [{"name": name, "metadata": subscription(*topics) if data is None else data} for name, data in protocols],
            **more}


def member_id(s, group, connection="main", **more):
    """The id that a member is given before it joins (KIP-394), for those who do not care about how."""
    return s.quietly("JoinGroup", joining(group, **more), connection=connection)["memberId"]


def is_there(s, group):
    """Until a new classic group is in what Kafka has committed, which is a little after the first JoinGroup is answered."""
    s.quietly("DescribeGroups", {"groups": [group]}, until=lambda answer: answer["groups"][0]["errorCode"] == 0)


def syncing(group, member, generation=1, assignments=None, protocol="range", **more):
    return {"groupId": group, "memberId": member, "generationId": generation, "protocolType": "consumer", "protocolName": protocol,
            "assignments": [{"memberId": who, "assignment": what} for who, what in (assignments or {}).items()], **more}


def classic_member(s, group, topics=("groups-a",), parts=None, instance=None, connection="main", **more):
    """The one member of a stable group, in generation 1; its id."""
    member = "" if instance else member_id(s, group, connection, topics=topics)
    member = s.quietly("JoinGroup", joining(group, member, topics=topics, instance=instance, **more), connection=connection)["memberId"]
    given = assignment(**(parts or {"groups_a": [0, 1, 2]}))
    s.quietly("SyncGroup", syncing(group, member, assignments={member: given}, groupInstanceId=instance), connection=connection)
    return member


def beating(group, member, epoch=0, topics=("groups-a",), **more):
    """The body of a ConsumerGroupHeartbeat: one that joins, or in another epoch one with nothing new."""
    first = {"rebalanceTimeoutMs": 45_000, "subscribedTopicNames": list(topics), "topicPartitions": []} if epoch == 0 else {}
    return {"groupId": group, "memberId": member, "memberEpoch": epoch, **first, **more}


def owning(made, *partitions):
    return {"topicPartitions": [{"topicId": made, "partitions": list(partitions)}]}


def consumer_member(s, group, member, made, parts, topics=("groups-a",), **more):
    """A member of the consumer protocol that owns all that it is given; its epoch."""
    epoch = s.quietly("ConsumerGroupHeartbeat", beating(group, member, topics=topics, **more))["memberEpoch"]
    return s.quietly("ConsumerGroupHeartbeat", beating(group, member, epoch, **owning(made, *parts)))["memberEpoch"]


def committing(group, *offsets, member="", generation=-1, instance=None, topic="groups-a", made=None, version=9):
    """The body of an OffsetCommit; offsets are (partition, offset) or (partition, offset, metadata, leader epoch)."""
    where = {"topicId": made} if version >= 10 else {"name": topic}
    return {"groupId": group, "memberId": member, "generationIdOrMemberEpoch": generation, "groupInstanceId": instance,
            "topics": [{**where, "partitions": [
                {"partitionIndex": partition, "committedOffset": offset,
                 "committedMetadata": more[0] if more else "", "committedLeaderEpoch": more[1] if more[1:] else -1}
                for partition, offset, *more in offsets]}]}


def fetching(group, *partitions, version=9, topic="groups-a", made=None, **more):
    """The body of an OffsetFetch; of all partitions where none is named. `more` goes to the group from version 8 on."""
    where = {"topicId": made} if version >= 10 else {"name": topic}
    topics = [{**where, "partitionIndexes": list(partitions)}] if partitions else None
    return {"groups": [{"groupId": group, "topics": topics, **more}]} if version >= 8 else {"groupId": group, "topics": topics}
