"""Groups of either protocol and their offsets: what their members, and those who look at them, are answered."""
from common import UNKNOWN_ID, make_topic, topic_id
from members import (assignment, beating, classic_member, committing, consumer_member, fetching, find_coordinator, is_there, joining,
                     member_id, owning, syncing)

NOBODY = "nobody"


def prepare(s):
    """The topics of all scenarios here; the id of groups-a."""
    made = make_topic(s, "groups-a", 3)
    make_topic(s, "groups-b", 2)
    find_coordinator(s)
    return made


def coordinators(s):
    prepare(s)
    asked = lambda key_type, *keys: lambda version: (
        {"keyType": key_type, "coordinatorKeys": list(keys)} if version >= 4 else {"key": keys[0], **({"keyType": key_type} if version else {})})
    s.ask_all("FindCoordinator", asked(0, "coordinated"))
    s.ask_all("FindCoordinator", asked(0, ""), "an empty key")
    s.ask_all("FindCoordinator", asked(7, "coordinated"), "an unknown type")
    s.ask_all("FindCoordinator", asked(-1, "coordinated"), "a negative type")
    newest = s.versions("FindCoordinator")[-1]
    s.ask("FindCoordinator", {"keyType": 0, "coordinatorKeys": ["a", "b", "a"]}, newest, "several, one twice")
    s.ask("FindCoordinator", {"keyType": 0, "coordinatorKeys": []}, newest, "none")
    s.ask("FindCoordinator", {"keyType": 0, "coordinatorKeys": ["x" * 3000]}, newest, "a long one")
    s.ask("FindCoordinator", {"keyType": 2, "coordinatorKeys": ["no share group"]}, newest, "a share group's key that is none")
    s.ask("FindCoordinator", {"keyType": 2, "coordinatorKeys": ["g"]}, 5, "a share group's key in a version that has none")


