// Topics with a codec of their own: batches are packed anew by the broker, and all but the packing stays.
#include <deque>

#include "engine/record/batch.h"
#include "engine/record/compression.h"
#include "engine/record/records.h"
#include "services/kafka/messages/produce.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using record::Compression;

constexpr Compression kCodecs[] = {Compression::none, Compression::gzip, Compression::snappy, Compression::lz4,
                                   Compression::zstd};
const char* type_name(Compression codec) { return codec == Compression::none ? "uncompressed" : record::name(codec); }

class RepackedBatches : public WireTest {};

// Compresses well, so that it shrinks and grows.
std::string batch_with_everything(const record::BatchOptions& options, TimestampMs timestamp) {
  record::BatchBuilder builder(options);
  const record::Header headers[] = {
      {as_bytes("h"), as_bytes("1")}, {as_bytes("empty"), Bytes{}}, {as_bytes("null"), std::nullopt}};
  EXPECT_TRUE(builder.add(timestamp + 5, std::nullopt, as_bytes("no key"), headers));
  EXPECT_TRUE(builder.add(timestamp, as_bytes("k"), std::nullopt));
  EXPECT_TRUE(builder.add(timestamp + 9, as_bytes(""), as_bytes(std::string(3000, 'x'))));
  return std::string(as_text(*builder.finish()));
}

// The records as they are, unpacked.
std::string unpacked(std::string_view batch) {
  record::Scratch scratch;
  const auto records = record::Records::open(as_bytes(batch), scratch, 1 << 20);
  EXPECT_TRUE(records.has_value());
  return records ? std::string(as_text(records->uncompressed())) : "";
}

TEST_F(RepackedBatches, HaveTheTopicsCodecAndAllElseAsItWasSent) {
  for (const Compression to : kCodecs) {
    const std::string topic = fresh("codec");
    make_topic(client, topic, 1, {{"compression.type", type_name(to)}});
    std::int32_t sequence = 0;
    for (const Compression from : kCodecs) {
      const std::string batch = batch_with_everything(
          {.compression = from, .producer_id = 4711, .producer_epoch = 2, .base_sequence = sequence}, now_ms());
      const Produced produced = produce(client, topic, batch);
      ASSERT_EQ(produced.error, ErrorCode::NONE) << type_name(from) << " to " << type_name(to);
      EXPECT_EQ(produced.base_offset, sequence);
      sequence += 3;
      const std::string stored = fetch(client, topic, produced.base_offset).records;
      const auto headers = headers_of(stored);
      ASSERT_EQ(headers.size(), 1u);
      record::BatchHeader expected = record::read_header(as_bytes(batch).data());
      EXPECT_EQ(headers[0].compression(), to);
      EXPECT_EQ(headers[0].crc, record::compute_crc(as_bytes(stored)));
      EXPECT_EQ(headers[0].attributes & ~record::kCompressionMask, expected.attributes & ~record::kCompressionMask);
      EXPECT_EQ(headers[0].base_timestamp, expected.base_timestamp);
      EXPECT_EQ(headers[0].max_timestamp, expected.max_timestamp);
      EXPECT_EQ(headers[0].producer_id, 4711);
      EXPECT_EQ(headers[0].producer_epoch, 2);
      EXPECT_EQ(headers[0].base_sequence, expected.base_sequence);
      EXPECT_EQ(headers[0].record_count, 3);
      EXPECT_EQ(headers[0].partition_leader_epoch, 0);
      EXPECT_EQ(unpacked(stored), unpacked(batch)) << type_name(from) << " to " << type_name(to);
      EXPECT_EQ(produce(client, topic, batch).base_offset, produced.base_offset) << "sent again";
    }
  }
}

