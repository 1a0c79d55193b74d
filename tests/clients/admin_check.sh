#!/usr/bin/env bash
# Tailrace's commands for those who run a node: what they print, change and refuse, and that Kafka's own tools see the
# same. admin_check.sh BOOTSTRAP, with the program in $TAILRACE.
check=admin
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/java/lib.sh"
[ -n "${TAILRACE:-}" ] || skip "TAILRACE names no program"
bootstrap=$1

# t COMMAND...: the program; what it prints is in $work/out and $work/log. No command takes longer than its --timeout.
t() { timeout 60 "$TAILRACE" "$@" -b "$bootstrap" > "$work/out" 2> "$work/log"; }
# said WORDS: the last command succeeded with these words, and without a complaint
said() { [ "$1" -eq 0 ] && [ ! -s "$work/log" ] && grep -q -- "$2" "$work/out"; }
# refused STATUS WORDS: it failed with status 1 and one sentence that has these words, and misused: with status 2
refused() { [ "$1" -eq 1 ] && [ "$(wc -l < "$work/log")" -eq 1 ] && grep -q -- "$2" "$work/log"; }
misused() { [ "$1" -eq 2 ] && grep -q -- "$2" "$work/log"; }
# json EXPRESSION: the last output is JSON `j` of which this is true
json() { /usr/bin/python3 -c "import json, sys; j = json.load(open(sys.argv[1])); assert $1, j" "$work/out" 2> "$work/why"; }

one=$(unique one)
two=$(unique two)

# Topics
t topics create "$one" "$two" --replica-assignment 0,0 --validate-only
said $? "Could create topic $one" && t topics list && ! grep -q "$one" "$work/out"
verdict $? "validate-only makes no topic"
t topics create "$one" --replica-assignment 0,0 --config retention.ms=3600000
said $? "Created topic $one"
verdict $? "create with replicas assigned"
t topics create "$two" --partitions 3
verdict $? "create with partitions"
t topics create "$two" --replica-assignment 0 --partitions 1
misused $? excludes
verdict $? "partitions and assignments exclude each other"
t topics create "$one-x" --replica-assignment 0:0
misused $? "broker 0 stands twice"
verdict $? "an assignment that names a broker twice is refused before anything is asked"
t topics list "$check-.*-$$-.*"
[ "$(sort "$work/out")" = "$(printf '%s\n' "$one" "$two" | sort)" ]
verdict $? "list by a pattern"
t topics describe "$one"
said $? 'PartitionCount: 2.*retention.ms=3600000' && [ "$(wc -l < "$work/out")" -eq 4 ]
verdict $? "describe one topic"
t topics describe "$one" --json
json 'j[0]["configs"]["retention.ms"] == "3600000" and len(j[0]["partitions"]) == 2'
verdict $? "describe in JSON"
id=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["topic_id"])' "$work/out")
t topics describe --topic-id "$id"
said $? "^Topic: $one "
verdict $? "describe by id"
t topics describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ
refused $? 'no topic with the id'
verdict $? "an id that nobody has"
t topics describe --topics-with-overrides
said $? "$one" && ! grep -q "$two" "$work/out"
verdict $? "only topics with settings of their own"
for only in under-replicated unavailable under-min-isr; do
  t topics describe --$only-partitions
  [ $? -eq 0 ] && [ ! -s "$work/out" ]
  verdict $? "no partition is $only"
done
t topics describe "$one" --at-min-isr-partitions
said $? "$one *1 *0 *0 *0"
verdict $? "partitions with as many replicas as they need"
t topics describe "$one-none"
refused $? "there is no topic $one-none"
verdict $? "describing what is not there is refused"
t topics describe "$one-none" --if-exists
verdict $? "or passed over"
t topics describe 'a('
misused $? 'regular expression'
verdict $? "what is no pattern is refused"
t topics alter "$one" --partitions 3 --replica-assignment 0,0,0
said $? "Altered topic $one"
verdict $? "add a partition with its replicas"
t topics alter "$one" --partitions 2
refused $? 'INVALID_PARTITIONS'
verdict $? "fewer partitions are refused"

