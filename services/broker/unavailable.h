// The answer to a forwarded request that the process in charge has not answered: each API's own shape, with an error
// that its clients retry.
#pragma once

#include <cstdint>

namespace tailrace::broker {

struct Request;

enum class Unanswered : std::uint8_t {
  refused,      // the process says that it is no request: the connection ends, as in Kafka
  unreachable,  // the process is not there, or went before it answered
  timed_out,    // it is there and says nothing
};

void answer_unavailable(Request& request, Unanswered why);

}  // namespace tailrace::broker
