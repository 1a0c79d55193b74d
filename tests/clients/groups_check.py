"""Consumer groups with members of real clients: they join, leave, crash and are restarted under load; everything is read and
no partition ever has two owners. groups_check.py FLAVOUR BOOTSTRAP

A flavour says of which clients the members are and what they can do besides. A member is a process of its own that says
what it does (groups/judge.py). The load, and the look at what is committed in the end, are librdkafka's.
"""
import collections
import os
import random
import sys
import tempfile

try:
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
except ImportError:
    print("skipped: no confluent_kafka for Python")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "groups"))
import judge  # noqa: E402
from group import LIMIT_S, MISSING, SHORT_MS, Group, Load, prepare, wait_until  # noqa: E402

PARTITIONS, MORE_PARTITIONS = 6, 8

# loses: members say "lost" though they live: librdkafka 2.0 does so in an incremental rebalance when a heartbeat of it is late, and
# any member does that has not yet heard of the newest epoch when its group becomes a classic one (of Kafka, too).
Flavour = collections.namedtuple("Flavour", "members static pattern loses", defaults=(False, False, False))


def of(kind, static=True, pattern=True, loses=False, **settings):
    return Flavour([(kind, settings)], static, pattern, loses)


FLAVOURS = {
    "java44_range": of("java44", assignor="range"),
    "java44_cooperative": of("java44", assignor="cooperative-sticky"),
    "java44_consumer": of("java44", protocol="consumer"),
    "java44_consumer_range": of("java44", protocol="consumer", assignor="range"),
    "java39_sticky": of("java39", assignor="sticky"),
    "confluent_range": of("confluent", assignor="range"),
    "confluent_roundrobin": of("confluent", assignor="roundrobin"),
    "confluent_cooperative": of("confluent", loses=True, assignor="cooperative-sticky"),
    "kafka_python": of("kafka_python", static=False, assignor="roundrobin"),
    "kafkajs": of("kafkajs", static=False, pattern=False),
    "franz_cooperative": of("franz", assignor="cooperative-sticky"),
    "franz_consumer": of("franz", static=False, protocol="consumer"),  # it does not say that a static member goes
    "sarama": of("sarama", pattern=False, assignor="sticky"),
    "mixed_range": Flavour([(kind, {"assignor": "range"}) for kind in ("java44", "confluent", "franz", "kafka_python", "sarama", "java39")]),
    "mixed_roundrobin": Flavour([(kind, {"assignor": "roundrobin"}) for kind in ("confluent", "java44", "sarama", "franz", "kafka_python", "java39")]),
    "mixed_protocols": Flavour([("java44", {"protocol": "consumer"}), ("confluent", {"assignor": "range"}), ("franz", {"assignor": "range"})],
                               loses=True),
}

failures = 0


def verdict(ok, what, *details):
    global failures
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} - groups {sys.argv[1]}: {what}", flush=True)
    if not ok:
        for detail in details:
            print(f"  {detail}", flush=True)
    return ok


def committed(bootstrap, group, partitions):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 1})
    wanted = [TopicPartition(topic, int(p)) for topic, p in (name.split(":") for name in sorted(partitions))]
    found = {f"{p.topic}:{p.partition}": p.offset for p in consumer.committed(wanted, LIMIT_S) if not p.error}
    consumer.close()
    return found


def settles(group, what):
    ok = wait_until(group.settled)
    return verdict(ok, what, *(() if ok else group.state()))


def judged(group, loses):
    logs = [member.log for member in group.all]
    wrong = judge.two_owners(logs)
    verdict(not wrong, "no partition had two owners", *wrong[:5])
    wrong, handovers = judge.went_back(logs)
    verdict(not wrong, f"each new owner went on at what was committed ({handovers} times)", *wrong[:5])
    if not loses:
        wrong = judge.losses(logs)
        verdict(not wrong, "nothing was taken from a member that lived", *wrong[:5])


