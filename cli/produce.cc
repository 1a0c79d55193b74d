#include "cli/commands.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/client.h"
#include "cli/clock.h"
#include "cli/command.h"
#include "cli/json_record.h"
#include "cli/output.h"
#include "cli/producer.h"
#include "cli/producer_options.h"
#include "cli/progress.h"

namespace tailrace::cli {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kLineMax = std::size_t{256} << 20;
constexpr std::int64_t kIdleWaitMs = 100;  // how long answers may lie while the input is silent

struct ProduceOptions {
  ClientOptions client;
  ProducerOptions producer;
  std::string topic;
  std::vector<std::string> files;
  std::int32_t partition = -1;
  std::string key_separator;
  std::string null_text;
  std::vector<std::string> headers;  // NAME=VALUE
  std::string acks = "all";
  bool json = false;
};

// Turns lines into records.
class LineProducer {
 public:
  LineProducer(const ProduceOptions& options, Producer& producer) : options_(options), producer_(producer) {
    for (const std::string& header : options.headers) {
      const std::size_t equals = header.find('=');
      const std::string_view text = header;
      if (equals == std::string::npos) {
        headers_.push_back(record::Header{as_bytes(text), std::nullopt});
      } else {
        headers_.push_back(record::Header{as_bytes(text.substr(0, equals)), as_bytes(text.substr(equals + 1))});
      }
    }
  }

  void set_time(TimestampMs now) { now_ = now; }

  Outcome<void> on_line(std::string_view line) {
    ++line_number_;
    if (options_.json) return on_json(line);
    OutgoingRecord record{.topic = options_.topic,
                          .partition = options_.partition,
                          .key = std::nullopt,
                          .value = std::nullopt,
                          .headers = headers_,
                          .timestamp = now_};
    std::string_view value = line;
    if (!options_.key_separator.empty()) {
      const std::size_t separator = line.find(options_.key_separator);
      if (separator == std::string_view::npos) return wrong("it has no key separator");
      record.key = or_null(line.substr(0, separator));
      value = line.substr(separator + options_.key_separator.size());
    }
    record.value = or_null(value);
    return producer_.add(record);
  }

 private:
  std::optional<Bytes> or_null(std::string_view text) const {
    if (!options_.null_text.empty() && text == options_.null_text) return std::nullopt;
    return as_bytes(text);
  }

  std::unexpected<std::string> wrong(std::string_view what) const {
    return std::unexpected(fmt::format("line {}: {}", line_number_, what));
  }

  Outcome<void> on_json(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    auto parsed = parse_json_record(line);
    if (!parsed) return wrong(parsed.error());
    if (parsed->topic.empty() && options_.topic.empty()) return wrong("no topic is named, here or with --topic");
    json_headers_ = headers_;
    for (const auto& [key, value] : parsed->headers) {
      json_headers_.push_back(record::Header{as_bytes(key), value ? std::optional(as_bytes(*value)) : std::nullopt});
    }
    const auto bytes = [](const std::optional<std::string>& text) {
      return text ? std::optional(as_bytes(*text)) : std::nullopt;
    };
    return producer_.add({.topic = parsed->topic.empty() ? options_.topic : parsed->topic,
                          .partition = parsed->partition >= 0 ? parsed->partition : options_.partition,
                          .key = bytes(parsed->key),
                          .value = bytes(parsed->value),
                          .headers = json_headers_,
                          .timestamp = parsed->timestamp != kNoTimestamp ? parsed->timestamp : now_});
  }

