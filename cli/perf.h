// What the load tools (`tailrace perf ...`) share: options, their topic, the end by Ctrl-C, and how results are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/load_report.h"
#include "cli/producer.h"

namespace tailrace::cli {

constexpr int kExitInterrupted = 130;  // by Ctrl-C, as shells have it; what was measured until then is printed

struct PerfOptions : CommandOptions {
  std::string topic;
  std::int32_t partitions = 0;  // of a topic that is made; 0: it must be there, or be made by itself
  std::uint64_t record_count = 0;
  std::int64_t interval_ms = 5000;
  std::string plot;  // file; empty: none
};

struct PerfProduceOptions : PerfOptions {
  ProducerOptions producer;
  std::string acks = "all";
  std::size_t record_size = 0;
  std::string payload_file;
  std::string payload_delimiter = "\\n";
  double throughput = -1;  // records per second; -1: as fast as they are taken
};

struct PerfConsumeOptions : PerfOptions {
  bool from_latest = false;
  std::int32_t fetch_size = 1 << 20;
  std::int64_t idle_timeout_ms = 10'000;  // give up when no record has come for so long
};

struct PerfLatencyOptions : PerfOptions {
  std::string acks = "all";
  std::size_t record_size = 100;
  double throughput = 100;
};

int perf_produce(const PerfProduceOptions& options);
int perf_consume(const PerfConsumeOptions& options);
int perf_latency(const PerfLatencyOptions& options);

// Makes the topic with --partitions, unless it is there.
Outcome<void> prepare_topic(Client& client, const PerfOptions& options);
// -1, 0 or 1.
std::int16_t acks_number(std::string_view text);

// From now on Ctrl-C asks for the end instead of ending the process.
void catch_interrupts();
[[nodiscard]] bool is_interrupted();

// Prints the result and writes the plot. `error`: why the run ended early; empty: it did not.
int give_result(std::string_view command, const PerfOptions& options, const LoadReport& report,
                const std::string& error);

// When the records of an open loop are due: the times do not depend on how fast they are taken, so what a stall delays
// is measured from when it should have gone.
class Schedule {
 public:
  using Clock = std::chrono::steady_clock;
  Schedule(Clock::time_point start, double per_second) : start_(start), per_second_(per_second) {}
  [[nodiscard]] bool is_open() const { return per_second_ > 0; }
  [[nodiscard]] Clock::time_point due(std::uint64_t number) const {
    return start_ +
           std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(number) / per_second_ * 1e9));
  }

 private:
  Clock::time_point start_;
  double per_second_;
};

// Lets the producer work until a time: batches go when they are old enough, answers are read as they come.
Outcome<void> work_until(Producer& producer, Schedule::Clock::time_point until);

}  // namespace tailrace::cli