def lives(s):
    """The life of a member, in each version of JoinGroup and the versions of the others that go with it."""
    prepare(s)
    newest = {api: s.versions(api)[-1] for api in ("SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "LeaveGroup", "DescribeGroups", "DeleteGroups")}
    for version in s.versions("JoinGroup"):
        group = f"life-v{version}"
        of = {api: max(s.versions(api)[0], min(version, most)) for api, most in newest.items()}
        answer = s.ask("JoinGroup", joining(group), version)
        is_there(s, group)
        if version >= 4:
            s.ask("DescribeGroups", {"groups": [group]}, of["DescribeGroups"], "of one that is to join")
            answer = s.ask("JoinGroup", joining(group, answer["memberId"], reason="because"), version, "with its id")
        member = answer["memberId"]
        s.ask("Heartbeat", {"groupId": group, "memberId": member, "generationId": 1}, of["Heartbeat"], "before it has synced")
        s.ask("DescribeGroups", {"groups": [group]}, of["DescribeGroups"], "before it has synced")
        s.ask("SyncGroup", syncing(group, member, assignments={member: assignment(groups_a=[0, 1, 2])}), of["SyncGroup"])
        s.ask("SyncGroup", syncing(group, member), of["SyncGroup"], "again")
        s.ask("Heartbeat", {"groupId": group, "memberId": member, "generationId": 1}, of["Heartbeat"])
        s.ask("OffsetCommit", committing(group, (0, 5), (1, 7, "m", 0), member=member, generation=1), of["OffsetCommit"])
        s.ask("OffsetFetch", fetching(group, 0, 1, 2, version=of["OffsetFetch"]), of["OffsetFetch"])
        s.ask("DescribeGroups", {"groups": [group]}, of["DescribeGroups"])
        s.ask("DeleteGroups", {"groupsNames": [group]}, of["DeleteGroups"], "with a member")
        leaving = {"memberId": member} if of["LeaveGroup"] < 3 else {"members": [{"memberId": member, "reason": "enough"}]}
        s.ask("LeaveGroup", {"groupId": group, **leaving}, of["LeaveGroup"])
        s.ask("LeaveGroup", {"groupId": group, **leaving}, of["LeaveGroup"], "again")
        s.ask("DescribeGroups", {"groups": [group]}, of["DescribeGroups"], "when it has left")
        s.ask("DeleteGroups", {"groupsNames": [group]}, of["DeleteGroups"])
        s.ask("OffsetFetch", fetching(group, 0, version=of["OffsetFetch"]), of["OffsetFetch"], "when it is deleted")


def refused_joins(s):
    prepare(s)
    one = lambda note, *arguments, version=None, **more: s.ask("JoinGroup", joining(*arguments, **more), version, note)
    s.ask_all("JoinGroup", joining(""), "no group")
    s.ask_all("JoinGroup", joining("refused", NOBODY), "an unknown member")
    one("a long group", "g" * 32_000, NOBODY)
    for version in (s.versions("JoinGroup")[0], s.versions("JoinGroup")[-1]):
        one("a short session", "refused", sessionTimeoutMs=5_999, version=version)
        one("a session of 0", "refused", sessionTimeoutMs=0, version=version)
        one("a negative session", "refused", sessionTimeoutMs=-1, version=version)
        one("a long session", "refused", sessionTimeoutMs=1_800_001, version=version)
        one("no protocols", "refused", protocols=(), version=version)
        one("no type", "refused", protocolType="", version=version)
    s.ask("DescribeGroups", {"groups": ["refused"]}, note="is none")
    for instance in ("", ".", "..", "a b", "x" * 249, "x" * 250):
        one(f"instance {instance[:5]!r} {len(instance)}", f"named-{len(instance)}-{instance[:3]}", instance=instance)
    member = classic_member(s, "joined")
    before = s.versions("JoinGroup")[0]
    for version in (before, s.versions("JoinGroup")[-1]):
        one("another type", "joined", protocolType="connect", version=version)
        one("another protocol", "joined", protocols=(("roundrobin", None),), version=version)
        one("another type, of the member", "joined", member, protocolType="connect", version=version)
        one("no protocols, of the member", "joined", member, protocols=(), version=version)
        one("an unknown member", "joined", NOBODY, version=version)
        one("an unknown member with an instance", "joined", NOBODY, instance="none", version=version)
    one("the member again", "joined", member)
    s.ask("Heartbeat", {"groupId": "joined", "memberId": member, "generationId": 1}, note="of the member")
    s.ask("DescribeGroups", {"groups": ["joined"]})
    # Other kinds of protocols than consumers'.
    for note, kind, data in (("bytes", "connect", "AAECAw=="), ("nothing", "connect", ""), ("bytes of a consumer", "consumer", "AAECAw=="),
                             ("nothing of a consumer", "consumer", "")):
        group = f"kind-{kind}-{len(data)}"
        id_ = s.quietly("JoinGroup", joining(group, protocolType=kind, protocols=(("x", data), ("y", data))))["memberId"]
        one(f"with {note}", group, id_, protocolType=kind, protocols=(("x", data), ("y", data)))
        s.ask("SyncGroup", {**syncing(group, id_, protocol="x", assignments={id_: "AAEC"}), "protocolType": kind}, note=f"with {note}")
        s.ask("DescribeGroups", {"groups": [group]}, note=f"with {note}")


def refused_calls(s):
    """What SyncGroup, Heartbeat and LeaveGroup do not take."""
    prepare(s)
    s.ask_all("SyncGroup", syncing("", NOBODY), "no group")
    s.ask_all("SyncGroup", syncing("unknown-group", NOBODY), "an unknown group")
    s.ask_all("Heartbeat", {"groupId": "", "memberId": NOBODY, "generationId": 1}, "no group")
    s.ask_all("Heartbeat", {"groupId": "unknown-group", "memberId": NOBODY, "generationId": 1}, "an unknown group")
    leaving = lambda group, *members, **more: lambda version: {
        "groupId": group, **({"memberId": members[0]} if version < 3 else {"members": [{"memberId": m, **more} for m in members]})}
    s.ask_all("LeaveGroup", leaving("", NOBODY), "no group")
    s.ask_all("LeaveGroup", leaving("unknown-group", NOBODY), "an unknown group")
    member = classic_member(s, "called")
    s.ask_all("SyncGroup", syncing("called", NOBODY), "an unknown member")
    s.ask_all("SyncGroup", syncing("called", member, 7), "another generation")
    s.ask("SyncGroup", syncing("called", member, 0), note="an older generation")
    s.ask("SyncGroup", syncing("called", member, protocol="roundrobin"), note="another protocol")
    s.ask("SyncGroup", {**syncing("called", member), "protocolType": "connect"}, note="another type")
    s.ask("SyncGroup", {**syncing("called", member), "protocolType": None, "protocolName": None}, note="neither type nor protocol")
    s.ask("SyncGroup", {**syncing("called", member), "groupInstanceId": "none"}, note="an unknown instance")
    s.ask_all("Heartbeat", {"groupId": "called", "memberId": NOBODY, "generationId": 1}, "an unknown member")
    s.ask_all("Heartbeat", {"groupId": "called", "memberId": member, "generationId": 7}, "another generation")
    s.ask("Heartbeat", {"groupId": "called", "memberId": "", "generationId": 1}, note="no member")
    s.ask("Heartbeat", {"groupId": "called", "memberId": member, "generationId": -1}, note="no generation")
    s.ask("Heartbeat", {"groupId": "called", "memberId": member, "generationId": 1, "groupInstanceId": "none"}, note="an unknown instance")
    s.ask_all("LeaveGroup", leaving("called", NOBODY), "an unknown member")
    s.ask("LeaveGroup", {"groupId": "called", "members": []}, note="nobody")
    s.ask("LeaveGroup", leaving("called", "", groupInstanceId="none")(5), note="an unknown instance")
    s.ask("LeaveGroup", leaving("called", member, groupInstanceId="none")(5), note="an unknown instance of a member")
    s.ask("LeaveGroup", leaving("called", NOBODY, member, member, "")(5), note="several")
    s.ask("DescribeGroups", {"groups": ["called"]}, note="when all have left")


def static_members(s):
    """KIP-345: one that is back takes the place of the one before it, which is fenced."""
    prepare(s)
    for version in [v for v in s.versions("JoinGroup") if v >= 5]:
        group = f"static-v{version}"
        old = classic_member(s, group, instance="one")
        new = s.ask("JoinGroup", joining(group, instance="one"), version, "it is back")["memberId"]
        s.ask("SyncGroup", syncing(group, new, groupInstanceId="one"), note="of the new")
        s.ask("DescribeGroups", {"groups": [group]})
    who = lambda id_, **more: {"groupId": group, "memberId": id_, "generationId": 1, "groupInstanceId": "one", **more}
    s.ask("Heartbeat", who(old), note="of the old")
    s.ask("Heartbeat", who(new), note="of the new")
    s.ask("Heartbeat", who(new, generationId=3), note="of the new in another generation")
    s.ask("SyncGroup", {**syncing(group, old), "groupInstanceId": "one"}, note="of the old")
    s.ask("JoinGroup", joining(group, old, instance="one"), note="of the old")
    s.ask("OffsetCommit", committing(group, (0, 1), member=old, generation=1, instance="one"), 9, "of the old")
    s.ask("OffsetCommit", committing(group, (0, 1), member=new, generation=1, instance="one"), 9, "of the new")
    s.ask("LeaveGroup", {"groupId": group, "members": [{"memberId": old, "groupInstanceId": "one"}]}, note="of the old")
    s.ask("LeaveGroup", {"groupId": group, "members": [{"memberId": "", "groupInstanceId": "one"}]}, note="by its name")
    s.ask("DescribeGroups", {"groups": [group]}, note="when it has left")


def two_members(s):
    """What the first hears of while a second joins."""
    made = prepare(s)
    group = "two"
    first = classic_member(s, group)
    beat = lambda note, generation=1, member=first: s.ask(
        "Heartbeat", {"groupId": group, "memberId": member, "generationId": generation}, note=note)
    commit = lambda note, generation=1, member=first: s.ask(
        "OffsetCommit", committing(group, (0, 1), member=member, generation=generation), 9, note)
    in_state = lambda state: s.quietly("DescribeGroups", {"groups": [group]}, until=lambda a: a["groups"][0]["groupState"] == state)
    beat("alone")
    second = member_id(s, group, "second")
    s.begin("JoinGroup", joining(group, second), connection="second")
    in_state("PreparingRebalance")
    s.ask_all("DescribeGroups", {"groups": [group]}, "while it waits for the first")
    beat("while it rebalances")
    commit("while it rebalances")
    s.ask("SyncGroup", syncing(group, first), note="while it rebalances")
    s.ask("SyncGroup", syncing(group, second), note="of one that joins")
    s.ask("OffsetFetch", fetching(group, 0), 9, "while it rebalances")
    s.ask("DeleteGroups", {"groupsNames": [group]}, note="while it rebalances")
    s.ask("ListGroups", {"statesFilter": ["PreparingRebalance"]}, note="that rebalance")
    s.ask("JoinGroup", joining(group, first), note="of the first")
    s.end("JoinGroup", "of the second", connection="second")
    s.ask_all("DescribeGroups", {"groups": [group]}, "while they wait for the leader")
    s.ask("ListGroups", {"statesFilter": ["CompletingRebalance"]}, note="that are about to sync")
    beat("before it syncs", 2)
    beat("in the old generation", 1)
    commit("before it syncs", 2)
    commit("in the old generation", 1)
    s.begin("SyncGroup", syncing(group, second, 2), connection="second")
    s.ask("SyncGroup", syncing(group, first, 2, {first: assignment(groups_a=[0, 1]), second: assignment(groups_a=[2])}), note="of the leader")
    s.end("SyncGroup", "of the other", connection="second")
    s.ask_all("DescribeGroups", {"groups": [group]}, "stable")
    s.ask_all("DescribeGroups", {"groups": [group], "includeAuthorizedOperations": True}, "with operations")
    beat("of the first", 2)
    beat("of the second", 2, second)
    s.ask("JoinGroup", joining(group, second), note="of the second again, with nothing new")
    s.ask("OffsetDelete", {"groupId": group, "topics": [{"name": "groups-a", "partitions": [{"partitionIndex": 0}]}]}, note="of a topic that is read")
    s.ask("LeaveGroup", {"groupId": group, "members": [{"memberId": second}]}, note="of the second")
    beat("when the other has left", 2)
    s.ask("JoinGroup", joining(group, first, (("range", None), ("roundrobin", None))), note="of the one that is left")
    s.ask("ConsumerGroupHeartbeat", beating(group, "new"), note="to a group that is about to sync")
    s.quietly("LeaveGroup", {"groupId": group, "members": [{"memberId": first}, {"memberId": "new"}]})
    s.ask("DescribeGroups", {"groups": [group]}, note="when all have left")
    return made


def offsets(s):
    made = prepare(s)
    named = [v for v in s.versions("OffsetCommit") if v < 10]
    for version in s.versions("OffsetCommit"):
        commit = lambda note, *args, **more: s.ask("OffsetCommit", committing(*args, version=version, made=more.pop("made", made), **more), version, note)
        commit("without members", f"offsets-v{version}", (0, 3), (1, 4, "text", 0), (2, 0, None))
        commit("an unknown partition", f"offsets-v{version}", (0, 9), (7, 1))
        commit("an unknown topic", f"offsets-v{version}", (0, 9), topic="groups-none", made=UNKNOWN_ID)
        commit("no group", "", (0, 9))
        commit("a generation without a group", f"none-v{version}", (0, 9), member=NOBODY, generation=3)
        commit("a member without a group", f"none-v{version}", (0, 9), member=NOBODY)
        commit("an unknown member", f"offsets-v{version}", (0, 9), member=NOBODY, generation=0)
    commit = lambda note, *args, version=9, **more: s.ask("OffsetCommit", committing(*args, version=version, made=made, **more), version, note)
    commit("a generation alone", "offsets-v9", (0, 9), generation=0)
    commit("a negative offset", "offsets-v9", (0, -5))
    commit("a negative partition", "offsets-v9", (-1, 5))
    commit("beyond the end", "offsets-v9", (0, 1 << 50))
    commit("the longest metadata", "offsets-v9", (0, 11, "m" * 4096))
    commit("too long metadata", "offsets-v9", (0, 12, "m" * 4097), (1, 12))
    commit("a leader epoch ahead", "offsets-v9", (0, 13, "", 99))
    commit("one partition twice", "offsets-v9", (0, 14), (0, 15))
    commit("an instance", "offsets-v9", (0, 15), instance="none")
    s.ask("OffsetCommit", {"groupId": "offsets-v9", "topics": []}, 9, "no topics")
    s.ask("OffsetCommit", {"groupId": "offsets-v9", "topics": [{"name": "", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}]}, 9, "an empty name")
    s.ask("OffsetCommit", {"groupId": "offsets-v4", "retentionTimeMs": 5, "topics": committing("", (0, 16))["topics"]}, named[0], "a retention time")
    s.ask("OffsetCommit", {"groupId": "offsets-v9", "topics": [
        {"name": name, "partitions": [{"partitionIndex": 0, "committedOffset": 17}]} for name in ("groups-a", "groups-none", "groups-b", "groups-a")]},
          9, "several topics, one twice, one unknown")
    for version in s.versions("OffsetFetch"):
        fetch = lambda note, *args, **more: s.ask("OffsetFetch", fetching(*args, version=version, made=more.pop("made", made), **more), version, note)
        fetch("some", "offsets-v9", 0, 1, 7, -1)
        fetch("an unknown topic", "offsets-v9", 0, topic="groups-none", made=UNKNOWN_ID)
        fetch("an unknown group", "offsets-none", 0, 1)
        fetch("no group", "", 0)
        if version >= 2:
            fetch("all", "offsets-v9")
            fetch("all of an unknown group", "offsets-none")
            fetch("all of no group", "")
        if version >= 9:
            fetch("an unknown member", "offsets-v9", 0, memberId=NOBODY, memberEpoch=1)
            fetch("an epoch alone", "offsets-v9", 0, memberEpoch=1)
        if version >= 8:
            wanted = (("offsets-v9", 0), ("offsets-v9", 1), ("offsets-none", 0), ("offsets-v5",), ("",))
            groups = [fetching(*each, version=version, made=made)["groups"][0] for each in wanted]
            s.ask("OffsetFetch", {"groups": groups, "requireStable": True}, version, "several groups")
            s.ask("OffsetFetch", {"groups": []}, version, "no groups")
        nothing = {"groupId": "offsets-v9", "topics": []}
        s.ask("OffsetFetch", {"groups": [nothing]} if version >= 8 else nothing, version, "no topics")
    delete = lambda note, group, topic="groups-a", *partitions: s.ask(
        "OffsetDelete", {"groupId": group, "topics": [{"name": topic, "partitions": [{"partitionIndex": p} for p in partitions]}]}, note=note)
    delete("one", "offsets-v9", "groups-a", 0)
    delete("again, and others", "offsets-v9", "groups-a", 0, 1, 7)
    delete("an unknown topic", "offsets-v9", "groups-none", 0)
    delete("an unknown group", "offsets-none", "groups-a", 0)
    delete("no group", "", "groups-a", 0)
    delete("no partitions", "offsets-v9")
    s.ask("OffsetDelete", {"groupId": "offsets-v9", "topics": []}, note="no topics")
    s.ask("OffsetFetch", fetching("offsets-v9"), 9, "what is left")
    member = classic_member(s, "deleting", topics=("groups-b",), parts={"groups_b": [0, 1]})
    for name, topic in (("that is not read", "groups-a"), ("that is read", "groups-b")):
        s.quietly("OffsetCommit", committing("deleting", (0, 1), member=member, generation=1, topic=topic), 9)
        delete(f"a topic {name}", "deleting", topic, 0)
    s.ask("OffsetFetch", fetching("deleting"), 9, "what is left of a group with a member")
    raw = s.quietly("JoinGroup", joining("deleting-raw", protocolType="connect", protocols=(("x", "AAEC"),)))["memberId"]
    s.quietly("JoinGroup", joining("deleting-raw", raw, protocolType="connect", protocols=(("x", "AAEC"),)))
    delete("of a group that is not of consumers", "deleting-raw", "groups-a", 0)
    s.ask_all("DeleteGroups", lambda v: {"groupsNames": [f"offsets-v{v + 2}", "offsets-none", "", "deleting", f"offsets-v{v + 2}"]}, "good and bad")
    s.ask("DeleteGroups", {"groupsNames": []}, note="none")


def offsets_of_deleted_topics(s):
    """A topic takes what was committed for it along, also when it is made anew."""
    old = make_topic(s, "groups-gone", 1)
    make_topic(s, "groups-b", 2)
    find_coordinator(s)
    commit = lambda version, made=old: s.ask("OffsetCommit", committing("gone", (0, 5), topic="groups-gone", made=made, version=version), version, "to it")
    fetch = lambda version, note, made=old: s.ask("OffsetFetch", fetching("gone", 0, topic="groups-gone", made=made, version=version), version, note)
    for version in (9, 10):
        commit(version)
        fetch(version, "is there")
    s.quietly("OffsetCommit", committing("gone", (0, 6), topic="groups-b"), 9)
    s.quietly("DeleteTopics", {"topics": [{"name": "groups-gone"}], "timeoutMs": 30000})
    everything = {"groups": [{"groupId": "gone", "topics": None}]}
    s.quietly("OffsetFetch", everything, 9, until=lambda answer: len(answer["groups"][0]["topics"]) == 1)
    s.ask("OffsetFetch", everything, 9, "of a deleted topic")
    s.ask("OffsetFetch", everything, 10, "of a deleted topic")
    for version in (9, 10):
        fetch(version, "of a deleted topic")
        commit(version)
    new = make_topic(s, "groups-gone", 1)
    for version in (9, 10):
        fetch(version, "of a topic made anew", new)
        fetch(version, "of the one before it")


def listing(s):
    """Every group of this run is in it."""
    prepare(s)
    classic_member(s, "listed-stable")
    consumer_member(s, "listed-consumer", "listed-member", topic_id(s, "groups-a"), (0, 1, 2))
    s.ask_all("ListGroups", {})
    for states in (["Stable"], ["stable", " EMPTY "], ["Dead"], ["nonsense"], [""], ["Stable", "nonsense"], ["Assigning", "Reconciling"]):
        s.ask("ListGroups", {"statesFilter": states}, note=f"in states {states}")
    for types in (["classic"], ["Consumer"], ["share", "streams"], ["nonsense"], [""], ["consumer", "nonsense"]):
        s.ask("ListGroups", {"typesFilter": types}, note=f"of types {types}")
    s.ask("ListGroups", {"statesFilter": ["Stable"], "typesFilter": ["consumer"]}, note="of a state and a type")
    names = ["listed-stable", "listed-consumer", "listed-none", "", "listed-stable"]
    s.ask_all("DescribeGroups", {"groups": names}, "several")
    s.ask_all("DescribeGroups", {"groups": []}, "none")
    s.ask_all("ConsumerGroupDescribe", {"groupIds": names}, "several")
    s.ask_all("ConsumerGroupDescribe", {"groupIds": ["listed-consumer"], "includeAuthorizedOperations": True}, "with operations")
    s.ask("ConsumerGroupDescribe", {"groupIds": []}, note="none")


def refused_heartbeats(s):
    made = prepare(s)
    beat = lambda note, *args, version=None, **more: s.ask("ConsumerGroupHeartbeat", beating(*args, **more), version, note)
    for version in s.versions("ConsumerGroupHeartbeat"):
        v = {"version": version}
        beat("no group", "", "m", **v)
        beat("a blank group", " ", "m", **v)
        beat("no member", "beats", "", 3, **v)
        beat("no member leaves", "beats", "", -1, **v)
        beat("a blank member", "beats", "  ", **v)
        beat("an empty instance", "beats", "m", instanceId="", **v)
        beat("an empty rack", "beats", "m", rackId=" ", **v)
        beat("no rebalance timeout", "beats", "m", rebalanceTimeoutMs=-1, **v)
        beat("partitions of one that joins", "beats", "m", **owning(made, 0), **v)
        beat("null partitions of one that joins", "beats", "m", topicPartitions=None, **v)
        beat("no subscription", "beats", "m", subscribedTopicNames=None, **v)
        beat("a negative epoch", "beats", "m", -3, **v)
        beat("a static epoch without an instance", "beats", "m", -2, **v)
        beat("an unknown assignor", "beats", "m", serverAssignor="nonsense", **v)
        beat("an empty assignor", "beats", "m", serverAssignor="", **v)
        beat("an unknown group", "beats-none", "m", 5, **v)
        beat("an unknown group to leave", "beats-none", "m", -1, **v)
        beat("an unknown instance to leave", "beats-none", "m", -2, instanceId="i", **v)
    beat("a member without a name", "beats", "")
    beat("an empty expression", "beats-empty-regex", "m", subscribedTopicNames=None, subscribedTopicRegex="")
    beat("an expression that is none", "beats-regex", "m", subscribedTopicNames=None, subscribedTopicRegex="a(b")
    beat("an expression of another kind", "beats-regex", "m", subscribedTopicNames=None, subscribedTopicRegex="a(?=b)")
    beat("a member id of any length", "beats-long", "m" * 40)
    beat("no topics", "beats-no-topics", "m", topics=())
    beat("unknown topics", "beats-unknown-topics", "m", topics=("groups-none", "", "a b"))
    epoch = consumer_member(s, "beating", "one", made, (0, 1, 2), instanceId="x")
    member = lambda note, epoch, who="one", **more: beat(note, "beating", who, epoch, **{"instanceId": "x", **more})
    member("nothing new", epoch)
    member("its partitions again", epoch, **owning(made, 0, 1, 2))
    member("fewer partitions", epoch, **owning(made, 0))
    member("partitions that it has not", epoch, **owning(made, 0, 1, 2, 9))
    member("partitions of an unknown topic", epoch, **owning(UNKNOWN_ID, 0))
    member("an epoch ahead", epoch + 1)
    member("an epoch behind", epoch - 1)
    member("an epoch far behind", epoch, instanceId="x")
    member("an unknown member", epoch, "two", instanceId=None)
    member("an unknown member with its instance", epoch, "two")
    member("another instance", epoch, instanceId="y")
    member("no instance", epoch, instanceId=None)
    member("an unknown assignor", epoch, serverAssignor="nonsense")
    beat("another with its instance", "beating", "two", instanceId="x")
    member("another leaves with its instance", -2, "two")
    member("an instance leaves that is unknown", -2, instanceId="y")
    member("it goes for a while", -2)
    s.ask_all("ConsumerGroupDescribe", {"groupIds": ["beating"]}, "when it is away")
    beat("another takes its place", "beating", "two", instanceId="x")
    member("the one before it", epoch)
    s.ask_all("ConsumerGroupDescribe", {"groupIds": ["beating"]}, "when it is back")
    member("it leaves for good", -1, "two")
    s.ask_all("ConsumerGroupDescribe", {"groupIds": ["beating"]}, "when it has left")
    s.ask("DeleteGroups", {"groupsNames": ["beating"]})
    s.ask("ConsumerGroupDescribe", {"groupIds": ["beating"]}, note="when it is deleted")


def consumer_groups(s):
    """Members of the consumer protocol come and go; each epoch and each partition is compared."""
    made = prepare(s)
    group = "modern"
    epochs = {}  # as the members know them

    def beat(note, who, epoch=None, **more):
        answer = s.ask("ConsumerGroupHeartbeat", beating(group, who, epochs.get(who, 0) if epoch is None else epoch, **more), note=note)
        if answer["errorCode"] == 0:
            epochs[who] = answer["memberEpoch"]

    describe = lambda note: s.ask("ConsumerGroupDescribe", {"groupIds": [group]}, note=note)
    beat("the first joins", "first", rackId="r1")
    describe("one that has not yet said what it owns")
    beat("it owns", "first", **owning(made, 0, 1, 2))
    describe("one")
    old = epochs["first"]
    beat("the second joins", "second", serverAssignor="uniform")
    describe("two, of whom one waits")
    beat("the first is to give some back", "first")
    beat("the second waits", "second")
    describe("the first is to give some back")
    s.ask("OffsetCommit", committing(group, (0, 1), member="first", generation=epochs["first"]), 9, "of who is to give back")
    beat("the first has given back", "first", **owning(made, 0, 1))
    beat("the second gets them", "second")
    beat("the second owns", "second", **owning(made, 2))
    describe("both own")
    now = epochs["first"]
    for version in (5, 8, 9):
        commit = lambda note, *args, **more: s.ask("OffsetCommit", committing(group, *args, **more), version, note)
        commit("in its epoch", (0, 4), member="first", generation=now)
        commit("in an old epoch", (0, 4), member="first", generation=old)
        commit("in an epoch ahead", (0, 4), member="first", generation=now + 9)
        commit("of an unknown member", (0, 4), member=NOBODY, generation=now)
        commit("of nobody", (0, 4))
        commit("of another's partition", (2, 4), member="first", generation=now)
    for version in (9, 10):
        fetch = lambda note, **more: s.ask("OffsetFetch", fetching(group, 0, version=version, made=made, **more), version, note)
        fetch("in its epoch", memberId="first", memberEpoch=now)
        fetch("in an old epoch", memberId="first", memberEpoch=old)
        fetch("in an epoch ahead", memberId="first", memberEpoch=now + 9)
        fetch("of an unknown member", memberId=NOBODY, memberEpoch=now)
        fetch("of nobody")
    s.ask("OffsetDelete", {"groupId": group, "topics": [{"name": "groups-a", "partitions": [{"partitionIndex": 0}]}]}, note="of a topic that is read")
    s.ask("DeleteGroups", {"groupsNames": [group]}, note="with members")
    s.ask_all("DescribeGroups", {"groups": [group]}, "as a classic group")
    beat("more topics", "second", subscribedTopicNames=["groups-a", "groups-b"])
    describe("with more topics")
    beat("a pattern that is none", "second", subscribedTopicNames=[], subscribedTopicRegex="a(b")
    beat("no topics any more", "second", subscribedTopicNames=[])
    describe("without topics")
    beat("the second leaves", "second", -1)
    beat("the second again", "second", now)
    beat("the first", "first")
    describe("the second has left")
    group = "modern-range"
    beat("joins", "m")
    beat("owns", "m", **owning(made, 0, 1, 2))
    beat("another assignor", "m", serverAssignor="range")
    describe("another assignor")
    # Who has a pattern hears of its topics a little later.
    pattern = "modern-pattern"
    s.ask("ConsumerGroupHeartbeat", beating(pattern, "p", subscribedTopicNames=None, subscribedTopicRegex="groups-[ab]"), note="a pattern")
    s.quietly("ConsumerGroupDescribe", {"groupIds": [pattern]},
              until=lambda a: a["groups"][0]["groupEpoch"] == 2)
    s.ask("ConsumerGroupHeartbeat", beating(pattern, "p", 1), note="of a pattern")
    s.ask("ConsumerGroupDescribe", {"groupIds": [pattern]}, note="of a pattern")
    s.ask("ConsumerGroupHeartbeat", beating(pattern, "p", -1), note="of a pattern leaves")
    s.ask("ConsumerGroupDescribe", {"groupIds": [pattern]}, note="of a pattern is empty")


def both_protocols(s):
    """Classic members of a group of the consumer protocol, and groups that change from one to the other (KIP-848)."""
    made = prepare(s)
    group = "both"
    epoch = consumer_member(s, group, "new", made, (0, 1, 2))
    s.ask("JoinGroup", joining(group, protocolType="connect"), note="of another type")
    s.ask("JoinGroup", joining(group, protocols=(("range", "AAECAw=="),)), note="with what is no subscription")
    s.ask("JoinGroup", joining(group, protocols=()), note="without protocols")
    s.ask("SyncGroup", syncing(group, "new", epoch), note="of a member that is none of the classic protocol")
    s.ask("Heartbeat", {"groupId": group, "memberId": "new", "generationId": epoch}, note="of a member that is none of the classic protocol")
    s.ask("Heartbeat", {"groupId": group, "memberId": NOBODY, "generationId": 1}, note="of an unknown member")
    s.ask("SyncGroup", syncing(group, NOBODY, 1), note="of an unknown member")
    s.ask("LeaveGroup", {"groupId": group, "members": [{"memberId": NOBODY}, {"memberId": "", "groupInstanceId": "none"}]}, note="of unknown members")
    id_ = s.ask("JoinGroup", joining(group), note="without an id")["memberId"]
    answer = s.ask("JoinGroup", joining(group, id_), note="a classic member")
    old, generation = answer["memberId"], answer["generationId"]
    s.ask("ConsumerGroupDescribe", {"groupIds": [group]}, note="of both protocols")
    s.ask("SyncGroup", syncing(group, old, generation), note="of the classic member")
    s.ask("SyncGroup", syncing(group, old, generation + 7), note="in another generation")
    s.ask("SyncGroup", syncing(group, old, generation, protocol="roundrobin"), note="of another protocol")
    s.ask("ConsumerGroupHeartbeat", beating(group, "new", epoch), note="of the other")
    s.ask("ConsumerGroupHeartbeat", beating(group, "new", epoch, **owning(made, 0, 1)), note="the other has given back")
    s.ask("Heartbeat", {"groupId": group, "memberId": old, "generationId": generation}, note="of the classic member")
    s.ask("Heartbeat", {"groupId": group, "memberId": old, "generationId": generation - 1}, note="in an old generation")
    s.ask("Heartbeat", {"groupId": group, "memberId": old, "generationId": generation + 5}, note="in a generation ahead")
    s.ask("JoinGroup", joining(group, old), note="again")
    s.ask("SyncGroup", syncing(group, old, generation), note="again")
    s.ask("ConsumerGroupDescribe", {"groupIds": [group]}, note="both own")
    s.ask("OffsetCommit", committing(group, (0, 1), member=old, generation=generation), 9, "of the classic member")
    s.ask("OffsetCommit", committing(group, (0, 1), member=old, generation=generation - 1), 9, "of the classic member in an old generation")
    s.ask("ConsumerGroupHeartbeat", beating(group, old, generation), note="of the classic member in the new protocol")
    s.ask("ConsumerGroupHeartbeat", beating(group, "new", -1), note="the other leaves")
    s.ask_all("DescribeGroups", {"groups": [group]}, "when only the classic member is left")
    s.ask("ConsumerGroupDescribe", {"groupIds": [group]}, note="when only the classic member is left")
    s.ask("Heartbeat", {"groupId": group, "memberId": old, "generationId": generation}, note="when only it is left")
    # A member may change from one protocol to the other.
    consumer_member(s, "turned", "turning", made, (0, 1, 2))
    s.ask("JoinGroup", joining("turned", "unheard of"), note="with an id that nobody was given")
    s.quietly("LeaveGroup", {"groupId": "turned", "members": [{"memberId": "unheard of"}]})
    s.ask("JoinGroup", joining("turned", "turning"), note="of a member that was none of the classic protocol")
    s.ask("DescribeGroups", {"groups": ["turned"]}, note="of a member that was none of the classic protocol")
    s.ask("ConsumerGroupDescribe", {"groupIds": ["turned"]}, note="of a member that was none of the classic protocol")
    # One that has not heard of the newest epoch when the group becomes a classic one begins anew.
    consumer_member(s, "behind", "new", made, (0, 1, 2))
    member = member_id(s, "behind")
    generation = s.quietly("JoinGroup", joining("behind", member))["generationId"]
    s.quietly("ConsumerGroupHeartbeat", beating("behind", "newer"))
    for who in ("new", "newer"):
        s.quietly("ConsumerGroupHeartbeat", beating("behind", who, -1))
    s.ask("Heartbeat", {"groupId": "behind", "memberId": member, "generationId": generation}, note="of one that is behind")
    s.ask("OffsetCommit", committing("behind", (0, 1), member=member, generation=generation), 9, "of one that is behind")
    s.ask("DescribeGroups", {"groups": ["behind"]}, note="with one that is behind")
    # A classic group becomes one of the consumer protocol, when its members can.
    up = "upgraded"
    member = classic_member(s, up)
    s.ask("ConsumerGroupHeartbeat", beating(up, "new"), note="to a classic group")
    s.ask("ConsumerGroupDescribe", {"groupIds": [up]}, note="upgraded")
    s.ask("Heartbeat", {"groupId": up, "memberId": member, "generationId": 1}, note="upgraded")
    s.ask("DescribeGroups", {"groups": [up]}, note="upgraded")
    s.quietly("OffsetCommit", committing("empty-classic", (0, 1)), 9)
    s.ask("ConsumerGroupHeartbeat", beating("empty-classic", "new"), note="to an empty classic group")
    s.ask("OffsetFetch", fetching("empty-classic", 0), 9, "of it")
    raw = s.quietly("JoinGroup", joining("raw", protocolType="connect", protocols=(("x", "AAEC"),)))["memberId"]
    s.quietly("JoinGroup", joining("raw", raw, protocolType="connect", protocols=(("x", "AAEC"),)))
    s.quietly("SyncGroup", {**syncing("raw", raw, protocol="x"), "protocolType": "connect"})
    s.ask("ConsumerGroupHeartbeat", beating("raw", "new"), note="to a group that is not of consumers")
    raw = classic_member(s, "unreadable", protocols=(("range", "AAECAw=="),))
    s.ask("ConsumerGroupHeartbeat", beating("unreadable", "new"), note="to a group whose members cannot be read")
    # And an empty one of the consumer protocol a classic one.
    consumer_member(s, "down", "new", made, (0, 1, 2))
    s.quietly("ConsumerGroupHeartbeat", beating("down", "new", -1))
    id_ = s.ask("JoinGroup", joining("down"), note="to an empty group of the consumer protocol")["memberId"]
    is_there(s, "down")
    s.ask("JoinGroup", joining("down", id_), note="to it, with an id")
    s.ask("DescribeGroups", {"groups": ["down"]}, note="a classic group again")


SCENARIOS = [coordinators, lives, refused_joins, refused_calls, static_members, two_members, offsets, offsets_of_deleted_topics,
             listing, refused_heartbeats, consumer_groups, both_protocols]
