#include "engine/base/result.h"

#include <cerrno>
#include <cstring>

namespace tailrace {

const char* name(Code code) {
  switch (code) {
    case Code::retry:
      return "retry";
    case Code::not_leader:
      return "not_leader";
    case Code::fenced_epoch:
      return "fenced_epoch";
    case Code::unknown_epoch:
      return "unknown_epoch";
    case Code::unknown_partition:
      return "unknown_partition";
    case Code::unknown_topic:
      return "unknown_topic";
    case Code::out_of_range:
      return "out_of_range";
    case Code::corrupt:
      return "corrupt";
    case Code::invalid_record:
      return "invalid_record";
    case Code::invalid_timestamp:
      return "invalid_timestamp";
    case Code::too_large:
      return "too_large";
    case Code::out_of_order_sequence:
      return "out_of_order_sequence";
    case Code::duplicate_sequence:
      return "duplicate_sequence";
    case Code::invalid_producer_epoch:
      return "invalid_producer_epoch";
    case Code::unknown_producer:
      return "unknown_producer";
    case Code::invalid_transaction:
      return "invalid_transaction";
    case Code::disk_full:
      return "disk_full";
    case Code::io_failed:
      return "io_failed";
    case Code::exists:
      return "exists";
    case Code::not_found:
      return "not_found";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::unsupported:
      return "unsupported";
    case Code::locked:
      return "locked";
    case Code::limit_reached:
      return "limit_reached";
    case Code::peer_gone:
      return "peer_gone";
    case Code::mismatch:
      return "mismatch";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string out = name(code);
  if (context != nullptr) out += std::string(" while ") + context;
  if (system_error != 0) out += std::string(": ") + std::strerror(system_error);
  return out;
}

std::unexpected<Error> system_failure(int system_error, const char* context) {
  Code code = Code::io_failed;
  if (system_error == ENOSPC || system_error == EDQUOT) code = Code::disk_full;
  if (system_error == ENOENT) code = Code::not_found;
  if (system_error == EEXIST) code = Code::exists;
  return std::unexpected(Error{code, static_cast<std::uint16_t>(system_error), context});
}

}  // namespace tailrace
