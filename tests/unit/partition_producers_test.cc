// Producer state as tables of batches: what is appended, what is a repeat, what is refused, and what stays open.
#include "engine/partition/producers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "engine/record/control.h"
#include "engine/record/records.h"
#include "tests/unit/support/golden.h"

namespace fs = std::filesystem;
using namespace tailrace;
using namespace tailrace::partition;
using namespace tailrace::testing_support;
using record::BatchHeader;

namespace {

constexpr std::int32_t kSequenceMax = std::numeric_limits<std::int32_t>::max();

// A log of one partition as the producer state sees it: offsets are given out in order.
class Story {
 public:
  // A client's batch of `count` records; the answer is "ok", "duplicate of <base offset>", or the name of an error.
  std::string send(ProducerId id, ProducerEpoch epoch, std::int32_t sequence, std::int32_t count = 1,
                   bool is_transactional = false) {
    BatchHeader header = batch(id, epoch, sequence, count, is_transactional);
    const auto checked = producers.check(header);
    if (!checked) return name(checked.error().code);
    if (*checked) return "duplicate of " + std::to_string((*checked)->base_offset());
    header.base_offset = next_offset;
    EXPECT_FALSE(producers.apply(header, std::nullopt));
    next_offset = header.next_offset();
    return "ok";
  }
  std::string send_transactional(ProducerId id, ProducerEpoch epoch, std::int32_t sequence, std::int32_t count = 1) {
    return send(id, epoch, sequence, count, true);
  }

  // A coordinator's marker: "nothing", or "<first>..<marker> lso <last stable offset>[ aborted]", or an error.
  std::string end(ProducerId id, ProducerEpoch epoch, bool aborts, std::int32_t coordinator_epoch = 0,
                  std::int16_t transaction_version = 1) {
    BatchHeader header = batch(id, epoch, -1, 1, true);
    header.attributes |= record::kControlBit;
    header.base_offset = next_offset;
    const Producers::EndMarker marker{.aborts = aborts, .coordinator_epoch = coordinator_epoch};
    if (const auto checked = producers.check_marker(header, marker, transaction_version); !checked) {
      return name(checked.error().code);
    }
    const auto ended = producers.apply(header, marker);
    ++next_offset;
    if (!ended) return "nothing";
    EXPECT_EQ(ended->producer_id, id);
    return std::to_string(ended->first_offset) + ".." + std::to_string(ended->last_offset) + " lso " +
           std::to_string(ended->last_stable_offset) + (ended->aborted ? " aborted" : "");
  }

  BatchHeader batch(ProducerId id, ProducerEpoch epoch, std::int32_t sequence, std::int32_t count,
                    bool is_transactional) const {
    BatchHeader header;
    header.attributes = is_transactional ? record::kTransactionalBit : std::int16_t{0};
    header.last_offset_delta = count - 1;
    header.base_timestamp = header.max_timestamp = now;
    header.producer_id = id;
    header.producer_epoch = epoch;
    header.base_sequence = sequence;
    header.record_count = count;
    return header;
  }

