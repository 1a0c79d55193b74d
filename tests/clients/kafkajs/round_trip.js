// kafkajs: its admin client, and a producer with and without idempotence. It can only consume in groups, so the shell
// script beside reads back. round_trip.js BOOTSTRAP TOPIC writes lines value-0, value-1, ... to partition 0.
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require("kafkajs");
const lz4 = require("lz4-napi");
const zstd = require("@bokuweb/zstd-wasm");

CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});
const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const BATCH = 500;

const [bootstrap, topic] = process.argv.slice(2);
const kafka = new Kafka({ clientId: "check", brokers: [bootstrap], logLevel: logLevel.NOTHING });
let failed = false;

function verdict(ok, what) {
  failed ||= !ok;
  console.log(`${ok ? "ok" : "not ok"} - kafkajs: ${what}`);
}

async function send(producer, first, compression) {
  const messages = [];
  for (let i = first; i < first + BATCH; i++) {
    messages.push({ key: `key-${i}`, value: `value-${i}`, partition: 0, headers: { n: `${i}` } });
  }
  return producer.send({ topic, messages, acks: -1, compression });
}

// A broker may hear of a change a little after the controller has answered.
async function eventually(holds) {
  for (const give = Date.now() + 25_000; Date.now() < give; ) {
    if (await holds()) return true;
  }
  return false;
}

async function administer(admin) {
  const topic = `${process.argv[3]}-admin`;
  await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }], waitForLeaders: true });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: Array.from({ length: 10 }, () => ({ value: "x", partition: 0 })) });
  await producer.disconnect();
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  const value = async (key) => {
    const found = await admin.describeConfigs({ resources: [{ ...resource, configNames: [key] }], includeSynonyms: false });
    return found.resources[0].configEntries[0].configValue;
  };
  const entries = [{ name: "retention.ms", value: "7200000" }];
  await admin.alterConfigs({ validateOnly: true, resources: [{ ...resource, configEntries: entries }] });
  const before = await value("retention.ms");
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries: entries }] });
  verdict(before !== "7200000" && (await eventually(async () => (await value("retention.ms")) === "7200000")), "alter a setting of a topic");
  await admin.fetchTopicOffsets(topic); // it looks for the leader among topics that it knows
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "7" }] });
  const zero = (await admin.fetchTopicOffsets(topic)).find((o) => o.partition === 0);
  verdict(zero.low === "7" && zero.high === "10", "delete records");
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
  const count = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length;
  verdict(await eventually(async () => (await count()) === 3), "add a partition");
  const moves = await admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] });
  verdict(moves.topics.length === 0, "no reassignment is listed");
}

async function main() {
  await zstd.init();
  const admin = kafka.admin();
  await admin.connect();
  const cluster = await admin.describeCluster();
  verdict(cluster.brokers.some((b) => b.nodeId === cluster.controller), "the controller is a broker");
  const topics = [{ topic, numPartitions: 2, replicationFactor: 1 }];
  verdict((await admin.createTopics({ topics, waitForLeaders: true })) === true, "create a topic");
  verdict((await admin.createTopics({ topics })) === false, "create it only once");

  let next = 0;
  for (const idempotent of [false, true]) {
    const producer = kafka.producer({ idempotent });
    await producer.connect();
    for (const [name, compression] of Object.entries(CODECS)) {
      const [sent] = await send(producer, next, compression);
      verdict(sent.errorCode === 0 && sent.baseOffset === `${next}`, `produce ${name}${idempotent ? ", idempotent" : ""}`);
      next += BATCH;
    }
    await producer.disconnect();
  }

  const offsets = await admin.fetchTopicOffsets(topic);
  const zero = offsets.find((o) => o.partition === 0);
  verdict(zero.low === "0" && zero.high === `${next}`, "offsets of a topic");
  const byTime = await admin.fetchTopicOffsetsByTimestamp(topic, 1);
  verdict(byTime.find((o) => o.partition === 0).offset === "0", "offsets by time");
  await administer(admin);
  const gone = `${topic}-gone`;
  await admin.createTopics({ topics: [{ topic: gone, numPartitions: 1 }], waitForLeaders: true });
  await admin.deleteTopics({ topics: [gone] });
  verdict(!(await admin.listTopics()).includes(gone), "delete a topic");
  await admin.disconnect();
  process.exit(failed ? 1 : 0);
}

main().catch((error) => {
  console.log(`not ok - kafkajs: ${error} ${JSON.stringify(error.partitions ?? "")}`);
  process.exit(1);
});