# Settings
t configs alter --topic "$one" --add-config 'segment.bytes=2000000,cleanup.policy=[compact,delete]' --delete-config retention.ms
said $? "Altered the settings of topic $one"
verdict $? "change settings of a topic"
t configs describe --topic "$one" --json
json '{c["name"]: c["value"] for c in j[0]["configs"] if c["source"] == "DYNAMIC_TOPIC_CONFIG"} == {"segment.bytes": "2000000", "cleanup.policy": "compact,delete"}'
verdict $? "they are described in JSON"
t configs describe --entity-type topics --entity-name "$one" --all
said $? 'segment.bytes *2000000 *topic' && grep -q 'retention.ms .* default' "$work/out"
verdict $? "and with all defaults for people"
t configs describe --topic "$one" --config segment.bytes
said $? '2000000' && ! grep -q cleanup "$work/out"
verdict $? "one setting alone"
t configs describe --topic "$one" --config segment.byte
refused $? 'has no setting segment.byte'
verdict $? "a setting that nobody has"
t configs alter --topic "$one" --subtract-config cleanup.policy=compact && t configs describe --topic "$one"
said $? 'cleanup.policy *delete *topic'
verdict $? "take something out of a list"
t configs alter --topic "$one" --append-config cleanup.policy=compact && t configs describe --topic "$one"
said $? 'cleanup.policy *delete,compact *topic'
verdict $? "put something into a list"
t configs alter --topic "$one" --topic "$two" --add-config segment.bytes=x
[ $? -eq 1 ] && grep -q 'INVALID_CONFIG.*nothing was changed' "$work/log"
verdict $? "a bad value is refused for all topics"
t configs alter --topic "$two" --add-config segment.bytes=3000000 --validate-only
said $? 'Could alter' && t configs describe --topic "$two" && ! grep -q 3000000 "$work/out"
verdict $? "validate-only changes nothing"
printf '# of %s\nsegment.bytes = 4000000\nretention.ms: 7200000\n' "$two" > "$work/two.properties"
t configs alter --topic "$two" --add-config-file "$work/two.properties" && t configs describe --topic "$two"
said $? 'segment.bytes *4000000' && grep -q 'retention.ms *7200000' "$work/out"
verdict $? "settings from a file"
t configs alter --topic "$one"
misused $? 'nothing is to be changed'
verdict $? "no change is a mistake"
t configs alter --entity-type topics --add-config a=b
misused $? 'which of the topics'
verdict $? "nor are all topics changed by accident"
t configs describe --entity-type things
misused $? 'no entity type'
verdict $? "a type that nobody knows"
t configs alter --broker-defaults --add-config log.retention.ms=86400000 && t configs describe --broker-defaults
said $? 'log.retention.ms *86400000 *all brokers'
verdict $? "change a setting of all brokers"
t configs describe --broker 0 --config log.retention.ms
said $? '86400000 *all brokers'
verdict $? "the broker goes by it"
t configs alter --broker-defaults --delete-config log.retention.ms
verdict $? "take it back"
t configs describe --broker 0 --all --json
json 'any(c["read_only"] for c in j[0]["configs"])'
verdict $? "settings of a broker say what cannot be changed"

# Quotas
t quotas set --user "$one" producer_byte_rate=10MiB request_percentage=50
said $? "Set the quotas of user $one"
verdict $? "set quotas"
t configs alter --entity-type users --entity-name "$one" --entity-type clients --entity-default --add-config consumer_byte_rate=1000
verdict $? "set quotas with kafka-configs' words"
t quotas list --user "$one"
said $? 'producer_byte_rate *10.0 MiB/s' && grep -q '<default>.*consumer_byte_rate *1000 B/s' "$work/out"
verdict $? "list them in units of people"
t quotas describe --user "$one" --json
json 'j == [{"entity": {"user": "'"$one"'"}, "quotas": {"producer_byte_rate": 10485760, "request_percentage": 50}}]'
verdict $? "describe exactly one"
t configs describe --user "$one"
said $? 'request_percentage *50 %'
verdict $? "configs describes quotas, too"
t quotas set --user "$one" producer_byte_rat=1
misused $? 'is no quota of users'
verdict $? "a quota that nobody has"
t quotas set --ip 127.0.0.1 --user x connection_creation_rate=1
misused $? 'may be combined'
verdict $? "an address and a user do not go together"
t quotas remove --user "$one" request_percentage && t quotas describe --user "$one" && ! grep -q request "$work/out"
verdict $? "remove one quota"
t quotas remove --user "$one" --all && t quotas describe --user "$one"
said $? "No quotas of user $one"
verdict $? "remove all of them"
t quotas remove --user "$one" --all
refused $? 'has no quotas'
verdict $? "there is nothing left to remove"
t quotas remove --user "$one" --client-defaults --all
verdict $? "the other entity is left"

