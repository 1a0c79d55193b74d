#!/usr/bin/env bash
# Kafka's own programs that read in groups, and kcat -G. groups_tools_check.sh VERSION BOOTSTRAP
check=groups-tools-$1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/java/lib.sh"
version=$1 bootstrap=$2
command -v kcat > /dev/null || skip "no kcat"
kafka_jars "$version"
pids=()
trap 'kill -9 "${pids[@]}" 2> /dev/null; rm -rf "$work"' EXIT

# What a test starts in the background; the JVM itself, so that signals reach it.
java_in_background() {
  java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$jars/*" "$@" &
  pids+=($!)
}
# wait_for COMMAND...: until it holds
wait_for() {
  local give_up=$((SECONDS + 40))
  until "$@"; do
    [ $SECONDS -lt $give_up ] || return 1
    sleep 0.1
  done
}
lines() { cat "$@" 2> /dev/null | wc -l; }
at_least() { [ "$(lines "${@:2}")" -ge "$1" ]; }
topics() { run_java org.apache.kafka.tools.TopicCommand --bootstrap-server "$bootstrap" "$@" > /dev/null 2> "$work/log"; }
# fill TOPIC FIRST LAST: numbers, by turns into three partitions
fill() {
  local p
  for p in 0 1 2; do
    seq "$2" "$3" | awk "NR % 3 == $p" | kcat -b "$bootstrap" -P -t "$1" -p "$p" || return 1
  done
}
end_all() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null; done
  for pid in "${pids[@]}"; do wait "$pid"; done
  pids=()
}

run_java org.apache.kafka.tools.ClientCompatibilityTest --bootstrap-server "$bootstrap" --topic "$(unique compatibility)" \
  --offsets-for-times-supported true --cluster-id-supported true --expect-record-too-large-exception false \
  --num-cluster-nodes 1 --create-topics-supported true --describe-acls-supported false --describe-configs-supported true \
  --idempotent-producer-supported true > "$work/compatibility" 2>&1
status=$?
[ $status -eq 0 ] || tail -20 "$work/compatibility"
verdict $status "ClientCompatibilityTest"

# The second consumer of the group goes on where the first has stopped.
topic=$(unique console) group=$(unique group)
topics --create --topic "$topic" --partitions 3 && fill "$topic" 1 3000
verdict $? "records to read"
console() {
  run_java org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$bootstrap" --topic "$topic" --group "$group" \
    "$@" 2> "$work/log"
}
console --from-beginning --max-messages 1000 > "$work/first"
verdict $? "kafka-console-consumer --group"
console --from-beginning --max-messages 2000 > "$work/second"
verdict $? "another goes on"
seq 1 3000 | cmp -s - <(sort -n "$work/first" "$work/second")
verdict $? "together they read each record once"

case $version in
  3.*) count=--messages ;;
  *) count=--num-records ;;
esac
run_java org.apache.kafka.tools.ConsumerPerformance --bootstrap-server "$bootstrap" --topic "$topic" --group "$(unique perf)" \
  $count 3000 > "$work/perf" 2> "$work/log"
status=$?
[ $status -eq 0 ] && awk -F', ' 'NR > 1 && $5 >= 3000 { found = 1 } END { exit !found }' "$work/perf"
verdict $? "kafka-consumer-perf-test reads all"

protocols=(classic consumer)
[[ $version = 3.* ]] && protocols=(classic)
for protocol in "${protocols[@]}"; do
  group=$(unique "$protocol") more=()
  [[ $version = 3.* ]] || more=(--group-protocol "$protocol")
  for i in 1 2; do
    java_in_background org.apache.kafka.tools.VerifiableConsumer --bootstrap-server "$bootstrap" --topic "$topic" \
      --group-id "$group" --verbose "${more[@]}" > "$work/verifiable-$i" 2> "$work/log"
  done
  records() { cat "$work"/verifiable-[12] | grep -c '"name":"record_data"'; }
  all_read() { [ "$(records)" -ge 3000 ]; }
  wait_for all_read
  verdict $? "VerifiableConsumer reads all, $protocol"
  end_all
  /usr/bin/python3 - "$work"/verifiable-[12] << 'PY'
import json, sys
read, committed, assigned = {}, {}, set()
for path in sys.argv[1:]:
    for line in open(path):
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if event["name"] == "record_data":
            read.setdefault(event["partition"], set()).add(event["offset"])
        elif event["name"] == "offsets_committed":
            assert event["success"], event
            for offset in event["offsets"]:
                committed[offset["partition"]] = max(offset["offset"], committed.get(offset["partition"], 0))
        elif event["name"] == "partitions_assigned":
            assigned.update(p["partition"] for p in event["partitions"])
assert all(read[p] == set(range(1000)) for p in range(3)), {p: len(o) for p, o in read.items()}
assert committed == {0: 1000, 1: 1000, 2: 1000}, committed
assert assigned == {0, 1, 2}, assigned
PY
  verdict $? "and commits all, $protocol"
done

# kcat: two members share the topic, and when they have left a third has nothing to read but what is new.
topic=$(unique kcat) group=$(unique kcat-group)
topics --create --topic "$topic" --partitions 3
kc_group() { exec kcat -b "$bootstrap" -G "$group" -X auto.offset.reset=earliest -X heartbeat.interval.ms=500 "$@" "$topic" 2>> "$work/kcat.log"; }
for i in 1 2; do
  (kc_group -f '%p %s\n' -u > "$work/kcat-$i") &
  pids+=($!)
done
both_assigned() { [ "$(grep -o 'memberid [^)]*): assigned: .*\[' "$work/kcat.log" | cut -d' ' -f2 | sort -u | wc -l)" -eq 2 ]; }
wait_for both_assigned
verdict $? "two kcat -G share a topic"
fill "$topic" 1 3000
wait_for at_least 3000 "$work/kcat-1" "$work/kcat-2"
verdict $? "they read all"
[ "$(cut -d' ' -f1 "$work/kcat-1" | sort -u | wc -l)" -lt 3 ] && [ "$(cut -d' ' -f1 "$work/kcat-2" | sort -u | wc -l)" -lt 3 ] &&
  seq 1 3000 | cmp -s - <(cut -d' ' -f2 "$work/kcat-1" "$work/kcat-2" | sort -n)
verdict $? "each record once, neither from all partitions"
end_all
fill "$topic" 3001 3030
(kc_group -c 30 > "$work/kcat-3") &
pids+=($!)
wait_for at_least 30 "$work/kcat-3"
seq 3001 3030 | cmp -s - <(sort -n "$work/kcat-3")
verdict $? "the next member reads only what is new"
end_all
finish
