// `tailrace perf latency`: from producer to consumer. Two threads, each with a connection of its own: the main thread
// produces, the other one consumes and measures. They share the few words of Exchange and nothing else; the report and
// the error belong to the consuming thread until it is joined.
#include <atomic>
#include <cstring>
#include <thread>

#include "cli/clock.h"
#include "cli/output.h"
#include "cli/payloads.h"
#include "cli/perf.h"
#include "cli/reader.h"

namespace tailrace::cli {
namespace {

constexpr std::string_view kCommand = "perf latency";
constexpr std::uint64_t kRecordsMax = 100'000'000;  // each has a bit in memory
using Clock = Schedule::Clock;

// What each value begins with, in the machine's byte order: only this process reads it.
struct Stamp {
  std::uint64_t run = 0;  // of other runs' records in the topic
  std::uint64_t number = 0;
  std::int64_t due_ns = 0;
};

struct Exchange {
  std::atomic<bool> stop = false;           // by the producer: what is not there now will not come
  std::atomic<bool> failed = false;         // by the consumer: it has ended with an error
  std::atomic<std::uint64_t> received = 0;  // by the consumer; relaxed, it only counts
};

class Consumer {
 public:
  Consumer(Reader reader, const PerfLatencyOptions& options, std::uint64_t run, Exchange& exchange)
      : reader_(std::move(reader)),
        record_count_(options.record_count),
        run_(run),
        exchange_(exchange),
        report_({.done = "received", .has_latency = true, .interval_ms = options.interval_ms}, Clock::now()),
        seen_(options.record_count) {}

  void run() {
    auto ran =
        reader_.run([this](std::int32_t, const record::Record& record) { return on_record(record); },
                    [this](bool) -> Outcome<void> {
                      report_.tick(Clock::now());
                      return exchange_.stop ? Outcome<void>(std::unexpected(std::string(kStopped))) : Outcome<void>();
                    });
    if (!ran && ran.error() != kStopped) error_ = ran.error();
    exchange_.failed = !error_.empty();
  }

  // After the thread has ended.
  LoadReport& report() { return report_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::uint64_t twice() const { return twice_; }

 private:
  static constexpr std::string_view kStopped = "stopped";

  Outcome<bool> on_record(const record::Record& record) {
    Stamp stamp;
    if (!record.value || record.value->size() < sizeof stamp) return true;
    std::memcpy(&stamp, record.value->data(), sizeof stamp);
    if (stamp.run != run_ || stamp.number >= seen_.size()) return true;
    if (seen_[stamp.number]) {
      ++twice_;
      return true;
    }
    seen_[stamp.number] = true;
    report_.add_latency(Clock::now().time_since_epoch().count() - stamp.due_ns);
    report_.add_records(1, record.value->size());
    const std::uint64_t received = exchange_.received.fetch_add(1, std::memory_order_relaxed) + 1;
    return received < record_count_;
  }

  Reader reader_;
  std::uint64_t record_count_;
  std::uint64_t run_;
  Exchange& exchange_;
  LoadReport report_;
  std::vector<bool> seen_;
  std::uint64_t twice_ = 0;
  std::string error_;
};

// One record at a time, each when it is due.
Outcome<void> produce(const PerfLatencyOptions& options, Producer& producer, std::uint64_t run,
                      const Exchange& exchange, std::uint64_t& sent) {
  std::string value(options.record_size, 'x');
  const Schedule schedule(Clock::now(), options.throughput);
  for (; sent < options.record_count && !is_interrupted() && !exchange.failed; ++sent) {
    const auto due = schedule.due(sent);
    if (auto worked = work_until(producer, due); !worked) return worked;
    const Stamp stamp{.run = run, .number = sent, .due_ns = due.time_since_epoch().count()};
    std::memcpy(value.data(), &stamp, sizeof stamp);
    auto added = producer.add({.topic = options.topic,
                               .partition = -1,
                               .key = std::nullopt,
                               .value = as_bytes(value),
                               .headers = {},
                               .timestamp = wall_clock_ms()});
    if (!added) return added;
    if (auto worked = producer.work({}); !worked) return worked;
  }
  return producer.finish();
}

// What was sent last may still be on its way to the consumer.
void wait_for_the_last(const PerfLatencyOptions& options, std::uint64_t sent, const Exchange& exchange) {
  const auto give_up = Clock::now() + std::chrono::milliseconds(options.client.timeout_ms);
  while (exchange.received < sent && !exchange.failed && Clock::now() < give_up && !is_interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

int perf_latency(const PerfLatencyOptions& options) {
  if (options.record_count > kRecordsMax) return misuse(kCommand, fmt::format("at most {} records", kRecordsMax));
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  if (auto prepared = prepare_topic(*client, options); !prepared) return fail(kCommand, prepared.error());
  if (auto topic = client->topic(options.topic, true); !topic) return fail(kCommand, topic.error());
  auto consumer_client = Client::connect(options.client);
  if (!consumer_client) return fail(kCommand, consumer_client.error());
  Reader reader(std::move(*consumer_client), options.topic, {});
  if (auto started = reader.start({}, {StartAt::Kind::latest, 0}); !started) return fail(kCommand, started.error());
  ProducerOptions producer_options;
  producer_options.acks = acks_number(options.acks);
  producer_options.linger_ms = 0;
  Producer producer(std::move(*client), producer_options);
  if (auto started = producer.start(); !started) return fail(kCommand, started.error());
  catch_interrupts();

  const auto run = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  Exchange exchange;
  Consumer consumer(std::move(reader), options, run, exchange);
  std::thread thread([&consumer] { consumer.run(); });
  std::uint64_t sent = 0;
  auto produced = produce(options, producer, run, exchange, sent);
  if (produced) wait_for_the_last(options, sent, exchange);
  exchange.stop = true;
  thread.join();

  LoadReport& report = consumer.report();
  const std::uint64_t lost = sent - report.records();
  report.finish(Clock::now(), lost);
  std::string error = produced ? consumer.error() : produced.error();
  if (error.empty() && lost > 0 && !is_interrupted())
    error = fmt::format("{} of {} records did not come back", lost, sent);
  if (error.empty() && consumer.twice() > 0) error = fmt::format("{} records came twice", consumer.twice());
  return give_result(kCommand, options, report, error);
}

}  // namespace tailrace::cli
