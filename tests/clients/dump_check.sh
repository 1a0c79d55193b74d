#!/usr/bin/env bash
# Kafka's DumpLogSegments over a data directory that nobody writes any more: its status says nothing, so its words are
# read. dump_check.sh DATA_DIRECTORY
check=dump
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/java/lib.sh"
data=$1
kafka_jars 4.4.0

shopt -s nullglob extglob  # directories that wait for their deletion are none of ours
logs=("$data"/*-+([0-9])/*.log)
indexes=("$data"/*-+([0-9])/*.index "$data"/*-+([0-9])/*.timeindex)
states=("$data"/*-+([0-9])/*.snapshot "$data"/*-+([0-9])/*.txnindex)
[ ${#logs[@]} -gt 0 ] || { echo "ok - dump: nothing was written"; exit 0; }

join() { local IFS=,; echo "$*"; }
dump() { run_java org.apache.kafka.tools.DumpLogSegments --max-message-size 10000000 "$@" > "$work/out" 2> "$work/err"; }
# The Java rewrite of the tool calls a segment that starts above 0 non-consecutive: "-1 is followed by N". That is not so.
complaints() {
  grep -E 'isvalid: false|invalid bytes|Mismatches in|is followed by|Index timestamp|Indexed offset|not found|Exception|corrupt' \
    "$work/out" | grep -v '^ *-1 is followed by'
  grep -vE 'SLF4J|^WARN|^$|^Non-consecutive offsets in|^ *-1 is followed by' "$work/err"
}

dump --deep-iteration --files "$(join "${logs[@]}")"
status=$?
[ $status -eq 0 ] && [ -z "$(complaints)" ] && grep -q 'isvalid: true' "$work/out"
verdict $? "DumpLogSegments reads $(grep -c '^baseOffset' "$work/out") batches of ${#logs[@]} segments"
complaints | head -20
if [ ${#indexes[@]} -gt 0 ]; then
  dump --index-sanity-check --files "$(join "${indexes[@]}")" && [ -z "$(complaints)" ]
  verdict $? "the sanity check of ${#indexes[@]} indexes"
  complaints | head -20
  dump --verify-index-only --files "$(join "${indexes[@]}")" && [ -z "$(complaints)" ]
  verdict $? "every index entry against its log"
  complaints | head -20
fi
if [ ${#states[@]} -gt 0 ]; then
  dump --files "$(join "${states[@]}")" && [ -z "$(complaints)" ]
  verdict $? "${#states[@]} producer snapshots and transaction indexes"
  complaints | head -20
fi
finish
