"""Kafka's own command-line tools: what they print about either broker is the same text."""
import json

from common import fill, make_topic, numbered

AT = ("--bootstrap-server", "{broker}")
REASSIGNMENT = json.dumps({"version": 1, "partitions": [{"topic": "tools-b", "partition": 0, "replicas": [1]}]})


def topics_tool(s):
    def topics(*arguments, **more):
        s.tool("TopicCommand", *AT, *arguments, **more)
    topics("--create", "--topic", "tools-a", "--partitions", "3", "--config", "retention.ms=100000", "--config", "cleanup.policy=compact")
    topics("--create", "--topic", "tools-b", "--replica-assignment", "1,1")
    topics("--create", "--topic", "tools-a", errors=True, hide=[(r"\(org\.apache.*", "")])
    topics("--create", "--topic", "tools-a", "--if-not-exists")
    topics("--create", "--topic", "tools.c", "--partitions", "1", "--replication-factor", "1")
    topics("--create", "--topic", "tools-d", "--replication-factor", "3", errors=True)
    topics("--create", "--topic", "tools e", errors=True)
    topics("--create", "--topic", "tools-f", "--config", "retention.ms=soon", errors=True)
    topics("--create", "--topic", "tools-f", "--config", "no.such=1", errors=True)
    topics("--list", "--topic", "tools.*")
    topics("--describe", "--topic", "tools-a")
    topics("--describe", "--topic", "tools-.*", sorted_lines=True)
    topics("--describe", "--topic", "tools-none", errors=True)
    topics("--describe", "--topic", "tools-a", "--topics-with-overrides")
    for state in ("under-replicated", "unavailable", "under-min-isr", "at-min-isr"):
        topics("--describe", "--topic", "tools-.*", f"--{state}-partitions", sorted_lines=True)
    topics("--alter", "--topic", "tools.c", "--partitions", "2")
    topics("--alter", "--topic", "tools.c", "--partitions", "1", errors=True)
    topics("--describe", "--topic", "tools.c")
    topics("--delete", "--topic", "tools.c")
    topics("--delete", "--topic", "tools-none", errors=True)
    topics("--delete", "--topic", "tools-none", "--if-exists")


def configs_tool(s):
    def configs(*arguments, **more):
        s.tool("ConfigCommand", *AT, *arguments, **more)
    make_topic(s, "tools-configs")
    topic, broker, brokers = ("--topic", "tools-configs"), ("--broker", "1"), ("--broker-defaults",)
    configs(*topic, "--alter", "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]")
    configs(*topic, "--describe")
    configs("--entity-type", "topics", "--entity-name", "tools-configs", "--alter", "--delete-config", "retention.ms")
    configs(*topic, "--describe")
    configs(*topic, "--describe", "--all", sorted_lines=True)
    configs(*topic, "--alter", "--add-config", "retention.ms=soon", errors=True)
    configs(*topic, "--alter", "--add-config", "no.such=1", errors=True)
    configs(*topic, "--alter", "--delete-config", "retention.ms", errors=True)
    configs("--topic", "tools-none", "--describe", errors=True)
    configs("--topic", "tools-none", "--alter", "--add-config", "retention.ms=5000", errors=True)
    configs(*brokers, "--alter", "--add-config", "message.max.bytes=3000000")
    configs(*brokers, "--describe")
    configs(*broker, "--alter", "--add-config", "log.cleaner.threads=2")
    configs(*broker, "--describe", sorted_lines=True)
    configs(*broker, "--alter", "--add-config", "num.partitions=7", errors=True)
    configs(*broker, "--alter", "--delete-config", "log.cleaner.threads")
    configs(*brokers, "--alter", "--delete-config", "message.max.bytes")
    configs("--user", "alice", "--alter", "--add-config", "producer_byte_rate=1024,request_percentage=50.5")
    configs("--user", "alice", "--describe")
    configs("--client", "app", "--alter", "--add-config", "consumer_byte_rate=2048")
    configs("--user", "alice", "--client", "app", "--alter", "--add-config", "consumer_byte_rate=4096")
    configs("--user-defaults", "--alter", "--add-config", "producer_byte_rate=8192")
    configs("--ip", "10.0.0.9", "--alter", "--add-config", "connection_creation_rate=100")
    for entity in (("--client", "app"), ("--user", "alice", "--client", "app"), ("--user-defaults",), ("--ip", "10.0.0.9")):
        configs(*entity, "--describe")
    configs("--entity-type", "users", "--describe", sorted_lines=True)
    configs("--entity-type", "clients", "--describe", sorted_lines=True)
    configs("--user", "alice", "--alter", "--add-config", "producer_byte_rate=-1", errors=True)
    configs("--user", "alice", "--alter", "--delete-config", "producer_byte_rate,request_percentage")
    configs("--client", "app", "--alter", "--delete-config", "consumer_byte_rate")
    configs("--user", "alice", "--client", "app", "--alter", "--delete-config", "consumer_byte_rate")
    configs("--user-defaults", "--alter", "--delete-config", "producer_byte_rate")
    configs("--ip", "10.0.0.9", "--alter", "--delete-config", "connection_creation_rate")
    configs("--user", "alice", "--describe")


