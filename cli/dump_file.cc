// Reading files for `tailrace dump`: plain pread, so that a log that a broker is writing to may be looked at.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "cli/dump_parts.h"
#include "engine/record/legacy.h"

namespace tailrace::cli {

Result<DumpFile> DumpFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_failure(errno, "opening");
  DumpFile file(descriptor, 0);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return system_failure(errno, "reading the size");
  if (!S_ISREG(status.st_mode)) return failure(Code::invalid_argument, "not a regular file");
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

DumpFile::~DumpFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> DumpFile::read(std::uint64_t position, std::size_t size, record::Scratch& buffer) const {
  buffer.clear();
  if (position > size_ || size > size_ - position) return failure(Code::corrupt, "the file ends too early");
  std::byte* room = buffer.grow(size);
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t count = ::pread(descriptor_, room + filled, size - filled, static_cast<off_t>(position + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure(errno, "reading");
    if (count == 0) return failure(Code::corrupt, "the file ends too early");
    filled += static_cast<std::size_t>(count);
  }
  buffer.add(size);
  return {};
}

Result<bool> BatchWalk::next(StoredBatch& batch) {
  constexpr std::int32_t kLengthMin = record::kLegacyOverheadV0;  // no batch of any magic is shorter
  if (end_ - position_ <= record::kSizeUpToMagic) return false;
  if (auto read = file_.read(position_, record::kSizeUpToMagic, header_); !read) return std::unexpected(read.error());
  const auto length = load_big_endian<std::int32_t>(header_.data() + 8);
  const auto magic = static_cast<std::int8_t>(header_.data()[record::kMagicPosition]);
  if (length < kLengthMin) return failure(Code::corrupt, "length of a batch");
  const std::uint64_t size = record::kLogOverhead + static_cast<std::uint64_t>(length);
  if (size > end_ - position_) return false;

  // Higher magics than 2 are shown as if they were 2: the magic byte is not covered by the CRC.
  const bool is_legacy = magic < record::kMagicV2;
  const std::size_t header_size =
      is_legacy ? record::kLogOverhead + record::kLegacyOverheadV1 : record::kBatchHeaderSize;
  if (!is_legacy && size < header_size) return failure(Code::corrupt, "length of a batch");
  const auto readable = static_cast<std::size_t>(std::min<std::uint64_t>(header_size, size));
  if (auto read = file_.read(position_, readable, header_); !read) return std::unexpected(read.error());
  batch.position = position_;
  if (is_legacy) {
    const auto header = record::shallow_batch_header(header_.bytes());
    if (!header) return std::unexpected(header.error());
    batch.header = *header;
  } else {
    batch.header = record::read_header(header_.data());
  }
  position_ += size;
  return true;
}

Result<MutableBytes> BatchWalk::read_whole(const StoredBatch& batch) {
  if (auto read = file_.read(batch.position, batch.header.size_bytes(), whole_); !read)
    return std::unexpected(read.error());
  return whole_.mutable_bytes();
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Offset base_offset_of_file(std::string_view path) {
  const std::string_view name = file_name(path);
  const std::string_view digits = name.substr(0, name.find('.'));
  Offset offset = kNoOffset;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
  return status == std::errc() && end == digits.data() + digits.size() ? offset : kNoOffset;
}

std::string sibling(const std::string& path, std::string_view suffix) {
  const std::string_view name = file_name(path);
  const std::size_t stem_size = path.size() - name.size() + name.substr(0, name.find('.')).size();
  return path.substr(0, stem_size) + std::string(suffix);
}

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.string();
}

}  // namespace tailrace::cli
