// EpollIo: the io seam over epoll and plain system calls, for kernels and containers where io_uring is forbidden.
// fdatasync blocks, so two helper threads do it; they share one queue with the loop, under a lock that the loop takes
// only to sync.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/io/posix_files.h"
#include "engine/io/socket_io.h"

namespace tailrace::io {

class EpollIo : public SocketIo {
 public:
  static Result<std::unique_ptr<EpollIo>> create();
  ~EpollIo() override;

  const char* name() const override { return "epoll"; }
  Files& files() override { return files_; }

 protected:
  int watch(int descriptor) override;
  void unwatch(int descriptor) override;
  void wait(std::int64_t timeout_us) override;

 private:
  class ThreadedFiles : public PosixFiles {
   public:
    explicit ThreadedFiles(EpollIo& io) : io_(io) {}
    using PosixFiles::sync;
    void sync(File file, Completion& done) override { io_.start_sync(file.handle, done); }

   protected:
    void complete(Completion& done, std::int64_t result) override { io_.complete(done, result); }

   private:
    EpollIo& io_;
  };
  struct Sync {
    int descriptor = -1;
    Completion* done = nullptr;
    std::int64_t result = 0;
  };

  EpollIo() : files_(*this) {}
  void start_sync(int descriptor, Completion& done);
  void sync_loop();
  void take_finished_syncs();

  int epoll_ = -1;
  int sync_event_ = -1;  // rung by the helpers
  ThreadedFiles files_;

  std::mutex mutex_;  // guards the three below, and nothing else
  std::deque<Sync> to_sync_;
  std::vector<Sync> synced_;
  bool stopping_ = false;
  std::condition_variable work_;
  std::vector<std::thread> helpers_;  // started at the first sync: most processes never need them
};

}  // namespace tailrace::io
