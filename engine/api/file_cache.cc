#include "engine/api/file_cache.h"

#include <algorithm>

#include "engine/base/check.h"

namespace tailrace::api {

FileCache::~FileCache() {
  for (const Entry& entry : entries_) files_.close(entry.file);
  for (const Entry& entry : dropped_) files_.close(entry.file);
}

void FileCache::add(std::uint64_t file_id, io::File file, const std::function<void(std::uint64_t)>& evicted) {
  drop(file_id);
  entries_.push_front(Entry{.file_id = file_id, .file = file});
  by_id_[file_id] = entries_.begin();
  auto oldest = entries_.end();
  while (by_id_.size() > entries_max_ && oldest != std::next(entries_.begin())) {
    --oldest;
    if (oldest->holders != 0) continue;
    const auto victim = oldest++;
    evicted(victim->file_id);
    close(victim);
  }
}

void FileCache::close(Entries::iterator entry) {
  by_id_.erase(entry->file_id);
  if (entry->holders == 0) {
    files_.close(entry->file);
    entries_.erase(entry);
  } else {
    entry->gone = true;
    dropped_.splice(dropped_.begin(), entries_, entry);
  }
}

FileCache::Entry* FileCache::acquire(std::uint64_t file_id) {
  const auto found = by_id_.find(file_id);
  if (found == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  ++found->second->holders;
  return &*found->second;
}

void FileCache::release(Entry* entry) {
  CHECK(entry->holders > 0);
  if (--entry->holders > 0 || !entry->gone) return;
  files_.close(entry->file);
  dropped_.remove_if([&](const Entry& each) { return &each == entry; });
}

void FileCache::drop(std::uint64_t file_id) {
  const auto found = by_id_.find(file_id);
  if (found != by_id_.end()) close(found->second);
}

void FileCache::drop_all() {
  while (!entries_.empty()) close(entries_.begin());
}

}  // namespace tailrace::api
