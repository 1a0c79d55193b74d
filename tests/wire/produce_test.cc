// Produce: what is stored, what is refused and with which error, and that nothing of a refused batch is stored
// (kafka.md's traps 6, 11, 19, 23).
#include <functional>

#include "engine/record/batch.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/produce.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using record::BatchOptions;

class Produce : public WireTest {};

template <class T>
void put(std::string& batch, std::size_t at, T value) {
  store_big_endian(reinterpret_cast<std::byte*>(batch.data()) + at, value);
}

// Where the fields of a batch stand.
constexpr std::size_t kLengthAt = 8;
constexpr std::size_t kMagicAt = 16;
constexpr std::size_t kAttributesAt = 21;
constexpr std::size_t kLastOffsetDeltaAt = 23;
constexpr std::size_t kProducerIdAt = 43;
constexpr std::size_t kRecordCountAt = 57;

// -- Bad batches ---------------------------------------------------------------------------------------------------

struct Damage {
  const char* what;
  ErrorCode expected;
  std::function<void(std::string&)> apply;
};

std::vector<Damage> all_damages() {
  const auto set_attributes = [](int bits) {
    return [bits](std::string& batch) {
      put(batch, kAttributesAt, static_cast<std::int16_t>(bits));
      repair_crc(batch);
    };
  };
  return {
      {"a bit turned in a record", ErrorCode::CORRUPT_MESSAGE,
       [](std::string& b) { b.back() = static_cast<char>(b.back() ^ 1); }},
      {"a bit turned in the attributes", ErrorCode::CORRUPT_MESSAGE,
       [](std::string& b) { b[22] = static_cast<char>(b[22] ^ 8); }},
      {"another CRC", ErrorCode::CORRUPT_MESSAGE, [](std::string& b) { b[17] = static_cast<char>(b[17] ^ 0x40); }},
      {"a length of 0", ErrorCode::CORRUPT_MESSAGE, [](std::string& b) { put(b, kLengthAt, 0); }},
      {"a negative length", ErrorCode::CORRUPT_MESSAGE, [](std::string& b) { put(b, kLengthAt, -1); }},
      {"a magic of the future", ErrorCode::CORRUPT_MESSAGE, [](std::string& b) { b[kMagicAt] = 3; }},
      {"a negative magic", ErrorCode::CORRUPT_MESSAGE, [](std::string& b) { b[kMagicAt] = -1; }},
      {"magic 1", ErrorCode::INVALID_RECORD, [](std::string& b) { b[kMagicAt] = 1; }},
      {"magic 0", ErrorCode::INVALID_RECORD, [](std::string& b) { b[kMagicAt] = 0; }},
      {"a length beyond the end", ErrorCode::INVALID_RECORD, [](std::string& b) { put(b, kLengthAt, 0x7FFFFFF0); }},
      {"a batch that was cut", ErrorCode::INVALID_RECORD, [](std::string& b) { b.resize(b.size() - 1); }},
      {"a batch that was cut in its header", ErrorCode::INVALID_RECORD, [](std::string& b) { b.resize(40); }},
      {"a few bytes", ErrorCode::INVALID_RECORD, [](std::string& b) { b.resize(5); }},
      {"nothing", ErrorCode::INVALID_RECORD, [](std::string& b) { b.clear(); }},
      {"two batches", ErrorCode::INVALID_RECORD, [](std::string& b) { b += b; }},
      {"a base offset", ErrorCode::INVALID_RECORD, [](std::string& b) { put(b, 0, std::int64_t{1}); }},
      {"a control batch", ErrorCode::INVALID_RECORD, set_attributes(record::kControlBit)},
      {"a compression that nobody has", ErrorCode::INVALID_RECORD, set_attributes(7)},
      {"fewer offsets than records", ErrorCode::INVALID_RECORD,
       [](std::string& b) {
         put(b, kLastOffsetDeltaAt, 0);
         repair_crc(b);
       }},
      {"an offset range below 0", ErrorCode::INVALID_RECORD,
       [](std::string& b) {
         put(b, kLastOffsetDeltaAt, -1);
         put(b, kRecordCountAt, 0);
         repair_crc(b);
       }},
      {"2^31 - 1 records", ErrorCode::INVALID_RECORD,
       [](std::string& b) {
         put(b, kLastOffsetDeltaAt, 0x7FFFFFFF);
         put(b, kRecordCountAt, 0x7FFFFFFF);
         repair_crc(b);
       }},
      {"a producer id without a sequence", ErrorCode::INVALID_RECORD,
       [](std::string& b) {
         put(b, kProducerIdAt, std::int64_t{5});
         repair_crc(b);
       }},
  };
}

