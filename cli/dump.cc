#include "cli/dump.h"

#include <iterator>
#include <memory>
#include <ranges>

#include "cli/command.h"
#include "cli/dump_parts.h"
#include "engine/log/format.h"

namespace tailrace::cli {
namespace {

// "a//b/" -> "a/b": how java.io.File writes a path, which is how Kafka's tool prints it.
std::string java_path(const std::string& path) {
  std::string normal;
  for (const char c : path) {
    if (c != '/' || normal.empty() || normal.back() != '/') normal.push_back(c);
  }
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

void dump_one(Dump& dump, const std::string& path) {
  dump.print("Dumping {}\n", path);
  const std::string_view name = file_name(path);
  const auto dot = name.rfind('.');
  const std::string_view suffix = dot == std::string_view::npos ? std::string_view() : name.substr(dot);
  if (suffix == log::kLogSuffix) return dump_log(dump, path);
  if (suffix == log::kOffsetIndexSuffix) return dump_offset_index(dump, path);
  if (suffix == log::kTimeIndexSuffix) return dump_time_index(dump, path);
  if (suffix == log::kSnapshotSuffix) return dump_snapshot(dump, path);
  if (suffix == log::kTransactionIndexSuffix) return dump_transaction_index(dump, path);
  dump.print_error("Ignoring unknown file {}\n", path);
}

// Each of these is damage, except for gaps.
void print_findings(Dump& dump) {
  const DumpFindings& findings = dump.findings();
  for (const auto& [file, mismatches] : findings.index_mismatches) {
    dump.print_error("Mismatches in :{}\n", file);
    for (const auto& [indexed, logged] : mismatches | std::views::reverse) {
      dump.print_error("  Index offset: {}, log offset: {}\n", indexed, logged);
    }
    dump.mark_unsound();
  }
  for (const auto& [file, mismatches] : findings.time_mismatches) {
    dump.print_error("Found timestamp mismatch in :{}\n", file);
    for (const auto& [indexed, logged] : mismatches) {
      dump.print_error("  Index timestamp: {}, log timestamp: {}\n", indexed, logged);
    }
    dump.mark_unsound();
  }
  for (const auto& [file, pairs] : findings.times_out_of_order) {
    dump.print_error("Found out of order timestamp in :{}\n", file);
    for (const auto& [timestamp, previous] : pairs) {
      dump.print_error("  Index timestamp: {}, Previously indexed timestamp: {}\n", timestamp, previous);
    }
    dump.mark_unsound();
  }
  for (const auto& [file, pairs] : findings.offsets_not_found) {
    dump.print_error("The following indexed offsets are not found in :{}\n", file);
    for (const auto& [indexed, found] : pairs) {
      dump.print_error("Indexed offset: {}, found log offset: {}\n", indexed, found);
    }
    dump.mark_unsound();
  }
  for (const auto& [file, pairs] : findings.gaps) {
    dump.print_error("Non-consecutive offsets in {}\n", file);
    for (const auto& [offset, next] : pairs) dump.print_error("  {} is followed by {}\n", offset, next);
  }
}

}  // namespace

void Dump::complain(const std::string& path, std::string_view what) {
  mark_unsound();
  print_error("{}: {}\n", path, what);
}

void Dump::complain(const std::string& path, std::string_view what, const Error& error) {
  mark_unsound();
  print_error("{}: {}: {}\n", path, what, error.text());
}

int run_dump(const DumpOptions& options, std::FILE* out, std::FILE* err) {
  Dump dump(options, out, err);
  for (const std::string& file : options.files) {
    dump_one(dump, java_path(file));
  }
  print_findings(dump);
  if (std::fflush(out) != 0 || std::ferror(out) != 0) {
    dump.print_error("tailrace dump: the output could not be written\n");
    return 1;
  }
  return dump.is_sound() ? 0 : 1;
}

void add_dump_command(Command app, int& exit_code) {
  struct Arguments {
    DumpOptions options;
    std::vector<std::string> listed;
  };
  auto arguments = std::make_shared<Arguments>();
  DumpOptions& options = arguments->options;
  Command command = app.add_subcommand("dump", "Print what is in segment files, as kafka-dump-log does");
  command.description(
      "Print what is in segment files, as kafka-dump-log does\n"
      "Of .log, .index, .timeindex, .txnindex and .snapshot files it prints what the tool of Kafka 4.4 prints. Needs "
      "no "
      "running node. The exit status is 1 when a file is missing or something in it is not sound.");
  command.add_option("FILE", options.files, "files to print").type_name("FILE");
  command.add_option("--files", arguments->listed, "files to print, separated by commas")
      .type_name("FILE,...")
      .delimiter(',')
      .allow_extra_args(true);
  command.add_flag("--deep-iteration", options.deep_iteration, "print each record, not only each batch");
  command.add_flag("--print-data-log", options.print_data_log, "print keys and values too; implies --deep-iteration");
  command.add_flag("--offsets-decoder", options.offsets_decoder,
                   "print keys and values of __consumer_offsets as JSON; implies --deep-iteration");
  command.add_flag("--skip-record-metadata", options.skip_record_metadata, "of each record, print only key and value");
  command.add_flag("--verify-index-only", options.verify_index_only, "check indexes against the log, print no entries");
  command.add_flag("--index-sanity-check", options.index_sanity_check,
                   "check of indexes what a broker checks at start");
  command
      .add_option("--max-message-size", options.max_message_size, "largest batch that an index may point to, in bytes")
      .non_negative()
      .type_name("BYTES")
      .capture_default_str();
  command.add_option("--max-bytes", options.max_bytes, "how much of each .log to look at, in bytes (default: all)")
      .non_negative()
      .type_name("BYTES");
  add_examples(command, {"dump /var/lib/tailrace/events-0/*.log", "dump --print-data-log 00000000000000000000.log",
                         "dump --offsets-decoder /var/lib/tailrace/__consumer_offsets-7/*.log",
                         "dump --index-sanity-check *.index *.timeindex"});
  command.callback([arguments, &exit_code] {
    DumpOptions& chosen = arguments->options;
    chosen.files.insert(chosen.files.end(), std::make_move_iterator(arguments->listed.begin()),
                        std::make_move_iterator(arguments->listed.end()));
    if (chosen.files.empty()) refuse_without("FILE or --files");
    exit_code = run_dump(chosen, stdout, stderr);
  });
}

}  // namespace tailrace::cli
