#include "engine/log/transaction_index.h"

namespace tailrace::log {
namespace {

AbortedTransaction decode(const std::byte* entry) {
  return {.producer_id = load_big_endian<std::int64_t>(entry + 2),
          .first_offset = load_big_endian<std::int64_t>(entry + 10),
          .last_offset = load_big_endian<std::int64_t>(entry + 18),
          .last_stable_offset = load_big_endian<std::int64_t>(entry + 26)};
}

}  // namespace

Result<void> TransactionIndex::load() {
  if (auto loaded = file_.load(); !loaded) return loaded;
  Offset previous = kNoOffset;
  for (std::uint32_t i = 0; i < file_.count(); ++i) {
    std::byte entry[kTransactionEntrySize];
    if (auto got = file_.read(i, entry); !got) return got;
    const AbortedTransaction aborted = decode(entry);
    if (load_big_endian<std::int16_t>(entry) != kTransactionEntryVersion || aborted.last_offset < base_offset_ ||
        aborted.last_offset <= previous || aborted.first_offset < 0 || aborted.first_offset > aborted.last_offset)
      return failure(Code::corrupt, "entry of a transaction index");
    previous = aborted.last_offset;
  }
  last_marker_ = previous;
  return {};
}

Result<void> TransactionIndex::reset() {
  last_marker_ = kNoOffset;
  if (auto removed = file_.remove(); !removed) return removed;
  return file_.keep(0);
}

void TransactionIndex::append(const AbortedTransaction& aborted) {
  if (aborted.last_offset <= last_marker_) return;
  std::byte entry[kTransactionEntrySize];
  store_big_endian(entry, kTransactionEntryVersion);
  store_big_endian(entry + 2, aborted.producer_id);
  store_big_endian(entry + 10, aborted.first_offset);
  store_big_endian(entry + 18, aborted.last_offset);
  store_big_endian(entry + 26, aborted.last_stable_offset);
  file_.append(entry);
  last_marker_ = aborted.last_offset;
}

Result<bool> TransactionIndex::collect(Offset from, Offset to, std::vector<AbortedTransaction>& into) const {
  if (file_.count() == 0 || last_marker_ < from) return false;
  Result<std::uint32_t> first =
      file_.count_before([&](const std::byte* entry) { return decode(entry).last_offset < from; });
  if (!first) return std::unexpected(first.error());
  for (std::uint32_t i = *first; i < file_.count(); ++i) {
    std::byte entry[kTransactionEntrySize];
    if (auto got = file_.read(i, entry); !got) return std::unexpected(got.error());
    const AbortedTransaction aborted = decode(entry);
    if (aborted.first_offset < to) into.push_back(aborted);
    // Everything below the last stable offset was decided: no later marker ends a transaction that begins below it.
    if (aborted.last_stable_offset >= to) return true;
  }
  return false;
}

Result<void> TransactionIndex::truncate_to(Offset offset) {
  if (file_.count() == 0 || last_marker_ < offset) return {};
  Result<std::uint32_t> count =
      file_.count_before([&](const std::byte* entry) { return decode(entry).last_offset < offset; });
  if (!count) return std::unexpected(count.error());
  if (*count == 0) return reset();
  if (auto done = file_.keep(*count); !done) return done;
  return load_last();
}

Result<void> TransactionIndex::load_last() {
  std::byte entry[kTransactionEntrySize];
  if (auto got = file_.read(file_.count() - 1, entry); !got) return got;
  last_marker_ = decode(entry).last_offset;
  return {};
}

}  // namespace tailrace::log
