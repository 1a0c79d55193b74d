// CheckpointWrite: replaces one checkpoint of the data directory without keeping the loop: the new content is written
// beside the old one, synced, renamed over it, and the directory is synced, the syncs in the background. Owned by the
// DataDirectory; one replacement at a time. A crash leaves the old content or the new.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/io/completion.h"
#include "engine/io/files.h"

namespace tailrace::server {

class CheckpointWrite {
 public:
  CheckpointWrite(io::Files& files, const std::string& directory, std::string_view name);
  ~CheckpointWrite();
  CheckpointWrite(const CheckpointWrite&) = delete;
  CheckpointWrite& operator=(const CheckpointWrite&) = delete;

  // None may be running. `done` gets 0 when the content is durable, or -errno: then it may be there or not. An error
  // means that nothing was begun.
  Result<void> start(std::string_view content, io::Completion& done);
  [[nodiscard]] bool is_running() const { return done_ != nullptr; }
  // Somebody has replaced the file, durably and with all that is being written here: `done` gets 0, and the file stays
  // as it is.
  void supersede() { is_superseded_ = true; }

 private:
  void on_content_synced(std::int64_t result);
  void on_name_synced(std::int64_t result);
  void end(std::int64_t result);

  io::Files& files_;
  const std::string& directory_;
  std::string path_;
  std::string new_path_;
  io::File file_;
  io::Completion content_synced_;
  io::Completion name_synced_;
  io::Completion* done_ = nullptr;
  bool is_superseded_ = false;
};

}  // namespace tailrace::server
