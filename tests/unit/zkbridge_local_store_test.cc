// The local store: the model of its tree, and that what was acknowledged is there after a crash at any step, on a disk
// that forgets what was not synced; torn tails at every byte; damage in the middle is refused.
#include "services/zkbridge/local_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "engine/base/file_lock.h"
#include "engine/base/observe.h"
#include "services/zkbridge/store_codec.h"

namespace tailrace::zkbridge {
namespace {

// Cut tails are what these tests are about; thousands of warnings about them tell nothing.
[[maybe_unused]] const bool kQuiet = (start_logging("test", LogLevel::error), true);

// A disk in memory. Bytes become durable by sync of the file, names by sync of the directory. Each step that changes
// something is counted; at step `crash_at` the power goes, and nothing happens any more.
class CrashDisk final : public io::Files {
 public:
  struct Write {
    std::uint64_t position = 0;
    std::string bytes;
    bool truncates = false;
  };
  struct Inode {
    std::string now;
    std::string durable;
    std::vector<Write> unsynced;
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  std::uint64_t steps = 0;
  std::uint64_t crash_at = UINT64_MAX;
  bool full = false;  // allocate says so
  int sync_error =
      0;  // of the next asynchronous sync, which leaves what it covered out of all later ones, as Linux does
  Names now, durable;

  bool crashed() const { return steps >= crash_at; }
  void run() { queue_.run(); }

  // What a machine finds after the power cut: of the unsynced writes none, all, or all with the last one torn after
  // some bytes.
  enum class Left { nothing, everything, torn };
  std::unique_ptr<CrashDisk> after_crash(Left left, bool names_survive, std::size_t torn_bytes = 0) const {
    auto disk = std::make_unique<CrashDisk>();
    for (const auto& [path, inode] : names_survive ? now : durable) {
      auto copy = std::make_shared<Inode>();
      copy->now = inode->durable;
      for (std::size_t i = 0; left != Left::nothing && i < inode->unsynced.size(); ++i) {
        Write write = inode->unsynced[i];
        if (left == Left::torn && i + 1 == inode->unsynced.size()) {
          write.bytes.resize(std::min(write.bytes.size(), torn_bytes));
        }
        apply(write, copy->now);
      }
      copy->durable = copy->now;
      disk->now[path] = disk->durable[path] = copy;
    }
    return disk;
  }

  Result<io::File> open(const std::string& path, io::OpenMode mode) override {
    if (!now.contains(path)) {
      if (mode == io::OpenMode::read || mode == io::OpenMode::read_write) return system_failure(ENOENT, "opening");
      if (!step()) return system_failure(EIO, "opening");
      now[path] = std::make_shared<Inode>();
    }
    open_.push_back(now[path]);
    return io::File{static_cast<int>(open_.size()) - 1};
  }
  void close(io::File) override {}
  Result<std::uint64_t> size(io::File file) override { return inode(file).now.size(); }
  Result<std::size_t> read(io::File file, MutableBytes into, std::uint64_t position) override {
    const std::string& from = inode(file).now;
    const std::size_t count = position >= from.size() ? 0 : std::min(into.size(), from.size() - position);
    if (count != 0) std::memcpy(into.data(), from.data() + position, count);
    return count;
  }
  Result<void> write(io::File file, Bytes from, std::uint64_t position) override {
    if (!step()) return system_failure(EIO, "writing");
    add(file, {position, std::string(as_text(from))});
    return {};
  }
  Result<void> truncate(io::File file, std::uint64_t size) override {
    if (!step()) return system_failure(EIO, "cutting");
    add(file, {size, {}, true});
    return {};
  }
  Result<void> allocate(io::File, std::uint64_t, std::uint64_t) override {
    if (full) return system_failure(ENOSPC, "allocating");
    return {};
  }
  Result<void> sync(io::File file) override {
    if (!step()) return system_failure(EIO, "syncing");
    settle(file);
    return {};
  }
  void write(io::File file, std::span<const iovec> from, std::uint64_t position, io::Completion& done) override {
    done.pending = true;
    std::string bytes;
    for (const iovec& part : from) bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
    // The bytes are on their way whether or not the power goes now.
    if (!crashed()) add(file, {position, bytes});
    if (step()) queue_.push(done, static_cast<std::int64_t>(bytes.size()));
  }
  void sync(io::File file, io::Completion& done) override {
    done.pending = true;
    if (!step()) return;
    if (sync_error != 0) {
      inode(file).unsynced.clear();
      queue_.push(done, -std::exchange(sync_error, 0));
      return;
    }
    settle(file);
    if (step()) queue_.push(done, 0);  // durable, and perhaps nobody hears of it
  }
  void sync_directory(const std::string& path, io::Completion& done) override {
    done.pending = true;
    if (sync_directory(path)) queue_.push(done, 0);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (!step()) return system_failure(EIO, "renaming");
    now[to] = now[from];
    now.erase(from);
    return {};
  }
  Result<void> remove(const std::string& path) override {
    if (!step()) return system_failure(EIO, "removing");
    now.erase(path);
    return {};
  }
  Result<void> make_directory(const std::string&) override { return failure(Code::unsupported); }
  Result<void> remove_directory(const std::string&) override { return failure(Code::unsupported); }
  Result<void> sync_directory(const std::string&) override {
    if (!step()) return system_failure(EIO, "syncing");
    durable = now;
    return {};
  }
  Result<std::vector<io::DirectoryEntry>> list(const std::string&) override { return failure(Code::unsupported); }
  bool exists(const std::string& path) override { return now.contains(path); }
  Result<TimestampMs> modified_ms(const std::string&) override { return failure(Code::unsupported); }
  Result<io::DiskSpace> disk_space(const std::string&) override { return failure(Code::unsupported); }