TEST_F(RepackedBatches, LevelsAreObeyed) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += std::to_string(i * i % 977) + " ";
  const std::pair<const char*, std::vector<const char*>> levels[] = {
      {"gzip", {"1", "9"}}, {"lz4", {"9", "12"}}, {"zstd", {"-50", "19"}}};
  for (const auto& [codec, pair] : levels) {
    std::vector<std::size_t> sizes;
    for (const char* const level : pair) {
      const std::string topic = fresh("level");
      make_topic(client, topic, 1,
                 {{"compression.type", codec}, {std::string("compression.") + codec + ".level", level}});
      ASSERT_EQ(produce(client, topic, batch_of({text})).error, ErrorCode::NONE);
      const std::string stored = fetch(client, topic, 0).records;
      EXPECT_EQ(values_of(stored), (std::vector<std::string>{text}));
      sizes.push_back(stored.size());
    }
    EXPECT_GT(sizes[0], sizes[1]) << codec;
  }
}

TEST_F(RepackedBatches, MayHaveAppendTime) {
  const std::string topic = fresh("append-time");
  make_topic(client, topic, 1, {{"compression.type", "zstd"}, {"message.timestamp.type", "LogAppendTime"}});
  const TimestampMs before = now_ms();
  const Produced produced = produce(client, topic, batch_of({"a", "b"}, {}, 1'000'000'000'000));
  ASSERT_EQ(produced.error, ErrorCode::NONE);
  EXPECT_GE(produced.append_time, before);
  const std::string stored = fetch(client, topic, 0).records;
  const auto headers = headers_of(stored);
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_TRUE(headers[0].is_log_append_time());
  EXPECT_EQ(headers[0].max_timestamp, produced.append_time);
  EXPECT_EQ(headers[0].crc, record::compute_crc(as_bytes(stored)));
  EXPECT_EQ(values_of(stored), (std::vector<std::string>{"a", "b"}));
}

