#!/usr/bin/env bash
# `tailrace groups` beside Kafka's kafka-consumer-groups, over groups in all states: both must say the same, and what one
# changes the other sees. groups_admin_check.sh BOOTSTRAP, with the program in $TAILRACE. Runs against Apache Kafka, too.
check=groups-admin
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/java/lib.sh"
[ -n "${TAILRACE:-}" ] || skip "TAILRACE names no program"
bootstrap=$1
kafka_jars 4.4.0

# t COMMAND...: the program; what it prints is in $work/out and $work/log. k OPTIONS...: Kafka's tool, in $work/kafka.
t() { timeout 60 "$TAILRACE" groups "$@" -b "$bootstrap" > "$work/out" 2> "$work/log"; }
k() { run_java org.apache.kafka.tools.consumer.group.ConsumerGroupCommand --bootstrap-server "$bootstrap" "$@" > "$work/kafka" 2> "$work/kafka.log"; }
# same [ROWS]: both printed the same rows, apart from their order, blanks, and empty lines; at least so many.
rows() { sed 's/  */ /g; s/ $//; /^$/d' "$1" | grep -v -e '^Error:' -e '^Warn' -e 'has no active members' | sort; }
same() {
  rows "$work/kafka" > "$work/kafka.rows"
  rows "$work/out" > "$work/out.rows"
  diff "$work/kafka.rows" "$work/out.rows" > "$work/why" && [ "$(wc -l < "$work/out.rows")" -ge "${1:-1}" ] || { cat "$work/why" "$work/log"; return 1; }
}
refused() { [ "$1" -eq 1 ] && grep -q -- "$2" "$work/log"; }
misused() { [ "$1" -eq 2 ] && grep -q -- "$2" "$work/log"; }
json() { /usr/bin/python3 -c "import json, sys; j = json.load(open(sys.argv[1])); assert $1, j" "$work/out" 2> "$work/why" || { cat "$work/why"; return 1; }; }