 private:
  bool step() {
    if (crashed()) return false;
    ++steps;
    return !crashed();
  }
  Inode& inode(io::File file) { return *open_[static_cast<std::size_t>(file.handle)]; }
  static void apply(const Write& write, std::string& to) {
    if (write.truncates) {
      to.resize(write.position);
      return;
    }
    if (to.size() < write.position + write.bytes.size()) to.resize(write.position + write.bytes.size());
    to.replace(write.position, write.bytes.size(), write.bytes);
  }
  void add(io::File file, Write write) {
    apply(write, inode(file).now);
    inode(file).unsynced.push_back(std::move(write));
  }
  void settle(io::File file) {
    for (const Write& write : inode(file).unsynced) apply(write, inode(file).durable);
    inode(file).unsynced.clear();
  }

  std::vector<std::shared_ptr<Inode>> open_;
  io::CompletionQueue queue_;
};

struct Listener final : StoreListener {
  std::vector<StoreResult> results;
  std::vector<WatchEvent> watches;
  std::vector<std::string> order;  // "result 3", "watch /a"
  std::string lost;
  std::function<void(const StoreResult&)> then;

  void on_store_result(StoreResult result) override {
    order.push_back("result " + std::to_string(result.id));
    results.push_back(std::move(result));
    if (then) then(results.back());
  }
  void on_watch(const WatchEvent& event) override {
    order.push_back("watch " + event.path);
    watches.push_back(event);
  }
  void on_session_lost(const std::string& why) override { lost = why; }
};

struct World {
  std::unique_ptr<CrashDisk> disk = std::make_unique<CrashDisk>();
  Listener listener;
  std::unique_ptr<LocalStore> store;
  TimestampMs now_ms = 1000;
  std::uint64_t journal_bytes_max = 1 << 20;
  std::string refusal;