  const ProduceOptions& options_;
  Producer& producer_;
  std::vector<record::Header> headers_;
  std::vector<record::Header> json_headers_;
  TimestampMs now_ = 0;
  std::uint64_t line_number_ = 0;
};

// Reads a descriptor to its end, line by line; the last line may lack its end. While the input is silent, batches go
// when they are old enough.
Outcome<void> read_lines(int descriptor, LineProducer& lines, Producer& producer, Progress& progress) {
  std::vector<char> buffer(2 * kReadBytes);
  std::size_t filled = 0;
  for (;;) {
    pollfd input{descriptor, POLLIN, 0};
    const std::int64_t linger = producer.next_linger_ms();
    const std::int64_t wait = linger < 0 ? kIdleWaitMs : std::min(linger, kIdleWaitMs);
    const int ready = poll(&input, 1, static_cast<int>(wait));
    if (ready <= 0) {
      if (auto worked = producer.work({}); !worked) return worked;
      continue;
    }
    if (buffer.size() - filled < kReadBytes) buffer.resize(buffer.size() * 2);
    const ssize_t count = read(descriptor, buffer.data() + filled, buffer.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(fmt::format("cannot read the input: {}", std::strerror(errno)));
    lines.set_time(wall_clock_ms());
    if (count == 0) {
      if (filled > 0) return lines.on_line({buffer.data(), filled});
      return {};
    }
    const std::size_t seen = filled;  // up to here there is no end of a line
    filled += static_cast<std::size_t>(count);
    const char* begin = buffer.data();
    const char* from = begin + seen;
    const char* const end = begin + filled;
    while (const void* newline = std::memchr(from, '\n', static_cast<std::size_t>(end - from))) {
      const char* at = static_cast<const char*>(newline);
      if (auto sent = lines.on_line({begin, static_cast<std::size_t>(at - begin)}); !sent) return sent;
      begin = from = at + 1;
    }
    filled = static_cast<std::size_t>(end - begin);
    if (filled > kLineMax) return std::unexpected(fmt::format("a line is longer than {} bytes", kLineMax));
    std::memmove(buffer.data(), begin, filled);
    if (auto worked = producer.work({}); !worked) return worked;
    progress.show(producer.acknowledged(), producer.sent_bytes());
  }
}

int produce(ProduceOptions& options) {
  options.producer.acks = static_cast<std::int16_t>(options.acks == "0" ? 0 : options.acks == "1" ? 1 : -1);
  auto client = Client::connect(options.client);
  if (!client) return fail("produce", client.error());
  Producer producer(std::move(*client), options.producer);
  if (auto started = producer.start(); !started) return fail("produce", started.error());
  LineProducer lines(options, producer);
  Progress progress;
  std::string error;
  if (options.files.empty()) options.files.emplace_back("-");
  for (const std::string& file : options.files) {
    const int descriptor = file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      error = fmt::format("cannot read {}: {}", file, std::strerror(errno));
      break;
    }
    fcntl(descriptor, F_SETPIPE_SZ, static_cast<int>(kReadBytes));  // only pipes have one; fewer turns for them
    auto read = read_lines(descriptor, lines, producer, progress);
    if (descriptor != STDIN_FILENO) close(descriptor);
    if (!read) {
      error = read.error();
      break;
    }
  }
  // What came before a bad line is sent all the same.
  if (auto finished = producer.finish(); !finished && error.empty()) error = finished.error();
  progress.finish(producer.acknowledged(), producer.sent_bytes());
  if (error.empty()) return 0;
  return fail("produce", fmt::format("{} ({} records were acknowledged)", error, producer.acknowledged()));
}

}  // namespace

void add_produce_command(Command app, int& exit_code) {
  auto options = std::make_shared<ProduceOptions>();
  Command command = app.add_subcommand("produce", "Send lines of standard input, or of files, as records");
  add_client_options(command, options->client);
  command.add_option("-t,--topic", options->topic, "the topic (with --json: of lines that name none)")
      .type_name("TOPIC");
  command.add_option("-f,--file", options->files, "read this file instead of standard input; may be repeated")
      .type_name("FILE");
  command.add_option("-p,--partition", options->partition, "the partition (default: by the key, or by turns)")
      .non_negative()
      .type_name("N");
  command.add_option("-k,--key-separator", options->key_separator, "what stands between key and value in each line")
      .type_name("TEXT");
  command.add_option("--null", options->null_text, "a key or value that is this text is null").type_name("TEXT");
  command.add_option("-H,--headers", options->headers, "a header for each record; may be repeated")
      .type_name("NAME=VALUE");
  command.add_flag("--json", options->json,
                   "each line is an object with topic, partition, key, value, headers, timestamp;\n"
                   "bytes that are no text in key_base64, value_base64");
  add_compression(command, options->producer);
  add_acks(command, options->acks);
  add_batching(command, options->producer);
  command.footer(
      "With --acks all, records are stored once and in order even when they must be sent again (idempotence).");
  add_examples(command, {"produce -t events -f lines.txt", "produce -t events -k : -z zstd < keys-and-values",
                         "consume -t a --from earliest -e --json | tailrace produce -t b --json"});
  command.callback([options, &exit_code] {
    if (!options->json && options->topic.empty()) refuse_without("--topic");
    exit_code = produce(*options);
  });
}

}  // namespace tailrace::cli
