// `tailrace dump`: prints what is in segment files, as Kafka 4.4's kafka-dump-log does, line for line. It works on
// files alone, needs no running node and changes nothing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace tailrace::cli {

class Command;

struct DumpOptions {
  std::vector<std::string> files;     // .log .index .timeindex .txnindex .snapshot, told apart by their names
  bool deep_iteration = false;        // each record of a .log, not only each batch
  bool print_data_log = false;        // keys and values too; implies deep_iteration
  bool offsets_decoder = false;       // keys and values are records of `__consumer_offsets`; implies print_data_log
  bool skip_record_metadata = false;  // of each record only key and value
  bool verify_index_only = false;     // check .index and .timeindex against the .log, print no entries
  bool index_sanity_check = false;    // check only what a broker checks at start
  std::int32_t max_message_size = 5 * 1024 * 1024;                    // the largest batch that an .index may point to
  std::int32_t max_bytes = std::numeric_limits<std::int32_t>::max();  // how much of each .log to look at
};

// Prints the files in turn on `out`; what is wrong with them goes to `err`, and most of it after the last file, as with
// Kafka. Returns the exit status: 0 when all was sound, else 1 (kafka-dump-log answers 0 there): a file that is missing
// or unreadable, a bad CRC, bytes that are no batch, records that do not decode, an index that does not fit its log.
// Gaps between offsets, which compaction makes, are named on `err` but are sound.
int run_dump(const DumpOptions& options, std::FILE* out, std::FILE* err);

// Adds the subcommand; when it runs, `exit_code` gets the status.
void add_dump_command(Command app, int& exit_code);

}  // namespace tailrace::cli
