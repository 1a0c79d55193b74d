// Any bytes as the .log and index files of a partition: opening, scanning, walking, planning and searching never crash;
// what recovery leaves behind is the same after the next one.
#include <cstdlib>
#include <string>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/log/format.h"
#include "engine/log/log.h"
#include "engine/record/batch.h"
#include "tests/unit/support/memory_disk.h"

namespace {

using namespace tailrace;
using namespace tailrace::log;

constexpr TimestampMs kNow = 1'700'000'000'000;

// Makes the checksums of what could be batches right, so that the input gets past them.
void mend(std::string& bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= record::kBatchHeaderSize) {
    auto* batch = reinterpret_cast<std::byte*>(bytes.data() + at);
    const auto length = load_big_endian<std::int32_t>(batch + 8);
    if (length < 49 || static_cast<std::size_t>(length) + record::kLogOverhead > bytes.size() - at) return;
    const std::size_t size = record::kLogOverhead + static_cast<std::size_t>(length);
    store_big_endian(batch + 17, record::compute_crc({batch, size}));
    at += size;
  }
}

struct World {
  test::MemoryDisk disk{1};
  LogConfig config;

  void put(Offset base_offset, std::string_view suffix, std::string_view bytes) {
    const auto file = disk.open("/d/" + segment_file_name(base_offset, suffix), io::OpenMode::open_or_create);
    CHECK(disk.write(*file, as_bytes(bytes), 0).has_value());
    disk.close(*file);
  }

  std::string contents() {
    std::string all;
    const auto entries = disk.list("/d");
    for (const auto& entry : *entries) all += entry.name + "=" + disk.content("/d/" + entry.name) + "\n";
    return all;
  }

  std::unique_ptr<Log> open(bool clean, Offset recovery_point) {
    auto log = Log::open(disk, "/d", config, {.clean_shutdown = clean, .recovery_point = recovery_point}, kNow);
    CHECK(log.has_value());
    return std::move(*log);
  }
};

void use(const Log& log) {
  Offset previous = kNoOffset;
  std::size_t batches = 0;
  const Result<void> walked =
      log.for_each_batch(0, true, [&](const record::BatchHeader& header, Bytes batch, const SegmentRef&, Position) {
        CHECK(batch.size() == header.size_bytes());
        previous = header.last_offset();
        return ++batches < 1000;
      });
  static_cast<void>(walked);
  const Offset start = log.log_start_offset();
  const Offset end = log.written_end();
  const Offset step = std::max<Offset>(1, (end - start) / 12);
  for (Offset from = start; from < end && end - from >= step; from += step) {
    const auto extent = log.plan_read(from, end, 1000, true);
    CHECK(!extent || extent->length == 0 || extent->first_batch_offset >= 0);
    static_cast<void>(log.bytes_between(from, end));
    static_cast<void>(log.plan_read(start, from, 1000, false));
  }
  static_cast<void>(log.find_max_timestamp(end));
  static_cast<void>(log.find_by_timestamp(0, end));
  static_cast<void>(log.find_by_timestamp(kNow, end));
  static_cast<void>(log.aborted_transactions(start, end));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_quiet = [] {
    start_logging("fuzz", LogLevel::error);
    return true;
  }();
  if (!is_quiet || size < 4) return 0;
  const std::uint8_t flags = data[0];
  World world;
  world.config.index_interval_bytes = data[1];
  std::string bytes(reinterpret_cast<const char*>(data + 4), size - 4);
  // The input is one .log, or a .log and what stands beside it.
  const std::size_t split = (flags & 1) != 0 ? bytes.size() * data[2] / 256 : bytes.size();
  std::string first = bytes.substr(0, split);
  const std::string second = bytes.substr(split);
  if ((flags & 2) != 0) mend(first);
  world.put(0, kLogSuffix, first);
  if ((flags & 1) != 0) {
    const std::string_view suffixes[] = {kOffsetIndexSuffix, kTimeIndexSuffix, kTransactionIndexSuffix, kLogSuffix};
    const std::string_view suffix = suffixes[data[3] % 4];
    world.put(suffix == kLogSuffix ? data[3] : 0, suffix, second);
  }

  auto log = world.open((flags & 4) != 0, (flags & 8) != 0 ? 1 << 20 : 0);
  use(*log);
  log = world.open(false, 0);
  use(*log);
  const Offset end = log->end_offset();
  const std::string contents = world.contents();
  log.reset();
  log = world.open(false, 0);
  CHECK(log->end_offset() == end);
  CHECK(world.contents() == contents);
  CHECK(log->close().has_value());
  log = world.open(true, 0);
  CHECK(log->end_offset() == end);
  use(*log);
  if ((flags & 16) != 0 && end > 0) {
    CHECK(log->truncate_to(end / 2).has_value());
    CHECK(log->end_offset() == end / 2);
    use(*log);
  }
  return 0;
}