  Producers producers;
  Offset next_offset = 0;
  TimestampMs now = 1000;
};

TEST(Producers, BatchesWithoutAProducerLeaveNoTrace) {
  Story story;
  EXPECT_EQ(story.send(kNoProducerId, -1, -1), "ok");
  EXPECT_EQ(story.send(kNoProducerId, -1, 0), "ok");
  EXPECT_EQ(story.producers.size(), 0u);
}

TEST(Producers, SequencesFollowEachOther) {
  Story story;
  EXPECT_EQ(story.send(1, 0, 0, 3), "ok");
  EXPECT_EQ(story.send(1, 0, 3, 2), "ok");
  EXPECT_EQ(story.send(1, 0, 6), "out_of_order_sequence");
  EXPECT_EQ(story.send(1, 0, 4), "out_of_order_sequence");  // inside the last batch
  EXPECT_EQ(story.send(1, 0, 5), "ok");
  EXPECT_EQ(story.send(2, 0, 0), "ok");  // others have their own
}

TEST(Producers, TheLastFiveBatchesAreKnownAgain) {
  Story story;
  for (std::int32_t i = 0; i < 7; ++i) EXPECT_EQ(story.send(1, 0, 2 * i, 2), "ok");
  for (std::int32_t i = 2; i < 7; ++i) {
    EXPECT_EQ(story.send(1, 0, 2 * i, 2), "duplicate of " + std::to_string(2 * i));
  }
  EXPECT_EQ(story.send(1, 0, 2, 2), "out_of_order_sequence");  // too old; Kafka 4 has no other answer
  EXPECT_EQ(story.send(1, 0, 4, 3), "out_of_order_sequence");  // not the same batch
  EXPECT_EQ(story.send(1, 0, 14, 2), "ok");
  EXPECT_EQ(story.producers.all().at(1).batches.size(), ProducerState::kBatchesMax);
}

TEST(Producers, SequencesWrap) {
  Story story;
  EXPECT_EQ(story.send(1, 0, kSequenceMax - 1), "ok");  // an unknown producer begins anywhere
  EXPECT_EQ(story.send(1, 0, kSequenceMax, 3), "ok");   // the largest, then 0 and 1
  EXPECT_EQ(story.producers.all().at(1).batches.back().last_sequence, 1);
  EXPECT_EQ(story.producers.all().at(1).batches.back().first_sequence, kSequenceMax);
  EXPECT_EQ(story.send(1, 0, kSequenceMax, 3), "duplicate of 1");
  EXPECT_EQ(story.send(1, 0, 2), "ok");

  Story at_the_end;
  EXPECT_EQ(at_the_end.send(1, 0, kSequenceMax), "ok");
  EXPECT_EQ(at_the_end.send(1, 0, 0), "ok");
}

TEST(Producers, AnUnknownProducerBeginsWithAnySequence) {
  Story story;
  EXPECT_EQ(story.send(1, 3, 500, 2), "ok");
  EXPECT_EQ(story.send(1, 3, 502), "ok");
}

TEST(Producers, ANewEpochBeginsAtZeroAndFencesTheOld) {
  Story story;
  EXPECT_EQ(story.send(1, 0, 0), "ok");
  EXPECT_EQ(story.send(1, 1, 1), "out_of_order_sequence");
  EXPECT_EQ(story.send(1, 1, 0), "ok");
  EXPECT_EQ(story.send(1, 0, 1), "invalid_producer_epoch");
  EXPECT_EQ(story.send(1, 0, 0), "invalid_producer_epoch");  // what was a repeat is fenced too
  EXPECT_EQ(story.send(1, 1, 1), "ok");
}

TEST(Producers, TransactionsHoldTheFirstUnstableOffset) {
  Story story;
  EXPECT_EQ(story.producers.first_unstable_offset(), std::nullopt);
  EXPECT_EQ(story.send(9, 0, 0, 5), "ok");
  EXPECT_EQ(story.send_transactional(1, 0, 0, 2), "ok");  // offsets 5, 6
  EXPECT_EQ(story.send_transactional(2, 0, 0), "ok");     // 7
  EXPECT_EQ(story.send_transactional(1, 0, 2), "ok");     // 8
  EXPECT_EQ(story.producers.first_unstable_offset(), 5);
  EXPECT_EQ(story.end(1, 0, /*aborts=*/true), "5..9 lso 7 aborted");
  EXPECT_EQ(story.producers.first_unstable_offset(), 7);
  EXPECT_EQ(story.end(2, 0, /*aborts=*/false), "7..10 lso 11");
  EXPECT_EQ(story.producers.first_unstable_offset(), std::nullopt);
  EXPECT_EQ(story.send_transactional(1, 0, 3), "ok");  // the sequence goes on in the next transaction
  EXPECT_EQ(story.producers.first_unstable_offset(), 11);
}

TEST(Producers, AMarkerWithoutRecordsEndsNothing) {
  Story story;
  EXPECT_EQ(story.end(1, 4, false, 7), "nothing");
  const ProducerState& state = story.producers.all().at(1);
  EXPECT_EQ(state.producer_epoch, 4);
  EXPECT_EQ(state.coordinator_epoch, 7);
  EXPECT_TRUE(state.batches.empty());
  EXPECT_EQ(story.send_transactional(1, 4, 1), "out_of_order_sequence");  // it is known now
  EXPECT_EQ(story.send_transactional(1, 4, 0), "ok");
}

TEST(Producers, ARepeatInsideATransactionIsARepeat) {
  Story story;
  EXPECT_EQ(story.send_transactional(1, 0, 0, 3), "ok");
  EXPECT_EQ(story.send_transactional(1, 0, 0, 3), "duplicate of 0");
  EXPECT_EQ(story.end(1, 0, false), "0..3 lso 4");
  EXPECT_EQ(story.send_transactional(1, 0, 0, 3), "duplicate of 0");  // also after its end
}

TEST(Producers, PlainRecordsInsideATransactionAreRefused) {
  Story story;
  EXPECT_EQ(story.send_transactional(1, 0, 0), "ok");
  EXPECT_EQ(story.send(1, 0, 1), "invalid_transaction");
  EXPECT_EQ(story.end(1, 0, true), "0..1 lso 2 aborted");
  EXPECT_EQ(story.send(1, 0, 1), "ok");
}

TEST(Producers, MarkersOfFencedCoordinatorsAreRefused) {
  Story story;
  EXPECT_EQ(story.send_transactional(1, 5, 0), "ok");
  EXPECT_EQ(story.end(1, 4, true), "invalid_producer_epoch");
  EXPECT_EQ(story.end(1, 5, true, /*coordinator_epoch=*/3), "0..1 lso 2 aborted");
  EXPECT_EQ(story.end(1, 5, true, /*coordinator_epoch=*/2), "fenced_epoch");
  EXPECT_EQ(story.end(1, 6, true, /*coordinator_epoch=*/4), "nothing");
  EXPECT_EQ(story.send_transactional(1, 5, 1), "invalid_producer_epoch");
}

// KIP-890: from transaction version 2 on the marker raises the epoch, unless it is written once more.
TEST(Producers, MarkersOfVersionTwoRaiseTheEpoch) {
  Story story;
  EXPECT_EQ(story.send_transactional(1, 5, 0), "ok");
  EXPECT_EQ(story.end(1, 5, false, 0, 2), "invalid_producer_epoch");
  EXPECT_EQ(story.end(1, 6, false, 0, 2), "0..1 lso 2");
  EXPECT_EQ(story.end(1, 6, false, 0, 2), "nothing");
  EXPECT_EQ(story.send_transactional(1, 6, 0), "ok");
  EXPECT_EQ(story.end(1, 6, false, 0, 2), "invalid_producer_epoch");

  Story at_the_end;
  constexpr ProducerEpoch kEpochMax = std::numeric_limits<ProducerEpoch>::max();
  EXPECT_EQ(at_the_end.send_transactional(1, kEpochMax, 0), "ok");
  EXPECT_EQ(at_the_end.end(1, kEpochMax, true, 0, 2), "0..1 lso 2 aborted");
}

TEST(Producers, CoordinatorsWriteWithoutSequences) {
  Story story;
  EXPECT_EQ(story.send_transactional(1, 2, -1), "ok");
  EXPECT_EQ(story.send_transactional(1, 2, -1), "ok");
  EXPECT_EQ(story.send_transactional(1, 1, -1), "invalid_producer_epoch");
  EXPECT_EQ(story.end(1, 2, false), "0..2 lso 3");
}

TEST(Producers, WhatIsNotReplicatedIsNotStable) {
  Story story;
  story.producers.on_high_watermark(0);
  EXPECT_EQ(story.send_transactional(1, 0, 0, 3), "ok");
  EXPECT_EQ(story.end(1, 0, false), "0..3 lso 4");
  EXPECT_EQ(story.send_transactional(2, 0, 0), "ok");
  EXPECT_EQ(story.producers.first_unstable_offset(), 0);
  story.producers.on_high_watermark(3);
  EXPECT_EQ(story.producers.first_unstable_offset(), 0);  // the marker itself is at 3
  story.producers.on_high_watermark(4);
  EXPECT_EQ(story.producers.first_unstable_offset(), 4);
}

TEST(Producers, ExpireWhenIdle) {
  Story story;
  EXPECT_EQ(story.send(1, 0, 0), "ok");
  EXPECT_EQ(story.send_transactional(2, 0, 0), "ok");
  story.now = 5000;
  EXPECT_EQ(story.send(3, 0, 0), "ok");
  story.producers.expire(1000 + 86'400'000 - 1, 86'400'000);
  EXPECT_EQ(story.producers.size(), 3u);
  story.producers.expire(1000 + 86'400'000, 86'400'000);
  EXPECT_EQ(story.producers.size(), 2u);  // 1 is gone; 2 has a transaction open
  EXPECT_EQ(story.send(1, 0, 77), "ok");  // and is unknown now
  EXPECT_EQ(story.producers.first_unstable_offset(), 1);
  story.producers.expire(std::numeric_limits<TimestampMs>::max(), 1);
  EXPECT_EQ(story.producers.size(), 1u);
}

TEST(Producers, ControlBatchesWithoutAMarkerChangeNothing) {
  Story story;
  BatchHeader header = story.batch(1, 0, -1, 1, true);
  header.attributes |= record::kControlBit;
  EXPECT_FALSE(story.producers.apply(header, std::nullopt));
  EXPECT_EQ(story.producers.size(), 0u);
}

TEST(ProducerSnapshot, BringsBackTheLastBatchAndTheOpenTransaction) {
  Story story;
  EXPECT_EQ(story.send(1, 0, 0, 5), "ok");
  EXPECT_EQ(story.send(1, 0, 5, 5), "ok");
  EXPECT_EQ(story.send_transactional(2, 3, 0, 2), "ok");
  EXPECT_EQ(story.end(7, 1, false, 4), "nothing");
  Story again;
  ASSERT_TRUE(again.producers.load_snapshot(as_bytes(story.producers.encode_snapshot())));
  again.next_offset = story.next_offset;
  EXPECT_EQ(again.producers.encode_snapshot(), story.producers.encode_snapshot());
  EXPECT_EQ(again.producers.first_unstable_offset(), 10);
  EXPECT_EQ(again.send(1, 0, 5, 5), "duplicate of 5");
  EXPECT_EQ(again.send(1, 0, 0, 5), "out_of_order_sequence");  // only the last is kept
  EXPECT_EQ(again.send(1, 0, 10), "ok");
  EXPECT_EQ(again.end(2, 3, true), "10..14 lso 15 aborted");
  EXPECT_EQ(again.producers.all().at(7).coordinator_epoch, 4);
}

TEST(ProducerSnapshot, DamageIsToldAndChangesNothing) {
  Story story;
  EXPECT_EQ(story.send(1, 0, 0), "ok");
  EXPECT_EQ(story.send(2, 0, 0), "ok");
  const std::string sound = story.producers.encode_snapshot();
  const auto refuses = [&story, &sound](const std::string& damaged) {
    const auto loaded = story.producers.load_snapshot(as_bytes(damaged));
    EXPECT_EQ(story.producers.encode_snapshot(), sound);
    return !loaded && loaded.error().code == Code::corrupt;
  };
  for (std::size_t size = 0; size < sound.size(); ++size) EXPECT_TRUE(refuses(sound.substr(0, size))) << size;
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(refuses(damaged)) << bit;
  }
}

