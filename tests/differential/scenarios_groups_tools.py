"""Kafka's tools that show and change groups, and its programs that read in groups."""
from common import fill, make_topic, numbered
from members import beating, classic_member, committing, consumer_member, find_coordinator, is_there, joining, member_id, owning

AT = ("--bootstrap-server", "{broker}")
GROUPS = ("tool-classic", "tool-static", "tool-consumer", "tool-simple", "tool-empty", "tool-joining")
NOW = ((r'"timestamp":\d+', '"timestamp":<now>'),)
# A member may be given partitions before it has heard of their topic, of either broker; then it has none at first.
NONE_YET = r'"name":"partitions_assigned","partitions":\[\]'
SPLIT = ((r" +", " "), (r" $", ""))  # how wide a column is follows from names that differ


def make_groups(s):
    """Groups in all states; the heartbeat that keeps the one of the consumer protocol alive."""
    made = make_topic(s, "tool-a", 3)
    other = make_topic(s, "tool-b", 1)
    find_coordinator(s)
    for partition in (0, 1):
        fill(s, "tool-a", made, [numbered(20), numbered(10, 20, timestamp=1_710_000_000_000)], partition)
    fill(s, "tool-b", other, [numbered(5)])
    a = dict(topics=("tool-a",), parts={"tool_a": [0, 1, 2]})
    classic = classic_member(s, "tool-classic", topics=("tool-a", "tool-b"), parts={"tool_a": [0, 1, 2], "tool_b": [0]})
    classic_member(s, "tool-static", instance="one", **a)
    owner = consumer_member(s, "tool-consumer", "member-a", made, (0, 1, 2), ("tool-a",))
    empty = classic_member(s, "tool-empty", **a)
    commit = lambda group, *offsets, **more: s.quietly("OffsetCommit", committing(group, *offsets, **{"topic": "tool-a", **more}), 9)
    commit("tool-classic", (0, 5), (1, 30), member=classic, generation=1)
    commit("tool-consumer", (0, 7, "note", 0), member="member-a", generation=owner)
    commit("tool-empty", (0, 1), (2, 0), member=empty, generation=1)
    s.quietly("LeaveGroup", {"groupId": "tool-empty", "members": [{"memberId": empty}]})
    commit("tool-simple", (0, 12), (1, 3))
    commit("tool-simple", (0, 2), topic="tool-b")
    first = member_id(s, "tool-joining", topics=("tool-b",))
    s.quietly("JoinGroup", joining("tool-joining", first, topics=("tool-b",)))
    is_there(s, "tool-joining")
    return beating("tool-consumer", "member-a", owner)


def groups_tool(s):
    beat = make_groups(s)

    def groups(*arguments, **more):
        s.quietly("ConsumerGroupHeartbeat", beat)
        s.tool("consumer.group.ConsumerGroupCommand", *AT, *arguments, errors=True, **more)

    shown(groups)
    kafka_groups(s)
    moved(lambda *arguments, **more: groups("--reset-offsets", *arguments, sorted_lines=True, **more))
    deleted(groups)
    groups("--validate-regex", "tool-[ab]")
    groups("--validate-regex", "tool-[ab")


def shown(groups):
    each = [part for name in (*GROUPS, "tool-none") for part in ("--group", name)]
    groups("--list", sorted_lines=True)
    for how in (("--state",), ("--type",), ("--state", "--type"), ("--state", "stable,empty"), ("--type", "classic"), ("--type", "consumer", "--state", "Stable")):
        groups("--list", *how, sorted_lines=True, hide=SPLIT)
    groups("--list", "--state", "slow")
    groups("--list", "--type", "slow")
    for how in ((), ("--offsets",), ("--members",), ("--members", "--verbose"), ("--state",), ("--state", "--verbose"), ("--offsets", "--verbose")):
        groups("--describe", *each[:-2], *how, sorted_lines=True)
        groups("--describe", "--group", "tool-none", *how)
    groups("--describe", *each, sorted_lines=True)
    groups("--describe", "--group", "tool-classic")
    groups("--describe", "--group", "tool-empty", "--members")
    groups("--describe", "--all-groups", "--state", sorted_lines=True, hide=SPLIT)
    groups("--describe", "--all-groups", "--members", "--offsets")
    groups("--describe")


def kafka_groups(s):
    groups = lambda *arguments: s.tool("GroupsCommand", *AT, *arguments, errors=True, sorted_lines=True, hide=SPLIT)
    for how in ((), ("--consumer",), ("--share",), ("--streams",), ("--group-type", "classic"), ("--group-type", "consumer"), ("--protocol", "consumer"),
                ("--protocol", "connect"), ("--group-type", "classic", "--protocol", "consumer"), ("--group-type", "slow"), ("--consumer", "--share")):
        groups("--list", *how)
    groups()


