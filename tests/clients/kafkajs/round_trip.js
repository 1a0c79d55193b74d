// kafkajs: its admin client, and a producer with and without idempotence. It can only consume in groups, so the shell
// script beside reads back. round_trip.js BOOTSTRAP TOPIC writes lines value-0, value-1, ... to partition 0.
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = require("kafkajs");
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
