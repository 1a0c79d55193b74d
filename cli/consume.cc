#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/json_record.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/text.h"

namespace tailrace::cli {
namespace {

constexpr std::size_t kWriteBytes = 256 << 10;

struct ConsumeOptions {
  ClientOptions client;
  std::string topic;
  std::vector<std::int32_t> partitions;
  std::string from = "latest";
  std::string until;
  std::uint64_t count = 0;  // 0: no bound
  bool exit_at_end = false;
  std::vector<std::string> print;
  bool json = false;
  std::string separator = "\t";
  std::string null_text = "null";
};

// Gathers output and writes it in large pieces.
class Output {
 public:
  std::string& text() { return text_; }
  Outcome<void> flush_if_large() { return text_.size() >= kWriteBytes ? flush() : Outcome<void>(); }
  Outcome<void> flush() {
    std::string_view left = text_;
    while (!left.empty()) {
      const ssize_t written = write(STDOUT_FILENO, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return std::unexpected(fmt::format("cannot write: {}", std::strerror(errno)));
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    text_.clear();
    return {};
  }

 private:
  std::string text_;
};

// What stands in a line, in the order of kafka-console-consumer: timestamp, partition, offset, headers, key, value.
class LinePrinter {
 public:
  explicit LinePrinter(const ConsumeOptions& options) : options_(options) {
    const std::set<std::string> wanted(options.print.begin(), options.print.end());
    timestamp_ = wanted.contains("timestamp");
    partition_ = wanted.contains("partition");
    offset_ = wanted.contains("offset");
    headers_ = wanted.contains("headers");
    key_ = wanted.contains("key");
    value_ = !wanted.contains("no-value");
  }

  void print(std::int32_t partition, const record::Record& record, std::string& out) {
    if (options_.json) return append_json_record(options_.topic, partition, record, out);
    bool first = true;
    auto separate = [&] {
      if (!first) out += options_.separator;
      first = false;
    };
    if (timestamp_) separate(), out += record.timestamp == kNoTimestamp ? "-" : time_text(record.timestamp);
    if (partition_) separate(), out += std::to_string(partition);
    if (offset_) separate(), out += std::to_string(record.offset);
    if (headers_) separate(), print_headers(record, out);
    if (key_) separate(), print_bytes(record.key, out);
    if (value_) separate(), print_bytes(record.value, out);
    out += '\n';
  }

 private:
  void print_bytes(const std::optional<Bytes>& bytes, std::string& out) {
    out += bytes ? as_text(*bytes) : std::string_view(options_.null_text);
  }
  void print_headers(const record::Record& record, std::string& out) {
    record::Headers headers = record.headers;
    record::Header header;
    for (bool first = true; headers.next(header); first = false) {
      if (!first) out += ',';
      out += as_text(header.key);
      out += '=';
      print_bytes(header.value, out);
    }
  }

  const ConsumeOptions& options_;
  bool timestamp_, partition_, offset_, headers_, key_, value_;
};

int consume(ConsumeOptions& options) {
  if (options.until == "end") options.exit_at_end = true;
  auto start = parse_start(options.from);
  if (!start) return misuse("consume", "--from " + start.error());
  auto client = Client::connect(options.client);
  if (!client) return fail("consume", client.error());
  Reader::Limits limits;
  limits.stop_at_end = options.exit_at_end;
  Reader reader(std::move(*client), options.topic, limits);
  if (auto started = reader.start(options.partitions, *start); !started) return fail("consume", started.error());

  Output output;
  LinePrinter printer(options);
  Progress progress;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  auto on_record = [&](std::int32_t partition, const record::Record& record) -> Outcome<bool> {
    printer.print(partition, record, output.text());
    ++records;
    bytes += record.size_bytes;
    if (auto flushed = output.flush_if_large(); !flushed) return std::unexpected(flushed.error());
    return options.count == 0 || records < options.count;
  };
  auto on_pause = [&](bool is_idle) -> Outcome<void> {
    // To a terminal at once; to a pipe when there is nothing to read at the moment, so that it goes in large pieces.
    if (is_idle || isatty(STDOUT_FILENO) == 1) {
      if (auto flushed = output.flush(); !flushed) return flushed;
    }
    if (isatty(STDOUT_FILENO) == 0) progress.show(records, bytes);
    return {};
  };
  auto ran = reader.run(on_record, on_pause);
  if (auto flushed = output.flush(); !flushed && ran) ran = flushed;
  if (isatty(STDOUT_FILENO) == 0) progress.finish(records, bytes);
  return ran ? 0 : fail("consume", ran.error());
}

}  // namespace

void add_consume_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ConsumeOptions>();
  CLI::App* command = app.add_subcommand("consume", "Print the records of a topic");
  add_client_options(*command, options->client);
  command->add_option("-t,--topic", options->topic, "the topic")->required()->type_name("TOPIC");
  command->add_option("-p,--partition", options->partitions, "only this partition; may be repeated (default: all)")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("N")
      ->allow_extra_args(false);
  command
      ->add_option("--from", options->from,
                   "earliest, latest, an offset, -N (N before the end), or @TIME (milliseconds or ISO 8601)")
      ->type_name("WHERE")
      ->capture_default_str();
  command->add_option("--until", options->until, "end: stop at what is the end now")
      ->check(CLI::IsMember({"end"}).description(""))
      ->type_name("end");
  command->add_flag("-e,--exit-at-end", options->exit_at_end, "the same as --until end");
  command->add_option("-n,--count", options->count, "stop after so many records")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  command
      ->add_option("--print", options->print,
                   "what to print before the value: key, headers, timestamp, offset, partition; with commas")
      ->check(
          CLI::IsMember({"key", "value", "no-value", "headers", "timestamp", "offset", "partition"}).description(""))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FIELDS");
  command->add_option("--separator", options->separator, "between the fields of a line (default: a tab)")
      ->type_name("TEXT");
  command->add_option("--null", options->null_text, "how null is printed")->type_name("TEXT")->capture_default_str();
  command->add_flag("--json", options->json, "a JSON object per line, as `tailrace produce --json` reads them");
  add_examples(*command,
               {"consume -t events --from earliest -n 10 --print key,offset", "consume -t events --from -5 -e",
                "consume -t events --from @2026-01-02T03:04:05Z --until end --json"});
  command->callback([options, &exit_code] { exit_code = consume(*options); });
}

}  // namespace tailrace::cli
