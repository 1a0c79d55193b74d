#include "tests/sim/plan.h"

#include <cstring>

namespace tailrace::sim {

Plan::Plan(Random& random) {
  durable = random.percent(75);
  kills_engine = random.one_in(2);
  cuts_power = random.one_in(2);
  breaks_sessions = random.one_in(2);
  restarts_clients = random.one_in(2);
  stops_engine = random.one_in(2);
  crashes_midway = random.one_in(3);
  moves_clock = random.one_in(3);
  fills_disk = random.one_in(4);
  fails_writes = random.one_in(4);
  fails_syncs = random.one_in(4);
  fails_metadata = random.one_in(4);
  slows_syncs = random.one_in(3);
  deletes_topics = random.one_in(4);
  raises_epochs = random.one_in(3);
  kills_broker = random.one_in(2);
  resets_connections = random.one_in(2);

  chaos_ms = random.between(300, 1800);
  slots = static_cast<std::size_t>(random.between(1, 4));
  idempotent_producers = static_cast<std::size_t>(random.between(1, 3));
  plain_producers = static_cast<std::size_t>(random.between(0, 2));
  readers = static_cast<std::size_t>(random.between(1, 3));
  clients = static_cast<std::size_t>(random.between(1, 2));
  const bool has_broker = random.one_in(2);
  kafka_producers = has_broker ? static_cast<std::size_t>(random.between(1, 3)) : 0;
  kafka_readers = has_broker ? static_cast<std::size_t>(random.between(1, 3)) : 0;
  segment_bytes = static_cast<std::uint32_t>(random.between(600, 12'000));
  index_interval_bytes = static_cast<std::uint32_t>(random.between(0, 600));
  segment_ms = random.one_in(4) ? random.between(100, 2000) : 7 * 24 * 3600 * 1000ll;
  checkpoint_interval_ms = random.between(50, 2000);
  ring_bytes = std::size_t{1} << random.between(16, 18);
  fault_pause_ms = random.between(20, 300);
  even_batches = random.one_in(4);
  deletes_records = random.one_in(3);
  retention_ms = random.one_in(5) ? random.between(100, 2000) : -1;
  retention_bytes = random.one_in(5) ? random.between(1000, 40'000) : -1;
  retention_check_interval_ms = random.between(10, 500);
}

Uuid random_topic_id(Random& random) {
  Uuid id;
  const std::uint64_t words[2] = {random.next(), random.next()};
  std::memcpy(id.bytes.data(), words, sizeof words);
  return id;
}

}  // namespace tailrace::sim
