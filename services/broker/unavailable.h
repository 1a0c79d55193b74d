// The answer to a forwarded request that the process in charge has not answered: each API's own shape, with an error
// that its clients retry.
#pragma once

#include <cstdint>

namespace tailrace::broker {

struct Request;

struct Unanswered {
  enum Reason : std::uint8_t {
    refused,      // the process says that it is no request: the connection ends, as in Kafka
    unreachable,  // the process is not there, or went before it answered
    timed_out,    // it is there and says nothing
    told,         // it says the error and leaves the form to us
  };
  Unanswered(Reason why) : reason(why) {}  // NOLINT(google-explicit-constructor): a reason is all of most
  static Unanswered with(std::int16_t error) {
    Unanswered made(told);
    made.error = error;
    return made;
  }
  friend bool operator==(const Unanswered&, const Unanswered&) = default;

  Reason reason;
  std::int16_t error = 0;  // as it stands in messages, where it was told
};

void answer_unavailable(Request& request, Unanswered why);
// The part of it that is about groups: each of the request's groups, members and partitions has the error.
void answer_group_error(Request& request, std::int16_t error);

}  // namespace tailrace::broker
