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

}  // namespace

Result<Offset> load_newest_snapshot(io::Files& files, const std::string& directory, Offset log_start, Offset log_end,
                                    Producers& producers) {
  Result<std::vector<Offset>> offsets = list_snapshots(files, directory);
  if (!offsets) return std::unexpected(offsets.error());
  while (!offsets->empty()) {
    const Offset offset = offsets->back();
    offsets->pop_back();
    if (offset < log_start) break;
    const std::string path = path_of(directory, offset);
    if (offset <= log_end) {
      const Result<std::string> content = io::read_file(files, path);
      if (!content) return std::unexpected(content.error());
      if (producers.load_snapshot(as_bytes(*content))) return offset;
      log_warning("producer snapshot removed file={} reason=corrupt", path);
    }
    if (Result<void> removed = files.remove(path); !removed) return std::unexpected(removed.error());
  }
  return log_start;
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
