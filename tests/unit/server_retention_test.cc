// What the shard lets go of, and when it says so: DeleteRecords, expired segments, and their files.
#include <chrono>
#include <fstream>
#include <ranges>
#include <set>

#include "engine/log/checkpoint.h"
#include "tests/unit/support/held_shard.h"

namespace tailrace::server {
namespace {

using namespace std::chrono_literals;

class Retention : public HeldShardTest {
 protected:
  static constexpr std::int64_t kCheckMs = 1000;
  static constexpr std::int64_t kDeleteDelayMs = 60'000;

  void SetUp() override {
    settings_.retention_check_interval_ms = kCheckMs;
    rules_.file_delete_delay_ms = kDeleteDelayMs;
    rules_.deletes_segments = 1;
    rules_.segment_bytes = 80;  // a segment for each batch of one record
    HeldShardTest::SetUp();
    set_role();
  }
  void set_role(std::int32_t partition = 0) {
    api::SetRole request = rules_;
    request.partition = {kTopic, partition};
    request.index_bytes_max = 1 << 20;
    request.index_interval_bytes = 100;
    request.segment_ms = INT64_MAX;
    request.topic_name_size = 6;
    request.create = 1;
    std::memcpy(request.topic_name, "orders", 6);
    Asked<api::RoleSet> asked;
    client_->set_role(request, asked.call);
    turn();
    settle();
    ASSERT_EQ(asked.answer.code, api::kOk);
    log_start_ = asked.answer.log_start_offset;
    end_ = asked.answer.end_offset;
  }
  void restart() {
    kill();
    start();
    settle();
    set_role();
  }
  api::Appended produce(TimestampMs timestamp, const record::BatchOptions& options = {}, std::int32_t partition = 0) {
    record::BatchBuilder builder(options);
    EXPECT_TRUE(builder.add(timestamp, std::nullopt, as_bytes("value")));
    const Bytes batch = *builder.finish();
    std::memcpy(arena_.data(), batch.data(), batch.size());
    Asked<api::Appended> asked;
    client_->append({.partition = {kTopic, partition},
                     .length = static_cast<std::uint32_t>(batch.size()),
                     .wait = api::Wait::high_watermark},
                    asked.call);
    turn();
    settle();
    EXPECT_EQ(asked.answers, 1);
    EXPECT_EQ(asked.answer.code, api::kOk);
    return asked.answer;
  }
  void delete_records(Asked<api::RecordsDeleted>& asked, Offset offset) {
    client_->delete_records({.partition = {kTopic, 0}, .offset = offset}, asked.call);
  }
  void read(Asked<api::ReadPlan>& asked, Offset from, Offset watch_from = kNoOffset) {
    client_->read({.partition = {kTopic, 0},
                   .fetch_offset = from,
                   .watch_from = watch_from,
                   .max_bytes = 1000,
                   .whole_first_batch = 1},
                  asked.call);
  }
  Offset log_start() {
    Asked<api::OffsetListed> asked;
    client_->list_offset({.partition = {kTopic, 0}, .timestamp = -2}, asked.call);
    turn();
    return asked.answer.offset;
  }
  Offset saved_log_start() {
    const auto starts = log::read_offset_checkpoint(files(), path("log-start-offset-checkpoint"));
    const auto found = starts->find({"orders", 0});
    return found == starts->end() ? 0 : found->second;
  }
  std::set<std::string> segment_files(const std::string& suffix, std::int32_t partition = 0) {
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator(path("orders-" + std::to_string(partition)))) {
      const std::string name = each.path().filename();
      if (name.ends_with(suffix)) names.insert(name.substr(18));
    }
    return names;
  }
  // The next check, and what it leads to.
  void check() {
    io_.pass(std::chrono::milliseconds(kCheckMs));
    for (int i = 0; i < 5; ++i) {
      turn();
      settle();
      io_.pass(1ms);
    }
  }

