"""Settings of topics, brokers and client metrics; quotas; telemetry."""
import json

from common import make_topic

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
OWN = (1, 2, 3, 7, 8)  # sources: a topic, a broker, all brokers, client metrics, a group
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(kind, name, keys=None, **more):
    return {"resources": [{"resourceType": kind, "resourceName": name, "configurationKeys": keys}], **more}


def changed(kind, name, *entries, **more):
    return {"resources": [{"resourceType": kind, "resourceName": name, "configs": [
        {"name": k, "configOperation": o, "value": v} for k, o, v in entries]}], **more}


def described(s, kind, name, note, keys=None):
    """What is set at the resource itself."""
    answer = s.quietly("DescribeConfigs", describe(kind, name, keys))
    for result in answer.get("results", []):
        result["configs"] = [c for c in result["configs"] if c["configSource"] in OWN]
    s.note(f"described {note}", answer)


def describe_configs(s):
    make_topic(s, "settings", 1, {"retention.ms": "5000", "cleanup.policy": "compact"})
    s.ask_all("DescribeConfigs", describe(TOPIC, "settings"))
    s.ask_all("DescribeConfigs", describe(TOPIC, "settings", ["retention.ms", "cleanup.policy", "nobody.has.it"]), "some keys")
    s.ask_all("DescribeConfigs", describe(TOPIC, "settings", None, includeSynonyms=True), "with synonyms")
    s.ask("DescribeConfigs", describe(TOPIC, "settings", None, includeDocumentation=True), note="with documentation")
    s.ask("DescribeConfigs", describe(TOPIC, "settings", []), note="no keys")
    for note, kind, name in (("an unknown topic", TOPIC, "settings-unknown"), ("an impossible topic", TOPIC, "a b"),
                             ("no topic", TOPIC, ""), ("another broker", BROKER, "7"), ("a broker of no number", BROKER, "x"),
                             ("all brokers", BROKER, ""), ("an unknown type", 99, "x"), ("type 0", 0, "x"),
                             ("client metrics", METRICS, "none-such"), ("client metrics of no name", METRICS, ""),
                             ("a group", GROUP, "none-such"), ("a group of no name", GROUP, ""),
                             ("loggers of another", LOGGER, "7"), ("loggers of no number", LOGGER, "x")):
        s.ask("DescribeConfigs", describe(kind, name), note=note)
    s.ask("DescribeConfigs", {"resources": []}, note="none")
    s.ask("DescribeConfigs", {"resources": [{"resourceType": TOPIC, "resourceName": n} for n in ("settings", "settings", "x")],
                              }, note="one twice, one unknown")
    s.ask("DescribeConfigs", describe(BROKER, "1", None, includeSynonyms=True), note="this broker")


