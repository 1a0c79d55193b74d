// FileCache: the client's descriptors of segment files, by the engine's file id, least recently used first to go. An
// entry that is held (a send is in flight) is never closed.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

#include "engine/io/files.h"

namespace tailrace::api {

class FileCache {
 public:
  struct Entry {
    std::uint64_t file_id = 0;
    io::File file;
    std::uint32_t holders = 0;
    bool gone = false;  // to be closed with its last holder
  };

  FileCache(io::Files& files, std::size_t entries_max) : files_(files), entries_max_(entries_max) {}
  FileCache(const FileCache&) = delete;
  ~FileCache();

  // Takes the file over. `evicted` is called with the id of each entry that had to make room.
  void add(std::uint64_t file_id, io::File file, const std::function<void(std::uint64_t)>& evicted);
  // nullptr: not there. Held until release.
  Entry* acquire(std::uint64_t file_id);
  void release(Entry* entry);
  // Closes the file now, or with its last holder.
  void drop(std::uint64_t file_id);
  void drop_all();
  [[nodiscard]] std::size_t size() const { return by_id_.size(); }

 private:
  using Entries = std::list<Entry>;
  void close(Entries::iterator entry);

  io::Files& files_;
  std::size_t entries_max_;
  Entries entries_;  // most recently used first
  Entries dropped_;  // still held
  std::unordered_map<std::uint64_t, Entries::iterator> by_id_;
};

}  // namespace tailrace::api
