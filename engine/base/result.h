// Result<T>: how functions that can fail in operation answer. An Error says what its receiver can do about it
// (`code`), which system error was behind it, and `context`, a string literal naming the step that failed.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace tailrace {

enum class Code : std::uint16_t {
  retry,                   // not possible at this moment; the same call may succeed later
  not_leader,              // this node does not lead the partition
  fenced_epoch,            // the caller's leader epoch is older than ours
  unknown_epoch,           // the caller's leader epoch is newer than ours
  unknown_partition,       // no such partition here
  unknown_topic,           // no such topic
  out_of_range,            // offset below the log start or above the log end
  corrupt,                 // bytes that fail their checks (from network, ring or disk)
  invalid_record,          // bytes that are sound but break a rule for records
  invalid_timestamp,       // a record time outside the bounds of the topic
  too_large,               // larger than a limit that the caller can read about
  out_of_order_sequence,   // a gap in an idempotent producer's sequence
  duplicate_sequence,      // a repeat older than the remembered batches
  invalid_producer_epoch,  // the producer was fenced by a newer epoch
  unknown_producer,        // no state for the producer where state is needed
  invalid_transaction,     // a transactional batch without an open transaction
  disk_full,               // no space left
  io_failed,               // the system refused; see system_error
  exists,                  // already there
  not_found,               // not there
  invalid_argument,        // the caller broke the contract of the call
  unsupported,             // a version or feature that is not served
  locked,                  // held by another process
  limit_reached,           // a bounded resource is used up
  peer_gone,               // the other process died or broke the session
  mismatch,                // belongs to another cluster or node
};

// The name of a code, as in logs: "not_leader".
const char* name(Code code);

struct Error {
  Code code;
  std::uint16_t system_error = 0;  // errno, 0 for none
  const char* context = nullptr;   // a string literal: the step that failed

  // The same error, naming the step of a caller.
  [[nodiscard]] Error at(const char* step) const { return Error{code, system_error, step}; }
  // "io_failed while syncing the directory: No space left on device".
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(Code code, const char* context = nullptr) {
  return std::unexpected(Error{code, 0, context});
}
// From an errno: ENOSPC and EDQUOT become disk_full, ENOENT not_found, EEXIST exists, all others io_failed.
std::unexpected<Error> system_failure(int system_error, const char* context = nullptr);

}  // namespace tailrace