TEST_F(Produce, RefusesDamagedBatchesAndStoresNothingOfThem) {
  const std::string topic = fresh("damaged");
  make_topic(client, topic, 1);
  ASSERT_EQ(produce(client, topic, batch_of({"first"})).error, ErrorCode::NONE);
  const std::uint64_t refused_before = node().counter("broker", "produce_batches_refused");
  const std::string stored = fetch(client, topic, 0).records;
  for (const Damage& damage : all_damages()) {
    SCOPED_TRACE(damage.what);
    std::string batch = batch_of({"one", "two", "three"});
    damage.apply(batch);
    for (const std::int16_t version : {std::int16_t{3}, kProduceVersion}) {
      const Produced produced = produce(client, topic, batch, 0, -1, version);
      EXPECT_EQ(produced.error, damage.expected) << kafka::error_name(produced.error);
      EXPECT_EQ(produced.base_offset, kNoOffset);
    }
    ASSERT_EQ(log_end(client, topic), 1);
  }
  EXPECT_EQ(fetch(client, topic, 0).records, stored);
  EXPECT_EQ(node().counter("broker", "produce_batches_refused") - refused_before, 2 * all_damages().size());
  EXPECT_EQ(produce(client, topic, batch_of({"second"})).base_offset, 1);
}

// The CRC is right and the inside is not: found where the topic's rules need a look at the records.
TEST_F(Produce, RefusesUnsoundRecordsWhereItLooksAtThem) {
  const std::string topic = fresh("unsound");
  make_topic(client, topic, 1, {{"cleanup.policy", "compact"}});
  record::BatchBuilder builder;
  ASSERT_TRUE(builder.add(now_ms(), as_bytes("key"), as_bytes("value")));
  const std::string sound(as_text(*builder.finish()));
  std::string wrong_length = sound;
  wrong_length[record::kBatchHeaderSize] = 126;  // the record's length
  repair_crc(wrong_length);
  EXPECT_EQ(produce(client, topic, wrong_length).error, ErrorCode::INVALID_RECORD);
  std::string more_records = sound;
  put(more_records, kLastOffsetDeltaAt, 1);
  put(more_records, kRecordCountAt, 2);
  repair_crc(more_records);
  EXPECT_EQ(produce(client, topic, more_records).error, ErrorCode::INVALID_RECORD);
  for (int codec = 1; codec <= 4; ++codec) {
    std::string unpacks_to_nothing = sound;
    put(unpacks_to_nothing, kAttributesAt, static_cast<std::int16_t>(codec));
    repair_crc(unpacks_to_nothing);
    EXPECT_EQ(produce(client, topic, unpacks_to_nothing).error, ErrorCode::INVALID_RECORD) << codec;
  }
  EXPECT_EQ(log_end(client, topic), 0);
  EXPECT_EQ(produce(client, topic, sound).error, ErrorCode::NONE);
}

