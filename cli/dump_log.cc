// `tailrace dump` of a .log: a line for each batch and, where asked for, one for each record.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/dump_parts.h"
#include "engine/record/control.h"
#include "engine/record/legacy.h"
#include "engine/record/records.h"
#include "services/kafka/java_text.h"

namespace tailrace::cli {
namespace {

using kafka::java_text;
using record::BatchHeader;
using Line = fmt::memory_buffer;

std::back_insert_iterator<Line> at_end(Line& line) { return std::back_inserter(line); }

const char* timestamp_type(const BatchHeader& header) {
  if (header.magic == 0) return "NoTimestampType";
  return header.is_log_append_time() ? "LogAppendTime" : "CreateTime";
}

bool has_valid_crc(const BatchHeader& header, Bytes batch) {
  return header.magic < record::kMagicV2 ? record::legacy_crc_is_valid(batch)
                                         : record::compute_crc(batch) == header.crc;
}

void print_batch(Dump& dump, const StoredBatch& batch, bool is_valid) {
  const BatchHeader& header = batch.header;
  if (header.magic >= record::kMagicV2) {
    dump.print(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} "
        "partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: ",
        header.base_offset, header.last_offset(), header.record_count, header.base_sequence, header.last_sequence(),
        header.producer_id, header.producer_epoch, header.partition_leader_epoch, header.is_transactional(),
        header.is_control());
    if (header.has_delete_horizon()) {
      dump.print("OptionalLong[{}]", header.base_timestamp);
    } else {
      dump.print("OptionalLong.empty");
    }
  } else {
    dump.print("offset: {}", header.last_offset());
  }
  dump.print(" position: {} {}: {} size: {} magic: {} compresscodec: {} crc: {} isvalid: {}\n", batch.position,
             timestamp_type(header), header.max_timestamp, header.size_bytes(), header.magic,
             record::name(header.compression()), header.crc, is_valid);
}

std::int64_t size_or_null(const std::optional<Bytes>& bytes) {
  return bytes ? static_cast<std::int64_t>(bytes->size()) : -1;
}

void add_header_keys(Line& line, record::Headers headers) {
  fmt::format_to(at_end(line), " headerKeys: [");
  record::Header header;
  for (bool is_first = true; headers.next(header); is_first = false) {
    fmt::format_to(at_end(line), "{}{}", is_first ? "" : ",", java_text(header.key));
  }
  line.push_back(']');
}

// ControlRecordType's names. Of records that only KRaft's metadata log has, the type alone is told.
std::string_view control_type_name(record::ControlType type) {
  switch (type) {
    case record::ControlType::abort:
      return "ABORT";
    case record::ControlType::commit:
      return "COMMIT";
    case record::ControlType::leader_change:
      return "LEADER_CHANGE";
    case record::ControlType::snapshot_header:
      return "SNAPSHOT_HEADER";
    case record::ControlType::snapshot_footer:
      return "SNAPSHOT_FOOTER";
    case record::ControlType::kraft_version:
      return "KRAFT_VERSION";
    case record::ControlType::kraft_voters:
      return "KRAFT_VOTERS";
  }
  return "UNKNOWN";
}

Result<void> add_control(Line& line, const record::Record& record) {
  const auto type = record::control_type(record);
  if (!type) return std::unexpected(type.error());
  const auto marker = record::end_marker(record);
  if (!marker) return std::unexpected(marker.error());
  if (*marker) {
    fmt::format_to(at_end(line), " endTxnMarker: {} coordinatorEpoch: {}", control_type_name(*type),
                   (*marker)->coordinator_epoch);
  } else {
    fmt::format_to(at_end(line), " controlType: {}({})", control_type_name(*type), static_cast<int>(*type));
  }
  return {};
}

Result<void> add_metadata(Line& line, const BatchHeader& header, const record::Record& record) {
  fmt::format_to(at_end(line), "| offset: {} {}: {} keySize: {} valueSize: {}", record.offset, timestamp_type(header),
                 record.timestamp, size_or_null(record.key), size_or_null(record.value));
  if (header.magic >= record::kMagicV2) {
    fmt::format_to(at_end(line), " sequence: {}", record.sequence);
    add_header_keys(line, record.headers);
  } else {
    fmt::format_to(at_end(line), " isValid: {} crc: {}", record.crc_is_valid, record.crc);
  }
  return header.is_control() ? add_control(line, record) : Result<void>{};
}

void add_contents(Line& line, const record::Record& record, std::string_view prefix) {
  if (record.key) {
    fmt::format_to(at_end(line), "{}key: {}", prefix, java_text(*record.key));
    prefix = " ";
  }
  if (record.value) fmt::format_to(at_end(line), "{}payload: {}", prefix, java_text(*record.value));
}

// Prints the records of the batches of one log, and notes where offsets do not follow each other.
class RecordPrinter {
 public:
  RecordPrinter(Dump& dump, const std::string& path) : dump_(dump), path_(path) {}

