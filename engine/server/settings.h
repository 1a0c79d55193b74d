// What the engine process reads of the node's server.properties. It knows a handful of keys and leaves all checks of
// names to the services, which read the same file with the full table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace tailrace::server {

enum class Durability : std::uint8_t {
  disk,    // acknowledged and readable once fdatasync has returned
  memory,  // once written to the page cache, as Kafka does
};

struct Settings {
  std::string data_directory;                                    // log.dirs, log.dir
  std::string run_directory;                                     // tailrace.run.dir
  Durability durability = Durability::disk;                      // tailrace.durability
  std::int64_t checkpoint_interval_ms = 60'000;                  // log.flush.offset.checkpoint.interval.ms
  std::int64_t producer_expiration_ms = 24 * 3600 * 1000ll;      // producer.id.expiration.ms
  std::int64_t producer_expiration_check_interval_ms = 600'000;  // producer.id.expiration.check.interval.ms
  std::int64_t retention_check_interval_ms = 300'000;            // log.retention.check.interval.ms
  std::int64_t file_delete_delay_ms = 60'000;                    // log.segment.delete.delay.ms
};

// Arguments as all services take them: --config FILE, --set KEY=VALUE, repeatable, later ones win. Error text: one
// sentence.
std::expected<Settings, std::string> read_settings(int argument_count, char** arguments);

}  // namespace tailrace::server
