#include "engine/partition/snapshot_files.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "engine/base/observe.h"

namespace tailrace::partition {
namespace {

constexpr std::string_view kSuffix = ".snapshot";

std::string path_of(const std::string& directory, Offset offset) {
  return fmt::format("{}/{:020}{}", directory, offset, kSuffix);
}

// The offsets of all snapshot files, ascending.
Result<std::vector<Offset>> list_snapshots(io::Files& files, const std::string& directory) {
  Result<std::vector<io::DirectoryEntry>> entries = files.list(directory);
  if (!entries) return std::unexpected(entries.error());
  std::vector<Offset> offsets;
  for (const io::DirectoryEntry& entry : *entries) {
    if (!entry.name.ends_with(kSuffix) || entry.name.size() != 20 + kSuffix.size()) continue;
    Offset offset = 0;
    const auto [end, error] = std::from_chars(entry.name.data(), entry.name.data() + 20, offset);
    if (error == std::errc{} && end == entry.name.data() + 20) offsets.push_back(offset);
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

Result<void> remove(io::Files& files, const std::string& directory, Offset offset, const char* reason) {
  const std::string path = path_of(directory, offset);
  log_debug("producer snapshot removed file={} reason={}", path, reason);
  return files.remove(path);
}

// Those that Kafka would keep at a start. `offsets` and `segments` ascend.
std::vector<Offset> without_strays(const std::vector<Offset>& offsets, const std::vector<log::SegmentInfo>& segments) {
  const auto is_base = [&](Offset offset) {
    return std::ranges::binary_search(segments, offset, {}, &log::SegmentInfo::base_offset);
  };
  std::vector<Offset> kept;
  for (const Offset offset : offsets) {
    const bool is_newest = offset == offsets.back() && offset > segments.back().base_offset;
    if (is_base(offset) || is_newest) kept.push_back(offset);
  }
  return kept;
}

// Takes those beyond `log_end` off the list and out of the directory.
Result<void> drop_beyond(io::Files& files, const std::string& directory, Offset log_end, std::vector<Offset>& offsets) {
  const bool any = !offsets.empty() && offsets.back() > log_end;
  for (; !offsets.empty() && offsets.back() > log_end; offsets.pop_back()) {
    if (Result<void> removed = remove(files, directory, offsets.back(), "beyond the end"); !removed) return removed;
  }
  return any ? files.sync_directory(directory) : Result<void>{};
}

}  // namespace

Result<void> remove_snapshots_beyond(io::Files& files, const std::string& directory, Offset log_end) {
  Result<std::vector<Offset>> offsets = list_snapshots(files, directory);
  return offsets ? drop_beyond(files, directory, log_end, *offsets) : std::unexpected(offsets.error());
}

Result<Offset> load_newest_snapshot(io::Files& files, const std::string& directory, Offset first, Offset log_end,
                                    const std::vector<log::SegmentInfo>& segments, Producers& producers) {
  Result<std::vector<Offset>> offsets = list_snapshots(files, directory);
  if (!offsets) return std::unexpected(offsets.error());
  if (Result<void> dropped = drop_beyond(files, directory, log_end, *offsets); !dropped)
    return std::unexpected(dropped.error());
  // These removals need not be durable: what comes back after a power cut is as true, or as unsound, as it was.
  std::vector<Offset> kept = without_strays(*offsets, segments);
  std::erase_if(kept, [first](Offset offset) { return offset < first || offset == 0; });
  for (const Offset offset : *offsets) {
    if (std::ranges::binary_search(kept, offset)) continue;
    if (Result<void> removed = remove(files, directory, offset, "stray"); !removed)
      return std::unexpected(removed.error());
  }
  for (; !kept.empty(); kept.pop_back()) {
    const std::string path = path_of(directory, kept.back());
    const Result<std::string> content = io::read_file(files, path);
    if (!content) return std::unexpected(content.error());
    if (producers.load_snapshot(as_bytes(*content))) return kept.back();
    log_warning("producer snapshot removed file={} reason=corrupt", path);
    if (Result<void> removed = files.remove(path); !removed) return std::unexpected(removed.error());
  }
  return first;
}

Result<io::File> open_snapshot(io::Files& files, const std::string& directory, Offset offset) {
  return files.open(path_of(directory, offset), io::OpenMode::read_write);
}

Result<void> save_snapshot(io::Files& files, const std::string& directory, Offset offset, const Producers& producers) {
  // Not synced: after a power cut an unsound file is found by its CRC and passed over.
  const std::string path = path_of(directory, offset);
  Result<io::File> file = files.open(path, io::OpenMode::open_or_create);
  if (!file) return std::unexpected(file.error());
  Result<void> written = files.truncate(*file, 0);
  if (written) written = files.write(*file, as_bytes(producers.encode_snapshot()), 0);
  files.close(*file);
  return written;
}

}  // namespace tailrace::partition