# Subscriptions to metrics of clients
t client-metrics alter "$one" --interval 1000 --metrics org.apache.kafka. --match client_id=app.*
verdict $? "make a subscription"
t client-metrics list
said $? "^$one\$"
verdict $? "list it"
t client-metrics describe "$one"
said $? 'interval.ms *1000' && grep -q 'match *client_id=app' "$work/out"
verdict $? "describe it"
t client-metrics alter "$one" --interval 1
misused $? '100 to 3600000'
verdict $? "an interval that is too short"
t client-metrics alter "$one" --match colour=red
misused $? 'no selector "colour"'
verdict $? "a selector that nobody has"
t client-metrics delete "$one" && t client-metrics list && ! grep -qx "$one" "$work/out"
verdict $? "delete it"
t client-metrics delete "$one"
refused $? 'there are no client metrics'
verdict $? "deleting it again is refused"

# Records and offsets
seq 1 1000 | timeout 40 "$TAILRACE" produce -t "$two" -p 1 -b "$bootstrap"
t offsets "$two" --time earliest --time latest
said $? "^$two *1 *0 *1000\$"
verdict $? "where partitions begin and end"
t offsets --topic-partitions "$two:1-" --time max-timestamp --json
json '[p["partition"] for p in j] == [1, 2] and j[0]["offsets"]["max-timestamp"]["offset"] is not None and j[1]["offsets"]["max-timestamp"]["offset"] is None'
verdict $? "the newest record, by a pattern of partitions"
t offsets "$two" --partitions 1 --time 2020-01-01
said $? "$two *1 *0 *20"
verdict $? "the first record of a time"
t offsets "$two-none"
refused $? 'no partition matches'
verdict $? "a topic that is not there"
t offsets --time newest
misused $? '"newest" is no time'
verdict $? "a time that is none"
t records delete "$two" --partition 1 --before-offset 400
said $? "$two *1 *400"
verdict $? "delete records before an offset"
t records delete "$two" --partition 1 --before-offset 1001
refused $? 'ends at 1000, before 1001; nothing was deleted'
verdict $? "an offset beyond the end is refused"
t records delete "$two" --partition 7 --all
refused $? 'has no partition 7'
verdict $? "a partition that is not there"
t records delete "$two"
misused $? 'before-offset or --all'
verdict $? "all records are not deleted by accident"
echo "{\"partitions\": [{\"topic\": \"$two\", \"partition\": 1, \"offset\": 500}], \"version\": 1}" > "$work/offsets.json"
t records delete --offset-json-file "$work/offsets.json" --json
json 'j[0]["low_watermark"] == 500'
verdict $? "kafka-delete-records' file"
echo '{"partitions": [{"topic": "a", "offset": 1}]}' > "$work/bad.json"
t records delete --offset-json-file "$work/bad.json"
misused $? 'partitions\[0\]: "partition" is missing'
verdict $? "a file that is wrong"
t records delete "$two" --all && t offsets "$two" --partitions 1 --time earliest
said $? "$two *1 *1000"
verdict $? "delete all records"
t producers "$two" --partition 1
said $? '^ *1 *[0-9]* *0 .*20[0-9-]*T'
verdict $? "the producer of a partition"
t producers "$two" --partition 9
refused $? 'no partition 9'
verdict $? "producers of a partition that is not there"

