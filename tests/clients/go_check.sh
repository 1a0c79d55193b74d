#!/usr/bin/env bash
# A Go client, by a small program of ours in the folder of its name. It needs Go 1.26, newer than Debian's: skipped
# where there is none. go_check.sh franz|sarama BOOTSTRAP
check=$1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/go_lib.sh"
bootstrap=$2
go_program "$check"
timeout 110 "$program" "$bootstrap" "$(unique trip)"
status=$?
[ $status -le 1 ] || not_ok "the program (status $status)"
exit $status
