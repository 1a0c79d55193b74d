#!/usr/bin/env bash
# Kafka's Java clients and command-line tools of one version, against a running broker. java_check.sh VERSION BOOTSTRAP
check=java-$1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/java/lib.sh"
version=$1 bootstrap=$2
kafka_jars "$version"

case $version in  # class and option names that changed with 4.0
  3.*)
    versions=kafka.admin.BrokerApiVersionsCommand producer=kafka.tools.ConsoleProducer
    read=--property print=--property
    ;;
  *)
    versions=org.apache.kafka.tools.BrokerApiVersionsCommand producer=org.apache.kafka.tools.ConsoleProducer
    read=--reader-property print=--formatter-property
    ;;
esac

javac -nowarn -cp "$jars/*" -d "$work" java/RoundTrip.java || { not_ok "compile the round trip"; exit 1; }
timeout 150 java -Xmx256m -XX:+UseSerialGC -cp "$work:$jars/*" RoundTrip "$bootstrap" "$(unique trip)" 2> "$work/log"
status=$?
[ $status -eq 0 ] || { tail -20 "$work/log"; failures=$((failures + 1)); [ $status -eq 1 ] || not_ok "the round trip (status $status)"; }

run_java $versions --bootstrap-server "$bootstrap" > "$work/versions" 2> "$work/log"
verdict $? "kafka-broker-api-versions"
! grep -E '^[[:space:]](Produce|Fetch|Metadata|ListOffsets|CreateTopics|InitProducerId)\(' "$work/versions" | grep -q UNSUPPORTED
verdict $? "every version that it needs is usable"

topics() { run_java org.apache.kafka.tools.TopicCommand --bootstrap-server "$bootstrap" "$@" 2> "$work/log"; }
topic=$(unique tools)
topics --create --topic "$topic" --partitions 2 --replication-factor 1 --config max.message.bytes=2000000 > /dev/null
verdict $? "kafka-topics --create"
topics --list | grep -qx "$topic"
verdict $? "kafka-topics --list"
topics --describe --topic "$topic" > "$work/described"
grep -q 'PartitionCount: 2.*ReplicationFactor: 1.*max.message.bytes=2000000' "$work/described" &&
  [ "$(grep -c 'Leader: ' "$work/described")" -eq 2 ]
verdict $? "kafka-topics --describe"
topics --alter --topic "$topic" --partitions 3
verdict $? "kafka-topics --alter --partitions"

topic=$(unique console)
topics --create --topic "$topic" --partitions 1 > /dev/null
seq 1 1000 | sed 's/.*/k&:line &/' > "$work/lines"
run_java $producer --bootstrap-server "$bootstrap" --topic "$topic" $read parse.key=true $read key.separator=: \
  < "$work/lines" > /dev/null 2> "$work/log"
verdict $? "kafka-console-producer"
run_java org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$bootstrap" --topic "$topic" --partition 0 \
  --offset earliest --max-messages 1000 $print print.key=true $print key.separator=: > "$work/back" 2> "$work/log"
cmp -s "$work/lines" "$work/back"
verdict $? "kafka-console-consumer --partition gives the same lines"

topic=$(unique perf)
topics --create --topic "$topic" --partitions 3 > /dev/null
run_java org.apache.kafka.tools.ProducerPerformance --topic "$topic" --num-records 50000 --record-size 1000 \
  --throughput -1 --producer-props "bootstrap.servers=$bootstrap" acks=all > "$work/perf" 2> "$work/log"
grep -q '^50000 records sent' "$work/perf"
verdict $? "kafka-producer-perf-test"
run_java org.apache.kafka.tools.GetOffsetShell --bootstrap-server "$bootstrap" --topic "$topic" > "$work/ends" 2> "$work/log"
[ "$(awk -F: '{ sum += $3 } END { print sum }' "$work/ends")" = 50000 ]
verdict $? "kafka-get-offsets adds up to what was sent"
topics --delete --topic "$topic"
verdict $? "kafka-topics --delete"
finish