# The cluster
t log-dirs describe --topic-list "$two"
said $? "$two *1 " && grep -q 'Broker 0: .* are free' "$work/out"
verdict $? "sizes of logs"
t log-dirs describe --topic-list "$two-none"
refused $? 'there is no topic'
verdict $? "sizes of a topic that is not there"
t cluster cluster-id
said $? '^Cluster ID: [A-Za-z0-9_-]\{22\}$'
verdict $? "the cluster's id"
t cluster brokers --json
json "j[0]['id'] == 0 and j[0]['port'] == ${bootstrap##*:}"
verdict $? "the brokers"
t cluster describe
said $? 'without a leader: 0, under-replicated: 0'
verdict $? "the cluster in short"
t api-versions --json
json 'any(a["name"] == "Produce" and a["usable"] >= 9 for a in j[0]["apis"])'
verdict $? "what is served"
t elect-leaders --election-type preferred --topic "$one" --partition 0
said $? "$one-0 *not needed"
verdict $? "an election that is not needed"
t elect-leaders --election-type preferred --topic "$one" --partition 77
refused $? UNKNOWN_TOPIC_OR_PARTITION
verdict $? "an election of a partition that is not there"
t reassign list
said $? 'No partition reassignments found'
verdict $? "no replica is being moved"
echo "{\"partitions\": [{\"topic\": \"$one\", \"partition\": 0, \"replicas\": [0]}], \"version\": 1}" > "$work/moves.json"
t reassign verify --reassignment-json-file "$work/moves.json"
said $? "$one *0 *0 *completed"
verdict $? "a move that is completed"
echo "{\"partitions\": [{\"topic\": \"$one\", \"partition\": 0, \"replicas\": [1]}], \"version\": 1}" > "$work/moves.json"
t reassign verify --reassignment-json-file "$work/moves.json"
[ $? -eq 1 ] && grep -q 'not under way: its replicas are 0' "$work/out"
verdict $? "a move that nobody has begun"
t elect-leaders --election-type preferred
misused $? 'all-topic-partitions'
verdict $? "an election of nothing"

# Load
load=$(unique load)
t perf produce -t "$load" --partitions 2 -n 20000 --record-size 200 --plot "$work/load.svg"
[ $? -eq 0 ] && grep -q '^20000 records sent, .* ms 99.9th\.$' "$work/out" && grep -q '</svg>' "$work/load.svg"
verdict $? "perf produce, as fast as it goes"
t perf produce -t "$load" -n 300 --record-size 10 --throughput 300 --acks 1 -z lz4 --linger 0 --json
json 'j["records"] == 300 and j["failed"] == 0 and 0.9 < j["seconds"] < 10 and 0 < j["latency_ms"]["p50"] <= j["latency_ms"]["max"]'
verdict $? "perf produce at a rate, in JSON"
printf 'alpha\nbeta\n' > "$work/payloads"
t perf produce -t "$load" -n 100 --payload-file "$work/payloads"
said $? '^100 records sent'
verdict $? "perf produce from a file"
t perf consume -t "$load" -n 20400
said $? '^20400 records consumed'
verdict $? "perf consume"
t perf consume -t "$load" -n 20401 --idle-timeout 1
[ $? -eq 1 ] && grep -q '^20400 records consumed' "$work/out" && grep -q 'no record has come for 1 s' "$work/log"
verdict $? "perf consume says when records are missing"
t perf latency -t "$load" -n 50 --throughput 200 --json
json 'j["records"] == 50 and j["failed"] == 0 and j["latency_ms"]["max"] < 60000'
verdict $? "perf latency"
t perf produce -t "$load" -n 5 --record-size 2000000 --batch-bytes 1
[ $? -eq 1 ] && grep -q '^0 records sent.* failed\.$' "$work/out" && grep -q 'TOO_LARGE' "$work/log"
verdict $? "perf produce counts what was refused"
t perf produce -t "$load" -n 5
misused $? 'record-size'
verdict $? "perf produce needs to know what to send"

