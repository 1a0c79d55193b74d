// CHECK: an invariant of ours that must hold; when it does not, the process dies and is restarted. Never CHECK what
// came from a socket, a ring or a disk: that is bad input, and gets a Result. DCHECK: the same where the check
// costs more than a comparison; on in debug, sanitizer and simulation builds.
#pragma once

namespace tailrace {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace tailrace

#define CHECK(condition)                                       \
  (__builtin_expect(static_cast<bool>(condition), 1) ? void(0) \
                                                     : ::tailrace::check_failed(#condition, __FILE__, __LINE__))

#ifdef TAILRACE_DCHECK
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition) void(0)
#endif
