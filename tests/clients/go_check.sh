#!/usr/bin/env bash
# A Go client, by a small program of ours in the folder of its name. It needs Go 1.26, newer than Debian's: skipped
# where there is none. go_check.sh franz|sarama BOOTSTRAP
check=$1
. "$(dirname "$0")/lib.sh"
bootstrap=$2
command -v go > /dev/null || skip "no go"
go version | grep -qE 'go1\.(2[6-9]|[3-9][0-9])' || skip "$(go version) is older than 1.26"

program=$cache/$check-$(cat "$check"/*.go "$check/go.mod" "$check/go.sum" | sha256sum | cut -c1-16)
exec 9> "$cache/$check.lock"
flock 9
if [ ! -x "$program" ]; then
  if ! (cd "$check" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local timeout 300 go build -o "$program.new" .) > "$work/log" 2>&1; then
    cat "$work/log"
    not_ok "build the program"
    exit 1
  fi
  mv "$program.new" "$program"
fi
exec 9>&-
timeout 110 "$program" "$bootstrap" "$(unique trip)"
status=$?
[ $status -le 1 ] || not_ok "the program (status $status)"
exit $status