  bool open() {
    store.reset();
    auto opened = LocalStore::open(*disk, {"/d", journal_bytes_max, [this] { return now_ms++; }});
    if (!opened) {
      refusal = opened.error();
      return false;
    }
    store = std::move(*opened);
    store->start(listener);
    return true;
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      store->turn();
      disk->run();
    }
  }
  StoreResult ask(Request request) {
    listener.results.clear();
    store->submit(99, std::move(request));
    settle();
    EXPECT_EQ(listener.results.size(), 1u);
    return listener.results.empty() ? StoreResult{} : listener.results.back();
  }
  StoreCode change(std::vector<Operation> operations) { return ask(Multi{std::move(operations)}).code; }
};

// A tree as text, without what the crash may change (ephemeral nodes).
std::string text_of(const Tree& tree) {
  std::string out;
  for (const TreeNode& node : tree.below("/")) {
    if (node.stat.ephemeral_owner != 0) continue;
    out += node.path + "|" + node.data.value_or("<null>") + "|" + std::to_string(node.stat.version) + "|" +
           std::to_string(node.stat.created_zxid) + "|" + std::to_string(node.stat.modified_zxid) + "|" +
           std::to_string(node.stat.children_version) + "\n";
  }
  return out;
}

// -- The model -----------------------------------------------------------------------------------------------------

TEST(Tree, PathsAreZooKeepers) {
  for (const char* good : {"/", "/a", "/a/b", "/a-b/c.d", "/\xC3\xA4"}) EXPECT_TRUE(is_path(good)) << good;
  for (const char* bad : {"", "a", "/a/", "//", "/a//b", "/.", "/a/..", "/a\n", "/a\x7F"})
    EXPECT_FALSE(is_path(bad)) << bad;
  EXPECT_EQ(parent_path("/a/b"), "/a");
  EXPECT_EQ(parent_path("/a"), "/");
}

TEST(LocalStoreModel, CreateSetRemoveWithVersions) {
  World world;
  ASSERT_TRUE(world.open()) << world.refusal;
  EXPECT_EQ(world.change({Create{"/a", "1"}}), StoreCode::ok);
  EXPECT_EQ(world.change({Create{"/a", "1"}}), StoreCode::node_exists);
  EXPECT_EQ(world.change({Create{"/x/y", "1"}}), StoreCode::no_node);
  EXPECT_EQ(world.change({Create{"/a/", "1"}}), StoreCode::bad_path);
  EXPECT_EQ(world.change({Set{"/a", "2", 1}}), StoreCode::bad_version);
  EXPECT_EQ(world.change({Set{"/a", "2", 0}}), StoreCode::ok);
  EXPECT_EQ(world.change({Create{"/a/b", std::nullopt}}), StoreCode::ok);
  EXPECT_EQ(world.change({Remove{"/a"}}), StoreCode::not_empty);
  const StoreResult a = world.ask(Get{"/a"});
  EXPECT_EQ(a.node.data, "2");
  EXPECT_EQ(a.node.stat.version, 1);
  EXPECT_EQ(a.node.stat.created_zxid, 1);
  EXPECT_EQ(a.node.stat.modified_zxid, 2);
  EXPECT_EQ(world.ask(Get{"/a/b"}).node.data, std::nullopt);
  EXPECT_EQ(world.ask(GetChildren{"/a"}).children, std::vector<std::string>{"b"});
  EXPECT_EQ(world.change({Remove{"/a/b", 3}}), StoreCode::bad_version);
  EXPECT_EQ(world.change({Remove{"/a/b", 0}, Remove{"/a", 1}}), StoreCode::ok);
  EXPECT_EQ(world.ask(Get{"/a"}).code, StoreCode::no_node);
  EXPECT_EQ(world.change({Remove{"/"}}), StoreCode::bad_path);
}

TEST(LocalStoreModel, AMultiIsAllOrNothing) {
  World world;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.change({Create{"/a", "1"}, Create{"/a/b", "x"}, Create{"/a/c", "y"}}), StoreCode::ok);
  const std::string before = text_of(world.store->tree());
  const StoreResult failed =
      world.ask(Multi{{Set{"/a", "2"}, Remove{"/a/b"}, Create{"/a/d", "z"}, Create{"/a/s-", "", CreateMode::sequential},
                       Check{"/a", 7}, Set{"/a", "3"}}});
  EXPECT_EQ(failed.code, StoreCode::bad_version);
  EXPECT_EQ(failed.operations[0].code, StoreCode::rolled_back);
  EXPECT_EQ(failed.operations[4].code, StoreCode::bad_version);
  EXPECT_EQ(text_of(world.store->tree()), before);
  EXPECT_EQ(world.change({Check{"/a", 0}, Set{"/a", "3"}}), StoreCode::ok);
}

TEST(LocalStoreModel, SequentialNamesCountWhatWasMade) {
  World world;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.change({Create{"/q", ""}}), StoreCode::ok);
  const StoreResult two =
      world.ask(Multi{{Create{"/q/n_", "a", CreateMode::sequential}, Create{"/q/n_", "b", CreateMode::sequential}}});
  EXPECT_EQ(two.operations[0].path, "/q/n_0000000000");
  EXPECT_EQ(two.operations[1].path, "/q/n_0000000001");
  EXPECT_EQ(world.change({Remove{"/q/n_0000000001"}}), StoreCode::ok);
  EXPECT_EQ(world.ask(Multi{{Create{"/q/n_", "c", CreateMode::sequential}}}).operations[0].path, "/q/n_0000000002");
}