  api::SetRole rules_;
  Offset log_start_ = kNoOffset;
  Offset end_ = kNoOffset;
};

using Names = std::set<std::string>;

TEST_F(Retention, DeletedRecordsAreGoneOnceTheirCheckpointIsDurableAndNobodySeesItBefore) {
  for (int i = 0; i < 4; ++i) produce(1000);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  ASSERT_EQ(files().count("file"), 1u) << "the checkpoint's content";
  EXPECT_EQ(log_start(), 0);
  files().end(0);
  turn();
  ASSERT_EQ(files().count(data_.path()), 1u) << "the checkpoint's name";
  EXPECT_EQ(log_start(), 0);
  EXPECT_EQ(deleted.answers, 0);
  files().end(0);
  turn();
  EXPECT_EQ(deleted.answers, 1);
  EXPECT_EQ(deleted.answer.code, api::kOk);
  EXPECT_EQ(deleted.answer.low_watermark, 2);
  EXPECT_EQ(log_start(), 2);
  EXPECT_EQ(saved_log_start(), 2);
  Asked<api::ReadPlan> below;
  read(below, 1);
  turn();
  EXPECT_EQ(below.answer.code, number(Code::out_of_range));
  restart();
  EXPECT_EQ(log_start_, 2);
  EXPECT_EQ(end_, 4);
}

TEST_F(Retention, DeletionsThatComeTogetherShareAWriteOfTheCheckpoint) {
  rules_.segment_bytes = 1 << 20;
  set_role();
  for (int i = 0; i < 9; ++i) produce(1000);
  std::array<Asked<api::RecordsDeleted>, 5> deleted;
  delete_records(deleted[0], 1);
  turn();
  for (std::size_t i = 1; i < 4; ++i) delete_records(deleted[i], static_cast<Offset>(6 - i));  // 5, 4, 3
  delete_records(deleted[4], 1);
  turn();
  EXPECT_EQ(files().held.size(), 1u) << "one write at a time";
  files().end(0);
  turn();
  files().end(0);
  turn();
  EXPECT_EQ(deleted[0].answer.low_watermark, 1);
  EXPECT_EQ(deleted[4].answer.low_watermark, 1);
  EXPECT_EQ(deleted[1].answers + deleted[2].answers + deleted[3].answers, 0);
  EXPECT_EQ(files().held.size(), 1u);
  files().end(0);
  turn();
  files().end(0);
  turn();
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(deleted[i].answer.low_watermark, 5) << i;
  EXPECT_TRUE(files().held.empty());
}

TEST_F(Retention, DeletionsThatCannotBeAreRefusedAndThoseOfWhatIsGoneAreAnswered) {
  for (int i = 0; i < 3; ++i) produce(1000);
  const auto ask = [&](Offset offset) {
    Asked<api::RecordsDeleted> asked;
    delete_records(asked, offset);
    turn();
    settle();
    EXPECT_EQ(asked.answers, 1);
    return asked.answer;
  };
  EXPECT_EQ(ask(4).code, number(Code::out_of_range));
  EXPECT_EQ(ask(-2).code, number(Code::out_of_range));
  EXPECT_EQ(ask(0).low_watermark, 0);
  EXPECT_EQ(ask(2).low_watermark, 2);
  EXPECT_EQ(ask(1).low_watermark, 2);
  EXPECT_EQ(ask(-1).low_watermark, 3) << "the high watermark";
  Asked<api::RecordsDeleted> unknown;
  client_->delete_records({.partition = {kTopic, 7}, .offset = 0}, unknown.call);
  turn();
  EXPECT_EQ(unknown.answer.code, number(Code::unknown_partition));
  kill();
  start();
  settle();
  EXPECT_EQ(ask(0).code, number(Code::not_leader)) << "no role was set yet";
}

TEST_F(Retention, ACheckpointThatFailsIsToldAndTheNextOneIsTriedAnew) {
  for (int i = 0; i < 3; ++i) produce(1000);
  for (const std::size_t failing : {0u, 1u}) {
    Asked<api::RecordsDeleted> deleted;
    delete_records(deleted, 2);
    turn();
    if (failing == 1) {
      files().end(0);
      turn();
    }
    files().end(0, failing == 0 ? -ENOSPC : -EIO);
    turn();
    EXPECT_EQ(deleted.answer.code, number(failing == 0 ? Code::disk_full : Code::io_failed));
    EXPECT_EQ(log_start(), 0);
    EXPECT_TRUE(files().held.empty());
  }
  files().refuses_changes = EROFS;
  Asked<api::RecordsDeleted> refused;
  delete_records(refused, 2);
  turn();
  EXPECT_EQ(refused.answer.code, number(Code::io_failed));
  files().refuses_changes = 0;
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  settle();
  EXPECT_EQ(deleted.answer.low_watermark, 2);
}

TEST_F(Retention, AReadThatWaitsBehindDeletedRecordsIsToldSo) {
  for (int i = 0; i < 3; ++i) produce(1000);
  Asked<api::ReadPlan> behind;
  Asked<api::ReadPlan> at_end;
  read(behind, 1, 3);
  read(at_end, 3, 3);
  turn();
  ASSERT_EQ(behind.answer.watching, 1);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, -1);
  turn();
  settle();
  EXPECT_EQ(behind.answers, 2);
  EXPECT_EQ(behind.answer.code, number(Code::out_of_range));
  EXPECT_EQ(at_end.answers, 1) << "it waits on";
}

