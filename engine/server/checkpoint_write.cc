#include "engine/server/checkpoint_write.h"

#include <cerrno>
#include <utility>

#include "engine/base/check.h"

namespace tailrace::server {

// Not the name that io::replace_file uses, which may replace the same file meanwhile.
CheckpointWrite::CheckpointWrite(io::Files& files, const std::string& directory, std::string_view name)
    : files_(files), directory_(directory), path_(directory + "/" + std::string(name)), new_path_(path_ + ".new") {
  content_synced_.bind<&CheckpointWrite::on_content_synced>(this);
  name_synced_.bind<&CheckpointWrite::on_name_synced>(this);
}

CheckpointWrite::~CheckpointWrite() {
  if (file_) files_.close(file_);
}

Result<void> CheckpointWrite::start(std::string_view content, io::Completion& done) {
  CHECK(!is_running() && !done.pending);
  Result<io::File> file = files_.open(new_path_, io::OpenMode::open_or_create);
  if (!file) return std::unexpected(file.error());
  Result<void> written = files_.truncate(*file, 0);
  if (written) written = files_.write(*file, as_bytes(content), 0);
  if (!written) {
    files_.close(*file);
    static_cast<void>(files_.remove(new_path_));
    return written;
  }
  file_ = *file;
  is_superseded_ = false;
  done.pending = true;
  done_ = &done;
  files_.sync(file_, content_synced_);
  return {};
}

void CheckpointWrite::on_content_synced(std::int64_t result) {
  files_.close(std::exchange(file_, io::File{}));
  Result<void> renamed;
  if (result >= 0 && !is_superseded_) renamed = files_.rename(new_path_, path_);
  if (result < 0 || is_superseded_ || !renamed) {
    // A file that met a failed sync is not written again: the next one is a new one.
    static_cast<void>(files_.remove(new_path_));
    if (is_superseded_) return end(0);
    if (result < 0) return end(result);
    return end(renamed.error().system_error != 0 ? -static_cast<std::int64_t>(renamed.error().system_error) : -EIO);
  }
  files_.sync_directory(directory_, name_synced_);
}

void CheckpointWrite::on_name_synced(std::int64_t result) { end(is_superseded_ ? 0 : result); }

void CheckpointWrite::end(std::int64_t result) {
  io::Completion& done = *std::exchange(done_, nullptr);
  done.pending = false;
  done.function(done.owner, result);
}

}  // namespace tailrace::server
