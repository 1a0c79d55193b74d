// kafkajs: its admin client, and a producer with and without idempotence. It can only consume in groups, so the shell
// script beside reads back. round_trip.js BOOTSTRAP TOPIC writes lines value-0, value-1, ... to partition 0.
const { CompressionTypes, Kafka, logLevel } = require("kafkajs");

const [bootstrap, topic] = process.argv.slice(2);
const kafka = new Kafka({ clientId: "check", brokers: [bootstrap], logLevel: logLevel.NOTHING });
let failed = false;

function verdict(ok, what) {
  failed ||= !ok;
  console.log(`${ok ? "ok" : "not ok"} - kafkajs: ${what}`);
}

async function send(producer, first, compression) {
  const messages = [];
  for (let i = first; i < first + 500; i++) {
    messages.push({ key: `key-${i}`, value: `value-${i}`, partition: 0, headers: { n: `${i}` } });
  }
  return producer.send({ topic, messages, acks: -1, compression });
}

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  const cluster = await admin.describeCluster();
  verdict(cluster.brokers.some((b) => b.nodeId === cluster.controller), "the controller is a broker");
  const topics = [{ topic, numPartitions: 2, replicationFactor: 1 }];
  verdict((await admin.createTopics({ topics, waitForLeaders: true })) === true, "create a topic");
  verdict((await admin.createTopics({ topics })) === false, "create it only once");

  const producer = kafka.producer();
  await producer.connect();
  const first = await send(producer, 0, CompressionTypes.None);
  verdict(first[0].errorCode === 0 && first[0].baseOffset === "0", "produce");
  const packed = await send(producer, 500, CompressionTypes.GZIP);
  verdict(packed[0].baseOffset === "500", "produce with gzip");
  await producer.disconnect();

  const idempotent = kafka.producer({ idempotent: true });
  await idempotent.connect();
  const third = await send(idempotent, 1000, CompressionTypes.None);
  const fourth = await send(idempotent, 1500, CompressionTypes.GZIP);
  verdict(third[0].baseOffset === "1000" && fourth[0].baseOffset === "1500", "produce idempotently");
  await idempotent.disconnect();

  const offsets = await admin.fetchTopicOffsets(topic);
  const zero = offsets.find((o) => o.partition === 0);
  verdict(zero.low === "0" && zero.high === "2000", "offsets of a topic");
  const byTime = await admin.fetchTopicOffsetsByTimestamp(topic, 1);
  verdict(byTime.find((o) => o.partition === 0).offset === "0", "offsets by time");
  const gone = `${topic}-gone`;
  await admin.createTopics({ topics: [{ topic: gone, numPartitions: 1 }], waitForLeaders: true });
  await admin.deleteTopics({ topics: [gone] });
  verdict(!(await admin.listTopics()).includes(gone), "delete a topic");
  await admin.disconnect();
  process.exit(failed ? 1 : 0);
}

main().catch((error) => {
  console.log(`not ok - kafkajs: ${error}`);
  process.exit(1);
});