TEST_F(RepackedBatches, AreMeasuredAsTheyCameAndAsTheyAreStored) {
  const std::string topic = fresh("measured");
  make_topic(client, topic, 1, {{"compression.type", "uncompressed"}, {"max.message.bytes", "2000"}});
  const auto packed = [](std::size_t size) {
    return batch_of({std::string(size, 'x')}, {.compression = Compression::gzip});
  };
  EXPECT_EQ(produce(client, topic, packed(1500)).error, ErrorCode::NONE);
  EXPECT_EQ(produce(client, topic, packed(2500)).error, ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(log_end(client, topic), 1);
}

TEST_F(RepackedBatches, OneRecordMayBeTooLargeUnpacked) {
  for (const char* const type : {"zstd", "producer"}) {
    const std::string topic = fresh("record-bound");
    make_topic(client, topic, 1, {{"compression.type", type}, {"max.decompressed.message.bytes", "1000"}});
    const auto packed = [](std::size_t size, Compression codec) {
      return batch_of({"x", std::string(size, 'x')}, {.compression = codec});
    };
    EXPECT_EQ(produce(client, topic, packed(990, Compression::gzip)).error, ErrorCode::NONE);
    EXPECT_EQ(produce(client, topic, packed(995, Compression::gzip)).error, ErrorCode::INVALID_RECORD);
    EXPECT_EQ(produce(client, topic, packed(995, Compression::none)).error, ErrorCode::NONE) << "it came as it is";
  }
}

TEST_F(RepackedBatches, WhatDoesNotUnpackIsRefused) {
  const std::string topic = fresh("unreadable");
  make_topic(client, topic, 1, {{"compression.type", "lz4"}});
  for (const Compression codec : {Compression::gzip, Compression::snappy, Compression::zstd}) {
    std::string cut = batch_of({std::string(1000, 'x')}, {.compression = codec});
    cut.resize(cut.size() - 8);
    store_big_endian(reinterpret_cast<std::byte*>(cut.data()) + 8,
                     static_cast<std::int32_t>(cut.size() - record::kLogOverhead));
    repair_crc(cut);
    EXPECT_EQ(produce(client, topic, cut).error, ErrorCode::INVALID_RECORD) << record::name(codec);
  }
  EXPECT_EQ(log_end(client, topic), 0);
}

// One request of many batches whose packing takes its time.
TEST_F(RepackedBatches, OthersAreServedBetweenTheBatchesOfARequest) {
  constexpr std::int32_t kPartitions = 40;
  const std::string topic = fresh("slow");
  make_topic(client, topic, kPartitions, {{"compression.type", "zstd"}, {"compression.zstd.level", "22"}});
  std::string value;
  for (std::uint32_t i = 0; i < 30'000; ++i) value += std::to_string(i * 2654435761u % 1009) + " ";
  const std::string batch = batch_of({value});
  kafka::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 30'000;
  auto& data = request.topic_data.emplace_back();
  data.name = topic;
  for (std::int32_t p = 0; p < kPartitions; ++p)
    data.partition_data.push_back({.index = p, .records = as_bytes(batch)});
  const std::uint64_t pauses = node().counter("broker", "produce_pauses");
  const auto answer = client.call<kafka::ProduceResponse>(request, kProduceVersion);
  ASSERT_EQ(answer->responses.size(), 1u);
  ASSERT_EQ(answer->responses[0].partition_responses.size(), static_cast<std::size_t>(kPartitions));
  for (const auto& each : answer->responses[0].partition_responses) EXPECT_EQ(each.error_code, 0);
  EXPECT_TRUE(eventually([&] { return node().counter("broker", "produce_pauses") > pauses + 1; }));
}

// An arena that the frames fill, each of which needs more than it has: they take turns, in order, and nobody is
// refused.
TEST(RepackedInLittleMemory, AllOfThemAreStoredInOrder) {
  const std::unique_ptr<Node> node = Node::start({.settings = {"tailrace.arena.bytes=1048576"}});
  Client first(node->port());
  make_topic(first, "grows", 4, {{"compression.type", "uncompressed"}});
  constexpr int kClients = 24;
  constexpr int kRequests = 12;  // of one client, sent without waiting
  const auto value_of = [](int client, int request) {
    std::string value = std::to_string(client) + ":" + std::to_string(request) + " ";
    value.resize(100'000, 'x');
    return value;
  };
  std::deque<Client> clients;
  for (int c = 0; c < kClients; ++c) {
    Client& client = clients.emplace_back(node->port());
    std::string frames;
    for (int r = 0; r < kRequests; ++r) {
      // The frame takes 16 KiB of the arena; unpacked it takes the whole reserve.
      std::string padding(9000, 'p');
      for (std::size_t i = 0; i < padding.size(); ++i)
        padding[i] = static_cast<char>((i * 2654435761u + 17u * i * i) >> 5);
      frames +=
          produce_frame("grows", batch_of({value_of(c, r), padding}, {.compression = Compression::gzip}), c % 4, -1, r);
    }
    ASSERT_TRUE(client.send(frames));
  }
  for (Client& client : clients) {
    for (int r = 0; r < kRequests; ++r) {
      const auto answer = client.hear<kafka::ProduceResponse>(kProduceVersion, r);
      ASSERT_EQ(answer->responses.size(), 1u);
      ASSERT_EQ(answer->responses[0].partition_responses.at(0).error_code, 0);
    }
  }
  EXPECT_EQ(node->counter("broker", "produce_batches_packed_anew"), std::uint64_t{kClients} * kRequests);
  EXPECT_GT(node->counter("broker", "produce_waits_for_memory"), 0u);
  EXPECT_EQ(produce(first, "grows", batch_of({std::string(140'000, 'x')}, {.compression = Compression::gzip})).error,
            ErrorCode::MESSAGE_TOO_LARGE)
      << "an eighth of the arena is the most";
  std::vector<int> seen(kClients, 0);
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    const Offset end = log_end(first, "grows", partition);
    for (Offset at = 0; at < end; at += 2) {
      const auto values =
          values_of(fetch(first, "grows", at, {.partition = partition, .partition_max_bytes = 1}).records);
      ASSERT_EQ(values.size(), 2u);
      const int client = std::stoi(values[0]);
      EXPECT_EQ(values[0], value_of(client, seen[static_cast<std::size_t>(client)]++));
    }
  }
  EXPECT_EQ(seen, std::vector<int>(kClients, kRequests));
}

}  // namespace
}  // namespace tailrace::wire
