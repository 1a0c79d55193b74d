// A member of a group by kafkajs, that says what it owns, reads and commits (groups/judge.py has the lines). member.js
// BOOTSTRAP GROUP TOPIC [NAME=VALUE...]: session_ms.
const { Kafka, logLevel } = require("kafkajs");

const [bootstrap, groupId, topic, ...words] = process.argv.slice(2);
const settings = Object.fromEntries(words.map((word) => word.split(/=(.*)/)));
const kafka = new Kafka({ clientId: "member", brokers: [bootstrap], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50, retries: 30 } });
const consumer = kafka.consumer({
  groupId,
  sessionTimeout: Number(settings.session_ms ?? 6000),
  heartbeatInterval: 300,
  metadataMaxAge: 1000,
  maxWaitTimeInMs: 100,
});
let owned = [];

const say = (what, time = Date.now()) => console.log(`${time} ${what}`);
function revoke(time) {
  if (owned.length > 0) say(`revoked ${owned.join(" ")}`, time);
  owned = [];
}

consumer.on(consumer.events.REBALANCING, () => revoke());
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  revoke(Date.now() - payload.duration); // after new metadata it joins again without an event
  owned = Object.entries(payload.memberAssignment).flatMap(([name, partitions]) => partitions.map((p) => `${name}:${p}`));
  if (owned.length > 0) say(`assigned ${owned.join(" ")}`);
});
consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
  for (const { topic, partitions } of payload.topics) {
    for (const { partition, offset } of partitions) say(`committed ${topic}:${partition} ${offset}`);
  }
});
consumer.on(consumer.events.CRASH, ({ payload }) => say(`note crash: ${payload.error}`));

async function eachBatch({ batch }) {
  let first = -1;
  let last = -2;
  for (const { offset } of batch.messages) {
    if (Number(offset) !== last + 1) {
      if (first >= 0) say(`read ${batch.topic}:${batch.partition} ${first} ${last}`);
      first = Number(offset);
    }
    last = Number(offset);
  }
  if (first >= 0) say(`read ${batch.topic}:${batch.partition} ${first} ${last}`);
}

async function main() {
  let stopping = false;
  process.on("SIGTERM", async () => {
    if (stopping) return;
    stopping = true;
    const held = owned;
    owned = [];
    // stop() leaves the group after the last commit; what it held is given up no later than that.
    if (held.length > 0) say(`revoked ${held.join(" ")}`);
    await consumer.stop();
    await consumer.disconnect();
    say("note closed");
    process.exit(0);
  });
  setInterval(() => say("note alive"), 1000);
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({ eachBatch });
}

main().catch((error) => {
  say(`note ${error}`);
  process.exit(1);
});
