// SetClockIo: a real loop whose clock goes on only when told, for what would take seconds otherwise.
#pragma once

#include <memory>
#include <utility>

#include "engine/io/io.h"

namespace tailrace::test {

class SetClockIo final : public io::Io {
 public:
  const char* name() const override { return real_->name(); }
  Instant now() const override { return now_; }
  void pass(Duration duration) { now_ = now_ + duration; }
  TimestampMs wall_clock_ms() const override { return real_->wall_clock_ms(); }
  std::uint64_t random() override { return real_->random(); }
  io::Files& files() override { return real_->files(); }
  Result<io::Socket> listen(const io::Address& at, int backlog) override { return real_->listen(at, backlog); }
  Result<io::Address> local_address(io::Socket socket) override { return real_->local_address(socket); }
  Result<io::Address> peer_address(io::Socket socket) override { return real_->peer_address(socket); }
  void accept(io::Socket listener, io::Completion& done) override { real_->accept(listener, done); }
  void receive(io::Socket from, MutableBytes into, std::size_t at_least, io::Completion& done) override {
    real_->receive(from, into, at_least, done);
  }
  void send(io::Socket to, Bytes from, bool more, io::Completion& done) override { real_->send(to, from, more, done); }
  void send_file(io::Socket to, io::File file, std::uint64_t at, std::uint64_t size, io::Completion& done) override {
    real_->send_file(to, file, at, size, done);
  }
  void shutdown(io::Socket socket) override { real_->shutdown(socket); }
  void close(io::Socket socket) override { real_->close(socket); }
  void wait_readable(int descriptor, io::Completion& done) override { real_->wait_readable(descriptor, done); }
  void forget(int descriptor) override { real_->forget(descriptor); }
  std::uint64_t turn(bool) override { return real_->turn(true) + timers_.run(now_); }

 private:
  std::unique_ptr<io::Io> real_ = std::move(*io::make_io());
  Instant now_{1'000'000'000};
};

}  // namespace tailrace::test