TEST(ProducerSnapshot, OfKafkaIsReadAndWrittenByteForByte) {
  std::size_t snapshots = 0;
  std::size_t producers_seen = 0;
  for (const std::string name : {"kafka-4.4-clean", "kafka-4.4-killed", "kafka-3.9-zk-clean", "kafka-3.9-zk-killed"}) {
    TemporaryDirectory directory;
    for (const auto& entry : fs::recursive_directory_iterator(unpack_golden(name, directory.path(), false) / "data")) {
      if (entry.path().extension() != ".snapshot") continue;
      const std::string file = read_file(entry.path());
      Producers producers;
      ASSERT_TRUE(producers.load_snapshot(as_bytes(file))) << entry.path();
      EXPECT_EQ(producers.encode_snapshot(), file) << entry.path();
      ++snapshots;
      producers_seen += producers.size();
    }
  }
  EXPECT_GT(snapshots, 300u);
  EXPECT_GT(producers_seen, 100u);
}

// One producer as text, for comparison.
std::string alone(const ProducerState& state) {
  std::string text = std::to_string(state.producer_epoch) + " " + std::to_string(state.coordinator_epoch) + " " +
                     std::to_string(state.last_timestamp) + " " +
                     std::to_string(state.current_transaction_first_offset);
  if (state.batches.empty()) return text;
  const RememberedBatch& last = state.batches.back();
  return text + " " + std::to_string(last.first_sequence) + " " + std::to_string(last.last_sequence) + " " +
         std::to_string(last.last_offset) + " " + std::to_string(last.offset_delta);
}

