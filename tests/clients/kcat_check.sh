#!/usr/bin/env bash
# kcat (librdkafka): metadata, each codec there and back, timestamps, tails, headers, nulls, big records. kcat_check.sh BOOTSTRAP
check=kcat
. "$(dirname "$0")/lib.sh"
command -v kcat > /dev/null || skip "no kcat"
bootstrap=$1

kc() { timeout 25 kcat -b "$bootstrap" "$@"; }

# Enough records for several batches, not all of the same size, keys and values apart by a tab.
for i in $(seq 1 2000); do printf 'key-%d\tvalue %d %s\n' "$i" "$i" "$(printf '%*s' $((i % 97)) '' | tr ' ' x)"; done > "$work/lines"

for codec in none gzip snappy lz4 zstd; do
  topic=$(unique "$codec")
  kc -P -t "$topic" -p 0 -z "$codec" -K '\t' -X debug=msg -X linger.ms=20 < "$work/lines" 2> "$work/log"
  verdict $? "produce with $codec"
  if grep -q 'not compressing' "$work/log"; then not_ok "the client gave up on $codec"; fi
  kc -C -t "$topic" -p 0 -o beginning -e -q -K '\t' > "$work/back" 2> "$work/log"
  verdict $? "consume what $codec packed"
  cmp -s "$work/lines" "$work/back"
  verdict $? "equal bytes with $codec"
done

kc -L -J > "$work/metadata" 2> /dev/null
verdict $? "list metadata"
/usr/bin/python3 - "$work/metadata" "$topic" << 'PY'
import json, sys
metadata = json.load(open(sys.argv[1]))
brokers = {broker["id"] for broker in metadata["brokers"]}
assert metadata["controllerid"] in brokers, metadata
topic = next(t for t in metadata["topics"] if t["topic"] == sys.argv[2])
assert all(p["leader"] in brokers and p["leader"] in [r["id"] for r in p["isrs"]] for p in topic["partitions"]), topic
PY
verdict $? "the controller and the leaders are brokers"

kc -C -t "$topic" -p 0 -o -5 -e -q -f '%o\n' > "$work/tail"
[ "$(tr '\n' ' ' < "$work/tail")" = "1995 1996 1997 1998 1999 " ]
verdict $? "the last five records"
kc -C -t "$topic" -p 0 -o 1000 -c 1 -q -f '%k %o %p' > "$work/one"
[ "$(cat "$work/one")" = "key-1001 1000 0" ]
verdict $? "a record by offset"

# Query by time: the second of two records that are apart in time.
topic=$(unique times)
printf 'first\n' | kc -P -t "$topic" -p 0
sleep 0.05
printf 'second\n' | kc -P -t "$topic" -p 0
at=$(kc -C -t "$topic" -p 0 -o 1 -c 1 -q -f '%T')
[ "$(kc -Q -t "$topic:0:$at" 2> /dev/null)" = "$topic [0] offset 1" ]
verdict $? "the offset for a time"
[ "$(kc -C -t "$topic" -p 0 -o "s@$at" -e -q)" = second ]
verdict $? "consume from a time"

topic=$(unique shapes)
printf 'k:v\n' | kc -P -t "$topic" -p 0 -K : -H one=1 -H two= && printf 'gone:\n' | kc -P -t "$topic" -p 0 -K : -Z
verdict $? "produce headers and a null value"
[ "$(kc -C -t "$topic" -p 0 -o beginning -e -q -f '%k|%S|%h\n')" = $'k|1|one=1,two=\ngone|-1|' ]
verdict $? "headers and null come back"

topic=$(unique big)
head -c 900000 /dev/urandom > "$work/big"
kc -P -t "$topic" -p 0 -z none "$work/big"
verdict $? "produce a record of 900 kB"
kc -C -t "$topic" -p 0 -o beginning -c 1 -q -D '' > "$work/back"
cmp -s "$work/big" "$work/back"
verdict $? "a record of 900 kB comes back"

head -c 3000000 /dev/zero > "$work/big"
kc -P -t "$topic" -p 0 -z none -X message.max.bytes=4000000 "$work/big" 2> "$work/log"
[ $? -ne 0 ] && grep -qi 'too large' "$work/log"
verdict $? "a record above message.max.bytes is refused as too large"

for acks in 0 1 -1; do
  topic=$(unique acks)
  printf 'a\nb\nc\n' | kc -P -t "$topic" -p 0 -X "acks=$acks"
  verdict $? "produce with acks=$acks"
  [ "$(timeout 25 kcat -b "$bootstrap" -C -t "$topic" -p 0 -o beginning -c 3 -q | tr '\n' ' ')" = "a b c " ]
  verdict $? "what acks=$acks sent is there"
done
finish
