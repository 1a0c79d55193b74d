// MemoryDisk: files in memory that forget at a power cut what was not synced, as harshly as engine/io/files.h allows:
// of the bytes written since the last sync of a file any part may be lost, and of the names made, replaced or removed
// since the last sync of their directory any may be as before. What happens is decided by a seed.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/io/completion.h"
#include "engine/io/files.h"

namespace tailrace::test {

class MemoryDisk : public io::Files {
 public:
  explicit MemoryDisk(std::uint64_t seed) : random_(seed) {}

  double failure_rate = 0;  // of gathered writes: they fail with ENOSPC after a part
  std::uint64_t failures = 0;

  // Does what is in flight, in any order, and runs the completions.
  void run() {
    while (!pending_.empty() || !queue_.empty()) {
      std::shuffle(pending_.begin(), pending_.end(), random_);
      std::vector<Pending> pending = std::move(pending_);
      pending_.clear();
      for (Pending& operation : pending) perform(operation);
      queue_.run();
    }
  }

  // The power goes: what is in flight is done in part, all descriptors are gone.
  void cut_power() {
    for (Pending& operation : pending_) {
      if (!operation.is_sync)
        put(*operation.inode, operation.bytes.substr(0, below(operation.bytes.size() + 1)), operation.position);
    }
    pending_.clear();
    queue_ = {};
    open_.clear();
    std::map<std::string, std::shared_ptr<Inode>> names;
    std::set<std::string> all;
    for (const auto& [name, inode] : names_) all.insert(name);
    for (const auto& [name, inode] : durable_names_) all.insert(name);
    for (const std::string& name : all) {
      const auto now = names_.find(name);
      const auto before = durable_names_.find(name);
      const bool is_new = now != names_.end();
      const bool was_there = before != durable_names_.end();
      const bool take_new = (is_new && was_there && now->second == before->second) || below(2) == 0;
      if (take_new && is_new) names[name] = now->second;
      if (!take_new && was_there) names[name] = before->second;
    }
    names_ = durable_names_ = std::move(names);
    for (auto& [name, inode] : names_) {
      inode->content = survive(*inode);
      inode->durable = inode->content;
    }
  }

  Result<io::File> open(const std::string& path, io::OpenMode mode) override {
    const bool is_there = names_.contains(path);
    if (!is_there && (mode == io::OpenMode::read || mode == io::OpenMode::read_write))
      return system_failure(ENOENT, "opening");
    if (is_there && mode == io::OpenMode::create) return system_failure(EEXIST, "creating");
    if (!is_there) names_[path] = std::make_shared<Inode>();
    open_[++last_handle_] = names_[path];
    return io::File{last_handle_};
  }
  void close(io::File file) override { open_.erase(file.handle); }
  Result<std::uint64_t> size(io::File file) override { return at(file).content.size(); }
  Result<std::size_t> read(io::File file, MutableBytes into, std::uint64_t position) override {
    const std::string& content = at(file).content;
    if (position >= content.size()) return 0;
    const std::size_t size = std::min(into.size(), content.size() - static_cast<std::size_t>(position));
    std::memcpy(into.data(), content.data() + position, size);
    return size;
  }
  Result<void> write(io::File file, Bytes from, std::uint64_t position) override {
    put(at(file), as_text(from), position);
    return {};
  }
  Result<void> truncate(io::File file, std::uint64_t size) override {
    at(file).content.resize(size);
    return {};
  }
  Result<void> allocate(io::File, std::uint64_t, std::uint64_t) override { return {}; }
  Result<void> sync(io::File file) override {
    at(file).durable = at(file).content;
    at(file).durable_turn = ++turn_;
    return {};
  }
  void write(io::File file, std::span<const iovec> from, std::uint64_t position, io::Completion& done) override {
    done.pending = true;
    Pending operation{inode(file), false, "", position, &done, 0, ""};
    for (const iovec& part : from) operation.bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
    operation.result = static_cast<std::int64_t>(operation.bytes.size());
    if (failure_rate > 0 && std::uniform_real_distribution<>(0, 1)(random_) < failure_rate) {
      ++failures;
      operation.bytes.resize(below(operation.bytes.size()));
      operation.result = -ENOSPC;
    }
    pending_.push_back(std::move(operation));
  }
  // Only what is in the file now is sure to be safe afterwards.
  void sync(io::File file, io::Completion& done) override {
    done.pending = true;
    pending_.push_back({inode(file), true, at(file).content, ++turn_, &done, 0, ""});
  }
  void sync_directory(const std::string& path, io::Completion& done) override {
    done.pending = true;
    pending_.push_back({nullptr, true, "", 0, &done, 0, path});
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    const auto found = names_.find(from);
    if (found == names_.end()) return system_failure(ENOENT, "renaming");
    names_[to] = found->second;
    names_.erase(from);
    return {};
  }
  Result<void> remove(const std::string& path) override {
    if (names_.erase(path) == 0) return system_failure(ENOENT, "removing");
    return {};
  }
  Result<void> make_directory(const std::string&) override { return {}; }
  Result<void> remove_directory(const std::string&) override { return {}; }
  Result<void> sync_directory(const std::string& path) override {
    const auto is_inside = [&](const auto& entry) {
      return entry.first.starts_with(path + "/") && entry.first.find('/', path.size() + 1) == std::string::npos;
    };
    std::erase_if(durable_names_, is_inside);
    for (const auto& entry : names_) {
      if (is_inside(entry)) durable_names_.insert(entry);
    }
    return {};
  }
  Result<std::vector<io::DirectoryEntry>> list(const std::string& path) override {
    std::vector<io::DirectoryEntry> entries;
    for (const auto& [name, inode] : names_) {
      if (name.starts_with(path + "/")) entries.push_back({name.substr(path.size() + 1), false});
    }
    return entries;
  }
  bool exists(const std::string& path) override { return names_.contains(path); }
  Result<TimestampMs> modified_ms(const std::string&) override { return failure(Code::unsupported); }
  Result<io::DiskSpace> disk_space(const std::string&) override { return io::DiskSpace{1ull << 40, 1ull << 40}; }

