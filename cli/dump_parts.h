// The parts of `tailrace dump`: one function per kind of file, and what they share. Only dump*.cc include this.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/dump.h"
#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"
#include "engine/record/compression.h"

namespace tailrace::cli {

// A file that is only read, at given positions. Its size is taken when it is opened.
class DumpFile {
 public:
  static Result<DumpFile> open(const std::string& path);
  DumpFile(DumpFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  DumpFile& operator=(DumpFile&&) = delete;
  ~DumpFile();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Exactly `size` bytes at `position`, in `buffer` (cleared first). Errors: io_failed, corrupt (the file ends before
  // that).
  Result<void> read(std::uint64_t position, std::size_t size, record::Scratch& buffer) const;

 private:
  DumpFile(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  int descriptor_;
  std::uint64_t size_;
};

// What was found to say at the end, by file, as Kafka's tool collects it.
struct DumpFindings {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  std::map<std::string, std::map<Offset, Offset>>
      index_mismatches;                                  // offset in .index -> last offset of the batch in the .log
  std::map<std::string, Pairs> time_mismatches;          // timestamp in .timeindex, in the .log
  std::map<std::string, Pairs> times_out_of_order;       // timestamp, the one before
  std::map<std::string, Pairs> offsets_not_found;        // offset in .timeindex, the one in the .log or -1
  std::map<std::string, std::map<Offset, Offset>> gaps;  // offset -> the next one
};

// One run of the command: its options, where it prints, what it has found.
class Dump {
 public:
  Dump(const DumpOptions& options, std::FILE* out, std::FILE* err) : options_(options), out_(out), err_(err) {}

  [[nodiscard]] const DumpOptions& options() const { return options_; }
  DumpFindings& findings() { return findings_; }
  [[nodiscard]] bool is_sound() const { return is_sound_; }
  void mark_unsound() { is_sound_ = false; }

  void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), out_); }
  template <class... T>
  void print(fmt::format_string<T...> format, T&&... args) {
    // fmt::print would throw where the output cannot be written.
    print(std::string_view(fmt::format(format, std::forward<T>(args)...)));
  }
  template <class... T>
  void print_error(fmt::format_string<T...> format, T&&... args) {
    fmt::print(err_, format, std::forward<T>(args)...);
  }
  // Something is wrong with a file: says so on stderr.
  void complain(const std::string& path, std::string_view what);
  void complain(const std::string& path, std::string_view what, const Error& error);

 private:
  const DumpOptions& options_;
  std::FILE* out_;
  std::FILE* err_;
  DumpFindings findings_;
  bool is_sound_ = true;
};

void dump_log(Dump& dump, const std::string& path);
void dump_offset_index(Dump& dump, const std::string& path);
void dump_time_index(Dump& dump, const std::string& path);
void dump_transaction_index(Dump& dump, const std::string& path);
void dump_snapshot(Dump& dump, const std::string& path);

// One batch of a .log as far as it can be known without its records. Of magic 0 and 1, base offset and last offset are
// the entry's.
struct StoredBatch {
  record::BatchHeader header;
  std::uint64_t position = 0;
};
// Walks the batches of [position, end) of a .log as Kafka's FileLogInputStream does.
class BatchWalk {
 public:
  BatchWalk(const DumpFile& file, std::uint64_t position, std::uint64_t end)
      : file_(file), position_(position), end_(end) {}
  // False when no whole batch is left. Error: corrupt (a length that no batch has), io_failed.
  Result<bool> next(StoredBatch& batch);
  // The whole batch that next() gave; mutable, and good until the next call.
  Result<MutableBytes> read_whole(const StoredBatch& batch);
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  const DumpFile& file_;
  std::uint64_t position_;
  std::uint64_t end_;
  record::Scratch header_;
  record::Scratch whole_;
};

// A record of `__consumer_offsets` as Kafka's tool prints it: key and value as JSON, or in the place of the key why it
// is skipped.
struct GroupRecordText {
  std::string key;
  std::optional<std::string> payload{};
  bool is_sound = true;  // a record of a type that Kafka 4.4 does not have is skipped and sound
};
GroupRecordText group_record_text(Offset offset, Bytes key, const std::optional<Bytes>& value);

// "a/b/0001.log" -> "0001.log"; ".log" of it; the number before the first dot, -1 if there is none.
std::string_view file_name(std::string_view path);
Offset base_offset_of_file(std::string_view path);
// The file with another suffix beside this one.
std::string sibling(const std::string& path, std::string_view suffix);
std::string absolute_path(const std::string& path);

// How much the records of one batch may unpack to.
constexpr std::size_t kUnpackedBytesMax = std::size_t{1} << 30;

}  // namespace tailrace::cli
