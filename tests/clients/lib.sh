# What the shell checks share: reporting, and folders for what is fetched once. Sourced, with the check's name in $check.
set -uo pipefail

cache=${TAILRACE_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tailrace-tests}
mkdir -p "$cache"
work=$(mktemp -d "${TMPDIR:-/tmp}/tailrace-$check-XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

ok() { echo "ok - $check: $*"; }
not_ok() {
  echo "not ok - $check: $*"
  failures=$((failures + 1))
}
# verdict STATUS WHAT: ok when STATUS is 0
verdict() { if [ "$1" -eq 0 ]; then ok "$2"; else not_ok "$2 (status $1)"; fi; }
skip() {
  echo "skipped: $*"
  exit 77
}
# A name that no other run uses.
unique() { echo "$check-$1-$$-$RANDOM"; }
finish() { [ "$failures" -eq 0 ]; exit $?; }
