// Picks the loop: io_uring where the kernel lets us, else epoll; TAILRACE_IO forces one.
#include <cstdlib>
#include <string_view>

#include "engine/base/observe.h"
#include "engine/io/epoll_io.h"
#include "engine/io/uring_io.h"

namespace tailrace::io {

Result<std::unique_ptr<Io>> make_io() {
  const char* const forced = std::getenv("TAILRACE_IO");
  const std::string_view wanted = forced == nullptr ? "" : forced;
  if (wanted != "" && wanted != "uring" && wanted != "epoll") {
    return failure(Code::invalid_argument, "reading TAILRACE_IO, which must be uring or epoll");
  }
  if (wanted != "epoll") {
    Result<std::unique_ptr<UringIo>> uring = UringIo::create();
    if (uring) {
      log_info("io implementation=uring reason={}", forced == nullptr ? "\"the kernel allows it\"" : "TAILRACE_IO");
      return std::move(*uring);
    }
    if (wanted == "uring") return std::unexpected(uring.error());
    log_info("io implementation=epoll reason=\"{}\"", uring.error().text());
  } else {
    log_info("io implementation=epoll reason=TAILRACE_IO");
  }
  Result<std::unique_ptr<EpollIo>> epoll = EpollIo::create();
  if (!epoll) return std::unexpected(epoll.error());
  return std::move(*epoll);
}

}  // namespace tailrace::io
