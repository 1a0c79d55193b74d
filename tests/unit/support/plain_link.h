// PlainPair: both ends of a session over two rings in plain memory, without a socket or a bell: whoever drives the test
// lets both sides look.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/ipc/link.h"

namespace tailrace::test {

class PlainLink final : public ipc::Link {
 public:
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  struct Memory {
    explicit Memory(std::size_t capacity) : lines((sizeof(ipc::RingHeader) + capacity) / sizeof(Line)) {
      new (data()) ipc::RingHeader;
    }
    [[nodiscard]] std::byte* data() { return lines[0].bytes; }
    std::vector<Line> lines;
  };

  PlainLink(std::shared_ptr<Memory> to, std::shared_ptr<Memory> from, std::size_t capacity)
      : to_(std::move(to)), from_(std::move(from)) {
    producer_ = ipc::RingProducer(to_->data(), capacity);
    consumer_ = ipc::RingConsumer(from_->data(), capacity);
  }
  static std::pair<std::unique_ptr<PlainLink>, std::unique_ptr<PlainLink>> make_pair(std::size_t capacity) {
    auto there = std::make_shared<Memory>(capacity);
    auto back = std::make_shared<Memory>(capacity);
    return {std::make_unique<PlainLink>(there, back, capacity), std::make_unique<PlainLink>(back, there, capacity)};
  }
  Result<void> send_file(std::uint64_t, io::File) override { return failure(Code::unsupported); }
  void receive_files() override {}

 private:
  void ring_peer() override {}
  std::shared_ptr<Memory> to_;
  std::shared_ptr<Memory> from_;
};

}  // namespace tailrace::test