def alter_topic_configs(s):
    one = lambda note, *entries, name="altered", **more: s.ask(
        "IncrementalAlterConfigs", changed(TOPIC, name, *entries, **more), note=note)
    make_topic(s, "altered")
    s.ask_all("IncrementalAlterConfigs", changed(TOPIC, "altered", ("retention.ms", SET, "1000")))
    described(s, TOPIC, "altered", "after set")
    one("validate only", ("retention.ms", SET, "2000"), validateOnly=True)
    one("delete what is not set", ("segment.ms", DELETE, None))
    one("append", ("cleanup.policy", APPEND, "compact"))
    described(s, TOPIC, "altered", "after append")
    one("append what is there", ("cleanup.policy", APPEND, "compact"))
    one("subtract", ("cleanup.policy", SUBTRACT, "delete"))
    described(s, TOPIC, "altered", "after subtract")
    one("subtract the last", ("cleanup.policy", SUBTRACT, "compact"))
    one("subtract what is not there", ("cleanup.policy", SUBTRACT, "delete"))
    one("append to a number", ("retention.ms", APPEND, "1"))
    one("subtract from a number", ("retention.ms", SUBTRACT, "1"))
    one("an unknown operation", ("retention.ms", 9, "1"))
    one("a null value", ("retention.ms", SET, None))
    one("a key twice", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    one("a key set and deleted", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None))
    one("an unknown key", ("nobody.has.it", SET, "1"))
    one("a good and a bad one", ("retention.ms", SET, "3000"), ("segment.bytes", SET, "x"))
    described(s, TOPIC, "altered", "after a good and a bad one")
    one("crossed", ("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5"))
    one("an unknown topic", ("retention.ms", SET, "1"), name="altered-unknown")
    one("no topic", ("retention.ms", SET, "1"), name="")
    one("an impossible topic", ("retention.ms", SET, "1"), name="a b")
    one("nothing")
    one("deleted", ("retention.ms", DELETE, None))
    described(s, TOPIC, "altered", "after delete")
    for key, value in (("retention.ms", "-2"), ("retention.ms", "x"), ("cleanup.policy", "never"), ("compression.type", "brotli"),
                       ("min.insync.replicas", "0"), ("segment.bytes", "1"), ("max.message.bytes", " 2000 "), ("preallocate", "TRUE"),
                       ("leader.replication.throttled.replicas", "*"), ("remote.storage.enable", "true"), ("unclean.leader.election.enable", "maybe")):
        one(f"{key}={value}", (key, SET, value), validateOnly=True)
    twice = changed(TOPIC, "altered", ("retention.ms", SET, "1"))
    s.ask("IncrementalAlterConfigs", {"resources": twice["resources"] * 2}, note="a resource twice")
    s.ask("IncrementalAlterConfigs", {"resources": []}, note="none")
    s.ask("IncrementalAlterConfigs", {"resources": twice["resources"] + changed(TOPIC, "x", ("retention.ms", SET, "1"))["resources"]},
          note="one good, one unknown")
    whole = lambda *entries, name="altered", kind=TOPIC: {"resources": [{"resourceType": kind, "resourceName": name, "configs": [
        {"name": k, "value": v} for k, v in entries]}]}
    s.ask_all("AlterConfigs", whole(("segment.ms", "100000"), ("retention.bytes", "7")), "the whole of it")
    described(s, TOPIC, "altered", "after the whole of it")
    s.ask("AlterConfigs", whole(("retention.ms", None)), note="a null value")
    s.ask("AlterConfigs", whole(("retention.ms", "x")), note="a bad value")
    s.ask("AlterConfigs", whole(("retention.ms", "1"), ("retention.ms", "2")), note="a key twice")
    s.ask("AlterConfigs", whole(("retention.ms", "1"), name="altered-unknown"), note="an unknown topic")
    s.ask("AlterConfigs", whole(), note="nothing is left")
    described(s, TOPIC, "altered", "after nothing is left")


def alter_broker_configs(s):
    one = lambda note, name, *entries, **more: s.ask("IncrementalAlterConfigs", changed(BROKER, name, *entries, **more), note=note)
    one("all brokers", "", ("message.max.bytes", SET, "2000000"))
    described(s, BROKER, "", "all brokers")
    described(s, BROKER, "1", "this broker by all", ["message.max.bytes"])
    one("this broker", "1", ("message.max.bytes", SET, "3000000"), ("log.retention.ms", SET, "1234567"))
    described(s, BROKER, "1", "this broker", ["message.max.bytes", "log.retention.ms"])
    make_topic(s, "altered-by-broker")
    s.ask("DescribeConfigs", describe(TOPIC, "altered-by-broker", ["max.message.bytes", "retention.ms"], includeSynonyms=True),
          note="a topic that has them from there")
    for key, value in (("broker.id", "9"), ("log.dirs", "/x"), ("num.partitions", "5"), ("nobody.has.it", "1"), ("message.max.bytes", "x"),
                       ("log.cleanup.policy", "never"), ("num.io.threads", "1000"), ("num.network.threads", "4"), ("listeners", "PLAINTEXT://:1"),
                       ("max.connections", "0"), ("max.connections.per.ip", "-1"), ("ssl.keystore.password", "secret"),
                       ("listener.name.x.max.connections", "5"), ("log.retention.ms", "-1"), ("min.insync.replicas", "2"),
                       ("log.cleaner.threads", "2"), ("background.threads", "1"), ("unclean.leader.election.enable", "true")):
        one(f"this broker {key}={value}", "1", (key, SET, value), validateOnly=True)
        one(f"all brokers {key}={value}", "", (key, SET, value), validateOnly=True)
    one("another broker", "7", ("message.max.bytes", SET, "1"))
    one("no number", "x", ("message.max.bytes", SET, "1"))
    one("append", "", ("log.cleanup.policy", APPEND, "compact"))
    described(s, BROKER, "", "after append")
    one("deleted", "", ("message.max.bytes", DELETE, None), ("log.cleanup.policy", DELETE, None))
    one("deleted here", "1", ("message.max.bytes", DELETE, None), ("log.retention.ms", DELETE, None))
    described(s, BROKER, "1", "after delete", ["message.max.bytes", "log.retention.ms"])
    s.ask("AlterConfigs", {"resources": [{"resourceType": BROKER, "resourceName": "", "configs": [{"name": "message.max.bytes", "value": "5000000"}]}]},
          note="the whole of all brokers")
    described(s, BROKER, "", "after the whole of all brokers")
    s.ask("AlterConfigs", {"resources": [{"resourceType": BROKER, "resourceName": "", "configs": []}]}, note="nothing is left")
    one("an unknown type", "x")
    for note, kind, name, entries in (("type 0", 0, "x", [("a", SET, "1")]), ("type 99", 99, "x", [("a", SET, "1")]),
                                      ("a logger of another", LOGGER, "7", [("kafka", SET, "INFO")]),
                                      ("an unknown level", LOGGER, "1", [("root", SET, "LOUD")]),
                                      ("a group", GROUP, "altered-group", [("consumer.session.timeout.ms", SET, "1")]),
                                      ("a group's unknown key", GROUP, "altered-group", [("nobody.has.it", SET, "1")])):
        s.ask("IncrementalAlterConfigs", changed(kind, name, *entries, validateOnly=True), note=note)


