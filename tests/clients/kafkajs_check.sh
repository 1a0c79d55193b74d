#!/usr/bin/env bash
# kafkajs, a client in JavaScript of its own making. kafkajs_check.sh BOOTSTRAP
check=kafkajs
. "$(dirname "$0")/lib.sh"
# The codecs that kafkajs leaves to its users; those that need no compiler.
packages=(kafkajs@2.2.4 kafkajs-snappy@1.1.0 lz4-napi@2.10.0 @bokuweb/zstd-wasm@0.0.27)
bootstrap=$1
command -v node > /dev/null || skip "no node"
command -v npm > /dev/null || skip "no npm"
command -v kcat > /dev/null || skip "no kcat"

modules=$cache/kafkajs-$(printf %s "${packages[*]}" | sha256sum | cut -c 1-12)
exec 9> "$modules.lock"
flock 9
if [ ! -d "$modules" ]; then
  rm -rf "$modules.new" && mkdir "$modules.new"
  if ! timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$modules.new" "${packages[@]}" > "$work/log" 2>&1; then
    cat "$work/log"
    not_ok "fetch kafkajs with npm"
    exit 1
  fi
  mv "$modules.new" "$modules"
fi
exec 9>&-

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