def moved(reset):
    simple, a = ("--group", "tool-simple"), ("--topic", "tool-a")
    for how in (("--to-earliest",), ("--to-latest",), ("--to-current",), ("--to-offset", "4"), ("--to-offset", "99"), ("--to-offset", "-1"),
                ("--shift-by", "5"), ("--shift-by", "-5"), ("--by-duration", "PT0S"), ("--by-duration", "P10000D"),
                ("--to-datetime", "2024-01-01T00:00:00.000"), ("--to-datetime", "2000-01-01T00:00:00.000+02:00"), ("--to-datetime", "tomorrow"),
                ("--by-duration", "soon"), ("--to-earliest", "--to-latest"), ()):
        reset(*simple, "--all-topics", *how, "--dry-run")
    reset(*simple, "--to-earliest", "--dry-run")
    reset(*simple, "--topic", "tool-a:1", "--to-earliest")
    reset(*simple, "--topic", "tool-a:1", "--to-earliest", "--dry-run", "--execute")
    reset(*simple, "--topic", "tool-a:9", "--to-earliest", "--execute")
    reset(*simple, "--topic", "tool-none", "--to-earliest", "--execute")
    reset(*simple, "--all-topics", "--to-current", "--export", "--dry-run")
    reset(*simple, "--group", "tool-empty", "--all-topics", "--to-current", "--export", "--dry-run")
    reset(*simple, "--from-file", "{dir}/offsets.csv", "--dry-run", files={"offsets.csv": "tool-a,0,7\ntool-a,1,99\n"})
    reset(*simple, "--from-file", "{dir}/offsets.csv", "--dry-run", files={"offsets.csv": "tool-a;0;7\n"}, hide=[(r"tailrace-tool-\w+", "<dir>")])
    reset(*simple, "--group", "tool-empty", "--from-file", "{dir}/offsets.csv", "--execute",
          files={"offsets.csv": "tool-simple,tool-a,0,8\ntool-empty,tool-a,1,9\n"})
    for group in ("tool-classic", "tool-consumer", "tool-joining"):
        reset("--group", group, *a, "--to-earliest", "--execute")
    reset("--group", "tool-new", *a, "--to-latest", "--execute")
    reset("--group", "tool-empty", "--group", "tool-new", *a, "--shift-by", "-1", "--execute")
    reset("--all-groups", *a, "--to-current", "--dry-run")


def deleted(groups):
    delete = lambda *arguments: groups(*arguments, sorted_lines=True)
    delete("--delete-offsets", "--group", "tool-new", "--topic", "tool-a:1")
    delete("--delete-offsets", "--group", "tool-new", "--topic", "tool-a:7")
    delete("--delete-offsets", "--group", "tool-new", "--topic", "tool-none")
    delete("--delete-offsets", "--group", "tool-none", "--topic", "tool-a")
    delete("--delete-offsets", "--group", "tool-consumer", "--topic", "tool-a")
    delete("--delete-offsets", "--group", "tool-classic", "--topic", "tool-a", "--topic", "tool-b")
    delete("--describe", "--group", "tool-new", "--group", "tool-simple", "--group", "tool-empty")
    delete("--delete", "--group", "tool-new")
    delete("--delete", "--group", "tool-none")
    delete("--delete", "--group", "tool-classic", "--group", "tool-consumer", "--group", "tool-simple")
    delete("--delete", "--group", "tool-empty", "--group", "tool-none")


def reading_tools(s):
    made = make_topic(s, "tool-read", 1)
    find_coordinator(s)
    fill(s, "tool-read", made, [numbered(30)])
    console = lambda *arguments, **more: s.tool("consumer.ConsoleConsumer", *AT, "--topic", "tool-read", *arguments, errors=True, **more)
    for protocol in ("classic", "consumer"):
        mine = ("--group", f"tool-console-{protocol}", "--command-property", f"group.protocol={protocol}")
        console(*mine, "--from-beginning", "--max-messages", "10")
        console(*mine, "--max-messages", "20", "--formatter-property", "print.offset=true", "--formatter-property", "print.partition=true")
        verifiable = lambda *arguments: s.tool("VerifiableConsumer", *AT, "--topic", "tool-read", "--group-id", f"tool-verifiable-{protocol}", "--group-protocol",
                                               protocol, *arguments, errors=True, hide=NOW, without=NONE_YET)
        verifiable("--max-messages", "10", "--verbose")
        verifiable("--max-messages", "20")
    console("--group", "tool-console-classic", "--partition", "0")
    s.tool("consumer.group.ConsumerGroupCommand", *AT, "--describe", *(part for name in ("console", "verifiable") for protocol in ("classic", "consumer") for part in
                                                                     ("--group", f"tool-{name}-{protocol}")), sorted_lines=True, errors=True)


SCENARIOS = [groups_tool, reading_tools]
