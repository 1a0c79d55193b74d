// `tailrace perf consume`: reads a topic as fast as it comes.
#include "cli/output.h"
#include "cli/perf.h"
#include "cli/reader.h"

namespace tailrace::cli {

int perf_consume(const PerfConsumeOptions& options) {
  using Clock = LoadReport::Clock;
  constexpr std::string_view kCommand = "perf consume";
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  if (auto prepared = prepare_topic(*client, options); !prepared) return fail(kCommand, prepared.error());
  Reader::Limits limits;
  limits.partition_bytes = options.fetch_size;
  Reader reader(std::move(*client), options.topic, limits);
  const StartAt start_at{options.from_latest ? StartAt::Kind::latest : StartAt::Kind::earliest, 0};
  if (auto started = reader.start({}, start_at); !started) return fail(kCommand, started.error());
  catch_interrupts();

  const auto start = Clock::now();
  LoadReport report({.done = "consumed", .has_latency = false, .interval_ms = options.interval_ms}, start);
  std::uint64_t records = 0;  // of this response, not reported yet
  std::uint64_t bytes = 0;
  auto last_record = start;
  auto settle = [&](Clock::time_point now) {
    report.add_records(records, bytes);
    if (records > 0) last_record = now;
    records = bytes = 0;
    report.tick(now);
  };
  auto on_record = [&](std::int32_t, const record::Record& record) -> Outcome<bool> {
    ++records;
    bytes += (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
    return report.records() + records < options.record_count && !is_interrupted();
  };
  auto on_pause = [&](bool) -> Outcome<void> {
    const auto now = Clock::now();
    settle(now);
    if (is_interrupted()) return std::unexpected(std::string("interrupted"));
    if (now - last_record > std::chrono::milliseconds(options.idle_timeout_ms)) {
      return std::unexpected(fmt::format("no record has come for {:g} s, of {} only {} are there",
                                         static_cast<double>(options.idle_timeout_ms) / 1000, options.record_count,
                                         report.records()));
    }
    return {};
  };
  auto ran = reader.run(on_record, on_pause);
  settle(Clock::now());
  // Waiting in vain is not reading slowly.
  report.finish(ran ? Clock::now() : last_record, 0);
  return give_result(kCommand, options, report, ran || is_interrupted() ? std::string() : ran.error());
}

}  // namespace tailrace::cli