  void print_all(const StoredBatch& batch, MutableBytes bytes) {
    if (batch.header.magic > record::kMagicV2) bytes[record::kMagicPosition] = static_cast<std::byte>(record::kMagicV2);
    auto records = record::Records::open(bytes, scratch_, kUnpackedBytesMax);
    if (!records) return complain(batch, records.error());
    record::Record record;
    while (true) {
      const auto has_record = records->next(record);
      if (!has_record) return complain(batch, has_record.error());
      if (!*has_record) return;
      note_gap(record.offset);
      if (record.magic < record::kMagicV2 && !record.crc_is_valid) dump_.mark_unsound();
      if (const auto printed = print(batch.header, record); !printed) return complain(batch, printed.error());
    }
  }

 private:
  Result<void> print(const BatchHeader& header, const record::Record& record) {
    const DumpOptions& options = dump_.options();
    line_.clear();
    if (!options.skip_record_metadata) {
      if (auto added = add_metadata(line_, header, record); !added) return added;
    }
    const std::string_view prefix = options.skip_record_metadata ? "| " : " ";
    if (!header.is_control()) {
      if (options.offsets_decoder) {
        add_group_record(record, prefix);
      } else if (options.print_data_log) {
        add_contents(line_, record, prefix);
      }
    }
    line_.push_back('\n');
    dump_.print(std::string_view(line_.data(), line_.size()));
    return {};
  }

  void add_group_record(const record::Record& record, std::string_view prefix) {
    if (!record.key) return dump_.complain(path_, fmt::format("the record at offset {} has no key", record.offset));
    const GroupRecordText text = group_record_text(record.offset, *record.key, record.value);
    fmt::format_to(at_end(line_), "{}key: {}", prefix, text.key);
    if (text.payload) fmt::format_to(at_end(line_), " payload: {}", *text.payload);
    if (!text.is_sound) dump_.mark_unsound();
  }

  // Compaction leaves gaps; an offset that is not above the one before is damage.
  void note_gap(Offset offset) {
    const auto expected = static_cast<Offset>(static_cast<std::uint64_t>(last_offset_) + 1);
    if (offset != expected) dump_.findings().gaps[absolute_path(path_)][last_offset_] = offset;
    if (offset <= last_offset_) dump_.complain(path_, fmt::format("offset {} comes after {}", offset, last_offset_));
    last_offset_ = offset;
  }

  void complain(const StoredBatch& batch, const Error& error) {
    dump_.complain(path_, fmt::format("batch at position {}", batch.position), error);
  }

  Dump& dump_;
  const std::string& path_;
  record::Scratch scratch_;
  Line line_;
  Offset last_offset_ = -1;
};

}  // namespace

void dump_log(Dump& dump, const std::string& path) {
  const Offset base_offset = base_offset_of_file(path);
  if (base_offset < 0) return dump.complain(path, "the name does not begin with an offset");
  dump.print("Log starting offset: {}\n", base_offset);
  const auto file = DumpFile::open(path);
  if (!file) return dump.complain(path, "cannot be read", file.error());

  const DumpOptions& options = dump.options();
  const bool is_deep = options.deep_iteration || options.print_data_log || options.offsets_decoder;
  const auto bytes_max = static_cast<std::uint64_t>(options.max_bytes);
  BatchWalk walk(*file, 0, std::min(file->size(), bytes_max));
  RecordPrinter printer(dump, path);
  StoredBatch batch;
  while (true) {
    const auto has_batch = walk.next(batch);
    if (!has_batch) return dump.complain(path, fmt::format("at position {}", walk.position()), has_batch.error());
    if (!*has_batch) break;
    const auto bytes = walk.read_whole(batch);
    if (!bytes) return dump.complain(path, fmt::format("at position {}", batch.position), bytes.error());
    const bool is_valid = has_valid_crc(batch.header, *bytes);
    if (!is_valid) dump.mark_unsound();
    if (batch.header.magic > record::kMagicV2) {
      dump.complain(path,
                    fmt::format("batch at position {} has the unknown magic {}", batch.position, batch.header.magic));
    }
    print_batch(dump, batch, is_valid);
    if (is_deep) printer.print_all(batch, *bytes);
  }
  if (file->size() > walk.position() && options.max_bytes == std::numeric_limits<std::int32_t>::max()) {
    dump.print("Found {} invalid bytes at the end of {}\n", file->size() - walk.position(), file_name(path));
    dump.mark_unsound();
  }
}

}  // namespace tailrace::cli