# What is right, and what is not, of a group's own settings: each is asked for by itself.
GROUP_VALUES = (
    ("consumer.session.timeout.ms", ("45000", "60000", " 50000 ", "0", "44999", "60001", "x", "", "2147483648")),
    ("consumer.heartbeat.interval.ms", ("5000", "15000", "0", "4999", "15001")),
    ("consumer.assignment.interval.ms", ("0", "15000", "-1", "15001")),
    ("consumer.assignor.offload.enable", ("FALSE", "maybe")),
    ("share.session.timeout.ms", ("45000", "44999")),
    ("share.heartbeat.interval.ms", ("5000", "15001")),
    ("share.assignment.interval.ms", ("0", "15001")),
    ("share.record.lock.duration.ms", ("15000", "999", "14999", "60001")),
    ("share.delivery.count.limit", ("10", "1", "11")),
    ("share.partition.max.record.locks", ("4000", "99", "4001")),
    ("share.auto.offset.reset", ("earliest", "by_duration:PT1H", "by_duration:P1DT2H3M4.5S", "by_duration:pt-0.5s",
                                 "by_duration:PT0S", "by_duration:-PT-1S", "by_duration:P1Y", "by_duration:", "by_duration:P",
                                 "by_duration:P1DT", "by_duration:PT9223372036854775808S", "by_duration:PT9223372036854775807S",
                                 "by_duration:P106751991167301D", "by_duration:PT1.1234567891S", "by_duration:PT1,5S",
                                 "by_duration:+P+1D", "by_duration:PT1S1M", "EARLIEST", "never", "")),
    ("share.isolation.level", ("read_committed", "READ_COMMITTED")),
    ("share.renew.acknowledge.enable", ("false", "1")),
    ("streams.session.timeout.ms", ("60000", "1")),
    ("streams.heartbeat.interval.ms", ("5000", "1")),
    ("streams.assignment.interval.ms", ("0", "15001")),
    ("streams.num.standby.replicas", ("2", "3", "-1")),
    ("streams.num.warmup.replicas", ("20", "21")),
    ("streams.initial.rebalance.delay.ms", ("0", "-1")),
    ("streams.task.offset.interval.ms", ("15000", "14999")),
    ("streams.acceptable.recovery.lag", ("0", "-1")),
    ("streams.assignor.name", ("sticky", "x", "")),
    ("streams.rack.aware.assignment.tags", ("a,b", "a,a", "a,,b", "", " , ")),
    ("errors.deadletterqueue.topic.name", ("dlq", "", "__dlq")),
    ("errors.deadletterqueue.copy.record.enable", ("true", "x")),
    ("nobody.has.it", ("1",)),
)


