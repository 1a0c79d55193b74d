// `tailrace perf produce`: sends records at a rate, or as fast as they are taken, and measures acknowledgements.
#include <algorithm>

#include "cli/clock.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/payloads.h"
#include "cli/perf.h"

namespace tailrace::cli {
namespace {

constexpr std::string_view kCommand = "perf produce";
using Clock = Schedule::Clock;

std::int64_t to_tag(Clock::time_point time) { return time.time_since_epoch().count(); }

Outcome<Payloads> make_payloads(const PerfProduceOptions& options) {
  const auto seed = static_cast<std::uint64_t>(to_tag(Clock::now()));
  if (options.payload_file.empty()) return Payloads::random(options.record_size, seed);
  auto text = read_text_file(options.payload_file);
  if (!text) return std::unexpected(text.error());
  auto payloads = Payloads::from_text(std::move(*text), unescape_delimiter(options.payload_delimiter), seed);
  if (!payloads) return std::unexpected(fmt::format("{}: {}", options.payload_file, payloads.error()));
  return payloads;
}

class Load {
 public:
  Load(const PerfProduceOptions& options, Producer& producer, Payloads& payloads, LoadReport& report,
       Clock::time_point start)
      : options_(options),
        producer_(producer),
        payloads_(payloads),
        report_(report),
        schedule_(start, options.throughput) {}

  Outcome<void> run() {
    for (; tried_ < options_.record_count && !is_interrupted(); ++tried_) {
      auto due = Clock::now();
      if (schedule_.is_open()) {
        const auto now = due;
        due = schedule_.due(tried_);
        if (due > now) {
          if (auto worked = wait_until(due); !worked) return worked;
          if (is_interrupted()) break;
        }
      }
      if (auto breathed = breathe(Clock::now()); !breathed) return breathed;
      auto added = producer_.add({.topic = options_.topic,
                                  .partition = -1,
                                  .key = std::nullopt,
                                  .value = as_bytes(payloads_.next()),
                                  .headers = {},
                                  .timestamp = now_ms_,
                                  .tag = to_tag(due)});
      if (!added) {
        ++tried_;
        return added;
      }
    }
    return producer_.finish();
  }

  [[nodiscard]] std::uint64_t tried() const { return tried_; }

 private:
  // Progress is told in long gaps, too.
  Outcome<void> wait_until(Clock::time_point due) {
    while (Clock::now() < due && !is_interrupted()) {
      if (auto worked = work_until(producer_, std::min(due, Clock::now() + kBreath * 100)); !worked) return worked;
      report_.tick(Clock::now());
    }
    return {};
  }

  // Once in a while: answers are read, old batches sent, progress is told.
  Outcome<void> breathe(Clock::time_point now) {
    if (now - breathed_ < kBreath) return {};
    breathed_ = now;
    now_ms_ = wall_clock_ms();
    report_.tick(now);
    return producer_.work({});
  }

  static constexpr std::chrono::milliseconds kBreath{1};
  const PerfProduceOptions& options_;
  Producer& producer_;
  Payloads& payloads_;
  LoadReport& report_;
  Schedule schedule_;
  std::uint64_t tried_ = 0;
  Clock::time_point breathed_;
  TimestampMs now_ms_ = wall_clock_ms();
};

}  // namespace

int perf_produce(const PerfProduceOptions& options) {
  auto payloads = make_payloads(options);
  if (!payloads) return misuse(kCommand, payloads.error());
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  if (auto prepared = prepare_topic(*client, options); !prepared) return fail(kCommand, prepared.error());
  // Looked up before the clock starts.
  if (auto topic = client->topic(options.topic, true); !topic) return fail(kCommand, topic.error());
  ProducerOptions producer_options = options.producer;
  producer_options.acks = acks_number(options.acks);
  Producer producer(std::move(*client), producer_options);
  if (auto started = producer.start(); !started) return fail(kCommand, started.error());
  catch_interrupts();

  const auto start = Clock::now();
  LoadReport report({.done = "sent", .has_latency = true, .interval_ms = options.interval_ms}, start);
  producer.on_acknowledged([&](std::span<const std::int64_t> tags, std::uint64_t bytes) {
    const std::int64_t now = to_tag(Clock::now());
    for (const std::int64_t tag : tags) report.add_latency(now - tag);
    report.add_records(tags.size(), bytes);
  });
  Load load(options, producer, *payloads, report, start);
  auto ran = load.run();
  report.finish(Clock::now(), load.tried() - producer.acknowledged());
  return give_result(kCommand, options, report, ran ? std::string() : ran.error());
}

}  // namespace tailrace::cli
