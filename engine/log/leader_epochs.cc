#include "engine/log/leader_epochs.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/log/format.h"
#include "engine/log/text_lines.h"

namespace tailrace::log {
namespace {

// Adds `start`, dropping the entries that contradict it: those of its epoch and later ones, and those not before it.
void put(std::vector<EpochStart>& entries, EpochStart start) {
  while (!entries.empty() &&
         (entries.back().epoch >= start.epoch || entries.back().start_offset >= start.start_offset)) {
    entries.pop_back();
  }
  entries.push_back(start);
}

}  // namespace

std::string encode_leader_epochs(const std::vector<EpochStart>& entries) {
  std::string text = fmt::format("0\n{}\n", entries.size());
  for (const EpochStart& entry : entries) text += fmt::format("{} {}\n", entry.epoch, entry.start_offset);
  return text;
}

Result<std::vector<EpochStart>> parse_leader_epochs(std::string_view text) {
  // A crash may have cut it: the last number would be another one.
  if (!text.ends_with('\n')) return failure(Code::corrupt, "reading a leader epoch checkpoint that ends in a line");
  if (take_line(text) != "0") return failure(Code::corrupt, "reading the version of a leader epoch checkpoint");
  const auto count = parse_number<std::uint32_t>(take_line(text));
  std::vector<EpochStart> entries;
  std::uint32_t lines = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const auto epoch = parse_number<LeaderEpoch>(take_word(line));
    const auto start_offset = parse_number<Offset>(take_word(line));
    if (!epoch || !start_offset || *epoch < 0 || *start_offset < 0 || !line.empty())
      return failure(Code::corrupt, "reading an entry of a leader epoch checkpoint");
    put(entries, {*epoch, *start_offset});
    ++lines;
  }
  if (count != lines) return failure(Code::corrupt, "counting the entries of a leader epoch checkpoint");
  return entries;
}

Result<void> LeaderEpochs::load() {
  entries_.clear();
  Result<std::string> text = io::read_file(files_, directory_ + "/" + std::string(kLeaderEpochFile));
  if (!text) return std::unexpected(text.error());
  Result<std::vector<EpochStart>> entries = parse_leader_epochs(*text);
  if (!entries) return std::unexpected(entries.error());
  entries_ = std::move(*entries);
  return {};
}

Result<void> LeaderEpochs::store() {
  is_unsynced = true;
  const Result<void> done =
      io::put_file(files_, directory_ + "/" + std::string(kLeaderEpochFile), encode_leader_epochs(entries_));
  is_stale = !done;
  return done;
}

Result<void> LeaderEpochs::remove_file() {
  const std::string path = directory_ + "/" + std::string(kLeaderEpochFile);
  return files_.exists(path) ? files_.remove(path) : Result<void>();
}

Result<io::File> LeaderEpochs::open() const {
  return files_.open(directory_ + "/" + std::string(kLeaderEpochFile), io::OpenMode::read_write);
}

bool LeaderEpochs::is_news(LeaderEpoch epoch, Offset start_offset) const {
  return entries_.empty() || entries_.back().epoch != epoch || start_offset < entries_.back().start_offset;
}

Result<void> LeaderEpochs::assign(LeaderEpoch epoch, Offset start_offset) {
  if (!is_news(epoch, start_offset)) return {};
  std::vector<EpochStart> entries = entries_;
  put(entries, {epoch, start_offset});
  return replace(std::move(entries));
}

void LeaderEpochs::note(LeaderEpoch epoch, Offset start_offset) {
  if (is_news(epoch, start_offset)) put(entries_, {epoch, start_offset});
}

void LeaderEpochs::drop_from(Offset start) {
  std::erase_if(entries_, [start](const EpochStart& entry) { return entry.start_offset >= start; });
}

LeaderEpoch LeaderEpochs::at(Offset offset) const {
  const auto behind = std::ranges::upper_bound(entries_, offset, {}, &EpochStart::start_offset);
  return behind == entries_.begin() ? kNoLeaderEpoch : std::prev(behind)->epoch;
}

EpochEnd LeaderEpochs::end_of(LeaderEpoch epoch, Offset log_end) const {
  if (epoch == kNoLeaderEpoch || entries_.empty()) return {};
  if (epoch == entries_.back().epoch) return {epoch, log_end};
  const auto later = std::ranges::upper_bound(entries_, epoch, {}, &EpochStart::epoch);
  if (later == entries_.end()) return {};
  // Older than all that is known: the data of that epoch is gone, and what follows begins where the first known does.
  if (later == entries_.begin()) return {epoch, later->start_offset};
  return {std::prev(later)->epoch, later->start_offset};
}

Result<void> LeaderEpochs::truncate_from_end(Offset end) {
  if (entries_.empty() || entries_.back().start_offset < end) return {};
  std::vector<EpochStart> entries = entries_;
  std::erase_if(entries, [end](const EpochStart& entry) { return entry.start_offset >= end; });
  return replace(std::move(entries));
}

Result<void> LeaderEpochs::truncate_from_start(Offset start) {
  const auto behind = std::ranges::upper_bound(entries_, start, {}, &EpochStart::start_offset);
  if (behind == entries_.begin()) return {};
  std::vector<EpochStart> entries(std::prev(behind), entries_.end());
  entries.front().start_offset = start;
  if (entries == entries_) return {};
  return replace(std::move(entries));
}

Result<void> LeaderEpochs::forget(LeaderEpoch epoch) {
  std::vector<EpochStart> entries = entries_;
  std::erase_if(entries, [epoch](const EpochStart& entry) { return entry.epoch == epoch; });
  return entries.size() == entries_.size() ? Result<void>() : replace(std::move(entries));
}

Result<void> LeaderEpochs::clear() { return entries_.empty() ? Result<void>() : replace({}); }

Result<void> LeaderEpochs::replace(std::vector<EpochStart> entries) {
  std::swap(entries, entries_);
  const bool was_stale = is_stale;
  Result<void> done = store();
  if (!done) {
    std::swap(entries, entries_);
    is_stale = was_stale;
  }
  return done;
}

}  // namespace tailrace::log