TEST_F(Retention, APartitionThatGoesTellsThoseThatWaitForItsLogStartAndItsNameIsFree) {
  for (int i = 0; i < 3; ++i) produce(1000);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  ASSERT_EQ(files().held.size(), 1u);
  Asked<api::Done> removed;
  client_->delete_partition({.partition = {kTopic, 0}}, removed.call);
  turn();
  EXPECT_EQ(deleted.answer.code, number(Code::unknown_partition));
  ASSERT_EQ(files().count(data_.path()), 1u);
  files().end(1);
  turn();
  ASSERT_EQ(removed.answers, 1);
  // A new topic of this name: what the checkpoint in flight says is of the old one.
  Asked<api::RoleSet> made;
  constexpr Uuid kNewTopic{{9}};
  lead(made, 0, kNewTopic);
  turn();
  EXPECT_EQ(saved_log_start(), 0);
  settle();
  EXPECT_EQ(made.answer.code, api::kOk);
  EXPECT_EQ(saved_log_start(), 0) << "the old one's was dropped";
}

TEST_F(Retention, SegmentsWhoseRecordsAreTooOldGoFromTheOldestOn) {
  rules_.retention_ms = 5000;
  set_role();
  io_.wall_clock = 100'000;
  for (const TimestampMs time : {94'000, 94'999, 95'000, 94'000, 99'000}) produce(time);
  check();
  EXPECT_EQ(log_start(), 2) << "95,000 is not older than 5 s, and keeps what is behind it";
  EXPECT_EQ(segment_files(".log"), (Names{"02.log", "03.log", "04.log"}));
  EXPECT_EQ(segment_files(".deleted").count("01.timeindex.deleted"), 1u);
  EXPECT_EQ(segment_files(".deleted").count("01.snapshot.deleted"), 1u);
  EXPECT_EQ(saved_log_start(), 2);
  io_.pass(std::chrono::milliseconds(kDeleteDelayMs));
  for (int i = 0; i < 5; ++i) {
    turn();
    settle();
    io_.pass(1ms);
  }
  EXPECT_EQ(segment_files(".deleted"), Names{});
  restart();
  EXPECT_EQ(log_start_, 2);
}

// Otherwise nothing would ever be deleted of a topic that nobody writes to any more.
TEST_F(Retention, ALogThatHasExpiredWholeBeginsANewSegment) {
  produce(1000);
  produce(1000, {.producer_id = 7, .producer_epoch = 0, .base_sequence = 0});
  rules_.retention_ms = 5000;
  set_role();
  io_.wall_clock = 100'000;
  check();
  EXPECT_EQ(log_start(), 2);
  EXPECT_EQ(segment_files(".log"), (Names{"02.log"}));
  check();
  EXPECT_EQ(segment_files(".log"), (Names{"02.log"})) << "an empty segment does not expire";
  EXPECT_EQ(produce(99'000).base_offset, 2);
  EXPECT_EQ(produce(1000, {.producer_id = 7, .producer_epoch = 0, .base_sequence = 0}).duplicate, 1);
  restart();
  EXPECT_EQ(log_start_, 2);
  EXPECT_EQ(end_, 3);
  EXPECT_EQ(produce(1000, {.producer_id = 7, .producer_epoch = 0, .base_sequence = 0}).duplicate, 1)
      << "the record is gone, its producer is not";
}

TEST_F(Retention, TheOldestGoWhileAllTogetherAreLargerThanTheBound) {
  std::uint64_t batch = 0;
  for (int i = 0; i < 6; ++i) produce(1000);
  batch = fs::file_size(path("orders-0/00000000000000000000.log"));
  rules_.retention_bytes = static_cast<std::int64_t>(3 * batch + 1);
  set_role();
  check();
  EXPECT_EQ(log_start(), 2) << "without the third there would be less than the bound";
  rules_.retention_bytes = static_cast<std::int64_t>(3 * batch);
  set_role();
  check();
  EXPECT_EQ(log_start(), 3);
  rules_.retention_bytes = 0;
  set_role();
  check();
  EXPECT_EQ(log_start(), 6);
  EXPECT_EQ(segment_files(".log"), (Names{"06.log"}));
}

TEST_F(Retention, WithoutThePolicyDeleteOnlyWhatIsBelowTheLogStartGoes) {
  for (int i = 0; i < 4; ++i) produce(1000);
  rules_.deletes_segments = 0;
  rules_.retention_bytes = 0;
  rules_.retention_ms = 0;
  set_role();
  check();
  EXPECT_EQ(segment_files(".log").size(), 4u);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  settle();
  check();
  EXPECT_EQ(segment_files(".log"), (Names{"02.log", "03.log"}));
}

TEST_F(Retention, ARecordWithoutATimeExpiresByTheTimeOfItsFile) {
  rules_.retention_ms = 5000;
  set_role();
  produce(kNoTimestamp);
  produce(1000);
  const auto modified = fs::last_write_time(path("orders-0/00000000000000000000.log"));
  const auto modified_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                               std::chrono::file_clock::to_sys(modified).time_since_epoch())
                               .count();
  io_.wall_clock = modified_ms + 5000;
  check();
  EXPECT_EQ(log_start(), 0);
  io_.wall_clock = modified_ms + 5001;
  check();
  EXPECT_EQ(log_start(), 2);
}

TEST_F(Retention, WhatWasSetAsideAtACrashIsRemovedByTheNextStart) {
  for (int i = 0; i < 3; ++i) produce(1000);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  settle();
  check();
  EXPECT_FALSE(segment_files(".deleted").empty());
  restart();
  EXPECT_EQ(segment_files(".deleted"), Names{});
  EXPECT_EQ(log_start_, 2);
}

// A power cut may bring them back under their names; the log start tells.
TEST_F(Retention, SegmentsBelowTheLogStartThatAreFoundAreRemoved) {
  for (int i = 0; i < 3; ++i) produce(1000);
  fs::copy(path("orders-0"), path("kept"));
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  settle();
  check();
  kill();
  for (const auto& each : fs::directory_iterator(path("kept")))
    fs::copy(each, path("orders-0"), fs::copy_options::skip_existing);
  fs::remove_all(path("kept"));
  start();
  settle();
  set_role();
  EXPECT_EQ(log_start_, 2);
  EXPECT_EQ(segment_files(".log").size(), 3u);
  check();
  EXPECT_EQ(segment_files(".log"), (Names{"02.log"}));
}

TEST_F(Retention, AStopSavesWhatWasStillToBeAnswered) {
  for (int i = 0; i < 3; ++i) produce(1000);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  client_->publish();
  shard_->work();
  shard_->stop();
  while (!shard_->stopped()) {
    turn();
    settle();
  }
  EXPECT_EQ(deleted.answer.low_watermark, 2);
  restart();
  EXPECT_EQ(log_start_, 2);
}

// Without it a power cut would leave nothing that tells of the producers whose segments went.
TEST_F(Retention, SegmentsGoOnceTheSnapshotOfTheNextOneIsDurable) {
  for (int i = 0; i < 4; ++i) produce(1000);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, 2);
  turn();
  files().end(0);
  turn();
  files().end(0);
  turn();
  ASSERT_EQ(deleted.answer.low_watermark, 2);
  const auto look = [&](std::size_t segments) {
    io_.pass(1ms);
    turn();
    EXPECT_EQ(segment_files(".log").size(), segments);
  };
  look(4);
  ASSERT_EQ(files().held.size(), 1u);
  files().end(0, -EIO);
  look(4);
  EXPECT_TRUE(files().held.empty()) << "not before the next check";
  io_.pass(std::chrono::milliseconds(kCheckMs));
  look(4);
  ASSERT_EQ(files().count("file"), 1u);
  Asked<api::Done> removed;
  client_->delete_partition({.partition = {kTopic, 0}}, removed.call);
  turn();
  EXPECT_EQ(removed.answer.code, number(Code::retry)) << "it is busy";
  files().end(0);
  look(4);
  ASSERT_EQ(files().count(path("orders-0")), 1u);
  files().end(0);
  look(2);
}

// It may be all that tells of producers whose segments went, and a file that is written over may be lost.
TEST_F(Retention, AStopLeavesTheSnapshotThatIsThere) {
  for (int i = 0; i < 2; ++i) produce(1000, {.producer_id = 7, .producer_epoch = 0, .base_sequence = i});
  rules_.retention_bytes = 0;
  set_role();
  check();
  ASSERT_EQ(segment_files(".log"), (Names{"02.log"}));
  const std::string snapshot = path("orders-0/00000000000000000002.snapshot");
  const auto written = fs::file_size(snapshot);
  for (int starts = 0; starts < 2; ++starts) {
    std::ofstream(snapshot, std::ios::app) << "x";  // would be cut off
    shard_->stop();
    while (!shard_->stopped()) {
      turn();
      settle();
    }
    EXPECT_EQ(fs::file_size(snapshot), written + 1);
    fs::resize_file(snapshot, written);
    restart();
  }
  produce(1000, {.producer_id = 7, .producer_epoch = 0, .base_sequence = 2});
  shard_->stop();
  while (!shard_->stopped()) {
    turn();
    settle();
  }
  EXPECT_TRUE(fs::exists(path("orders-0/00000000000000000003.snapshot")));
}

TEST_F(Retention, ManySegmentsGoInSmallSteps) {
  for (int i = 0; i < 100; ++i) produce(1000);
  Asked<api::RecordsDeleted> deleted;
  delete_records(deleted, -1);
  turn(1);
  files().end_all();
  turn(1);
  files().end_all();
  std::size_t before = segment_files(".log").size();
  EXPECT_EQ(before, 100u);
  while (before > 1) {
    turn(1);
    io_.pass(1ms);
    files().end_all();
    const std::size_t now = segment_files(".log").size();
    ASSERT_LE(before - now, 16u);
    before = now;
  }
  EXPECT_EQ(log_start(), 100);
}

// A round of checks takes longer than the time between two of them, and all partitions have something to let go of.
TEST_F(Retention, AllOfManyPartitionsAreCheckedAndFewSnapshotsAreSyncedAtATime) {
  constexpr std::int32_t kPartitions = 300;
  kill();
  settings_.retention_check_interval_ms = 1;
  start();
  settle();
  rules_.retention_ms = 5000;
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) set_role(partition);
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    for (int i = 0; i < 2; ++i) produce(1000, {}, partition);
  }
  io_.wall_clock = 7000;
  const auto lacks = [&](std::int32_t partition) { return segment_files(".log", partition) != Names{"02.log"}; };
  for (int i = 0; i < 200; ++i) {
    io_.pass(1ms);
    turn(1);
    ASSERT_LE(files().held.size(), 1u + 16) << "one checkpoint, and snapshots";
    const auto held = files().held.size();
    for (std::size_t ended = 0; ended < held; ++ended) files().end(0);
  }
  EXPECT_EQ(std::ranges::count_if(std::views::iota(0, kPartitions), lacks), 0);
}

