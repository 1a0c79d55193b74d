# Fetches kafkajs once. Sourced after ../lib.sh; kafkajs_modules sets $modules.

kafkajs_modules() {
  # The codecs that kafkajs leaves to its users; those that need no compiler.
  local packages=(kafkajs@2.2.4 kafkajs-snappy@1.1.0 lz4-napi@2.10.0 @bokuweb/zstd-wasm@0.0.27)
  command -v node > /dev/null || skip "no node"
  command -v npm > /dev/null || skip "no npm"
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
}
