#!/usr/bin/env bash
# The command that runs a member of a kind, one word a line; fetches and builds what it needs. member_command.sh KIND, in
# the folder of the checks. Exits with 77 and a reason when the toolchain is missing.
check=member-$1
. ./lib.sh
. java/lib.sh
. go_lib.sh
. kafkajs/lib.sh

java_member() {  # VERSION
  kafka_jars "$1"
  command -v javac > /dev/null || skip "no javac"
  local classes=$cache/member-$1-$(sha256sum < java/Member.java | cut -c1-16)
  exec 9> "$cache/member-$1.lock"
  flock 9
  if [ ! -d "$classes" ]; then
    rm -rf "$classes.new" && mkdir "$classes.new"
    javac -nowarn -cp "$jars/*" -d "$classes.new" java/Member.java >&2 || { not_ok "compile the member"; exit 1; }
    mv "$classes.new" "$classes"
  fi
  exec 9>&-
  printf '%s\n' java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$classes:$jars/*" Member
}

case $1 in
  java44) java_member 4.4.0 ;;
  java39) java_member 3.9.1 ;;
  confluent) printf '%s\n' /usr/bin/python3 groups/confluent_member.py ;;
  kafka_python) printf '%s\n' /usr/bin/python3 groups/kafka_python_member.py ;;
  franz | sarama) go_program "$1" && printf '%s\n' "$program" member ;;
  kafkajs) kafkajs_modules && printf '%s\n' env "NODE_PATH=$modules/node_modules" KAFKAJS_NO_PARTITIONER_WARNING=1 node kafkajs/member.js ;;
  *) not_ok "no such kind"; exit 1 ;;
esac
