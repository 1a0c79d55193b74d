#!/usr/bin/env bash
# Tailrace's own tools, with kcat to see that they do not only understand each other. tools_check.sh BOOTSTRAP, with the
# program in $TAILRACE.
check=tools
. "$(dirname "$0")/lib.sh"
[ -n "${TAILRACE:-}" ] || skip "TAILRACE names no program"
bootstrap=$1

tailrace() { timeout 40 "$TAILRACE" "$1" "${@:2}" -b "$bootstrap" 2> "$work/log"; }
topics() { timeout 40 "$TAILRACE" topics "$1" -b "$bootstrap" "${@:2}" 2> "$work/log"; }
# refused WORDS: the last command failed with one line that has these words
refused() { [ "$1" -ne 0 ] && [ "$(wc -l < "$work/log")" -eq 1 ] && grep -q "$2" "$work/log"; }

one=$(unique one)
topics create "$one" --partitions 3 --config retention.ms=3600000 > /dev/null
verdict $? "create a topic"
topics create "$one" > /dev/null
refused $? TOPIC_ALREADY_EXISTS
verdict $? "creating it again is refused"
topics create "$one" --if-not-exists > /dev/null
verdict $? "or passed over"
topics list | grep -qx "$one"
verdict $? "list topics"
topics describe "$one" | grep -q 'PartitionCount: 3.*ReplicationFactor: 1.*retention.ms=3600000'
verdict $? "describe a topic"
topics describe "$one" --json | /usr/bin/python3 -c 'import json, sys; t = json.load(sys.stdin)[0]; assert len(t["partitions"]) == 3 and t["configs"]["retention.ms"] == "3600000"'
verdict $? "describe it in JSON"
topics alter "$one" --partitions 4 > /dev/null
verdict $? "add a partition"
topics create 'no/name' > /dev/null
refused $? INVALID_TOPIC
verdict $? "a bad name is refused"

# Lines there and back: spread by key over the partitions, so they are sorted before they are compared.
seq 1 20000 | sed 's/.*/key &:value &/' > "$work/lines"
for codec in none gzip snappy lz4 zstd; do
  topic=$(unique "$codec")
  topics create "$topic" --partitions 3 > /dev/null
  tailrace produce -t "$topic" -k : -z "$codec" -H kind=line < "$work/lines"
  verdict $? "produce with $codec"
  tailrace consume -t "$topic" --from earliest --until end --print key --separator : | sort > "$work/back"
  sort "$work/lines" | cmp -s - "$work/back"
  verdict $? "consume what $codec packed"
  timeout 25 kcat -b "$bootstrap" -C -t "$topic" -o beginning -e -q -f '%k:%s %h\n' | sort > "$work/back"
  sed 's/$/ kind=line/' "$work/lines" | sort | cmp -s - "$work/back"
  verdict $? "kcat reads the same"
done

# Without keys, to one partition: the order stays.
topic=$(unique order)
topics create "$topic" --partitions 1 > /dev/null
seq 1 300000 > "$work/lines"
tailrace produce -t "$topic" -f "$work/lines"
verdict $? "produce a file"
tailrace consume -t "$topic" --from earliest -n 300000 | cmp -s - "$work/lines"
verdict $? "the lines come back in order"
[ "$(tailrace consume -t "$topic" --from -3 -e --print offset | tr '\t\n' '= ')" = "299997=299998 299998=299999 299999=300000 " ]
verdict $? "consume the last records"
tailrace consume -t "$topic" --from @2020-01-01 -n 1 | grep -qx 1
verdict $? "consume from a time"
[ -z "$(tailrace consume -t "$topic" --from latest -e)" ]
verdict $? "there is nothing after the end"
tailrace consume -t "$topic" --from 400000 -e > /dev/null
refused $? '0 to 299999'
verdict $? "an offset that is not there is refused"
tailrace consume -t "$topic-none" -e > /dev/null
refused $? 'no topic'
verdict $? "a topic that is not there is refused"

# JSON: what consume prints, produce reads.
topic=$(unique json)
topics create "$topic" "$topic-copy" --partitions 1 > /dev/null
printf '%s\n' '{"key":"k","value":"\u00e4 \"v\"","timestamp":"2024-02-29T12:00:00Z"}' \
  '{"key_base64":"AP8=","value":null,"headers":{"a":"1","b":null}}' '{"value":{"n":1},"partition":0}' > "$work/records"
tailrace produce -t "$topic" --json -f "$work/records"
verdict $? "produce JSON"
tailrace consume -t "$topic" --from earliest -e --json > "$work/first"
sed "s/$topic/$topic-copy/" "$work/first" | tailrace produce --json
tailrace consume -t "$topic-copy" --from earliest -e --json | sed "s/$topic-copy/$topic/" > "$work/second"
[ "$(wc -l < "$work/first")" -eq 3 ] && cmp -s "$work/first" "$work/second"
verdict $? "a copy through JSON is the same"
printf '%s\n' '{"value":"good"}' '{"valeu":"bad"}' | tailrace produce -t "$topic" --json
refused $? 'line 2.*valeu'
verdict $? "a bad line is refused by its number"

head -c 3000000 /dev/zero | tr '\0' x | tailrace produce -t "$topic"
refused $? 'MESSAGE_TOO_LARGE\|RECORD_LIST_TOO_LARGE'
verdict $? "a record that is too large is refused"
echo x | tailrace produce -t "$topic" -p 5
refused $? 'no partition 5'
verdict $? "a partition that is not there is refused"
for acks in 0 1 all; do
  topic=$(unique "acks-$acks")
  topics create "$topic" --partitions 1 > /dev/null
  seq 1 1000 | tailrace produce -t "$topic" --acks "$acks" && tailrace consume -t "$topic" --from earliest -n 1000 | cmp -s - <(seq 1 1000)
  verdict $? "produce with acks $acks"
done

topics delete "$one" > /dev/null
verdict $? "delete a topic"
topics delete "$one" > /dev/null
refused $? UNKNOWN_TOPIC_OR_PARTITION
verdict $? "deleting it again is refused"
bootstrap=127.0.0.1:1 topics list > /dev/null
refused $? 'Connection refused'
verdict $? "no broker is one clear line"

if [ -n "${TAILRACE_DATA:-}" ]; then
  timeout 20 "$TAILRACE" stat --data "$TAILRACE_DATA" --json 2> "$work/log" |
    /usr/bin/python3 -c 'import json, sys; s = json.load(sys.stdin); assert {"engine", "broker"} <= set(s), s'
  verdict $? "stat shows the counters of the processes"
  timeout 20 "$TAILRACE" stat --data "$work/nothing" > /dev/null 2> "$work/log"
  refused $? 'no node runs here'
  verdict $? "stat says when no node runs"
  timeout 20 "$TAILRACE" dump "$TAILRACE_DATA/$topic-0/00000000000000000000.log" | grep -q '^baseOffset: 0 lastOffset: '
  verdict $? "dump shows a segment of a running node"
  timeout 20 "$TAILRACE" up --data "$TAILRACE_DATA" --listen 127.0.0.1:0 > /dev/null 2> "$work/log"
  refused $? 'a node already runs on'
  verdict $? "a second node on the same data is refused"
fi
finish
