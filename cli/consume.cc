#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json_record.h"
#include "cli/membership.h"
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
  std::string group;  // empty: none
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

// Where records go, and how many there were.
class Sink {
 public:
  explicit Sink(const ConsumeOptions& options) : options_(options), printer_(options) {}

  // False: these were enough.
  Outcome<bool> on_record(std::int32_t partition, const record::Record& record) {
    printer_.print(partition, record, output_.text());
    ++records_;
    bytes_ += record.size_bytes;
    if (auto flushed = output_.flush_if_large(); !flushed) return std::unexpected(flushed.error());
    return !is_full();
  }
  Outcome<void> on_pause(bool is_idle) {
    // To a terminal at once; to a pipe when there is nothing to read at the moment, so that it goes in large pieces.
    if (is_idle || isatty(STDOUT_FILENO) == 1) {
      if (auto flushed = output_.flush(); !flushed) return flushed;
    }
    if (isatty(STDOUT_FILENO) == 0) progress_.show(records_, bytes_);
    return {};
  }
  Outcome<void> flush() { return output_.flush(); }
  // The status of the command, after `ran`.
  int finish(Outcome<void> ran) {
    if (auto flushed = output_.flush(); !flushed && ran) ran = flushed;
    if (isatty(STDOUT_FILENO) == 0) progress_.finish(records_, bytes_);
    return ran ? kExitDone : fail("consume", ran.error());
  }
  [[nodiscard]] bool is_full() const { return options_.count != 0 && records_ >= options_.count; }

 private:
  const ConsumeOptions& options_;
  LinePrinter printer_;
  Output output_;
  Progress progress_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

volatile std::sig_atomic_t stop_asked = 0;

// So that a member leaves its group. A second signal ends us at once, while we wait for others.
void catch_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { stop_asked = 1; };  // without SA_RESTART: waits end
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Reads what a member was given until the group shares out anew (true), or until the end (false).
class GroupReading {
 public:
  GroupReading(Membership& member, Sink& sink) : member_(member), sink_(sink) {}

  // When there is nothing to read: is there, and waits for the others to leave.
  Outcome<bool> idle() {
    while (stop_asked == 0) {
      auto goes_on = member_.beat();
      if (!goes_on) return std::unexpected(goes_on.error());
      if (!*goes_on) return true;
      std::this_thread::sleep_for(kIdlePause);
    }
    return false;
  }

  Outcome<bool> run(Reader& reader) {
    next_commit_ = Connection::Clock::now() + kCommitInterval;
    committed_ = reader.positions();  // what was there at the start need not be committed again
    bool is_stopped = false;          // by us: the error that run() then gives is none
    bool is_shared_anew = false;
    const auto on_record = [&](std::int32_t partition, const record::Record& record) {
      return sink_.on_record(partition, record);
    };
    const auto on_pause = [&](bool is_idle) -> Outcome<void> {
      if (auto paused = sink_.on_pause(is_idle); !paused) return paused;
      auto goes_on = member_.beat();
      if (goes_on && *goes_on && Connection::Clock::now() >= next_commit_) goes_on = commit(reader);
      if (!goes_on) return std::unexpected(goes_on.error());
      is_shared_anew = !*goes_on;
      is_stopped = is_shared_anew || stop_asked != 0;
      return is_stopped ? Outcome<void>(std::unexpected(std::string())) : Outcome<void>();
    };
    auto ran = reader.run(on_record, on_pause);
    if (!ran && !is_stopped) return std::unexpected(ran.error());
    auto done = commit(reader);
    if (!done) return std::unexpected(done.error());
    return is_shared_anew;
  }