# The program itself
"$TAILRACE" topics list -b "$bootstrap" | head -0
[ "${PIPESTATUS[0]}" -eq 0 ]
verdict $? "nobody reads the output: no failure"
"$TAILRACE" topics list -b "$bootstrap" > /dev/full 2> "$work/log"
refused $? 'could not be written'
verdict $? "an output that cannot be written is one"
"$TAILRACE" topics lits > /dev/null 2>&1
[ $? -eq 2 ]
verdict $? "a command that nobody has"
"$TAILRACE" completion bash > "$work/completion" && bash -n "$work/completion"
verdict $? "completion for bash"
# complete WORDS: what bash offers after these words; the program is found by its name
complete_line() {
  PATH=$(dirname "$TAILRACE"):$PATH bash -c '. "$1"; COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=() COMP_CWORD=0
    compopt() { :; }; _tailrace; printf "%s\n" "${COMPREPLY[@]}"' - "$work/completion" "$1" > "$work/out"
}
complete_line 'tailrace topics de' && [ "$(sort "$work/out" | tr '\n' ' ')" = 'delete describe ' ]
verdict $? "it completes commands"
complete_line 'tailrace topics create --repl' && grep -qx -- --replication-factor "$work/out"
verdict $? "and options"
complete_line 'tailrace topics list --json --exc' && grep -qx -- --exclude-internal "$work/out"
verdict $? "after flags, too"
complete_line "tailrace consume -b $bootstrap --topic ${one%-*}" && grep -qx "$one" "$work/out"
verdict $? "and topics"

# Kafka's tools see what ours show.
if (kafka_jars 4.4.0) > /dev/null 2>&1; then
  kafka_jars 4.4.0
  run_java org.apache.kafka.tools.TopicCommand --bootstrap-server "$bootstrap" --describe --topic "$one" 2> /dev/null |
    sed -n 's/.*Partition: \([0-9]*\).*Leader: \([0-9]*\).*Replicas: \([0-9,]*\).*Isr: \([0-9,]*\).*/\1 \2 \3 \4/p' > "$work/kafka"
  t topics describe "$one"
  sed -n '3,$p' "$work/out" | awk '{ print $1, $2, $3, $4 }' | cmp -s - "$work/kafka"
  verdict $? "kafka-topics --describe says the same"
  run_java org.apache.kafka.tools.ConfigCommand --bootstrap-server "$bootstrap" --describe --topic "$two" 2> /dev/null |
    sed -n 's/^  \([^=]*\)=\([^ ]*\) sensitive.*{DYNAMIC_TOPIC_CONFIG.*/\1 \2/p' | sort > "$work/kafka"
  t configs describe --topic "$two"
  awk 'NR > 1 && $3 == "topic" { print $1, $2 }' "$work/out" | sort | cmp -s - "$work/kafka" && [ -s "$work/kafka" ]
  verdict $? "kafka-configs --describe says the same"
  run_java org.apache.kafka.tools.GetOffsetShell --bootstrap-server "$bootstrap" --topic "$load" 2> /dev/null | tr ':' ' ' > "$work/kafka"
  t offsets "$load"
  sed 1d "$work/out" | awk '{ print $1, $2, $3 }' | cmp -s - "$work/kafka" && [ -s "$work/kafka" ]
  verdict $? "kafka-get-offsets says the same"
  run_java org.apache.kafka.tools.LogDirsCommand --bootstrap-server "$bootstrap" --describe --topic-list "$load" 2> /dev/null | tail -1 > "$work/kafka"
  t log-dirs describe --topic-list "$load" --json
  /usr/bin/python3 - "$work/out" "$work/kafka" << 'END'
import json, sys
def sizes(path):
    brokers = json.load(open(path))["brokers"]
    return {(b["broker"], d["logDir"], p["partition"]): (p["size"], p["offsetLag"], p["isFuture"])
            for b in brokers for d in b["logDirs"] for p in d["partitions"]}
ours, kafkas = (sizes(path) for path in sys.argv[1:3])
assert ours and ours == kafkas, (ours, kafkas)
END
  verdict $? "kafka-log-dirs says the same"
fi

t topics delete "$check-.*-$$-.*"
[ $? -eq 0 ] && t topics list "$check-.*-$$-.*" && [ ! -s "$work/out" ]
verdict $? "delete topics by a pattern"
t topics delete "$check-.*-$$-.*"
refused $? 'no topic matches'
verdict $? "a pattern that matches nothing is refused"
t topics delete "$check-.*-$$-.*" --if-exists
verdict $? "or passed over"
finish
