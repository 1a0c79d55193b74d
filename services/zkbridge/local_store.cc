#include "services/zkbridge/local_store.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "services/zkbridge/store_codec.h"

namespace tailrace::zkbridge {
namespace {

constexpr std::uint64_t kReserveStepBytes = 256u << 10;

std::unexpected<std::string> refused(const std::string& path, const Error& error) {
  return std::unexpected(fmt::format("{}: {}", path, error.text()));
}

}  // namespace

LocalStore::LocalStore(io::Files& files, LocalStoreOptions options) : files_(files), options_(std::move(options)) {
  written_.bind<&LocalStore::on_written>(this);
  synced_.bind<&LocalStore::on_synced>(this);
}

LocalStore::~LocalStore() {
  if (journal_) files_.close(journal_);
}

std::string LocalStore::journal_path() const { return options_.directory + "/tailrace.metadata.journal"; }
std::string LocalStore::checkpoint_path() const { return options_.directory + "/tailrace.metadata.checkpoint"; }

// -- Opening -------------------------------------------------------------------------------------------------------

std::expected<std::unique_ptr<LocalStore>, std::string> LocalStore::open(io::Files& files, LocalStoreOptions options) {
  std::unique_ptr<LocalStore> store(new LocalStore(files, std::move(options)));
  if (auto loaded = store->load(); !loaded) return std::unexpected(loaded.error());
  return store;
}

std::expected<void, std::string> LocalStore::load() {
  if (auto loaded = load_checkpoint(); !loaded) return loaded;
  if (auto loaded = load_journal(); !loaded) return loaded;
  ++session_;
  tree_.end_sessions_but(session_);
  checkpoint_at_ = options_.journal_bytes_max;
  (void)reserve(1);  // so that a disk that fills up later does not keep a node from starting again
  return {};
}

std::expected<void, std::string> LocalStore::load_checkpoint() {
  const std::string path = checkpoint_path();
  if (!files_.exists(path)) return {};
  const Result<std::string> bytes = io::read_file(files_, path);
  if (!bytes) return refused(path, bytes.error());
  std::expected<Checkpoint, std::string> checkpoint = decode_checkpoint(as_bytes(*bytes));
  if (!checkpoint) return std::unexpected(fmt::format("{} is damaged: {}", path, checkpoint.error()));
  if (!tree_.restore(checkpoint->nodes)) {
    return std::unexpected(fmt::format("{} is damaged: its nodes are not a tree", path));
  }
  zxid_ = checkpoint->zxid;
  session_ = checkpoint->session;
  return {};
}

std::expected<void, std::string> LocalStore::load_journal() {
  const std::string path = journal_path();
  const Result<io::File> file = files_.open(path, io::OpenMode::open_or_create);
  if (!file) return refused(path, file.error());
  journal_ = *file;
  const Result<std::string> bytes = io::read_file(files_, path);
  if (!bytes) return refused(path, bytes.error());
  if (!is_journal_header(as_bytes(*bytes))) {
    // A crash while it was made leaves at most its header's length, and no checkpoint, which comes later.
    if (bytes->size() <= kJournalHeaderBytes && zxid_ == 0) return begin_journal();
    return std::unexpected(fmt::format("{} is damaged: it does not begin as a journal", path));
  }
  const auto content = read_journal(as_bytes(*bytes));
  if (!content) return std::unexpected(fmt::format("{} is damaged: {}", path, content.error()));
  for (const Transaction& transaction : content->transactions) {
    if (auto replayed = replay(transaction); !replayed) return replayed;
  }
  if (content->end < bytes->size()) {
    log_warning("metadata_journal_cut file={} at={} bytes={} reason=torn_tail", path, content->end,
                bytes->size() - content->end);
    if (const Result<void> cut = files_.truncate(journal_, content->end); !cut) return refused(path, cut.error());
  }
  // What was read may never have reached the disk; from here on it counts as durable.
  if (const Result<void> synced = files_.sync(journal_); !synced) {
    write_journal_again();
    return refused(path, synced.error());
  }
  durable_end_ = written_end_ = reserved_end_ = content->end;
  return {};
}

std::expected<void, std::string> LocalStore::begin_journal() {
  const std::string header = journal_header();
  Result<void> done = files_.truncate(journal_, 0);
  if (done) done = files_.write(journal_, as_bytes(header), 0);
  if (done) done = files_.sync(journal_);
  if (done) done = files_.sync_directory(options_.directory);
  if (!done) return refused(journal_path(), done.error());
  durable_end_ = written_end_ = reserved_end_ = kJournalHeaderBytes;
  return {};
}

std::expected<void, std::string> LocalStore::replay(const Transaction& transaction) {
  // The first transaction of a session says that the ones before are over.
  if (transaction.session > session_) {
    session_ = transaction.session;
    tree_.end_sessions_but(session_);
  }
  // A crash between checkpoint and cut leaves transactions in the journal that the checkpoint has already.
  if (transaction.zxid <= zxid_) return {};
  std::vector<OperationResult> results;
  if (transaction.zxid != zxid_ + 1) {
    return std::unexpected(fmt::format("{}: transaction {} follows {}; the checkpoint of this journal is missing",
                                       journal_path(), transaction.zxid, zxid_));
  }
  if (const StoreCode code = tree_.apply(transaction, results); code != StoreCode::ok) {
    return std::unexpected(fmt::format("{} is damaged: transaction {} does not fit the tree ({})", journal_path(),
                                       transaction.zxid, name(code)));
  }
  zxid_ = transaction.zxid;
  return {};
}

// -- Requests ------------------------------------------------------------------------------------------------------

void LocalStore::submit(std::uint64_t id, Request request) {
  CHECK(listener_ != nullptr);
  if (state_ == State::failed) return;
  StoreResult result = std::visit([&](const auto& r) { return answer(r); }, request);
  result.id = id;
  due_.push_back({staged_end(), std::move(result)});
}

StoreResult LocalStore::answer(const Get& get) {
  StoreResult result;
  result.node.path = get.path;
  if (get.watch) node_watches_.insert(get.path);
  const Tree::Node* const node = tree_.find(get.path);
  if (node == nullptr) {
    result.code = StoreCode::no_node;
    return result;
  }
  result.node.data = node->data;
  result.node.stat = node->stat;
  return result;
}

StoreResult LocalStore::answer(const GetChildren& get) {
  StoreResult result;
  const Tree::Node* const node = tree_.find(get.path);
  if (node == nullptr) {
    result.code = StoreCode::no_node;
    return result;
  }
  if (get.watch) children_watches_.insert(get.path);
  result.children.assign(node->children.begin(), node->children.end());
  return result;
}

StoreResult LocalStore::answer(const GetTree& get) {
  StoreResult result;
  result.tree = tree_.below(get.path);
  if (result.tree.empty()) result.code = StoreCode::no_node;
  return result;
}

StoreResult LocalStore::answer(const Multi& multi) {
  StoreResult result;
  const Transaction transaction{zxid_ + 1, options_.wall_clock_ms(), session_, multi.operations};
  std::string record = journal_record(transaction, staged_end(), durable_end_);
  if (record.size() > kJournalRecordBytesMax || !reserve(record.size())) {
    result.code = StoreCode::no_space;
    result.operations.assign(multi.operations.size(), {.code = StoreCode::no_space, .path = {}, .stat = {}});
    return result;
  }
  std::vector<WatchEvent> changes;
  result.code = tree_.apply(transaction, result.operations, &changes);
  if (result.code != StoreCode::ok) return result;
  zxid_ = transaction.zxid;
  staged_ += record;
  fire(changes);
  return result;
}

// Disk space for the record, so that writing it does not fail half-way for want of it.
bool LocalStore::reserve(std::uint64_t bytes) {
  const std::uint64_t end = staged_end() + bytes;
  if (end <= reserved_end_) return true;
  const std::uint64_t step = std::max(end - reserved_end_, kReserveStepBytes);
  Result<void> reserved = files_.allocate(journal_, reserved_end_, step);
  std::uint64_t reserved_end = reserved_end_ + step;
  if (!reserved) {  // the last few bytes, perhaps
    reserved = files_.allocate(journal_, reserved_end_, end - reserved_end_);
    reserved_end = end;
  }
  if (!reserved) {
    log_error("metadata_not_written file={} reason=\"{}\"", journal_path(), reserved.error().text());
    return false;
  }
  reserved_end_ = reserved_end;
  return true;
}

void LocalStore::fire(const std::vector<WatchEvent>& changes) {
  for (const WatchEvent& change : changes) {
    const bool of_children = change.kind == WatchEvent::Kind::children_changed;
    if ((of_children ? children_watches_ : node_watches_).erase(change.path) != 0) {
      due_.push_back({staged_end(), change});
    }
    if (change.kind == WatchEvent::Kind::removed) children_watches_.erase(change.path);
  }
}

// -- The loop ------------------------------------------------------------------------------------------------------

void LocalStore::turn() {
  if (state_ == State::failed) {
    if (!failure_.empty()) listener_->on_session_lost(std::exchange(failure_, {}));
    return;
  }
  hand_out();
  if (state_ != State::idle) return;
  if (durable_end_ > checkpoint_at_ && staged_.empty()) make_checkpoint();
  if (!staged_.empty()) write_staged();
}

void LocalStore::hand_out() {
  while (!due_.empty() && due_.front().after <= durable_end_) {
    Due due = std::move(due_.front());
    due_.pop_front();
    if (auto* result = std::get_if<StoreResult>(&due.what)) {
      listener_->on_store_result(std::move(*result));
    } else {
      listener_->on_watch(std::get<WatchEvent>(due.what));
    }
  }
}

void LocalStore::write_staged() {
  state_ = State::writing;
  writing_ = std::exchange(staged_, {});
  writing_vector_ = {writing_.data(), writing_.size()};
  const std::uint64_t position = written_end_;
  written_end_ += writing_.size();
  files_.write(journal_, std::span(&writing_vector_, 1), position, written_);
}

void LocalStore::on_written(std::int64_t result) {
  if (result < 0) {
    fail(fmt::format("writing {}: {}", journal_path(), system_failure(static_cast<int>(-result)).error().text()));
    return;
  }
  state_ = State::syncing;
  files_.sync(journal_, synced_);
}

void LocalStore::on_synced(std::int64_t result) {
  if (result < 0) {
    write_journal_again();
    fail(fmt::format("syncing {}: {}", journal_path(), system_failure(static_cast<int>(-result)).error().text()));
    return;
  }
  state_ = State::idle;
  durable_end_ = written_end_;
}

// The page cache has what a failed sync left out of the disk, and the next process would believe it: see
// io::write_again.
void LocalStore::write_journal_again() {
  if (const Result<void> done = io::write_again(files_, journal_, 0); !done)
    log_warning("metadata_journal_not_written_again file={} reason=\"{}\"", journal_path(), done.error().text());
}

// After a failed write or sync nobody knows what is on the disk. The process starts again and reads what is.
void LocalStore::fail(std::string why) {
  state_ = State::failed;
  failure_ = std::move(why);
  due_.clear();
}

// Everything is durable in the journal now; a crash at any point leaves the old checkpoint with the journal, or the new
// one with a journal whose transactions it has already.
void LocalStore::make_checkpoint() {
  const std::string bytes = encode_checkpoint({zxid_, session_, tree_.below("/")});
  if (const Result<void> done = io::replace_file(files_, checkpoint_path(), bytes); !done) {
    checkpoint_at_ = durable_end_ * 2;  // the journal goes on; not again at every turn
    log_warning("metadata_checkpoint_failed file={} reason=\"{}\"", checkpoint_path(), done.error().text());
    return;
  }
  Result<void> cut = files_.truncate(journal_, kJournalHeaderBytes);
  if (cut) cut = files_.sync(journal_);
  if (!cut) {
    fail(fmt::format("cutting {}: {}", journal_path(), cut.error().text()));
    return;
  }
  durable_end_ = written_end_ = reserved_end_ = kJournalHeaderBytes;
  checkpoint_at_ = options_.journal_bytes_max;
  (void)reserve(1);
  // Results were all handed out or wait for bytes that are durable already.
  for (Due& due : due_) due.after = 0;
}

}  // namespace tailrace::zkbridge