def group_configs(s):
    one = lambda note, *entries, name="tuned", **more: s.ask(
        "IncrementalAlterConfigs", changed(GROUP, name, *entries, **more), note=note)
    s.ask_all("DescribeConfigs", describe(GROUP, "tuned"))
    s.ask("DescribeConfigs", describe(GROUP, "tuned", None, includeSynonyms=True, includeDocumentation=True), note="with all")
    s.ask_all("IncrementalAlterConfigs", changed(GROUP, "tuned", ("consumer.session.timeout.ms", SET, "50000")))
    one("several", ("consumer.heartbeat.interval.ms", SET, "6000"), ("consumer.assignment.interval.ms", SET, "500"),
        ("share.auto.offset.reset", SET, "earliest"), ("streams.num.standby.replicas", SET, "1"))
    s.ask_all("DescribeConfigs", describe(GROUP, "tuned"), "when set")
    s.ask("DescribeConfigs", describe(GROUP, "tuned", None, includeSynonyms=True), note="with synonyms when set")
    s.ask("DescribeConfigs", describe(GROUP, "tuned", ["consumer.session.timeout.ms", "consumer.assignor.offload.enable", "nobody.has.it"]),
          note="some keys")
    s.ask("DescribeConfigs", {"resources": [{"resourceType": GROUP, "resourceName": n} for n in ("tuned", "other", "tuned", "")]}, note="several")
    one("an internal key", ("consumer.assignor.offload.enable", SET, "false"))
    s.ask("DescribeConfigs", describe(GROUP, "tuned", None, includeSynonyms=True), note="with an internal key")
    for key, values in GROUP_VALUES:
        for value in values:
            one(f"{key}={value}", (key, SET, value), name="asked", validateOnly=True)
    one("good and bad", ("consumer.session.timeout.ms", SET, "45000"), ("consumer.heartbeat.interval.ms", SET, "1"))
    one("an unknown key and a bad value", ("consumer.session.timeout.ms", SET, "1"), ("nobody.has.it", SET, "1"))
    one("append", ("consumer.session.timeout.ms", APPEND, "1"))
    one("append to a list", ("streams.rack.aware.assignment.tags", APPEND, "zone"))
    one("append to a list again", ("streams.rack.aware.assignment.tags", APPEND, "rack"))
    one("subtract from a list", ("streams.rack.aware.assignment.tags", SUBTRACT, "zone"))
    one("append to an unknown key", ("nobody.has.it", APPEND, "1"))
    described(s, GROUP, "tuned", "after the list")
    one("delete what is not set", ("share.isolation.level", DELETE, None))
    one("delete an unknown key", ("nobody.has.it", DELETE, None))
    one("a null", ("consumer.session.timeout.ms", SET, None))
    one("a key twice", ("consumer.session.timeout.ms", SET, "45000"), ("consumer.session.timeout.ms", SET, "46000"))
    one("no name", ("consumer.session.timeout.ms", SET, "45000"), name="")
    one("a name with everything", ("consumer.session.timeout.ms", SET, "45000"), name="a group/with ümläuts & more, ..")
    one("nothing", name="nobody-set-this")
    s.ask("IncrementalAlterConfigs", {"resources": 2 * changed(GROUP, "tuned", ("consumer.session.timeout.ms", SET, "45000"))["resources"]},
          note="a group twice")
    s.ask_all("ListConfigResources", {}, "listed")
    s.ask("ListConfigResources", {"resourceTypes": [GROUP]}, note="groups")
    described(s, GROUP, "tuned", "before the whole")
    whole = lambda note, *entries, name="tuned", **more: s.ask("AlterConfigs", {"resources": [{
        "resourceType": GROUP, "resourceName": name, "configs": [{"name": k, "value": v} for k, v in entries]}], **more}, note=note)
    whole("validate only", ("consumer.session.timeout.ms", "46000"), validateOnly=True)
    whole("an unknown key", ("nobody.has.it", "1"))
    whole("a bad value", ("consumer.session.timeout.ms", "1"))
    whole("the whole", ("consumer.session.timeout.ms", "46000"))
    described(s, GROUP, "tuned", "after the whole")
    whole("nothing")
    described(s, GROUP, "tuned", "after nothing")
    s.ask("ListConfigResources", {"resourceTypes": [GROUP]}, note="groups when none is left of one")
    one("the last goes", ("consumer.session.timeout.ms", DELETE, None), name="a group/with ümläuts & more, ..")
    s.ask("ListConfigResources", {"resourceTypes": [GROUP]}, note="no groups")
    # What a broker says of all groups is where a group's own values come from.
    for key in ("group.consumer.assignment.interval.ms", "group.share.assignment.interval.ms", "group.streams.assignment.interval.ms",
                "group.consumer.assignor.offload.enable", "group.consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms"):
        value = "false" if key.endswith("enable") else "2000"
        for name in ("", "1"):
            s.ask("IncrementalAlterConfigs", changed(BROKER, name, (key, SET, value), validateOnly=True), note=f"{key} of {name or 'all brokers'}")
    s.ask("IncrementalAlterConfigs", changed(BROKER, "", ("group.consumer.assignment.interval.ms", SET, "2000")), note="all groups")
    s.ask("DescribeConfigs", describe(GROUP, "tuned", ["consumer.assignment.interval.ms"], includeSynonyms=True), note="of all brokers")
    s.ask("IncrementalAlterConfigs", changed(BROKER, "1", ("group.consumer.assignment.interval.ms", SET, "3000")), note="groups of this broker")
    s.ask("DescribeConfigs", describe(GROUP, "tuned", ["consumer.assignment.interval.ms"], includeSynonyms=True), note="of this broker")
    s.ask("IncrementalAlterConfigs", changed(BROKER, "1", ("group.consumer.assignment.interval.ms", SET, "99999")), note="beyond the bounds")
    s.ask("DescribeConfigs", describe(GROUP, "tuned", ["consumer.assignment.interval.ms"], includeSynonyms=True), note="beyond the bounds")
    s.ask("DescribeConfigs", describe(BROKER, "1", ["group.consumer.assignment.interval.ms"], includeSynonyms=True), note="broker beyond the bounds")
    for name in ("", "1"):
        s.ask("IncrementalAlterConfigs", changed(BROKER, name, ("group.consumer.assignment.interval.ms", DELETE, None)), note="taken back")