// Folds the whole log of a partition, and compares with the snapshot that Kafka took at its clean stop.
TEST(ProducerSnapshot, OfKafkaIsWhatTheLogFoldsTo) {
  constexpr TimestampMs kRecorded = 1'795'000'000'000;
  int compared = 0;
  int dropped = 0;
  for (const std::string name : {"kafka-4.4-clean", "kafka-3.9-zk-clean"}) {
    TemporaryDirectory directory;
    const fs::path data = unpack_golden(name, directory.path(), false) / "data";
    for (const auto& partition : fs::directory_iterator(data)) {
      if (!partition.is_directory()) continue;
      std::map<Offset, fs::path> logs;
      fs::path snapshot;
      for (const auto& entry : fs::directory_iterator(partition)) {
        const std::string extension = entry.path().extension();
        if (extension == ".log") logs[std::stoll(entry.path().stem())] = entry.path();
        if (extension == ".snapshot" && entry.path().stem() > snapshot.stem()) snapshot = entry.path();
      }
      // Where records were removed, the log no longer tells all that Kafka knew.
      const std::string topic = partition.path().filename();
      const bool is_complete = logs.contains(0) && !topic.starts_with("compact") && !topic.starts_with("truncated");
      if (snapshot.empty() || !is_complete) continue;

      Producers producers;
      Offset end = 0;
      for (const auto& [base, path] : logs) {
        const std::string log = read_file(path);
        Bytes left = as_bytes(log);
        while (left.size() > record::kSizeUpToMagic) {
          const std::size_t size = 12 + static_cast<std::size_t>(load_big_endian<std::int32_t>(left.data() + 8));
          const Bytes batch = left.first(size);
          left = left.subspan(size);
          if (static_cast<std::int8_t>(batch[record::kMagicPosition]) != record::kMagicV2) continue;
          const BatchHeader header = record::read_header(batch.data());
          std::optional<Producers::EndMarker> marker;
          if (header.is_control()) marker = record::end_marker_of_batch(batch).value_or(std::nullopt);
          producers.apply(header, marker);
          end = header.next_offset();
        }
      }
      if (end != std::stoll(snapshot.stem())) continue;
      Producers kafkas;
      ASSERT_TRUE(kafkas.load_snapshot(as_bytes(read_file(snapshot))));
      // At a restart Kafka drops idle producers by the clock (here of November 2026; record times are years older).
      for (const auto& [id, state] : producers.all()) {
        if (kafkas.all().contains(id)) continue;
        EXPECT_LT(state.last_timestamp, kRecorded) << snapshot << " " << id;
        EXPECT_EQ(state.current_transaction_first_offset, kNoOffset) << snapshot << " " << id;
        ++dropped;
      }
      for (const auto& [id, expected] : kafkas.all()) {
        ASSERT_TRUE(producers.all().contains(id)) << snapshot << " " << id;
        EXPECT_EQ(alone(producers.all().at(id)), alone(expected)) << snapshot << " " << id;
      }
      EXPECT_EQ(producers.first_unstable_offset(), kafkas.first_unstable_offset()) << snapshot;
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
  EXPECT_LT(dropped, 20);
}

}  // namespace
