// HeldShardTest: a shard and its typed client in one process, with real files but syncs that end when the test says so,
// in any order and with any result, and a clock that goes on when told.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/client.h"
#include "engine/base/check.h"
#include "engine/ipc/link.h"
#include "engine/record/builder.h"
#include "engine/server/shard.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::server {

namespace fs = std::filesystem;

inline constexpr Uuid kTopic{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

inline std::uint16_t number(Code code) { return static_cast<std::uint16_t>(code); }

// Syncs wait until the test ends them.
class HeldFiles final : public test::InlineFiles {
 public:
  using InlineFiles::sync;
  using InlineFiles::sync_directory;

  void sync(io::File, io::Completion& done) override { hold("file", done); }
  void sync_directory(const std::string& path, io::Completion& done) override { hold(path, done); }

  struct Held {
    std::string what;  // "file", or the path of a directory
    io::Completion* done;
  };
  std::vector<Held> held;

  void end(std::size_t index, int result = 0) {
    const Held ended = held[index];
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
    complete(*ended.done, result);
  }
  void end_all(int result = 0) {
    while (!held.empty()) end(0, result);
  }
  [[nodiscard]] std::size_t count(const std::string& what) const {
    return static_cast<std::size_t>(std::ranges::count(held, what, &Held::what));
  }

 private:
  void hold(const std::string& what, io::Completion& done) {
    done.pending = true;
    held.push_back({what, &done});
  }
};

class TestIo final : public io::Io {
 public:
  const char* name() const override { return "test"; }
  Instant now() const override { return now_; }
  TimestampMs wall_clock_ms() const override { return wall_clock; }
  std::uint64_t random() override { return ++random_; }
  HeldFiles& files() override { return files_; }
  std::uint64_t turn(bool) override {
    files_.run();
    timers_.run(now_);
    return 0;
  }
  void pass(Duration time) { now_ = now_ + time; }
  TimestampMs wall_clock = 1'000'000;

  Result<io::Socket> listen(const io::Address&, int) override { return failure(Code::unsupported); }
  Result<io::Address> local_address(io::Socket) override { return failure(Code::unsupported); }
  Result<io::Address> peer_address(io::Socket) override { return failure(Code::unsupported); }
  void accept(io::Socket, io::Completion&) override { CHECK(false); }
  using io::Io::receive;
  void receive(io::Socket, MutableBytes, std::size_t, io::Completion&) override { CHECK(false); }
  void send(io::Socket, Bytes, bool, io::Completion&) override { CHECK(false); }
  void send_file(io::Socket, io::File, std::uint64_t, std::uint64_t, io::Completion&) override { CHECK(false); }
  void shutdown(io::Socket) override { CHECK(false); }
  void close(io::Socket) override { CHECK(false); }
  void wait_readable(int, io::Completion&) override { CHECK(false); }
  void forget(int) override { CHECK(false); }

 private:
  HeldFiles files_;
  Instant now_;
  std::uint64_t random_ = 0;
};

// The two ends of a session in plain memory; no descriptors are passed.
struct Rings {
  static constexpr std::size_t kBytes = 1 << 18;
  struct alignas(128) Line {
    std::array<std::byte, 128> bytes;
  };
  std::vector<Line> memory{2 * (sizeof(ipc::RingHeader) + kBytes) / sizeof(Line)};
  std::byte* requests() { return reinterpret_cast<std::byte*>(memory.data()); }
  std::byte* answers() { return requests() + sizeof(ipc::RingHeader) + kBytes; }
  Rings() {
    new (requests()) ipc::RingHeader;
    new (answers()) ipc::RingHeader;
  }
};

class MemoryLink final : public ipc::Link {
 public:
  MemoryLink(std::shared_ptr<Rings> rings, bool is_client, Bytes arena) : rings_(std::move(rings)) {
    producer_ = ipc::RingProducer(is_client ? rings_->requests() : rings_->answers(), Rings::kBytes);
    consumer_ = ipc::RingConsumer(is_client ? rings_->answers() : rings_->requests(), Rings::kBytes);
    arena_ = arena;
  }
  Result<void> send_file(std::uint64_t, io::File) override { return {}; }
  void receive_files() override {}

 private:
  void ring_peer() override {}
  std::shared_ptr<Rings> rings_;
};

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

class HeldShardTest : public testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { kill(); }

  void start() {
    settings_.data_directory = data_.path();
    shard_.emplace(io_, settings_, nullptr);
    ASSERT_TRUE(shard_->load());
    connect();
  }
  void connect() {
    auto rings = std::make_shared<Rings>();
    session_ = shard_->add_session(std::make_unique<MemoryLink>(rings, false, arena_));
    client_.emplace(io_, 2);
    client_->attach(std::make_unique<MemoryLink>(rings, true, arena_));
    api::Identify identify{.node_id = 1, .cluster_id_size = 7};
    std::memcpy(identify.cluster_id, "cluster", 7);
    client_->identify(identify, identified_.call);
    turn();
  }
  // As kill -9 does.
  void kill() {
    if (client_) client_->detach();
    client_.reset();
    shard_.reset();
    files().held.clear();
    io_.turn(true);
  }
  HeldFiles& files() { return io_.files(); }
  void turn(int times = 3) {
    for (int i = 0; i < times; ++i) {
      if (client_) client_->publish();
      shard_->work();
      io_.turn(true);
      if (client_) client_->poll();
    }
  }
  // Ends all syncs, and those that they lead to.
  void settle() {
    do {
      files().end_all();
      turn();
    } while (!files().held.empty());
  }
  void lead(Asked<api::RoleSet>& asked, std::int32_t partition = 0, Uuid topic = kTopic, LeaderEpoch epoch = 0) {
    api::SetRole request{.partition = {topic, partition},
                         .leader_epoch = epoch,
                         .segment_bytes = 1 << 20,
                         .index_bytes_max = 1 << 20,
                         .index_interval_bytes = 100,
                         .segment_ms = INT64_MAX,
                         .topic_name_size = 6,
                         .create = 1};
    std::memcpy(request.topic_name, "orders", 6);
    client_->set_role(request, asked.call);
  }
  void append(Asked<api::Appended>& asked) {
    record::BatchBuilder builder(record::BatchOptions{});
    ASSERT_TRUE(builder.add(1000, std::nullopt, as_bytes("value")));
    const Bytes batch = *builder.finish();
    std::memcpy(arena_.data(), batch.data(), batch.size());
    client_->append({.partition = {kTopic, 0},
                     .length = static_cast<std::uint32_t>(batch.size()),
                     .wait = api::Wait::high_watermark},
                    asked.call);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return data_.path() + "/" + name; }
  [[nodiscard]] std::ptrdiff_t directories() const {
    return std::ranges::count_if(fs::directory_iterator(data_.path()), [](const auto& e) { return e.is_directory(); });
  }

  test::TemporaryDirectory data_;
  Settings settings_;
  TestIo io_;
  std::vector<std::byte> arena_{4096};
  std::optional<Shard> shard_;
  std::optional<api::Client> client_;
  std::uint64_t session_ = 0;
  Asked<api::Done> identified_;
};

}  // namespace tailrace::server
