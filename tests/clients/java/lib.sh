# Fetches Kafka's jars once. Sourced after ../lib.sh; kafka_jars VERSION sets $jars, run_java CLASS ARGS... uses it.

kafka_jars() {
  local version=$1
  command -v java > /dev/null || skip "no java"
  command -v mvn > /dev/null || skip "no mvn"
  jars=$cache/kafka-$version
  exec 9> "$cache/kafka-$version.lock"
  flock 9
  if [ ! -d "$jars" ]; then
    rm -rf "$jars.new"
    if ! mvn -q -B -f "$(dirname "${BASH_SOURCE[0]}")/pom.xml" "-Dkafka.version=$version" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$jars.new" > "$work/mvn.log" 2>&1; then
      cat "$work/mvn.log"
      skip "Maven cannot fetch Kafka $version"
    fi
    mv "$jars.new" "$jars"
  fi
  exec 9>&-
}

# A tool that takes longer than a minute hangs. The JVM settings are for many short runs.
run_java() { timeout 60 java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$jars/*" "$@"; }