def group_configs_tool(s):
    def configs(*arguments, **more):
        s.tool("ConfigCommand", *AT, *arguments, **more)
    group = ("--group", "tools-group")
    configs(*group, "--describe")
    configs(*group, "--alter", "--add-config", "consumer.session.timeout.ms=50000,consumer.heartbeat.interval.ms=6000")
    configs(*group, "--describe")
    configs(*group, "--describe", "--all", sorted_lines=True)
    configs("--entity-type", "groups", "--entity-name", "tools-group", "--alter", "--delete-config", "consumer.heartbeat.interval.ms")
    configs("--entity-type", "groups", "--describe")
    configs(*group, "--alter", "--add-config", "consumer.session.timeout.ms=1000", errors=True)
    configs(*group, "--alter", "--add-config", "consumer.session.timeout.ms=soon", errors=True)
    configs(*group, "--alter", "--add-config", "no.such=1", errors=True)
    configs(*group, "--alter", "--delete-config", "share.isolation.level", errors=True)
    configs("--entity-type", "groups", "--alter", "--add-config", "consumer.session.timeout.ms=50000", errors=True)
    configs("--entity-type", "groups", "--entity-default", "--describe", errors=True)
    configs(*group, "--alter", "--delete-config", "consumer.session.timeout.ms")
    configs(*group, "--describe")


def client_metrics_tool(s):
    def metrics(*arguments, **more):
        s.tool("ClientMetricsCommand", *AT, *arguments, **more)
    metrics("--alter", "--name", "tools-metrics", "--metrics", "org.apache.kafka.producer.", "--interval", "10000", "--match", "client_id=a.*")
    metrics("--list", sorted_lines=True)
    metrics("--describe", "--name", "tools-metrics", sorted_lines=True)
    metrics("--describe", "--name", "tools-none", errors=True)
    metrics("--alter", "--name", "tools-metrics", "--interval", "1", errors=True)
    metrics("--delete", "--name", "tools-metrics")
    metrics("--list")


def offsets_tools(s):
    made = make_topic(s, "tools-offsets", 2)
    make_topic(s, "tools-offsets-compacted", 1, {"cleanup.policy": "compact"})
    fill(s, "tools-offsets", made, [numbered(5), numbered(5, 5)])
    fill(s, "tools-offsets", made, [numbered(3)], 1)
    offsets = lambda *arguments, **more: s.tool("GetOffsetShell", *AT, *arguments, **more)
    for when in ("-1", "-2", "-3", "earliest", "latest", "max-timestamp", "1700000000000"):
        offsets("--topic", "tools-offsets", "--time", when)
    offsets("--topic", "tools-offsets.*")
    offsets("--topic-partitions", "tools-offsets:1,tools-offsets-.*:0-")
    offsets("--topic", "tools-none", errors=True)
    offsets("--topic", "tools-offsets", "--time", "soon", errors=True)
    delete = lambda topic, offset, partition=0: s.tool(
        "DeleteRecordsCommand", *AT, "--offset-json-file", "{dir}/offsets.json", errors=True, files={"offsets.json": json.dumps(
            {"version": 1, "partitions": [{"topic": topic, "partition": partition, "offset": offset}]})})
    delete("tools-offsets", 4)
    delete("tools-offsets", -1, 1)
    delete("tools-offsets", 99)
    delete("tools-offsets-compacted", 0)
    offsets("--topic", "tools-offsets", "--time", "-2")


