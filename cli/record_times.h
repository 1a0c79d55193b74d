// When the records at some offsets were written, which no API says: one batch of each partition is fetched. Blocking.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cli/admin.h"

namespace tailrace::cli {

// By partition, of the first record at this offset or after it. One that has no such record, no timestamp, or whose
// leader does not answer with it, is left out. Error: a broker does not answer.
Outcome<std::map<PartitionKey, TimestampMs>> record_times(Client& client, const Cluster& cluster,
                                                          const std::map<PartitionKey, Offset>& offsets);

// How old the oldest unread record of a group is, in milliseconds: 0 where nothing is unread (`lag`, in records). A
// record of the future is as old as nothing. nullopt: not known.
std::optional<std::int64_t> lag_ms(std::optional<std::int64_t> lag, std::optional<TimestampMs> oldest_unread,
                                   TimestampMs now);

}  // namespace tailrace::cli