g=$(unique g)
javac -nowarn -cp "$jars/*" -d "$work" java/Groups.java || { not_ok "compile the groups"; exit 1; }
# Members live as long as this shell has the other end of their input open.
mkfifo "$work/hold"
java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$work:$jars/*" Groups "$bootstrap" "$g" < "$work/hold" > "$work/members" 2> "$work/members.log" &
members=$!
exec {hold}> "$work/hold"
end_members() { exec {hold}>&-; wait "$members"; }
trap 'kill "$members" 2> /dev/null; rm -rf "$work"' EXIT
for ((i = 0; i < 1200; ++i)); do
  grep -qx ready "$work/members" && break
  kill -0 "$members" 2> /dev/null || break
  sleep 0.1
done
grep -qx ready "$work/members"
verdict $? "groups of all kinds come to be" || true
grep -qx ready "$work/members" || { tail -20 "$work/members.log"; exit 1; }
all=(rebalancing classic lagging simple static consumer empty)
each=() && for one in "${all[@]}"; do each+=(--group "$g-$one"); done

# What there is
k --list && t list
grep "^$g" "$work/out" | sort > "$work/ours" && grep "^$g" "$work/kafka" | sort | cmp -s - "$work/ours" && [ "$(wc -l < "$work/ours")" -eq ${#all[@]} ]
verdict $? "list"
k --list --state --type && t list --state --type
for which in out kafka; do { head -1 "$work/$which"; grep "^$g" "$work/$which"; } > "$work/some"; mv "$work/some" "$work/$which"; done
same 8
verdict $? "list with states and types"
k --list --state empty,PreparingRebalance && t list --state empty,PreparingRebalance
for which in out kafka; do grep "^$g" "$work/$which" > "$work/some"; mv "$work/some" "$work/$which"; done
same 4
verdict $? "list by states"
t list --type consumer --json
json "[x for x in j if x['group'].startswith('$g')] == [{'group': '$g-consumer', 'type': 'Consumer', 'state': 'Stable', 'protocol_type': 'consumer'}]"
verdict $? "list by type, in JSON"
t list --state slow
misused $? '"slow" is no state'
verdict $? "a state that is none"

# How they are
for how in "" --verbose --members "--members --verbose" --state "--state --verbose"; do
  k --describe "${each[@]}" $how
  t describe "${each[@]}" $how
  [ $? -eq 0 ]
  verdict $? "describe $how succeeds"
  if [[ $how == --members* ]]; then  # Kafka prints a head for a group without members, and nothing for no instance id
    sed -i '/^GROUP/d' "$work/kafka" "$work/out"
    sed -i "s/^\($g-[a-z]* *[^ ]* \) *\(\/127\)/\1 - \2/; s/^\($g-\(classic\|rebalancing\) *[^ ]* \) *- /\1/" "$work/kafka"
  fi
  same 8
  verdict $? "describe $how says the same"
done
grep -q "group $g-empty has no active members" "$work/log" && grep -q "group $g-rebalancing is rebalancing" "$work/log"
verdict $? "it says which groups do not read"
t describe "$g-none" "$g-empty"
refused $? "group $g-none: there is no such consumer group" && grep -q "^$g-empty" "$work/out"
verdict $? "a group that is not there, beside one that is"
t describe
misused $? 'which groups'
verdict $? "no group is named"
t describe "$g-lagging" --time
[ $? -eq 0 ] && grep -q 'LAG-TIME' "$work/out" && grep -qE "^$g-lagging .* 1  [0-9]+ d [0-9]+ h  -" "$work/out"
verdict $? "how old the oldest unread record is"
t describe "$g-simple" --time --json
json "{(o['topic'][-1], o['partition']): (o['lag'], o['oldest_unread_timestamp']) for o in j[0]['offsets']}[('a', 0)] == (23, 1600000007000)"
verdict $? "and exactly when it was written"
json "[o['lag_ms'] for o in j[0]['offsets'] if o['lag'] == 0] == [0, 0]"
verdict $? "what is read is not old"
t describe "$g-consumer" --members --json
json "sorted((m['client_id'], m['group_instance_id'], sorted(m['assignment']) == ['$g-a']) for m in j[0]['members']) == [('new', None, True), ('new-static', 's', True)]"
verdict $? "members in JSON"

# Where they go on: the same plans
for how in "--to-earliest" "--to-latest" "--to-current" "--to-offset 12" "--to-offset 1000" "--to-offset -1" "--shift-by 5" "--shift-by -8" "--to-datetime 2020-09-13T12:26:50.000" "--to-datetime 2020-09-13T12:26:50.000+02:00" "--to-datetime 2200-01-01T00:00:00.000" "--by-duration PT0S" "--by-duration P1000D"; do
  k --reset-offsets --group "$g-simple" --all-topics $how --dry-run
  t reset-offsets "$g-simple" --all-topics $how --dry-run
  same 5
  verdict $? "reset-offsets $how"
done
k --reset-offsets --group "$g-empty" --group "$g-none" --topic "$g-a:0,2" --topic "$g-b" --to-latest --dry-run
t reset-offsets "$g-empty" "$g-none" --topic "$g-a:0,2" --topic "$g-b" --to-latest
same 9 && grep -q 'a dry run' "$work/log"
verdict $? "of several groups and topics"
k --reset-offsets --group "$g-simple" --group "$g-classic" --all-topics --shift-by 100 --dry-run
t reset-offsets "$g-simple" "$g-classic" --all-topics --shift-by 100
refused $? "group $g-classic is Stable" && grep -q 'is higher than the latest' "$work/log" && same 5
verdict $? "a group with members is left alone, and offsets stay within the log"
k --reset-offsets --group "$g-simple" --all-topics --to-current --export --dry-run
t reset-offsets "$g-simple" --all-topics --to-current --export
same 4
verdict $? "export of one group"
cp "$work/out" "$work/one.csv" && cp "$work/kafka" "$work/kafkas-one.csv"
k --reset-offsets --group "$g-simple" --group "$g-lagging" --all-topics --to-current --export --dry-run
t reset-offsets "$g-simple" "$g-lagging" --all-topics --to-current --export
same 5
verdict $? "export of several"
cp "$work/out" "$work/two.csv"

# What is wrong is said before anything is changed.
t reset-offsets "$g-empty" --topic "$g-a" --to-earliest --to-latest
misused $? 'only one'
verdict $? "two ways at once"
t reset-offsets "$g-empty" --topic "$g-a"
misused $? 'say where to'
verdict $? "no way"
t reset-offsets "$g-empty" --to-earliest
misused $? 'which partitions'
verdict $? "no partitions"
t reset-offsets "$g-empty" --topic "$g-a" --to-datetime tomorrow
misused $? '"tomorrow" is no time'
verdict $? "a date that is none"
t reset-offsets "$g-empty" --topic "$g-a" --by-duration 1d
misused $? '"1d" is no duration'
verdict $? "a duration that is none"
t reset-offsets "$g-empty" --topic "$g-a:7" --to-earliest --execute
refused $? 'there is no such partition'
verdict $? "a partition that is not there"
t reset-offsets "$g-empty" --topic "$g-none" --to-earliest --execute
refused $? "there is no topic $g-none"
verdict $? "a topic that is not there"
t reset-offsets "$g-empty" --topic "$g-a" --shift-by 1 --execute
refused $? 'there is no committed offset that could be shifted'
verdict $? "an offset that is not there is not shifted"
echo 'x,y' > "$work/bad.csv"
t reset-offsets "$g-empty" --from-file "$work/bad.csv"
misused $? 'line 1: there are 2 fields'
verdict $? "a file that is wrong"
k --describe --group "$g-empty" && t describe "$g-empty" && same 3
verdict $? "nothing was changed"

# What is changed, Kafka's tool sees.
t reset-offsets "$g-empty" --topic "$g-a" --to-offset 3 --execute
[ $? -eq 0 ] && [ ! -s "$work/log" ] && k --describe --group "$g-empty" && t describe "$g-empty" && same 5 && [ "$(grep -c " 3  *30  *27 " "$work/kafka")" -eq 3 ]
verdict $? "reset-offsets --execute"
sed "s/,30\$/,4/" "$work/one.csv" > "$work/changed.csv"
t reset-offsets "$g-fresh" --from-file "$work/changed.csv" --execute --json
json "[(o['partition'], o['new_offset'], o['done']) for o in j if o['topic'] == '$g-a'] == [(0, 7, True), (1, 4, True)]"
verdict $? "a group comes to be by a file"
k --reset-offsets --group "$g-fresh" --from-file "$work/kafkas-one.csv" --dry-run && t reset-offsets "$g-fresh" --from-file "$work/kafkas-one.csv" --dry-run && same 5
verdict $? "both read Kafka's file alike"
k --reset-offsets --group "$g-lagging" --from-file "$work/two.csv" --dry-run && t reset-offsets "$g-lagging" --from-file "$work/two.csv" --dry-run && same 2
verdict $? "and ours, with groups"
t reset-offsets "$g-classic" --topic "$g-a" --to-earliest --execute
refused $? "only groups without active members"
verdict $? "a group with members is not reset"
t delete-offsets "$g-static" --topic "$g-a" && grep -qE "^$g-a  *2  *Successful" "$work/out"
verdict $? "delete-offsets of a topic that is not read any more"
t delete-offsets "$g-static" --topic "$g-b:0"
refused $? "subscribed to the topic"
verdict $? "of one that is read"
t delete-offsets "$g-none" --topic "$g-a"
refused $? "there is no group $g-none"
verdict $? "of a group that is not there"
t delete-offsets "$g-empty" --topic "$g-a:1" && k --describe --group "$g-empty" && t describe "$g-empty" && same 4
verdict $? "of one partition"
# Our own consumer is a member like others.
consume() { timeout 60 "$TAILRACE" consume -t "$g-a" --group "$g-ours" -b "$bootstrap" "$@" > "$work/out" 2> "$work/log"; }
consume --from earliest --until end && [ "$(sort "$work/out" | uniq -c | awk '$1 == 3' | wc -l)" -eq 30 ]
verdict $? "consume as a member of a new group"
consume --from earliest --until end && [ ! -s "$work/out" ] && k --describe --group "$g-ours" && t describe "$g-ours" && same 4 && [ "$(grep -c ' 30  *30  *0 ' "$work/kafka")" -eq 3 ]
verdict $? "it goes on where it was"
timeout 50 "$TAILRACE" consume -t "$g-a" --group "$g-ours" -b "$bootstrap" > "$work/first" 2> "$work/log" &
first=$!
for ((i = 0; i < 200; ++i)); do t describe "$g-ours" --members; grep -q ' 3$' "$work/out" && break; sleep 0.1; done
timeout 50 "$TAILRACE" consume -t "$g-a" --group "$g-ours" -b "$bootstrap" > "$work/second" 2> "$work/log" &
second=$!
for ((i = 0; i < 200; ++i)); do t describe "$g-ours" --members; grep -q ' 1$' "$work/out" && grep -q ' 2$' "$work/out" && break; sleep 0.1; done
grep -q ' 1$' "$work/out" && grep -q ' 2$' "$work/out"
verdict $? "two members share the partitions"
seq 1 90 | sed 's/.*/&:&/' | timeout 40 "$TAILRACE" produce -t "$g-a" -k : -b "$bootstrap"
for ((i = 0; i < 200; ++i)); do [ "$(cat "$work/first" "$work/second" | wc -l)" -ge 90 ] && break; sleep 0.1; done
kill -INT "$(pgrep -P "$second")" && wait "$second" && kill -TERM "$(pgrep -P "$first")" && wait "$first"
verdict $? "a signal ends them well"
[ "$(sort -n "$work/first" "$work/second" | uniq | wc -l)" -eq 90 ] && [ "$(cat "$work/first" "$work/second" | wc -l)" -eq 90 ]
verdict $? "each record came once"
t describe "$g-ours" --json && json "j[0]['state'] == 'Empty' and sum(o['lag'] for o in j[0]['offsets']) == 0"
verdict $? "and they have committed and left"
t delete "$g-classic" "$g-none" "$g-lagging"
refused $? "$g-classic: the group has active members" && grep -q "$g-none: there is no such group" "$work/log" && grep -q "Deleted group $g-lagging" "$work/out"
verdict $? "delete says what became of each group"
end_members
verdict $? "the members leave"
t delete "$g-classic" "$g-static" "$g-consumer" "$g-rebalancing" "$g-simple" "$g-empty" "$g-fresh" "$g-ours"
verdict $? "and then their groups can be deleted"
k --list && t list --json && json "not [x for x in j if x['group'].startswith('$g')]" && ! grep -q "^$g" "$work/kafka"
verdict $? "nothing is left"
finish