def cluster_tools(s):
    made = make_topic(s, "tools-b", 2)
    fill(s, "tools-b", made, [numbered(5)])
    s.tool("ClusterTool", "cluster-id", *AT, hide=[(r"ID: \S+", "ID: <cluster>")])
    s.tool("ClusterTool", "list-endpoints", *AT, hide=[(r"\s+", " ")])
    s.tool("BrokerApiVersionsCommand", *AT, hide=[(r".*(UNSUPPORTED|Unknown|UNKNOWN).*", "<not served>")])
    s.tool("LogDirsCommand", *AT, "--describe", "--topic-list", "tools-b", hide=[
        (r'"logDir":"[^"]*"', '"logDir":"<directory>"'), (r'"(totalBytes|usableBytes)":\d+', r'"\1":<bytes>')])
    s.tool("LogDirsCommand", *AT, "--describe", "--broker-list", "7", errors=True)
    elect = ("LeaderElectionCommand", *AT, "--election-type", "preferred")
    s.tool(*elect, "--topic", "tools-b", "--partition", "0", errors=True)
    s.tool(*elect, "--topic", "tools-none", "--partition", "0", errors=True)
    s.tool(*elect, "--all-topic-partitions", errors=True)
    s.tool(*elect, "--path-to-json-file", "{dir}/partitions.json", errors=True,
           files={"partitions.json": json.dumps({"partitions": [{"topic": "tools-b", "partition": 1}]})})
    s.tool("LeaderElectionCommand", *AT, "--election-type", "unclean", "--topic", "tools-b", "--partition", "0", errors=True)
    reassign = lambda *arguments, **more: s.tool("reassign.ReassignPartitionsCommand", *AT, *arguments, **more)
    reassign("--list")
    paths = [(r'"log_dirs":\["[^"]*"\]', '"log_dirs":[<directory>]')]
    reassign("--generate", "--broker-list", "1", "--topics-to-move-json-file", "{dir}/topics.json",
             files={"topics.json": json.dumps({"version": 1, "topics": [{"topic": "tools-b"}]})}, hide=paths)
    for action in ("--verify", "--execute", "--verify", "--cancel"):
        reassign(action, "--reassignment-json-file", "{dir}/moves.json", files={"moves.json": REASSIGNMENT}, errors=True, hide=paths)
    reassign("--execute", "--reassignment-json-file", "{dir}/moves.json", errors=True,
             files={"moves.json": REASSIGNMENT.replace("[1]", "[7]")})
    s.tool("TransactionsCommand", *AT, "describe-producers", "--topic", "tools-b", "--partition", "0")


def client_tools(s):
    make_topic(s, "tools-verifiable", 1)
    times = [(r'"timestamp":\d+', '"timestamp":<now>'), (r'"(avg_throughput|target_throughput)":[-0-9.]+', r'"\1":<rate>')]
    s.tool("VerifiableProducer", *AT, "--topic", "tools-verifiable", "--max-messages", "20", "--acks", "-1", hide=times, sorted_lines=True,
           alone=True)  # it prints its last lines when its process ends
    s.tool("ProducerPerformance", *AT, "--topic", "tools-verifiable", "--num-records", "1000", "--record-size", "100", "--throughput", "-1",
           hide=[(r"[0-9.,]+", "<n>")])
    has_acls = "true" if s.broker.name == "kafka" else "false"
    features = ("--offsets-for-times-supported", "true", "--cluster-id-supported", "true", "--expect-record-too-large-exception", "false",
                "--num-cluster-nodes", "1", "--create-topics-supported", "true", "--describe-acls-supported", has_acls,
                "--describe-configs-supported", "true", "--idempotent-producer-supported", "true")
    make_topic(s, "tools-compatibility", 1)
    s.tool("ClientCompatibilityTest", *AT, "--topic", "tools-compatibility", *features, errors=True)


SCENARIOS = [topics_tool, configs_tool, group_configs_tool, client_metrics_tool, offsets_tools, cluster_tools, client_tools]