def client_metrics(s):
    one = lambda note, *entries, name="subscribed", **more: s.ask(
        "IncrementalAlterConfigs", changed(METRICS, name, *entries, **more), note=note)
    one("set", ("metrics", SET, "org.apache.kafka.producer."), ("interval.ms", SET, "5000"), ("match", SET, "client_id=app.*"))
    described(s, METRICS, "subscribed", "set")
    s.ask_all("ListConfigResources", {}, "listed")
    s.ask("ListConfigResources", {"resourceTypes": [METRICS]}, note="client metrics")
    s.ask("ListConfigResources", {"resourceTypes": [BROKER]}, note="brokers")
    s.ask("ListConfigResources", {"resourceTypes": [99]}, note="an unknown type")
    for key, value in (("interval.ms", "1"), ("interval.ms", "x"), ("interval.ms", "3600001"), ("match", "nobody=1"), ("match", "client_id"),
                       ("match", "client_id=("), ("match", "client_id=a,client_id=b"), ("nobody.has.it", "1"), ("metrics", ""), ("metrics", "*")):
        one(f"{key}={value}", (key, SET, value), validateOnly=True)
    one("no name", ("interval.ms", SET, "5000"), name="")
    one("append", ("metrics", APPEND, "org.apache.kafka.consumer."))
    described(s, METRICS, "subscribed", "after append")
    one("deleted", ("metrics", DELETE, None), ("interval.ms", DELETE, None), ("match", DELETE, None))
    s.ask("ListConfigResources", {"resourceTypes": [METRICS]}, note="after delete")