def come_and_go(flavour, bootstrap, directory, prefix, admin):
    topic = f"{prefix}-load"
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(LIMIT_S)
    group = Group(flavour.members, bootstrap, directory, f"{prefix}-group", topic)
    group.wants(topic, PARTITIONS)
    load = Load(bootstrap, topic, PARTITIONS)
    load.start()
    try:
        first, second, third = group.join(), group.join(session_ms=SHORT_MS), group.join()
        settles(group, "three members share the partitions")
        group.leave(third)
        settles(group, "the others take over when one leaves")
        group.join()
        settles(group, "another joins")
        group.kill(second)
        settles(group, "the others take over when one is killed")
        for old in list(group.members):
            group.leave(old)
            group.join()
            settles(group, "one is restarted")
        admin.create_partitions([NewPartitions(topic, MORE_PARTITIONS)])[topic].result(LIMIT_S)
        group.wants(topic, MORE_PARTITIONS)
        settles(group, "added partitions have owners")
        load.partitions = MORE_PARTITIONS
        every = [f"{topic}:{p}" for p in range(MORE_PARTITIONS)]
        wait_until(lambda: all(load.ends.get(p, 0) > 0 for p in every))
        load.stop()
        verdict(not load.errors and all(load.ends.get(p, 0) > 0 for p in every), "all was written", load.errors[:3], load.ends)

        def all_read():
            group.update()
            return not judge.unread([m.log for m in group.all], load.ends)

        ok = wait_until(all_read)
        logs = [m.log for m in group.all]
        missing = judge.unread(logs, load.ends)
        verdict(ok, f"all {sum(load.ends.values())} records were read", missing,
                *(line for p, (at, _) in list(missing.items())[:2] for line in judge.history(logs, p, at)))
        bad = group.end()
        verdict(not bad, "members end well", *bad)
        found = committed(bootstrap, group.name, load.ends)
        verdict(found == load.ends, "what is committed is what was read", f"committed {found}", f"ends {load.ends}")
        judged(group, flavour.loses)
    finally:
        load.stop()
        group.end()


def static_members(flavour, bootstrap, directory, prefix, admin):
    topic = f"{prefix}-static"
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(LIMIT_S)
    group = Group(flavour.members, bootstrap, directory, f"{prefix}-static-group", topic)
    group.wants(topic, PARTITIONS)
    try:
        first, second = group.join(instance="one"), group.join(instance="two")
        if not settles(group, "two static members share the partitions"):
            return
        for member, instance in ((first, "one"), (second, "two")):
            group.update()
            held = set(member.log.owned)
            stays = next(m for m in group.members if m is not member)
            before = len([e for e in stays.log.events if e[1] != "note"])
            if flavour.members[0][1].get("protocol") == "consumer":  # there, a name is free when who had it says so
                group.leave(member)
                member.left()
            else:
                group.kill(member)
            again = group.join(instance=instance)
            settles(group, f"static member {instance} is there again")
            after = [e for e in stays.log.events if e[1] != "note"][before:]
            verdict(again.log.owned == held and not after, "it has what it had, and the other did not notice",
                    f"{sorted(held)} {sorted(again.log.owned)} {after}")
        bad = group.end()
        verdict(not bad, "static members end well", *bad)
        judged(group, flavour.loses)
    finally:
        group.end()


def by_pattern(flavour, bootstrap, directory, prefix, admin):
    topics = [f"{prefix}-pattern-{letter}" for letter in "ab"]
    group = Group(flavour.members, bootstrap, directory, f"{prefix}-pattern-group", f"^{prefix}-pattern-.*")
    try:
        admin.create_topics([NewTopic(topics[0], 2, 1)])[topics[0]].result(LIMIT_S)
        group.wants(topics[0], 2)
        group.join()
        settles(group, "a member has the topic that matches a pattern")
        admin.create_topics([NewTopic(topics[1], 2, 1)])[topics[1]].result(LIMIT_S)
        group.wants(topics[1], 2)
        settles(group, "and another that is made later")
        bad = group.end()
        verdict(not bad, "it ends well", *bad)
    finally:
        group.end()


def main():
    name, bootstrap = sys.argv[1:]
    flavour = FLAVOURS[name]
    for kind in sorted({kind for kind, _ in flavour.members}):
        status = prepare(kind)
        if status == MISSING and len({k for k, _ in flavour.members}) > 2:  # enough are left to be mixed
            flavour.members[:] = [m for m in flavour.members if m[0] != kind]
        elif status:
            sys.exit(status)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 1})
    prefix = f"groups-{name}-{os.getpid()}-{random.randrange(1 << 30)}".replace("_", "-")
    with tempfile.TemporaryDirectory(prefix="tailrace-groups-") as directory:
        come_and_go(flavour, bootstrap, directory, prefix, admin)
        if flavour.static:
            static_members(flavour, bootstrap, directory, prefix, admin)
        if flavour.pattern:
            by_pattern(flavour, bootstrap, directory, prefix, admin)
    sys.exit(1 if failures else 0)


main()