TEST_F(Produce, ABadPartitionDoesNotHarmItsNeighboursInTheSameRequest) {
  const std::string topic = fresh("mixed");
  make_topic(client, topic, 2);
  const std::string good = batch_of({"good"});
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  kafka::ProduceRequest request{.acks = -1, .timeout_ms = 30'000};
  request.topic_data.push_back(
      {.name = "nobody-made-this", .partition_data = {{.index = 0, .records = as_bytes(good)}}});
  request.topic_data.push_back({.name = topic,
                                .partition_data = {{.index = 1, .records = as_bytes(bad)},
                                                   {.index = 0, .records = as_bytes(good)},
                                                   {.index = 9, .records = as_bytes(good)},
                                                   {.index = 1, .records = std::nullopt}}});
  const auto answer = client.call<kafka::ProduceResponse>(request, kProduceVersion);
  ASSERT_EQ(answer->responses.size(), 2u);
  const auto error_of = [&](std::size_t t, std::size_t p) {
    return static_cast<ErrorCode>(answer->responses[t].partition_responses[p].error_code);
  };
  EXPECT_EQ(error_of(0, 0), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error_of(1, 0), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(error_of(1, 1), ErrorCode::NONE);
  EXPECT_EQ(error_of(1, 2), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error_of(1, 3), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(log_end(client, topic, 0), 1);
  EXPECT_EQ(log_end(client, topic, 1), 0);
}

// -- Limits and rules of topics ------------------------------------------------------------------------------------

TEST_F(Produce, MaxMessageBytesIsTheTopics) {
  const std::string small = fresh("small");
  const std::string large = fresh("large");
  make_topic(client, small, 1, {{"max.message.bytes", "1000"}});
  make_topic(client, large, 1, {{"max.message.bytes", "4000000"}});
  const std::string batch = batch_of({std::string(1000, 'x')});
  EXPECT_EQ(produce(client, small, batch).error, ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(produce(client, small, batch_of({std::string(900, 'x')})).error, ErrorCode::NONE);
  EXPECT_EQ(produce(client, large, batch_of({std::string(3'900'000, 'x')})).error, ErrorCode::NONE);
  EXPECT_EQ(produce(client, large, batch_of({std::string(4'000'000, 'x')})).error, ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(log_end(client, small), 1);
  EXPECT_EQ(log_end(client, large), 1);
}

TEST_F(Produce, AcksOfAllNeedNoMoreReplicasThanThereAre) {
  const std::string topic = fresh("two-in-sync");
  make_topic(client, topic, 1, {{"min.insync.replicas", "2"}});
  EXPECT_EQ(produce(client, topic, batch_of({"x"}), 0, -1).error, ErrorCode::NONE);
  EXPECT_EQ(log_end(client, topic), 1);
}

TEST_F(Produce, RecordsWithoutKeyAreRefusedOneByOneInACompactedTopic) {
  const std::string topic = fresh("compacted");
  make_topic(client, topic, 1, {{"cleanup.policy", "compact"}});
  record::BatchBuilder builder;
  ASSERT_TRUE(builder.add(now_ms(), as_bytes("key"), as_bytes("value")));
  ASSERT_TRUE(builder.add(now_ms(), std::nullopt, as_bytes("no key")));
  ASSERT_TRUE(builder.add(now_ms(), as_bytes(""), as_bytes("an empty key is one")));
  ASSERT_TRUE(builder.add(now_ms(), std::nullopt, std::nullopt));
  const Produced produced = produce(client, topic, as_text(*builder.finish()));
  EXPECT_EQ(produced.error, ErrorCode::INVALID_RECORD);
  EXPECT_EQ(produced.record_errors, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(log_end(client, topic), 0);
}

TEST_F(Produce, LogAppendTimeIsAnsweredAndStored) {
  const std::string topic = fresh("append-time");
  make_topic(client, topic, 1, {{"message.timestamp.type", "LogAppendTime"}});
  const TimestampMs before = now_ms();
  for (const record::Compression codec : {record::Compression::none, record::Compression::lz4}) {
    const Produced produced = produce(client, topic, batch_of({"a", "b"}, {.compression = codec}, 1'000'000'000'000));
    ASSERT_EQ(produced.error, ErrorCode::NONE);
    EXPECT_GE(produced.append_time, before);
    EXPECT_LE(produced.append_time, now_ms());
    const std::string records = fetch(client, topic, produced.base_offset).records;
    const auto headers = headers_of(records);
    ASSERT_EQ(headers.size(), 1u);
    EXPECT_TRUE(headers[0].is_log_append_time());
    EXPECT_EQ(headers[0].max_timestamp, produced.append_time);
    EXPECT_EQ(headers[0].crc, record::compute_crc(as_bytes(records)));
    EXPECT_EQ(values_of(records), (std::vector<std::string>{"a", "b"}));
  }
}

TEST_F(Produce, CreateTimeHasNoAppendTime) {
  const std::string topic = fresh("create-time");
  make_topic(client, topic);
  constexpr TimestampMs kLongAgo = 1'000'000'000'000;
  const Produced produced = produce(client, topic, batch_of({"old"}, {}, kLongAgo));
  EXPECT_EQ(produced.error, ErrorCode::NONE);
  EXPECT_EQ(produced.append_time, kNoTimestamp);
  EXPECT_EQ(headers_of(fetch(client, topic, 0).records).at(0).max_timestamp, kLongAgo);
}

TEST_F(Produce, TimesTooFarAwayAreRefused) {
  constexpr TimestampMs kHourMs = 3'600'000;
  const std::string topic = fresh("times");
  make_topic(client, topic, 1, {{"message.timestamp.before.max.ms", std::to_string(2 * kHourMs)}});
  const Produced future = produce(client, topic, batch_of({"x", "y"}, {}, now_ms() + 2 * kHourMs));
  EXPECT_EQ(future.error, ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(future.record_errors, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(produce(client, topic, batch_of({"x"}, {}, now_ms() - 3 * kHourMs)).error, ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(produce(client, topic, batch_of({"x"}, {}, now_ms() - kHourMs)).error, ErrorCode::NONE);
  EXPECT_EQ(log_end(client, topic), 1);
}

TEST_F(Produce, ZstdNeedsVersion7) {
  const std::string topic = fresh("zstd");
  make_topic(client, topic);
  const std::string batch = batch_of({"packed"}, {.compression = record::Compression::zstd});
  EXPECT_EQ(produce(client, topic, batch, 0, -1, 6).error, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(produce(client, topic, batch, 0, -1, 7).error, ErrorCode::NONE);
  EXPECT_EQ(values_of(fetch(client, topic, 0).records), std::vector<std::string>{"packed"});
}

TEST_F(Produce, Version13NamesTopicsById) {
  const std::string topic = fresh("by-id");
  const Uuid id = make_topic(client, topic);
  const std::string batch = batch_of({"by id"});
  kafka::ProduceRequest request{.acks = 1, .timeout_ms = 30'000};
  request.topic_data.push_back({.topic_id = id, .partition_data = {{.index = 0, .records = as_bytes(batch)}}});
  Uuid other = id;
  other.bytes[3] ^= 1;
  request.topic_data.push_back({.topic_id = other, .partition_data = {{.index = 0, .records = as_bytes(batch)}}});
  const auto answer = client.call<kafka::ProduceResponse>(request, 13);
  ASSERT_EQ(answer->responses.size(), 2u);
  EXPECT_EQ(answer->responses[0].topic_id, id);
  EXPECT_EQ(answer->responses[0].partition_responses[0].error_code, 0);
  EXPECT_EQ(answer->responses[1].topic_id, other);
  EXPECT_EQ(answer->responses[1].partition_responses[0].error_code, kafka::wire(ErrorCode::UNKNOWN_TOPIC_ID));
  EXPECT_EQ(log_end(client, topic), 1);
}

// -- Idempotence ---------------------------------------------------------------------------------------------------

class Idempotence : public WireTest {
 protected:
  static std::pair<ProducerId, ProducerEpoch> new_producer(Client& client) {
    const auto answer = client.call<kafka::InitProducerIdResponse>(kafka::InitProducerIdRequest{}, 4);
    EXPECT_EQ(answer->error_code, 0);
    EXPECT_GE(answer->producer_id, 0);
    return {answer->producer_id, answer->producer_epoch};
  }
  Produced produce_at(const std::string& topic, ProducerId id, ProducerEpoch epoch, std::int32_t sequence,
                      int records = 1) {
    std::vector<std::string> values;
    for (int i = 0; i < records; ++i) values.push_back(std::to_string(sequence + i));
    return produce(client, topic,
                   batch_of(values, {.producer_id = id, .producer_epoch = epoch, .base_sequence = sequence}));
  }
};

TEST_F(Idempotence, ADuplicateIsAnsweredWithItsOldOffsetAndStoredOnce) {
  const std::string topic = fresh("duplicate");
  make_topic(client, topic);
  const auto [id, epoch] = new_producer(client);
  const TimestampMs before = now_ms();
  EXPECT_EQ(produce_at(topic, id, epoch, 0, 2).base_offset, 0);
  const TimestampMs after = now_ms();
  EXPECT_EQ(produce_at(topic, id, epoch, 2, 3).base_offset, 2);
  const Produced again = produce_at(topic, id, epoch, 0, 2);
  EXPECT_EQ(again.error, ErrorCode::NONE);
  EXPECT_EQ(again.base_offset, 0);
  EXPECT_GE(again.append_time, before);  // of the batch that is there
  EXPECT_LE(again.append_time, after);
  EXPECT_EQ(log_end(client, topic), 5);
}

TEST_F(Idempotence, AGapIsOutOfOrder) {
  const std::string topic = fresh("gap");
  make_topic(client, topic);
  const auto [id, epoch] = new_producer(client);
  EXPECT_EQ(produce_at(topic, id, epoch, 0).error, ErrorCode::NONE);
  EXPECT_EQ(produce_at(topic, id, epoch, 2).error, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(produce_at(topic, id, epoch, 1).error, ErrorCode::NONE);
  EXPECT_EQ(log_end(client, topic), 2);
}

// The five last are known by their offsets; what is older is only out of order.
TEST_F(Idempotence, TheLastFiveBatchesAreRemembered) {
  const std::string topic = fresh("window");
  make_topic(client, topic);
  const auto [id, epoch] = new_producer(client);
  for (std::int32_t sequence = 0; sequence < 7; ++sequence)
    ASSERT_EQ(produce_at(topic, id, epoch, sequence).base_offset, sequence);
  for (std::int32_t sequence = 2; sequence < 7; ++sequence) {
    const Produced again = produce_at(topic, id, epoch, sequence);
    EXPECT_EQ(again.error, ErrorCode::NONE) << sequence;
    EXPECT_EQ(again.base_offset, sequence);
  }
  const ErrorCode too_old = produce_at(topic, id, epoch, 1).error;
  EXPECT_TRUE(too_old == ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER || too_old == ErrorCode::DUPLICATE_SEQUENCE_NUMBER);
  EXPECT_EQ(log_end(client, topic), 7);
}

TEST_F(Idempotence, FiveInFlightAreStoredOnceAlthoughAllAreSentTwice) {
  const std::string topic = fresh("in-flight");
  make_topic(client, topic);
  const auto [id, epoch] = new_producer(client);
  std::string bytes;
  for (std::int32_t i = 0; i < 10; ++i) {
    const BatchOptions options{.producer_id = id, .producer_epoch = epoch, .base_sequence = i % 5};
    bytes += produce_frame(topic, batch_of({std::to_string(i % 5)}, options), 0, -1, i);
  }
  ASSERT_TRUE(client.send(bytes));
  for (std::int32_t i = 0; i < 10; ++i) {
    const auto answer = client.hear<kafka::ProduceResponse>(kProduceVersion, i);
    ASSERT_EQ(answer->responses.size(), 1u);
    EXPECT_EQ(answer->responses[0].partition_responses[0].error_code, 0);
    EXPECT_EQ(answer->responses[0].partition_responses[0].base_offset, i % 5);
  }
  EXPECT_EQ(values_of(fetch(client, topic, 0).records), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST_F(Idempotence, AnOldEpochIsFencedAndANewOneBeginsAt0) {
  const std::string topic = fresh("epoch");
  make_topic(client, topic);
  const auto [id, epoch] = new_producer(client);
  const auto next = static_cast<ProducerEpoch>(epoch + 1);
  EXPECT_EQ(produce_at(topic, id, epoch, 0).error, ErrorCode::NONE);
  EXPECT_EQ(produce_at(topic, id, next, 1).error, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(produce_at(topic, id, next, 0).error, ErrorCode::NONE);
  EXPECT_EQ(produce_at(topic, id, epoch, 1).error, ErrorCode::INVALID_PRODUCER_EPOCH);
  EXPECT_EQ(log_end(client, topic), 2);
}

TEST_F(Idempotence, AnUnknownProducerMayBeginAnywhere) {
  const std::string topic = fresh("unknown-producer");
  make_topic(client, topic);
  EXPECT_EQ(produce_at(topic, 987654321, 3, 1000).error, ErrorCode::NONE);
  EXPECT_EQ(produce_at(topic, 987654321, 3, 1002).error, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
}

TEST_F(Idempotence, SequencesWrapTo0) {
  const std::string topic = fresh("wrap");
  make_topic(client, topic);
  constexpr std::int32_t kLast = 0x7FFFFFFF;
  EXPECT_EQ(
      produce(client, topic, batch_of({"a"}, {.producer_id = 77, .producer_epoch = 0, .base_sequence = kLast})).error,
      ErrorCode::NONE);
  EXPECT_EQ(
      produce(client, topic, batch_of({"b"}, {.producer_id = 77, .producer_epoch = 0, .base_sequence = 0})).base_offset,
      1);
}

TEST_F(Idempotence, TheEnginesDeathForgetsNoSequence) {
  const std::string topic = fresh("engine-death");
  make_topic(client, topic);
  const auto [id, epoch] = new_producer(client);
  for (std::int32_t sequence = 0; sequence < 6; ++sequence)
    ASSERT_EQ(produce_at(topic, id, epoch, sequence).base_offset, sequence);
  node().kill("engine");
  accept_new_processes();
  // Until the engine has the partition again, clients are told to try again.
  Produced again;
  ASSERT_TRUE(eventually([&] {
    again = produce_at(topic, id, epoch, 5);
    return again.error == ErrorCode::NONE || !kafka::error_retriable(again.error);
  }));
  EXPECT_EQ(again.error, ErrorCode::NONE) << kafka::error_name(again.error);
  EXPECT_EQ(again.base_offset, 5);
  EXPECT_EQ(produce_at(topic, id, epoch, 4).base_offset, 4);
  EXPECT_EQ(produce_at(topic, id, epoch, 7).error, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(produce_at(topic, id, epoch, 6).base_offset, 6);
}

// Transactions are not served: a batch of one would hold up all who read committed records, and nobody could end it.
TEST_F(Idempotence, BatchesOfTransactionsAreRefused) {
  const std::string topic = fresh("transactional");
  make_topic(client, topic);
  const std::string batch = batch_of(
      {"open for ever"}, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 0, .is_transactional = true});
  EXPECT_EQ(produce(client, topic, batch).error, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  kafka::ProduceRequest request{.transactional_id = "tx", .acks = -1, .timeout_ms = 30'000};
  request.topic_data.push_back({.name = topic, .partition_data = {{.index = 0, .records = as_bytes(batch)}}});
  const auto answer = client.call<kafka::ProduceResponse>(request, kProduceVersion);
  EXPECT_EQ(answer->responses.at(0).partition_responses.at(0).error_code, kafka::wire(ErrorCode::INVALID_TXN_STATE));
  EXPECT_EQ(log_end(client, topic), 0);
}

// -- Producer ids --------------------------------------------------------------------------------------------------

TEST_F(Idempotence, ProducerIdsNeverRepeatWhoeverDies) {
  std::map<ProducerId, int> seen;
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) {
      kafka::InitProducerIdRequest request;
      Answer<kafka::InitProducerIdResponse> answer;
      ASSERT_TRUE(eventually([&] {
        answer = client.call<kafka::InitProducerIdResponse>(request, 4);
        return answer->error_code == 0 || !kafka::error_retriable(answer->error_code);
      }));
      ASSERT_EQ(answer->error_code, 0);
      EXPECT_EQ(answer->producer_epoch, 0);
      EXPECT_EQ(++seen[answer->producer_id], 1) << "id " << answer->producer_id;
    }
  };
  take(100);
  for (const char* const victim : {"groupcoord", "zkbridge", "groupcoord", "zkbridge"}) {
    node().kill(victim);
    take(1100);  // more than a block of ids
  }
  accept_new_processes();
}

TEST_F(Idempotence, TransactionalIdsAreRefusedInAWayThatEndsTheTry) {
  const auto answer = client.call<kafka::InitProducerIdResponse>(
      kafka::InitProducerIdRequest{.transactional_id = "tx", .transaction_timeout_ms = 1000}, 4);
  EXPECT_NE(answer->error_code, 0);
  EXPECT_FALSE(kafka::error_retriable(answer->error_code)) << kafka::error_name(answer->error_code);
  EXPECT_EQ(answer->producer_id, -1);
}

}  // namespace
}  // namespace tailrace::wire
