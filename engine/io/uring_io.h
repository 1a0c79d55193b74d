// UringIo: the io seam over io_uring; the only user of liburing. Readiness of sockets comes from multishot polls, so
// that waiting for any number of them costs one system call per turn; syncs of many files run in parallel in the
// kernel's workers. Buffered writes stay with pwritev (PosixFiles): on ext4 the ring hands them to a worker each, which
// measures slower.
#pragma once

#include <liburing.h>

#include <memory>

#include "engine/io/posix_files.h"
#include "engine/io/socket_io.h"

namespace tailrace::io {

class UringIo : public SocketIo {
 public:
  // Error: unsupported (the kernel is too old or forbids io_uring), with the errno.
  static Result<std::unique_ptr<UringIo>> create();
  ~UringIo() override;

  const char* name() const override { return "uring"; }
  Files& files() override { return files_; }

 protected:
  int watch(int descriptor) override;
  void unwatch(int descriptor) override;
  void wait(std::int64_t timeout_us) override;

 private:
  class RingFiles : public PosixFiles {
   public:
    explicit RingFiles(UringIo& io) : io_(io) {}

   protected:
    void complete(Completion& done, std::int64_t result) override { io_.complete(done, result); }
    void start_sync(int descriptor, bool data_only, Completion& done) override {
      io_.start_sync(descriptor, data_only, done);
    }

   private:
    UringIo& io_;
  };

  UringIo() : files_(*this) {}
  io_uring_sqe* next_entry();
  void start_sync(int descriptor, bool data_only, Completion& done);
  void on_poll(std::uint64_t tag, std::int32_t result, std::uint32_t flags);

  io_uring ring_{};
  bool ring_made_ = false;
  RingFiles files_;
  std::vector<std::uint32_t> generations_;  // of the watch on each descriptor: late events of a closed one are dropped
};

}  // namespace tailrace::io
