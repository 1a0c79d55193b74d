#!/usr/bin/env bash
# kafkajs, a client in JavaScript of its own making. kafkajs_check.sh BOOTSTRAP
check=kafkajs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kafkajs/lib.sh"
bootstrap=$1
command -v kcat > /dev/null || skip "no kcat"
kafkajs_modules

topic=$(unique trip)
NODE_PATH=$modules/node_modules KAFKAJS_NO_PARTITIONER_WARNING=1 timeout 60 node kafkajs/round_trip.js "$bootstrap" "$topic"
status=$?
[ $status -eq 0 ] || failures=$((failures + 1))
[ $status -le 1 ] || not_ok "the round trip (status $status)"
seq 0 4999 | sed 's/.*/key-& value-& n=&/' > "$work/lines"
timeout 25 kcat -b "$bootstrap" -C -t "$topic" -p 0 -o beginning -e -q -f '%k %s %h\n' > "$work/back"
cmp -s "$work/lines" "$work/back"
verdict $? "another client reads the same records"
finish