TEST(LocalStoreModel, EphemeralNodesEndWithTheSession) {
  World world;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.change({Create{"/e", "x", CreateMode::ephemeral}}), StoreCode::ok);
  EXPECT_EQ(world.change({Create{"/e/child", "x"}}), StoreCode::ephemeral_parent);
  EXPECT_EQ(world.ask(Get{"/e"}).node.stat.ephemeral_owner, world.store->session());
  const std::int64_t first_zxid = world.ask(Get{"/e"}).node.stat.created_zxid;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.ask(Get{"/e"}).code, StoreCode::no_node);
  EXPECT_EQ(world.change({Create{"/e", "y", CreateMode::ephemeral}}), StoreCode::ok);
  EXPECT_GT(world.ask(Get{"/e"}).node.stat.created_zxid, first_zxid);
  ASSERT_TRUE(world.open()) << world.refusal;  // the journal has both lives of /e
  EXPECT_EQ(world.ask(Get{"/e"}).code, StoreCode::no_node);
}

TEST(LocalStoreModel, WatchesFireOnceBeforeWhatWasAskedAfterTheChange) {
  World world;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.change({Create{"/a", "1"}}), StoreCode::ok);
  world.listener.order.clear();
  world.store->submit(1, Get{"/a", true});
  world.store->submit(2, Get{"/missing", true});
  world.store->submit(3, GetChildren{"/a", true});
  world.store->submit(4, Multi{{Set{"/a", "2"}, Create{"/missing", ""}, Create{"/a/b", ""}}});
  world.store->submit(5, Multi{{Set{"/a", "3"}, Create{"/a/c", ""}}});
  world.store->submit(6, Get{"/a"});
  world.settle();
  EXPECT_EQ(world.listener.order,
            (std::vector<std::string>{"result 1", "result 2", "result 3", "watch /a", "watch /missing", "watch /a",
                                      "result 4", "result 5", "result 6"}));
  EXPECT_EQ(world.listener.watches[0].kind, WatchEvent::Kind::changed);
  EXPECT_EQ(world.listener.watches[1].kind, WatchEvent::Kind::created);
  EXPECT_EQ(world.listener.watches[2].kind, WatchEvent::Kind::children_changed);
}

TEST(LocalStoreModel, GetTreeGivesParentsBeforeChildrenAndNoNeighbours) {
  World world;
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.change(
                {Create{"/a", ""}, Create{"/a-b", ""}, Create{"/a/x", "1"}, Create{"/a/x/y", "2"}, Create{"/b", ""}}),
            StoreCode::ok);
  std::vector<std::string> paths;
  for (const TreeNode& node : world.ask(GetTree{"/a"}).tree) paths.push_back(node.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/a", "/a/x", "/a/x/y"}));
  EXPECT_EQ(world.ask(GetTree{"/zzz"}).code, StoreCode::no_node);
}

// -- Durability ----------------------------------------------------------------------------------------------------

TEST(LocalStore, AnswersOnlyWhenItIsDurableAndManyTransactionsShareASync) {
  World world;
  ASSERT_TRUE(world.open());
  for (std::uint64_t i = 0; i < 10; ++i) world.store->submit(i, Multi{{Create{"/n" + std::to_string(i), ""}}});
  world.store->submit(10, Get{"/n0"});
  EXPECT_TRUE(world.listener.results.empty());
  const std::uint64_t before = world.disk->steps;
  world.store->turn();
  world.disk->run();  // written
  world.store->turn();
  EXPECT_TRUE(world.listener.results.empty());
  world.disk->run();  // synced
  world.store->turn();
  EXPECT_EQ(world.listener.results.size(), 11u);
  EXPECT_EQ(world.disk->steps - before, 3u);  // one write, one sync (two steps)
}

TEST(LocalStore, ResultsThatSubmitMoreAreServedInTurn) {
  World world;
  ASSERT_TRUE(world.open());
  world.listener.then = [&](const StoreResult& result) {
    if (result.id < 5) world.store->submit(result.id + 1, Multi{{Create{"/n" + std::to_string(result.id), ""}}});
  };
  world.store->submit(0, Get{"/"});
  world.settle();
  EXPECT_EQ(world.listener.results.size(), 6u);
}