 private:
  static constexpr std::chrono::milliseconds kIdlePause{200};
  static constexpr std::chrono::milliseconds kCommitInterval{5'000};  // auto.commit.interval.ms

  // What was printed is on its way to the reader of our output before it counts as read.
  Outcome<bool> commit(const Reader& reader) {
    next_commit_ = Connection::Clock::now() + kCommitInterval;
    if (auto flushed = sink_.flush(); !flushed) return std::unexpected(flushed.error());
    std::map<std::int32_t, Offset> changed = reader.positions();
    std::erase_if(changed, [&](const auto& one) { return committed_[one.first] == one.second; });
    auto done = member_.commit(changed);
    if (done && *done) committed_ = reader.positions();
    return done;
  }

  Membership& member_;
  Sink& sink_;
  std::map<std::int32_t, Offset> committed_;
  Connection::Clock::time_point next_commit_{};
};

Outcome<void> read_as_member(const ConsumeOptions& options, const StartAt& start, const Reader::Limits& limits,
                             Membership& member, Sink& sink) {
  GroupReading reading(member, sink);
  for (bool again = true; again && stop_asked == 0;) {
    auto partitions = member.join();
    if (!partitions) return std::unexpected(partitions.error());
    Outcome<bool> read = true;
    if (partitions->empty()) {
      read = options.exit_at_end ? Outcome<bool>(false) : reading.idle();
    } else {
      auto committed = member.committed();
      if (!committed) return std::unexpected(committed.error());
      auto client = Client::connect(options.client);
      if (!client) return std::unexpected(client.error());
      Reader reader(std::move(*client), options.topic, limits);
      if (auto started = reader.start(*partitions, start, *committed); !started) return started;
      read = reading.run(reader);
    }
    if (!read) return std::unexpected(read.error());
    again = *read;
  }
  return {};
}

int consume_in_group(const ConsumeOptions& options, const StartAt& start, const Reader::Limits& limits, Client client) {
  if (auto topic = client.topic(options.topic, false); !topic) return fail("consume", topic.error());
  Membership member(std::move(client), options.group, options.topic);
  Sink sink(options);
  catch_signals();
  auto ran = read_as_member(options, start, limits, member, sink);
  member.leave();
  return sink.finish(std::move(ran));
}

int consume(ConsumeOptions& options) {
  if (options.until == "end") options.exit_at_end = true;
  auto start = parse_start(options.from);
  if (!start) return misuse("consume", "--from " + start.error());
  auto client = Client::connect(options.client);
  if (!client) return fail("consume", client.error());
  Reader::Limits limits;
  limits.stop_at_end = options.exit_at_end;
  if (!options.group.empty()) return consume_in_group(options, *start, limits, std::move(*client));
  Reader reader(std::move(*client), options.topic, limits);
  if (auto started = reader.start(options.partitions, *start); !started) return fail("consume", started.error());
  Sink sink(options);
  return sink.finish(reader.run(
      [&](std::int32_t partition, const record::Record& record) { return sink.on_record(partition, record); },
      [&](bool is_idle) { return sink.on_pause(is_idle); }));
}

}  // namespace

void add_consume_command(Command app, int& exit_code) {
  auto options = std::make_shared<ConsumeOptions>();
  Command command = app.add_subcommand("consume", "Print the records of a topic");
  add_client_options(command, options->client);
  command.add_option("-t,--topic", options->topic, "the topic").required().type_name("TOPIC");
  command.add_option("-p,--partition", options->partitions, "only this partition; may be repeated (default: all)")
      .non_negative()
      .type_name("N");
  command
      .add_option("-g,--group", options->group,
                  "read as a member of this consumer group: it shares out the partitions, and goes on where it was; "
                  "--from counts where it has not been")
      .type_name("GROUP")
      .excludes("--partition");
  command
      .add_option("--from", options->from,
                  "earliest, latest, an offset, -N (N before the end), or @TIME (milliseconds or ISO 8601)")
      .type_name("WHERE")
      .capture_default_str();
  command.add_option("--until", options->until, "end: stop at what is the end now").one_of({"end"}).type_name("end");
  command.add_flag("-e,--exit-at-end", options->exit_at_end, "the same as --until end");
  command.add_option("-n,--count", options->count, "stop after so many records").positive().type_name("N");
  command
      .add_option("--print", options->print,
                  "what to print before the value: key, headers, timestamp, offset, partition; with commas")
      .one_of({"key", "value", "no-value", "headers", "timestamp", "offset", "partition"})
      .delimiter(',')
      .type_name("FIELDS");
  command.add_option("--separator", options->separator, "between the fields of a line (default: a tab)")
      .type_name("TEXT");
  command.add_option("--null", options->null_text, "how null is printed").type_name("TEXT").capture_default_str();
  command.add_flag("--json", options->json, "a JSON object per line, as `tailrace produce --json` reads them");
  add_examples(command, {"consume -t events --from earliest -n 10 --print key,offset", "consume -t events --from -5 -e",
                         "consume -t events --group billing --from earliest",
                         "consume -t events --from @2026-01-02T03:04:05Z --until end --json"});
  command.callback([options, &exit_code] { exit_code = consume(*options); });
}

}  // namespace tailrace::cli
