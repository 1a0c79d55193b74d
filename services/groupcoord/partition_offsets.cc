#include "services/groupcoord/partition_offsets.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace tailrace::groupcoord {

SmallText::SmallText(std::string_view text) {
  if (text.empty()) return;
  const auto size = static_cast<std::uint16_t>(std::min(text.size(), kSizeMax));
  bytes_ = std::make_unique_for_overwrite<char[]>(sizeof size + size);
  std::memcpy(bytes_.get(), &size, sizeof size);
  std::memcpy(bytes_.get() + sizeof size, text.data(), size);
}

std::string_view SmallText::view() const {
  if (bytes_ == nullptr) return {};
  std::uint16_t size = 0;
  std::memcpy(&size, bytes_.get(), sizeof size);
  return {bytes_.get() + sizeof size, size};
}

PartitionOffsets::Place PartitionOffsets::place_of(std::int32_t partition) const {
  // The last run that begins at the partition or before; the first for one that is before all.
  const auto after = std::ranges::upper_bound(runs_, partition, {}, [](const Run& run) { return run[0].partition; });
  const auto run = after == runs_.begin() ? after : std::prev(after);
  const auto number = static_cast<std::size_t>(run - runs_.begin());
  if (run == runs_.end()) return {number, 0, false};
  const auto at = std::ranges::lower_bound(*run, partition, {}, &CommittedOffset::partition);
  return {number, static_cast<std::size_t>(at - run->begin()), at != run->end() && at->partition == partition};
}

const CommittedOffset* PartitionOffsets::find(std::int32_t partition) const {
  const Place place = place_of(partition);
  return place.is_there ? &runs_[place.run][place.at] : nullptr;
}

void PartitionOffsets::put(CommittedOffset committed) {
  const Place place = place_of(committed.partition);
  if (place.is_there) {
    runs_[place.run][place.at] = std::move(committed);
    return;
  }
  if (place.run == runs_.size()) runs_.emplace_back();
  Run& run = runs_[place.run];
  run.insert(run.begin() + static_cast<std::ptrdiff_t>(place.at), std::move(committed));
  if (run.size() <= kRunMax) return;
  // A run that grows at its end is full of partitions in order: the next ones will follow, so leave it full.
  const auto middle = run.begin() + (place.at == kRunMax ? kRunMax : kRunMax / 2);
  Run half(std::make_move_iterator(middle), std::make_move_iterator(run.end()));
  run.erase(middle, run.end());
  run.shrink_to_fit();
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(place.run) + 1, std::move(half));
}

bool PartitionOffsets::erase(std::int32_t partition) {
  const Place place = place_of(partition);
  if (!place.is_there) return false;
  Run& run = runs_[place.run];
  run.erase(run.begin() + static_cast<std::ptrdiff_t>(place.at));
  if (run.empty()) runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place.run));
  return true;
}

std::size_t PartitionOffsets::size() const {
  std::size_t size = 0;
  for (const Run& run : runs_) size += run.size();
  return size;
}

}  // namespace tailrace::groupcoord