TEST(LocalStore, AFullDiskRefusesTheChangeAndGoesOnReading) {
  World world;
  ASSERT_TRUE(world.open());
  world.disk->full = true;
  // A little space was set aside when the store was opened: small changes go on.
  EXPECT_EQ(world.change({Create{"/small", "1"}}), StoreCode::ok);
  EXPECT_EQ(world.change({Create{"/a", std::string(300'000, 'x')}}), StoreCode::no_space);
  EXPECT_EQ(world.ask(Get{"/a"}).code, StoreCode::no_node);
  world.disk->full = false;
  EXPECT_EQ(world.change({Create{"/a", "1"}}), StoreCode::ok);
  ASSERT_TRUE(world.open());
  EXPECT_EQ(world.ask(Get{"/a"}).code, StoreCode::ok);
}

TEST(LocalStore, AFailedSyncEndsTheSessionAndAnswersNothing) {
  World world;
  ASSERT_TRUE(world.open());
  world.disk->sync_error = EIO;
  world.store->submit(1, Multi{{Create{"/a", "1"}}});
  world.settle();
  EXPECT_TRUE(world.listener.results.empty());
  EXPECT_NE(world.listener.lost.find("syncing /d/tailrace.metadata.journal"), std::string::npos) << world.listener.lost;
  world.store->submit(2, Get{"/a"});
  world.settle();
  EXPECT_TRUE(world.listener.results.empty());
}

// The next process finds the transaction in the page cache and answers by it: then it must be on the disk, too.
TEST(LocalStore, WhatIsReadAfterAFailedSyncIsDurable) {
  World world;
  ASSERT_TRUE(world.open());
  world.disk->sync_error = EIO;
  world.store->submit(1, Multi{{Create{"/a", "1"}}});
  world.settle();
  ASSERT_TRUE(world.open()) << world.refusal;
  EXPECT_EQ(world.ask(Get{"/a"}).code, StoreCode::ok);
  World next;
  next.disk = world.disk->after_crash(CrashDisk::Left::nothing, false);
  ASSERT_TRUE(next.open()) << next.refusal;
  EXPECT_EQ(next.ask(Get{"/a"}).code, StoreCode::ok);
}

TEST(LocalStore, ACheckpointReplacesTheJournal) {
  World world;
  world.journal_bytes_max = 2000;
  ASSERT_TRUE(world.open());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world.change({Create{"/n" + std::to_string(i), "data"}}), StoreCode::ok);
  world.settle();
  EXPECT_LT(world.disk->now["/d/tailrace.metadata.journal"]->now.size(), 2500u);
  EXPECT_TRUE(world.disk->exists("/d/tailrace.metadata.checkpoint"));
  const std::string before = text_of(world.store->tree());
  ASSERT_TRUE(world.open()) << world.refusal;
  EXPECT_EQ(text_of(world.store->tree()), before);
}

// A fixed workload of 40 transactions, a few per turn, that goes through checkpoints. `trees` receives what the tree is
// after each; the listener's results say which were acknowledged.
Multi transaction(std::mt19937& chance, int i, std::set<std::string>& there) {
  const auto pick = [&] { return *std::next(there.begin(), static_cast<std::ptrdiff_t>(chance() % there.size())); };
  Multi multi;
  const auto kind = chance() % 4;
  if (there.size() < 3 || kind == 0) {
    const std::string path = "/n" + std::to_string(i);
    multi.operations.push_back(Create{path, std::string(chance() % 60, 'x')});
    multi.operations.push_back(Create{path + "/child-", std::nullopt, CreateMode::sequential});
    there.insert(path);
  } else if (kind == 1) {
    multi.operations.push_back(Set{pick(), "value " + std::to_string(i)});
  } else if (kind == 2) {
    multi.operations.push_back(Create{"/e" + std::to_string(i), "x", CreateMode::ephemeral});
  } else {
    const std::string path = pick();
    multi.operations.push_back(Remove{path + "/child-0000000000"});
    multi.operations.push_back(Remove{path});
    there.erase(path);
  }
  return multi;
}

struct Workload {
  std::vector<std::string> trees;  // [n]: after n transactions

  void run(World& world, unsigned seed) {
    std::mt19937 chance(seed);
    std::set<std::string> there;
    trees.push_back(text_of(world.store->tree()));
    for (int i = 0; i < 40;) {
      for (auto n = 1 + chance() % 3; n > 0 && i < 40; --n, ++i) {
        world.store->submit(static_cast<std::uint64_t>(i), transaction(chance, i, there));
        trees.push_back(text_of(world.store->tree()));
      }
      for (int t = 0; t < 4 && !world.disk->crashed(); ++t) {
        world.store->turn();
        world.disk->run();
      }
      if (world.disk->crashed()) return;
    }
    world.settle();
  }
};

TEST(LocalStore, WhatWasAcknowledgedIsThereAfterACrashAtAnyStep) {
  constexpr unsigned kSeed = 7;
  std::uint64_t step_count = 0;
  {
    World world;
    world.journal_bytes_max = 1200;
    ASSERT_TRUE(world.open());
    Workload workload;
    workload.run(world, kSeed);
    ASSERT_EQ(world.listener.results.size(), 40u);
    step_count = world.disk->steps;
  }
  ASSERT_GT(step_count, 80u);
  for (std::uint64_t crash_at = 1; crash_at <= step_count; ++crash_at) {
    World world;
    world.journal_bytes_max = 1200;
    world.disk->crash_at = crash_at;
    Workload workload;
    if (world.open()) workload.run(world, kSeed);
    std::size_t acknowledged = 0;
    for (const StoreResult& result : world.listener.results) {
      ASSERT_EQ(result.code, StoreCode::ok);
      ++acknowledged;
    }
    using Left = CrashDisk::Left;
    std::vector<std::unique_ptr<CrashDisk>> disks;
    for (const bool names : {false, true}) {
      disks.push_back(world.disk->after_crash(Left::nothing, names));
      disks.push_back(world.disk->after_crash(Left::everything, names));
      for (const std::size_t torn : {0u, 1u, 8u, 15u, 16u, 40u, 77u}) {
        disks.push_back(world.disk->after_crash(Left::torn, names, torn));
      }
    }
    for (std::size_t i = 0; i < disks.size(); ++i) {
      World next;
      next.disk = std::move(disks[i]);
      ASSERT_TRUE(next.open()) << "crash at step " << crash_at << ", disk " << i << ": " << next.refusal;
      const std::string tree = text_of(next.store->tree());
      if (workload.trees.empty()) {
        EXPECT_EQ(next.store->tree().size(), 1u);
        continue;
      }
      // Some prefix of the transactions, with at least all that were acknowledged.
      const auto found = std::find(workload.trees.rbegin(), workload.trees.rend(), tree);
      ASSERT_NE(found, workload.trees.rend()) << "crash at step " << crash_at << ", disk " << i << "\n" << tree;
      EXPECT_GE(workload.trees.rend() - found - 1, static_cast<std::ptrdiff_t>(acknowledged))
          << "crash at step " << crash_at << ", disk " << i;
      EXPECT_EQ(next.change({Create{"/after", "1"}}), StoreCode::ok);
    }
  }
}

std::string journal_of_a_workload(std::vector<std::string>& trees) {
  World world;
  EXPECT_TRUE(world.open());
  Workload workload;
  workload.run(world, 3);
  trees = workload.trees;
  return world.disk->now["/d/tailrace.metadata.journal"]->now;
}

World world_with_journal(const std::string& journal) {
  World world;
  auto inode = std::make_shared<CrashDisk::Inode>();
  inode->now = inode->durable = journal;
  world.disk->now["/d/tailrace.metadata.journal"] = world.disk->durable["/d/tailrace.metadata.journal"] = inode;
  return world;
}

TEST(LocalStore, ATornTailIsCutAtEveryByte) {
  std::vector<std::string> trees;
  const std::string journal = journal_of_a_workload(trees);
  std::size_t previous = 0;
  for (std::size_t length = 0; length <= journal.size(); ++length) {
    World world = world_with_journal(journal.substr(0, length));
    ASSERT_TRUE(world.open()) << length << ": " << world.refusal;
    const auto found = std::find(trees.rbegin(), trees.rend(), text_of(world.store->tree()));
    ASSERT_NE(found, trees.rend()) << length;
    const auto count = static_cast<std::size_t>(trees.rend() - found - 1);
    EXPECT_GE(count, previous);
    previous = count;
    EXPECT_EQ(world.change({Create{"/after", "1"}}), StoreCode::ok);
    ASSERT_TRUE(world.open()) << length << ": " << world.refusal;
    EXPECT_EQ(world.ask(Get{"/after"}).code, StoreCode::ok);
  }
  EXPECT_EQ(previous, trees.size() - 1);
}

TEST(LocalStore, GarbageBehindTheLastRecordIsCut) {
  std::vector<std::string> trees;
  const std::string journal = journal_of_a_workload(trees);
  for (const std::string& garbage : {std::string(100, '\0'), std::string(4096, '\xFF'), journal.substr(32, 200)}) {
    World world = world_with_journal(journal + garbage);
    ASSERT_TRUE(world.open()) << world.refusal;
    EXPECT_EQ(text_of(world.store->tree()), trees.back());
  }
}

TEST(LocalStore, DamageInTheMiddleIsRefusedAndNamed) {
  std::vector<std::string> trees;
  const std::string journal = journal_of_a_workload(trees);
  // The last group's records say how much was durable before them: damage below that must be seen.
  const auto content = read_journal(as_bytes(journal));
  ASSERT_TRUE(content.has_value());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < journal.size(); ++at) {
    std::string damaged = journal;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    World world = world_with_journal(damaged);
    if (!world.open()) {
      ++refused;
      EXPECT_NE(world.refusal.find("tailrace.metadata.journal is damaged"), std::string::npos) << world.refusal;
      continue;
    }
    // Taken: the damage was in padding, or in the tail that nobody had seen safe.
    const std::string tree = text_of(world.store->tree());
    EXPECT_TRUE(tree == trees.back() || at > journal.size() / 2) << at;
  }
  EXPECT_GT(refused, journal.size() / 2);
}

TEST(LocalStore, AMissingOrDamagedCheckpointIsRefused) {
  World world;
  world.journal_bytes_max = 500;
  ASSERT_TRUE(world.open());
  Workload workload;
  workload.run(world, 5);
  const std::string checkpoint = "/d/tailrace.metadata.checkpoint";
  ASSERT_TRUE(world.disk->exists(checkpoint));
  const std::string good = world.disk->now[checkpoint]->now;
  world.disk->now[checkpoint]->now[good.size() / 2] ^= 1;
  EXPECT_FALSE(world.open());
  EXPECT_NE(world.refusal.find("checkpoint is damaged"), std::string::npos) << world.refusal;
  for (const std::string& broken :
       {std::string(), std::string("TRCHECK1"), good.substr(0, good.size() - 1), good + "x"}) {
    world.disk->now[checkpoint]->now = broken;
    EXPECT_FALSE(world.open());
  }
  world.disk->now[checkpoint]->now = good;
  EXPECT_TRUE(world.open());
  EXPECT_EQ(world.change({Create{"/more", ""}}), StoreCode::ok);
  world.disk->now.erase(checkpoint);
  EXPECT_FALSE(world.open());
  EXPECT_NE(world.refusal.find("checkpoint of this journal is missing"), std::string::npos) << world.refusal;
}

TEST(LocalStore, ACheckpointRoundTrips) {
  Checkpoint checkpoint{7, 3, {{"/", "", {}}, {"/a", std::nullopt, {1, 2, 3, 4, 5, 6, 7}}}};
  const auto decoded = decode_checkpoint(as_bytes(encode_checkpoint(checkpoint)));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->zxid, 7);
  EXPECT_EQ(decoded->session, 3);
  EXPECT_EQ(decoded->nodes[1].data, std::nullopt);
  EXPECT_EQ(decoded->nodes[1].stat, checkpoint.nodes[1].stat);
}

TEST(FileLock, IsHeldByOneAtATime) {
  char directory[] = "/tmp/tailrace-lock-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/lock";
  {
    const auto first = FileLock::take(path);
    ASSERT_TRUE(first.has_value());
    const auto second = FileLock::take(path, std::chrono::milliseconds(30));
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Code::locked);
  }
  EXPECT_TRUE(FileLock::take(path).has_value());
  EXPECT_EQ(FileLock::take(std::string(directory) + "/no/lock").error().code, Code::not_found);
  std::remove(path.c_str());
  std::remove(directory);
}

}  // namespace
}  // namespace tailrace::zkbridge
