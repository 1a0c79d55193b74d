#include "cli/perf.h"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <thread>

#include "cli/admin.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/producer_options.h"
#include "services/kafka/messages/create_topics.h"

namespace tailrace::cli {
namespace {

constexpr std::chrono::milliseconds kLookUp{100};  // how long to wait at most before looking for Ctrl-C
constexpr std::uint64_t kRecordsMax = 1'000'000'000'000;

volatile std::sig_atomic_t interrupted = 0;

void add_load_options(Command command, PerfOptions& options, bool counts_needed) {
  command.add_option("-t,--topic", options.topic, "the topic").type_name("TOPIC").required();
  command.add_option("-n,--num-records", options.record_count, "how many records")
      .in_range(std::uint64_t{1}, kRecordsMax)
      .type_name("N")
      .required(counts_needed);
  command.add_option("--partitions", options.partitions, "make the topic with so many partitions, if it is not there")
      .in_range(1, 100'000)
      .type_name("N");
  command.add_option("--reporting-interval", options.interval_ms, "milliseconds between lines about progress")
      .in_range(100, 3'600'000)
      .type_name("MS")
      .capture_default_str();
  command.add_option("--plot", options.plot, "draw what happened over time into this SVG file").type_name("FILE");
}

void add_throughput(Command command, double& throughput, bool may_be_unbounded) {
  command
      .add_option("--throughput", throughput,
                  may_be_unbounded ? "records per second; -1: as many as are taken" : "records per second")
      .check([may_be_unbounded](const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool is_number = end != text.c_str() && *end == '\0';
        const bool is_well = is_number && ((value >= 0.001 && value <= 1e9) || (may_be_unbounded && value == -1));
        return is_well ? std::string() : text + " is no rate";
      })
      .type_name("RATE")
      .capture_default_str();
}

void add_perf_produce(Command perf, int& exit_code) {
  auto options = std::make_shared<PerfProduceOptions>();
  Command command = add_command(perf, "produce", "Send records and measure how long acknowledgements take", options,
                                exit_code, perf_produce);
  add_load_options(command, *options, true);
  const Option size =
      command.add_option("--record-size", options->record_size, "bytes of each record's value, which is random letters")
          .in_range(std::size_t{1}, std::size_t{1} << 30)
          .type_name("BYTES");
  const Option file =
      command.add_option("--payload-file", options->payload_file, "or take values from this file, at random")
          .type_name("FILE")
          .excludes(size);
  command.add_option("--payload-delimiter", options->payload_delimiter, "what stands between the values in the file")
      .needs(file)
      .type_name("TEXT")
      .capture_default_str();
  add_throughput(command, options->throughput, true);
  add_acks(command, options->acks);
  add_compression(command, options->producer);
  add_batching(command, options->producer);
  command.callback([options, size, file, &exit_code] {
    if (size.count() + file.count() == 0) refuse_without("--record-size or --payload-file");
    exit_code = perf_produce(*options);
  });
  command.footer(
      "With --throughput, records are due at fixed times, and their latency counts from "
      "then: what waits behind a stall is measured, too. Without, it counts from when "
      "the record was handed over. MB are 1024 * 1024 bytes. Progress is on standard "
      "error. The exit status is 1 when a record was not acknowledged.");
  add_examples(command, {"perf produce -t load --partitions 3 -n 1000000 --record-size 1000",
                         "perf produce -t load -n 60000 --record-size 100 --throughput 1000 --plot load.svg"});
}

void add_perf_consume(Command perf, int& exit_code) {
  auto options = std::make_shared<PerfConsumeOptions>();
  Command command =
      add_command(perf, "consume", "Read records and measure how fast they come", options, exit_code, perf_consume);
  add_load_options(command, *options, true);
  command.add_flag("--from-latest", options->from_latest, "begin at the end, not at the beginning");
  command.add_option("--fetch-size", options->fetch_size, "bytes of one partition in one request")
      .in_range(1, 1 << 30)
      .type_name("BYTES")
      .capture_default_str();
  command
      .add_option_function<double>(
          "--idle-timeout",
          [options](double seconds) { options->idle_timeout_ms = static_cast<std::int64_t>(seconds * 1000); },
          "give up when no record has come for so long (default: 10)")
      .in_range(0.1, 86400.0)
      .type_name("SECONDS");
  add_examples(command, {"perf consume -t load -n 1000000"});
}

void add_perf_latency(Command perf, int& exit_code) {
  auto options = std::make_shared<PerfLatencyOptions>();
  Command command = add_command(perf, "latency", "Measure how long records take from a producer to a consumer", options,
                                exit_code, perf_latency);
  add_load_options(command, *options, true);
  command.add_option("--record-size", options->record_size, "bytes of each record's value")
      .in_range(std::size_t{24}, std::size_t{1} << 30)
      .type_name("BYTES")
      .capture_default_str();
  add_throughput(command, options->throughput, false);
  add_acks(command, options->acks);
  command.footer(
      "Each record is sent by itself when it is due, and its latency counts from then "
      "until the consumer has it. The exit status is 1 when one does not come back.");
  add_examples(command, {"perf latency -t pings --partitions 1 -n 1000 --throughput 100 --plot pings.svg"});
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };  // without SA_RESTART: waits end
  sigaction(SIGINT, &action, nullptr);
  prctl(PR_SET_TIMERSLACK, 1000);  // ns; the usual 50 us would be counted as latency
}

bool is_interrupted() { return interrupted != 0; }

std::int16_t acks_number(std::string_view text) {
  return static_cast<std::int16_t>(text == "0" ? 0 : text == "1" ? 1 : -1);
}

Outcome<void> prepare_topic(Client& client, const PerfOptions& options) {
  if (options.partitions == 0) return {};
  kafka::CreateTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  request.topics.emplace_back();
  request.topics[0].name = options.topic;
  request.topics[0].num_partitions = options.partitions;
  request.topics[0].replication_factor = -1;
  auto verdicts = ask_controller<kafka::CreateTopicsResponse>(client, request, [](const auto& answer) {
    std::vector<Verdict> all;
    for (const auto& topic : answer.topics) {
      all.push_back({std::string(topic.name), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!verdicts) return std::unexpected(verdicts.error());
  for (const Verdict& one : *verdicts) {
    if (one.is_done() || one.error_code == kafka::wire(kafka::ErrorCode::TOPIC_ALREADY_EXISTS)) continue;
    return std::unexpected(fmt::format("topic {}: {}", one.name, one.error()));
  }
  return {};
}

int give_result(std::string_view command, const PerfOptions& options, const LoadReport& report,
                const std::string& error) {
  write_out(options.json ? report.json() : report.summary());
  int status = is_interrupted() ? kExitInterrupted : kExitDone;
  if (!error.empty()) status = fail(command, error);
  if (!options.plot.empty()) {
    const std::string title = fmt::format("tailrace {}: {}", command, options.topic);
    if (auto written = write_text_file(options.plot, report.svg(title)); !written)
      status = fail(command, written.error());
  }
  return status;
}

Outcome<void> work_until(Producer& producer, Schedule::Clock::time_point until) {
  while (!is_interrupted()) {
    const auto now = Schedule::Clock::now();
    if (now >= until) return {};
    auto wait = std::chrono::ceil<std::chrono::microseconds>(std::min<Schedule::Clock::duration>(until - now, kLookUp));
    if (const std::int64_t linger = producer.next_linger_ms(); linger >= 0) {
      wait = std::min(wait, std::chrono::microseconds(std::chrono::milliseconds(linger)));
    }
    if (auto worked = producer.work(wait); !worked) return worked;
    if (producer.on_the_way() > 0 || producer.next_linger_ms() == 0) continue;
    const auto left = std::min<Schedule::Clock::duration>(until - Schedule::Clock::now(), wait);
    if (left.count() > 0) std::this_thread::sleep_for(left);
  }
  return {};
}

void add_perf_command(Command app, int& exit_code) {
  const Command perf = add_group(app, "perf", "Load tools: how fast, and how long does it take");
  add_perf_produce(perf, exit_code);
  add_perf_consume(perf, exit_code);
  add_perf_latency(perf, exit_code);
}

}  // namespace tailrace::cli
