// EpollIo: the io seam over epoll and plain system calls, for kernels and containers where io_uring is forbidden.
// fdatasync and fsync block, so a few helper threads do them, as many as there are syncs at a time (what waits together
// shares a commit of the file system's journal); they share one queue with the loop, under a lock that the loop takes
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

   protected:
    void complete(Completion& done, std::int64_t result) override { io_.complete(done, result); }
    void start_sync(int descriptor, bool data_only, Completion& done) override {
      io_.start_sync(descriptor, data_only, done);
    }

   private:
    EpollIo& io_;
  };
  struct Sync {
    int descriptor = -1;
    bool data_only = true;
    Completion* done = nullptr;
    std::int64_t result = 0;
  };

  EpollIo() : files_(*this) {}
  void start_sync(int descriptor, bool data_only, Completion& done);
  void add_helper();
  void sync_loop();
  void take_finished_syncs();

  int epoll_ = -1;
  int sync_event_ = -1;  // rung by the helpers
  ThreadedFiles files_;

  std::mutex mutex_;  // guards the four below, and nothing else
  std::deque<Sync> to_sync_;
  std::vector<Sync> synced_;
  bool stopping_ = false;
  std::size_t idle_ = 0;  // helpers that wait for work
  std::condition_variable work_;
  std::vector<std::thread> helpers_;  // started when they are missed: most processes never need one
  bool lacks_helpers_ = false;        // which was logged
};

}  // namespace tailrace::io
