// The shard behind a real session, driven by the typed client, in one process with one loop; on both loops.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/api/client.h"
#include "engine/io/epoll_io.h"
#include "engine/io/uring_io.h"
#include "engine/ipc/session.h"
#include "engine/record/builder.h"
#include "engine/server/shard.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::server {
namespace {

constexpr Uuid kTopic{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

// A call and its answer.
template <class Answer>
struct Asked {
  api::Call<Answer> call;
  int answers = 0;
  Answer answer;
  Asked() { call.template bind<&Asked::on_answer>(this); }
  void on_answer(const Answer& got, Bytes) {
    ++answers;
    answer = got;
  }
};

class ShardTest : public testing::TestWithParam<std::tuple<const char*, Durability>> {
 protected:
  void SetUp() override {
    if (std::string(std::get<0>(GetParam())) == "uring") {
      auto made = io::UringIo::create();
      if (!made) GTEST_SKIP() << "no io_uring here: " << made.error().text();
      io_ = std::move(*made);
    } else {
      io_ = std::move(*io::EpollIo::create());
    }
    bell_ = std::move(*ipc::Bell::create(*io_));
    arena_ = std::move(*ipc::SharedMemory::create("arena", 1 << 20));
    client_.emplace(*io_, 2);
    start_engine();
  }
  void TearDown() override {
    if (client_) client_->detach();
    stop_engine_at_once();
    client_.reset();
    bell_.reset();
    io_.reset();
  }

  void start_engine() {
    settings_.data_directory = data_.path();
    settings_.durability = std::get<1>(GetParam());
    shard_.emplace(*io_, settings_, counters_.get());
    ASSERT_TRUE(shard_->load());
    listener_ = std::move(*ipc::Listener::create(
        *io_, *bell_, run_.path() + "/e.sock", {.roles = {ipc::Role::broker}}, [this](auto link) {
          ipc::SocketLink& reference = *link;
          const std::uint64_t session = shard_->add_session(std::move(link));
          reference.on_closed = [this, session] { shard_->end_session(session); };
        }));
    connector_.emplace(*io_, *bell_, run_.path() + "/e.sock",
                       ipc::SessionShape{.role = ipc::Role::broker, .ring_bytes = 1 << 16, .arena = &arena_},
                       [this](std::unique_ptr<ipc::SocketLink> link) { client_->attach(std::move(link)); });
    connector_->connect();
    while (!client_->attached()) io_->turn(true);
    Asked<api::Done> identified;
    client_->identify(identity(), identified.call);
    run_until(identified);
    EXPECT_EQ(identified.answer.code, api::kOk);
  }
  // Another broker's session.
  struct Other {
    ipc::SharedMemory arena = std::move(*ipc::SharedMemory::create("other", 1 << 16));
    ipc::SocketLink* link = nullptr;
    bool is_closed = false;
    std::optional<api::Client> client;
    std::optional<ipc::Connector> connector;
  };
  std::unique_ptr<Other> connect_other() {
    auto other = std::make_unique<Other>();
    other->client.emplace(*io_, 2);
    other->connector.emplace(
        *io_, *bell_, run_.path() + "/e.sock",
        ipc::SessionShape{.role = ipc::Role::broker, .ring_bytes = 1 << 16, .arena = &other->arena},
        [to = other.get()](std::unique_ptr<ipc::SocketLink> link) {
          to->link = link.get();
          link->on_closed = [to] { to->is_closed = true; };
          to->client->attach(std::move(link));
        });
    other->connector->connect();
    while (!other->client->attached()) turn();
    return other;
  }
  // As kill -9 does: nothing is written any more.
  void stop_engine_at_once() {
    connector_.reset();
    listener_.reset();
    shard_.reset();
  }
  void stop_engine() {
    shard_->stop();
    while (!shard_->stopped()) turn();
    client_->detach();
    stop_engine_at_once();
  }
  void turn() {
    client_->publish();
    shard_->work();
    io_->turn(true);
    client_->poll();
  }
  template <class Answer>
  void run_until(const Asked<Answer>& asked, int answers = 1) {
    while (asked.answers < answers) turn();
  }

  static api::Identify identity() {
    api::Identify identify{.node_id = 1, .cluster_id_size = 7};
    std::memcpy(identify.cluster_id, "cluster", 7);
    return identify;
  }
  api::RoleSet lead(LeaderEpoch epoch, std::uint32_t segment_bytes = 1 << 20) {
    api::SetRole request{.partition = {kTopic, 0},
                         .leader_epoch = epoch,
                         .segment_bytes = segment_bytes,
                         .index_bytes_max = 1 << 20,
                         .index_interval_bytes = 100,
                         .segment_ms = INT64_MAX,
                         .topic_name_size = 6,
                         .create = 1};
    std::memcpy(request.topic_name, "orders", 6);
    Asked<api::RoleSet> asked;
    client_->set_role(request, asked.call);
    run_until(asked);
    return asked.answer;
  }
  void start_append(Asked<api::Appended>& asked, int records, const record::BatchOptions& options = {}) {
    record::BatchBuilder builder(options);
    for (int i = 0; i < records; ++i) ASSERT_TRUE(builder.add(1000 + i, std::nullopt, as_bytes("value")));
    const Bytes batch = *builder.finish();
    ASSERT_LE(arena_used_ + batch.size(), arena_.bytes().size());
    std::memcpy(arena_.bytes().data() + arena_used_, batch.data(), batch.size());
    client_->append({.partition = {kTopic, 0},
                     .arena_offset = arena_used_,
                     .length = static_cast<std::uint32_t>(batch.size()),
                     .wait = api::Wait::high_watermark},
                    asked.call);
    arena_used_ += batch.size();
  }
  api::Appended append(int records, const record::BatchOptions& options = {}) {
    Asked<api::Appended> asked;
    start_append(asked, records, options);
    run_until(asked);
    return asked.answer;
  }
  api::ReadPlan read(Offset from) {
    Asked<api::ReadPlan> asked;
    client_->read({.partition = {kTopic, 0}, .fetch_offset = from, .max_bytes = 1 << 20, .whole_first_batch = 1},
                  asked.call);
    run_until(asked);
    return asked.answer;
  }
  // The base offsets of the batches that a plan names, read through the descriptor that came with it.
  std::vector<Offset> offsets_in(const api::ReadPlan& plan) {
    std::vector<Offset> offsets;
    api::FileCache::Entry* const file = client_->acquire_file(plan.file_id);
    EXPECT_NE(file, nullptr);
    if (file == nullptr) return offsets;
    std::string bytes(plan.length, 0);
    EXPECT_EQ(*io_->files().read(file->file, std::as_writable_bytes(std::span(bytes)), plan.position), plan.length);
    client_->release_file(file);
    for (std::size_t at = 0; at + record::kBatchHeaderSize <= bytes.size();) {
      const record::BatchHeader header = record::read_header(reinterpret_cast<const std::byte*>(bytes.data()) + at);
      offsets.push_back(header.base_offset);
      at += header.size_bytes();
    }
    return offsets;
  }

  Settings settings_;
  std::unique_ptr<Counters> counters_;
  test::TemporaryDirectory data_;
  test::TemporaryDirectory run_;
  std::unique_ptr<io::Io> io_;
  std::unique_ptr<ipc::Bell> bell_;
  ipc::SharedMemory arena_;
  std::size_t arena_used_ = 0;
  std::optional<api::Client> client_;
  std::optional<Shard> shard_;
  std::unique_ptr<ipc::Listener> listener_;
  std::optional<ipc::Connector> connector_;
};

TEST_P(ShardTest, StoresWhatItAcknowledgesAndFindsItAgainAfterAKill) {
  EXPECT_EQ(lead(3).code, api::kOk);
  EXPECT_EQ(append(2).base_offset, 0);
  EXPECT_EQ(append(3).base_offset, 2);
  EXPECT_EQ(offsets_in(read(0)), (std::vector<Offset>{0, 2}));
  EXPECT_EQ(read(0).high_watermark, 5);

  client_->detach();
  stop_engine_at_once();
  start_engine();
  EXPECT_EQ(read(0).code, static_cast<std::uint16_t>(Code::not_leader));
  const api::RoleSet led = lead(4);
  EXPECT_EQ(led.end_offset, 5);
  EXPECT_EQ(offsets_in(read(0)), (std::vector<Offset>{0, 2}));
  EXPECT_EQ(append(1).base_offset, 5);

  stop_engine();
  EXPECT_TRUE(std::filesystem::exists(data_.path() + "/.kafka_cleanshutdown"));
  start_engine();
  EXPECT_FALSE(std::filesystem::exists(data_.path() + "/.kafka_cleanshutdown"));
  EXPECT_EQ(lead(4).end_offset, 6);
}

TEST_P(ShardTest, ARetryOfAnIdempotentBatchIsAnsweredWithItsOldOffsetAlsoAfterAKill) {
  lead(0);
  const record::BatchOptions first{.producer_id = 7, .producer_epoch = 0, .base_sequence = 0};
  EXPECT_EQ(append(2, first).base_offset, 0);
  EXPECT_EQ(append(1).base_offset, 2);
  api::Appended again = append(2, first);
  EXPECT_EQ(again.code, api::kOk);
  EXPECT_EQ(again.duplicate, 1);
  EXPECT_EQ(again.base_offset, 0);
  EXPECT_EQ(append(1, {.producer_id = 7, .producer_epoch = 0, .base_sequence = 5}).code,
            static_cast<std::uint16_t>(Code::out_of_order_sequence));

  client_->detach();
  stop_engine_at_once();
  start_engine();
  lead(1);
  again = append(2, first);
  EXPECT_EQ(again.duplicate, 1);
  EXPECT_EQ(again.base_offset, 0);
  EXPECT_EQ(read(0).high_watermark, 3);
}

// In every turn something is being written when the syncs start.
TEST_P(ShardTest, ASteadyLoadDoesNotPutOffASync) {
  client_->detach();
  stop_engine_at_once();
  settings_.checkpoint_interval_ms = 1;  // when durability=memory syncs
  const std::string path = run_.path() + "/counters";
  counters_ = std::move(*Counters::create(path));
  start_engine();
  lead(0);
  const auto syncs = [&] {
    const std::vector<Counters::Reading> readings = *Counters::read(path);
    for (const Counters::Reading& each : readings) {
      if (each.name == "syncs") return each.value;
    }
    return std::uint64_t{0};
  };
  std::vector<std::unique_ptr<Asked<api::Appended>>> appended;
  while (syncs() < 3) {
    ASSERT_LT(appended.size(), 2000u) << "there is always another write, and never a sync";
    appended.push_back(std::make_unique<Asked<api::Appended>>());
    start_append(*appended.back(), 1);
    turn();
  }
  for (const auto& each : appended) {
    run_until(*each);
    EXPECT_EQ(each->answer.code, api::kOk);
  }
}

// A copy that was made by hand names the topic of its original.
TEST_P(ShardTest, TwoDirectoriesOfOneTopicAreRefusedAndNothingIsTouched) {
  lead(0);
  append(1);
  stop_engine();
  const std::string original = data_.path() + "/orders-0";
  for (const std::string copy : {"copy-0", "zopy-7"}) {
    const std::string path = data_.path() + "/" + copy;
    std::filesystem::copy(original, path);
    Shard shard(*io_, settings_, nullptr);
    const Result<void> loaded = shard.load();
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().code, Code::mismatch);
    EXPECT_NE(loaded.error().text().find(original), std::string::npos) << loaded.error().text();
    EXPECT_NE(loaded.error().text().find(path), std::string::npos) << loaded.error().text();
    EXPECT_TRUE(std::filesystem::exists(data_.path() + "/.kafka_cleanshutdown"));
    std::filesystem::remove_all(path);
  }
  start_engine();
  EXPECT_EQ(lead(0).end_offset, 1);
}

TEST_P(ShardTest, AWatchIsAnsweredOnceWhenTheEndMoves) {
  lead(0);
  append(1);
  Asked<api::ReadPlan> watched;
  client_->read(
      {.partition = {kTopic, 0}, .fetch_offset = 1, .watch_from = 1, .max_bytes = 1000, .whole_first_batch = 1},
      watched.call);
  run_until(watched);
  EXPECT_EQ(watched.answer.watching, 1);
  EXPECT_EQ(watched.answer.length, 0u);
  append(1);
  run_until(watched, 2);
  EXPECT_EQ(watched.answer.moved, 1);
  EXPECT_EQ(offsets_in(watched.answer), (std::vector<Offset>{1}));
  append(1);
  for (int i = 0; i < 20; ++i) turn();
  EXPECT_EQ(watched.answers, 2);

  Asked<api::ReadPlan> cancelled;
  client_->read({.partition = {kTopic, 0}, .fetch_offset = 3, .watch_from = 3, .max_bytes = 1000}, cancelled.call);
  run_until(cancelled);
  client_->cancel(cancelled.call, {kTopic, 0});
  append(1);
  EXPECT_EQ(cancelled.answers, 1);
}

// More watches than answers fit into the ring: neither an append nor a cancel may have to wait for room that only they
// make.
TEST_P(ShardTest, ManyWatchesLeaveRoomForEverythingElse) {
  lead(0);
  std::vector<Asked<api::ReadPlan>> watches(2000);  // of at least 100 bytes each, in a ring of 64 KiB
  for (auto& each : watches) {
    client_->read({.partition = {kTopic, 0}, .fetch_offset = 0, .watch_from = 0, .max_bytes = 1000}, each.call);
  }
  for (const auto& each : watches) run_until(each);
  EXPECT_EQ(watches.back().answer.watching, 1);
  client_->cancel(watches.back().call, {kTopic, 0});
  EXPECT_EQ(append(1).base_offset, 0);
  for (std::size_t i = 0; i + 1 < watches.size(); ++i) {
    run_until(watches[i], 2);
    EXPECT_EQ(watches[i].answer.moved, 1);
    EXPECT_EQ(watches[i].answer.readable_end, 1);
  }
  EXPECT_EQ(watches.back().answers, 1);
}

TEST_P(ShardTest, EveryCallIsAnsweredWhenTheEngineDies) {
  lead(0);
  Asked<api::Appended> appended;
  Asked<api::ReadPlan> watched;
  client_->read({.partition = {kTopic, 0}, .fetch_offset = 0, .watch_from = 0, .max_bytes = 1000}, watched.call);
  run_until(watched);
  start_append(appended, 1);
  client_->detach();
  client_->poll();
  EXPECT_EQ(appended.answer.code, static_cast<std::uint16_t>(Code::peer_gone));
  EXPECT_EQ(watched.answers, 2);
  EXPECT_EQ(watched.answer.code, static_cast<std::uint16_t>(Code::peer_gone));
}

TEST_P(ShardTest, WhatTheRingSaysIsNotBelieved) {
  lead(0);
  const auto append_at = [&](std::uint64_t offset, std::uint32_t length) {
    Asked<api::Appended> asked;
    client_->append({.partition = {kTopic, 0}, .arena_offset = offset, .length = length}, asked.call);
    run_until(asked);
    return asked.answer.code;
  };
  const auto corrupt = static_cast<std::uint16_t>(Code::corrupt);
  EXPECT_EQ(append_at(1 << 20, 1), corrupt);
  EXPECT_EQ(append_at(UINT64_MAX, 100), corrupt);
  EXPECT_EQ(append_at((1 << 20) - 10, 100), corrupt);
  EXPECT_EQ(append_at(0, 0), corrupt);
  EXPECT_EQ(append_at(0, 200), corrupt);  // zeros are no batch
  EXPECT_EQ(append(1).base_offset, 0);
}

TEST_P(ShardTest, SegmentsRollAndDescriptorsAreSentAgainWhenForgotten) {
  lead(0, 500);  // a few batches a segment; the client keeps two descriptors
  for (int i = 0; i < 40; ++i) ASSERT_EQ(append(1).base_offset, i);
  for (int round = 0; round < 2; ++round) {
    std::vector<Offset> seen;
    while (seen.size() < 40) {
      const api::ReadPlan plan = read(static_cast<Offset>(seen.size()));
      ASSERT_EQ(plan.code, api::kOk);
      for (const Offset offset : offsets_in(plan)) {
        ASSERT_EQ(offset, static_cast<Offset>(seen.size()));
        seen.push_back(offset);
      }
    }
  }
  EXPECT_GT(std::distance(std::filesystem::directory_iterator(data_.path() + "/orders-0"), {}), 20);
}

TEST_P(ShardTest, DeletedPartitionsGoAwayAndMayComeAgainUnderANewId) {
  lead(0);
  append(1);
  Asked<api::ReadPlan> watched;
  client_->read({.partition = {kTopic, 0}, .fetch_offset = 1, .watch_from = 1, .max_bytes = 1000}, watched.call);
  run_until(watched);
  Asked<api::Done> deleted;
  client_->delete_partition({.partition = {kTopic, 0}}, deleted.call);
  run_until(deleted);
  EXPECT_EQ(deleted.answer.code, api::kOk);
  run_until(watched, 2);
  EXPECT_EQ(watched.answer.code, static_cast<std::uint16_t>(Code::unknown_partition));
  EXPECT_FALSE(std::filesystem::exists(data_.path() + "/orders-0"));
  EXPECT_EQ(lead(0).end_offset, 0);
  EXPECT_EQ(append(1).base_offset, 0);
}

TEST_P(ShardTest, DescriptorsOfADeletedPartitionAreClosed) {
  lead(0);
  append(1);
  const api::ReadPlan plan = read(0);
  EXPECT_EQ(offsets_in(plan), (std::vector<Offset>{0}));
  Asked<api::Done> deleted;
  client_->delete_partition({.partition = {kTopic, 0}}, deleted.call);
  run_until(deleted);
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_EQ(client_->acquire_file(plan.file_id), nullptr);
}

TEST_P(ShardTest, StopsWhereverAnAppendIsOnItsWay) {
  lead(1);
  for (int turns = 0; turns < 6; ++turns) {
    Asked<api::Appended> first;
    Asked<api::Appended> second;
    start_append(first, 1);
    for (int i = 0; i < turns; ++i) turn();
    start_append(second, 1);
    if (turns % 2 == 0) turn();
    stop_engine();
    while (first.answers + second.answers < 2) client_->poll();
    start_engine();
    lead(1);
  }
}

// Nothing of an ended session is held for what others do, however much that is.
TEST_P(ShardTest, AnEndedSessionGoesThoughOthersNeverRest) {
  lead(0);
  const std::unique_ptr<Other> other = connect_other();
  other->link->ask_to_end();
  std::deque<Asked<api::Appended>> appends;
  for (int i = 0; i < 1000 && !other->is_closed; ++i) {
    arena_used_ = arena_used_ > (1 << 19) ? 0 : arena_used_;
    start_append(appends.emplace_back(), 1);
    turn();
  }
  EXPECT_TRUE(other->is_closed);
  run_until(appends.back());
  other->client->detach();
}

TEST_P(ShardTest, ADirectoryOfAnotherClusterIsRefused) {
  Asked<api::Done> asked;
  api::Identify other = identity();
  std::memcpy(other.cluster_id, "another", 7);
  client_->identify(other, asked.call);
  run_until(asked);
  EXPECT_EQ(asked.answer.code, static_cast<std::uint16_t>(Code::mismatch));
}

INSTANTIATE_TEST_SUITE_P(Both, ShardTest,
                         testing::Combine(testing::Values("epoll", "uring"),
                                          testing::Values(Durability::disk, Durability::memory)));

}  // namespace
}  // namespace tailrace::server
