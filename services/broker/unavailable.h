// The answer to a forwarded request whose process is not to be reached: each API's own shape, with an error that its
// clients retry.
#pragma once

namespace tailrace::broker {

struct Request;

void answer_unavailable(Request& request);

}  // namespace tailrace::broker