TEST_F(Retention, ProducersAreToldAPageAtATime) {
  for (ProducerId id = 1; id <= 450; ++id) {
    record::BatchBuilder builder({.producer_id = id * 3, .producer_epoch = 2, .base_sequence = 0});
    ASSERT_TRUE(builder.add(1000 + id, std::nullopt, as_bytes("v")));
    ASSERT_TRUE(builder.add(1000 + id, std::nullopt, as_bytes("v")));
    const Bytes batch = *builder.finish();
    std::memcpy(arena_.data(), batch.data(), batch.size());
    Asked<api::Appended> appended;
    client_->append({.partition = {kTopic, 0}, .length = static_cast<std::uint32_t>(batch.size())}, appended.call);
    turn();
    settle();
  }
  struct Page {
    api::Call<api::ProducersDescribed> call;
    api::ProducersDescribed answer;
    std::vector<api::DescribedProducer> producers;
    Page() { call.bind<&Page::on_answer>(this); }
    void on_answer(const api::ProducersDescribed& got, Bytes extra) {
      answer = got;
      producers.resize(got.count);
      ASSERT_EQ(extra.size(), got.count * sizeof(api::DescribedProducer));
      if (got.count > 0) std::memcpy(producers.data(), extra.data(), extra.size());
    }
  };
  std::vector<api::DescribedProducer> all;
  ProducerId after = kNoProducerId;
  for (bool has_more = true; has_more;) {
    Page page;
    client_->describe_producers({.partition = {kTopic, 0}, .after = after}, page.call);
    turn();
    ASSERT_EQ(page.answer.code, api::kOk);
    ASSERT_FALSE(page.producers.empty());
    all.insert(all.end(), page.producers.begin(), page.producers.end());
    after = all.back().producer_id;
    has_more = page.answer.has_more != 0;
  }
  ASSERT_EQ(all.size(), 450u);
  EXPECT_EQ(all[9].producer_id, 30);
  EXPECT_EQ(all[9].producer_epoch, 2);
  EXPECT_EQ(all[9].last_sequence, 1);
  EXPECT_EQ(all[9].last_timestamp, 1010);
  EXPECT_EQ(all[9].coordinator_epoch, -1);
  EXPECT_EQ(all[9].transaction_first_offset, kNoOffset);

  Asked<api::LogDescribed> log;
  client_->describe_log({.partition = {kTopic, 0}}, log.call);
  turn();
  std::uint64_t size = 0;
  for (const auto& each : fs::directory_iterator(path("orders-0"))) {
    if (each.path().extension() == ".log") size += each.file_size();
  }
  EXPECT_GT(size, 0u);
  EXPECT_EQ(log.answer.size_bytes, size);
}

}  // namespace
}  // namespace tailrace::server
