// LeaderEpochs: at which offset each leader epoch of a partition begins (KIP-101, KIP-279; Kafka's
// LeaderEpochFileCache), kept in leader-epoch-checkpoint. Epochs and start offsets rise strictly. Owned by a Log, which
// stores what is new before the batches that follow are written, and syncs the file with the next sync of these: what a
// power cut takes of it, recovery finds in the batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/log/log.h"

namespace tailrace::log {

struct EpochStart {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset start_offset = 0;
  friend bool operator==(const EpochStart&, const EpochStart&) = default;
};

// The text of the file: version 0, the number of entries, "epoch offset" lines.
std::string encode_leader_epochs(const std::vector<EpochStart>& entries);
// Error: corrupt.
Result<std::vector<EpochStart>> parse_leader_epochs(std::string_view text);

class LeaderEpochs {
 public:
  // `directory` is the log's and outlives this.
  LeaderEpochs(io::Files& files, const std::string& directory) : files_(files), directory_(directory) {}

  // Errors: not_found, corrupt; there are no entries then.
  Result<void> load();
  // Writes the file, which is then to be synced, and its name: before a recovery point may lie above what it tells.
  // From there on a scan of the log would make good for it, and it is the same with a file that cannot be read.
  Result<void> store();
  bool is_unsynced = false;
  bool is_stale = false;  // there is news that is in memory alone: to be stored before the next batch
  Result<void> remove_file();
  // For the sync. The caller closes it.
  Result<io::File> open() const;

  [[nodiscard]] const std::vector<EpochStart>& entries() const { return entries_; }
  [[nodiscard]] LeaderEpoch latest() const { return entries_.empty() ? kNoLeaderEpoch : entries_.back().epoch; }
  // Whether assign() would change something.
  [[nodiscard]] bool is_news(LeaderEpoch epoch, Offset start_offset) const;
  // `epoch` begins at `start_offset`; entries that contradict it go. Stored, as is what the other changes that can fail
  // do; on error nothing has changed.
  Result<void> assign(LeaderEpoch epoch, Offset start_offset);
  // The same in memory alone, for a scan of the log that calls store() at its end.
  void note(LeaderEpoch epoch, Offset start_offset);
  // What begins at or behind `start` goes, in memory alone: a scan from there on tells it anew.
  void drop_from(Offset start);
  // The epoch that `offset` was written in; none when it is older than all that is known.
  [[nodiscard]] LeaderEpoch at(Offset offset) const;
  // Where `epoch` ends in a log that ends at `log_end` (LeaderEpochFileCache.endOffsetFor).
  [[nodiscard]] EpochEnd end_of(LeaderEpoch epoch, Offset log_end) const;

  // Drops what begins at or behind `end`.
  Result<void> truncate_from_end(Offset end);
  // Drops what ends at or before `start`; the epoch that goes on there begins there now.
  Result<void> truncate_from_start(Offset start);
  // Drops one entry, whose batches were not written after all.
  Result<void> forget(LeaderEpoch epoch);
  Result<void> clear();

 private:
  Result<void> replace(std::vector<EpochStart> entries);

  io::Files& files_;
  const std::string& directory_;
  std::vector<EpochStart> entries_;
};

}  // namespace tailrace::log
