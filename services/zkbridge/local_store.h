// LocalStore: the store of a node on its own. A tree in memory, a journal that every transaction is on before it is
// answered (many in one write and one sync), and a checkpoint that replaces the journal when it has grown. Both are
// plain files of the data directory, `tailrace.metadata.journal` and `tailrace.metadata.checkpoint`. Every opening is a
// new session: ephemeral nodes of the ones before are gone. Only one process may have it open: its owner holds a lock
// (file_lock.h).
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include <sys/uio.h>

#include "engine/io/completion.h"
#include "engine/io/files.h"
#include "services/zkbridge/store.h"
#include "services/zkbridge/tree.h"

namespace tailrace::zkbridge {

struct LocalStoreOptions {
  std::string directory;                       // the data directory; must exist
  std::uint64_t journal_bytes_max = 4u << 20;  // beyond it the journal is replaced by a checkpoint
  std::function<TimestampMs()> wall_clock_ms;
};

class LocalStore final : public Store {
 public:
  // Reads what is there; cuts a torn tail off the journal. Error: which file is damaged and how, or what the system
  // refused.
  static std::expected<std::unique_ptr<LocalStore>, std::string> open(io::Files& files, LocalStoreOptions options);
  // Nothing may be in flight: io is drained, or its completions never run again.
  ~LocalStore() override;

  void start(StoreListener& listener) override { listener_ = &listener; }
  void submit(std::uint64_t id, Request request) override;
  void turn() override;

  [[nodiscard]] bool idle() const { return state_ == State::idle && staged_.empty() && due_.empty(); }
  // Nothing was ever stored.
  [[nodiscard]] bool is_new() const { return tree_.size() == 1; }
  [[nodiscard]] const Tree& tree() const { return tree_; }
  [[nodiscard]] std::int64_t session() const { return session_; }

 private:
  enum class State : std::uint8_t { idle, writing, syncing, failed };

  // A result or a watch that waits until the journal is durable up to `after`.
  struct Due {
    std::uint64_t after = 0;
    std::variant<StoreResult, WatchEvent> what;
  };

  LocalStore(io::Files& files, LocalStoreOptions options);
  std::expected<void, std::string> load();
  std::expected<void, std::string> load_checkpoint();
  std::expected<void, std::string> load_journal();
  std::expected<void, std::string> begin_journal();
  std::expected<void, std::string> replay(const Transaction& transaction);

  StoreResult answer(const Get& get);
  StoreResult answer(const GetChildren& get);
  StoreResult answer(const GetTree& get);
  StoreResult answer(const Multi& multi);
  bool reserve(std::uint64_t bytes);
  void fire(const std::vector<WatchEvent>& changes);
  void hand_out();
  void write_staged();
  void on_written(std::int64_t result);
  void on_synced(std::int64_t result);
  void write_journal_again();
  void fail(std::string why);
  void make_checkpoint();
  [[nodiscard]] std::string journal_path() const;
  [[nodiscard]] std::string checkpoint_path() const;
  [[nodiscard]] std::uint64_t staged_end() const { return written_end_ + staged_.size(); }

  io::Files& files_;
  LocalStoreOptions options_;
  StoreListener* listener_ = nullptr;
  io::File journal_;
  Tree tree_;
  std::int64_t zxid_ = 0;
  std::int64_t session_ = 0;
  State state_ = State::idle;
  std::string failure_;

  // Ends in the journal: durable <= written (or being written) <= staged.
  std::uint64_t durable_end_ = 0;
  std::uint64_t written_end_ = 0;
  std::uint64_t reserved_end_ = 0;   // disk space is ours up to here
  std::uint64_t checkpoint_at_ = 0;  // journal size at which the next checkpoint is tried
  std::string staged_;
  std::string writing_;
  iovec writing_vector_{};
  io::Completion written_;
  io::Completion synced_;

  std::deque<Due> due_;
  std::set<std::string, std::less<>> node_watches_;  // paths, also of nodes that are not there
  std::set<std::string, std::less<>> children_watches_;
};

}  // namespace tailrace::zkbridge
