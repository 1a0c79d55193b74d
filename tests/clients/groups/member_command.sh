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
  local made=$cache/member-$1-$(cat java/Member.java groups/member_command.sh | sha256sum | cut -c1-16)
  local options=(-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto)
  exec 9> "$cache/member-$1.lock"
  flock 9
  if [ ! -d "$made" ]; then
    rm -rf "$made.new" && mkdir "$made.new" "$work/classes"
    if ! { javac -nowarn -cp "$jars/*" -d "$work/classes" java/Member.java && jar cf "$made.new/member.jar" -C "$work/classes" .; } >&2; then
      not_ok "compile the member"
      exit 1
    fi
    mv "$made.new" "$made"
    # Members are started often: the classes of one that looks for a broker in vain halve the work of the others.
    timeout 8 java "${options[@]}" "-XX:ArchiveClassesAtExit=$made/classes.jsa" -cp "$made/member.jar:$jars/*" Member 127.0.0.1:1 none none \
      > "$work/log" 2>&1
  fi
  exec 9>&-
  [ ! -f "$made/classes.jsa" ] || options+=("-XX:SharedArchiveFile=$made/classes.jsa")
  printf '%s\n' java "${options[@]}" -cp "$made/member.jar:$jars/*" Member
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