def quotas(s):
    entry = lambda entity, ops: {"entity": [{"entityType": t, "entityName": n} for t, n in entity],
                                 "ops": [{"key": k, "value": 0 if v is None else v, "remove": v is None} for k, v in ops]}
    one = lambda note, entity, *ops, version=None, **more: s.ask(
        "AlterClientQuotas", {"entries": [entry(entity, ops)], "validateOnly": False, **more}, version, note)
    for version in s.versions("AlterClientQuotas"):
        one("user", [("user", "alice")], ("producer_byte_rate", 1000.5), version=version)
    one("client", [("client-id", "app")], ("consumer_byte_rate", 2000), ("request_percentage", 50))
    one("both", [("user", "alice"), ("client-id", "app")], ("consumer_byte_rate", 3000))
    one("default user", [("user", None)], ("producer_byte_rate", 4000))
    one("default of both", [("user", None), ("client-id", None)], ("controller_mutation_rate", 5))
    one("a name to be encoded", [("user", "a b/c*<default>")], ("producer_byte_rate", 1))
    one("an address", [("ip", "10.1.2.3")], ("connection_creation_rate", 10))
    one("all addresses", [("ip", None)], ("connection_creation_rate", 20))
    one("validate only", [("user", "bob")], ("producer_byte_rate", 1), validateOnly=True)
    for note, entity, ops in (
            ("an unknown key", [("user", "alice")], [("speed", 1)]), ("zero", [("user", "alice")], [("producer_byte_rate", 0)]),
            ("negative", [("user", "alice")], [("producer_byte_rate", -1)]), ("not whole", [("user", "alice")], [("consumer_byte_rate", 1.5)]),
            ("an unknown type", [("host", "x")], [("producer_byte_rate", 1)]), ("nobody", [], [("producer_byte_rate", 1)]),
            ("user and address", [("user", "alice"), ("ip", "10.0.0.1")], [("producer_byte_rate", 1)]),
            ("bytes of an address", [("ip", "10.0.0.1")], [("producer_byte_rate", 1)]),
            ("connections of a user", [("user", "alice")], [("connection_creation_rate", 1)]),
            ("no address", [("ip", "no such host!")], [("connection_creation_rate", 1)]),
            ("a fraction of a connection", [("ip", "10.0.0.1")], [("connection_creation_rate", 1.5)]),
            ("an empty name", [("user", "")], [("producer_byte_rate", 1)]), ("a type twice", [("user", "a"), ("user", "b")], [("producer_byte_rate", 1)]),
            ("a key twice", [("user", "alice")], [("producer_byte_rate", 1), ("producer_byte_rate", 2)]),
            ("no operations", [("user", "alice")], []), ("removed that is not there", [("user", "carol")], [("producer_byte_rate", None)])):
        one(note, entity, *ops)
    s.ask("AlterClientQuotas", {"entries": [entry([("user", "dave")], [("producer_byte_rate", 1)])] * 2, "validateOnly": False}, note="an entity twice")
    s.ask("AlterClientQuotas", {"entries": [], "validateOnly": False}, note="none")
    s.ask("AlterClientQuotas", {"entries": [entry([("user", "eve")], [("producer_byte_rate", 7)]), entry([("user", "eve2")], [("speed", 7)])],
                                "validateOnly": False}, note="good and bad")
    find = lambda *parts, strict=False: {"components": [{"entityType": t, "matchType": m, "match": n} for t, m, n in parts], "strict": strict}
    s.ask_all("DescribeClientQuotas", find())
    for note, body in (("users", find(("user", 2, None))), ("alice", find(("user", 0, "alice"))), ("alice alone", find(("user", 0, "alice"), strict=True)),
                       ("the default user", find(("user", 1, None))), ("the default user alone", find(("user", 1, None), strict=True)),
                       ("both", find(("user", 2, None), ("client-id", 2, None))), ("clients alone", find(("client-id", 2, None), strict=True)),
                       ("addresses", find(("ip", 2, None))), ("an address", find(("ip", 0, "10.1.2.3"))), ("nothing strictly", find(strict=True)),
                       ("an unknown type", find(("host", 0, "x"))), ("a type twice", find(("user", 0, "a"), ("user", 0, "b"))),
                       ("exactly nobody", find(("user", 0, None))), ("an empty type", find(("", 0, "x"))), ("match type 9", find(("user", 9, "x"))),
                       ("user and address", find(("user", 2, None), ("ip", 2, None)))):
        s.ask("DescribeClientQuotas", body, note=note)
    everything = s.quietly("DescribeClientQuotas", find())
    for each in sorted(everything.get("entries") or [], key=lambda e: json.dumps(e, sort_keys=True)):
        if each["entity"][0]["entityName"] == "dave":  # whom Kafka has although it refused him
            s.quietly("AlterClientQuotas", {"entries": [entry([("user", "dave")], [("producer_byte_rate", None)])], "validateOnly": False})
            continue
        one("removed", [(e["entityType"], e["entityName"]) for e in each["entity"]], *[(v["key"], None) for v in each["values"]])
    s.ask("DescribeClientQuotas", find(), note="after all were removed")


SCENARIOS = [describe_configs, alter_topic_configs, alter_broker_configs, group_configs, client_metrics, quotas]
