#include "engine/base/counters.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/check.h"

namespace tailrace {
namespace {

constexpr std::size_t kCellSize = 64;
constexpr std::size_t kNameSize = 48;
constexpr std::size_t kFileSize = kCellSize * (Counters::kCellsMax + 1);
constexpr char kMagic[8] = {'T', 'R', 'C', 'O', 'U', 'N', 'T', '1'};

}  // namespace

std::atomic<std::uint64_t>& Counter::nowhere() {
  static std::atomic<std::uint64_t> cell;
  return cell;
}

Result<std::unique_ptr<Counters>> Counters::create(const std::string& path) {
  ::unlink(path.c_str());  // a reader of the old file keeps its mapping
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return system_failure(errno, "making the counter file");
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, kFileSize) == 0) memory = ::mmap(nullptr, kFileSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (memory == MAP_FAILED) return system_failure(error, "mapping the counter file");
  auto counters = std::unique_ptr<Counters>(new Counters);
  counters->memory_ = static_cast<std::byte*>(memory);
  std::memcpy(counters->memory_, kMagic, sizeof kMagic);
  return counters;
}

Counters::~Counters() { ::munmap(memory_, kFileSize); }

Counter Counters::make(std::string_view name) {
  CHECK(used_ < kCellsMax);
  std::byte* const cell = memory_ + kCellSize * ++used_;
  std::memcpy(cell, name.data(), std::min(name.size(), kNameSize - 1));
  return Counter(reinterpret_cast<std::atomic<std::uint64_t>*>(cell + kNameSize));
}

Result<std::vector<Counters::Reading>> Counters::read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_failure(errno, "opening the counter file");
  std::vector<char> content(kFileSize);
  const ssize_t got = ::pread(fd, content.data(), content.size(), 0);
  ::close(fd);
  if (got != static_cast<ssize_t>(kFileSize)) return failure(Code::corrupt, "reading the counter file");
  if (std::memcmp(content.data(), kMagic, sizeof kMagic) != 0)
    return failure(Code::corrupt, "reading the counter file");
  std::vector<Reading> readings;
  for (std::size_t i = 1; i <= kCellsMax; ++i) {
    const char* const cell = content.data() + i * kCellSize;
    if (cell[0] == 0) break;
    Reading reading{std::string(cell, ::strnlen(cell, kNameSize)), 0};
    std::memcpy(&reading.value, cell + kNameSize, sizeof reading.value);
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace tailrace