  [[nodiscard]] std::size_t open_count() const { return open_.size(); }
  [[nodiscard]] std::string content(const std::string& path) const { return names_.at(path)->content; }

 private:
  struct Inode {
    std::string content;
    std::string durable;
    std::uint64_t durable_turn = 0;  // of the sync that made it so
  };
  struct Pending {
    std::shared_ptr<Inode> inode;
    bool is_sync = false;
    std::string bytes;
    std::uint64_t position = 0;  // of a sync: its turn
    io::Completion* done = nullptr;
    std::int64_t result = 0;
    std::string directory;  // to be synced
  };

  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }
  std::shared_ptr<Inode> inode(io::File file) { return open_.at(file.handle); }
  Inode& at(io::File file) { return *open_.at(file.handle); }

  static void put(Inode& inode, std::string_view bytes, std::uint64_t position) {
    if (bytes.empty()) return;
    if (inode.content.size() < position + bytes.size()) inode.content.resize(position + bytes.size());
    inode.content.replace(position, bytes.size(), bytes);
  }

  void perform(Pending& operation) {
    if (!operation.directory.empty()) {
      static_cast<void>(sync_directory(operation.directory));
    } else if (operation.is_sync) {
      // Syncs of one file may be performed in another order than they were issued.
      if (operation.position >= operation.inode->durable_turn) {
        operation.inode->durable = operation.bytes;
        operation.inode->durable_turn = operation.position;
      }
    } else {
      put(*operation.inode, operation.bytes, operation.position);
    }
    queue_.push(*operation.done, operation.result);
  }

  // What is left of a file: as synced, as written, cut somewhere between, or with pages missing.
  std::string survive(const Inode& inode) {
    const std::string& now = inode.content;
    const std::string& before = inode.durable;
    if (now == before) return now;
    switch (below(4)) {
      case 0:
        return before;
      case 1:
        return now;
      case 2: {
        if (now.size() <= before.size()) return below(2) == 0 ? now : before;
        std::string cut = now.substr(0, before.size() + below(now.size() - before.size() + 1));
        return cut;
      }
      default: {
        std::string mixed = now;
        constexpr std::size_t kPage = 128;
        for (std::size_t page = 0; page < mixed.size(); page += kPage) {
          const std::size_t size = std::min(kPage, mixed.size() - page);
          if (below(2) == 0) continue;
          for (std::size_t i = page; i < page + size; ++i) mixed[i] = i < before.size() ? before[i] : '\0';
        }
        return mixed;
      }
    }
  }

  std::mt19937_64 random_;
  std::map<std::string, std::shared_ptr<Inode>> names_;
  std::map<std::string, std::shared_ptr<Inode>> durable_names_;
  std::map<int, std::shared_ptr<Inode>> open_;
  int last_handle_ = 100;
  std::uint64_t turn_ = 0;
  std::vector<Pending> pending_;
  io::CompletionQueue queue_;
};

}  // namespace tailrace::test
