# Builds the Go program in a folder once. Sourced after lib.sh; go_program NAME sets $program.

go_program() {
  command -v go > /dev/null || skip "no go"
  go version | grep -qE 'go1\.(2[6-9]|[3-9][0-9])' || skip "$(go version) is older than 1.26"
  program=$cache/$1-$(cat "$1"/*.go "$1/go.mod" "$1/go.sum" | sha256sum | cut -c1-16)
  exec 9> "$cache/$1.lock"
  flock 9
  if [ ! -x "$program" ]; then
    if ! (cd "$1" && GOFLAGS=-mod=readonly GOTOOLCHAIN=local timeout 300 go build -o "$program.new" .) > "$work/log" 2>&1; then
      cat "$work/log"
      not_ok "build the program"
      exit 1
    fi
    mv "$program.new" "$program"
  fi
  exec 9>&-
}
