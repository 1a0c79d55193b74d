// A ring whose other side writes whatever it likes, header words and records alike, while it is read and written: this
// side never leaves the memory of the ring, never runs without end, and reports what breaks the format. Then the same
// under a message channel.
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "engine/base/check.h"
#include "engine/io/epoll_io.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/ring.h"

namespace {

using namespace tailrace;
using namespace tailrace::ipc;

constexpr std::size_t kCapacity = 256;
constexpr std::size_t kRecordsMax = kCapacity / sizeof(RecordHeader);  // that fit at one time

// A block of exactly the ring's size, so that AddressSanitizer sees a step beyond it.
class RingMemory {
 public:
  RingMemory() : bytes_(static_cast<std::byte*>(::operator new(kSize, kAlignment))) {
    new (bytes_) RingHeader;
    for (std::size_t i = sizeof(RingHeader); i < kSize; ++i) bytes_[i] = std::byte{0};
  }
  ~RingMemory() { ::operator delete(bytes_, kAlignment); }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  [[nodiscard]] std::byte* data() { return bytes_; }
  [[nodiscard]] std::byte* buffer() { return bytes_ + sizeof(RingHeader); }
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(bytes_); }
  [[nodiscard]] bool has(const std::byte* from, std::size_t size) {
    return from >= buffer() && size <= kCapacity && from + size <= buffer() + kCapacity;
  }

 private:
  static constexpr std::size_t kSize = sizeof(RingHeader) + kCapacity;
  static constexpr std::align_val_t kAlignment{alignof(RingHeader)};
  std::byte* bytes_;
};

// What the input says, in order; zeros behind its end.
class Script {
 public:
  explicit Script(Bytes bytes) : left_(bytes) {}
  [[nodiscard]] bool is_over() const { return left_.empty(); }
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(left_[0]);
    left_ = left_.subspan(1);
    return value;
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  void fill(std::byte* to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::byte>(byte());
  }

 private:
  Bytes left_;
};

// One thing that a peer may do to the two rings between us.
void act_as_peer(Script& script, RingMemory& ours, RingMemory& theirs) {
  switch (script.byte() % 6) {
    case 0:
      theirs.header().tail.store(script.word());
      return;
    case 1:
      theirs.header().tail.fetch_add(8u * script.byte());
      return;
    case 2:
      ours.header().head.store(script.word());
      return;
    case 3:
      ours.header().head.store(ours.header().tail.load());
      return;
    case 4: {
      const std::size_t at = script.byte() % kCapacity;
      script.fill(theirs.buffer() + at, std::min<std::size_t>(sizeof(RecordHeader), kCapacity - at));
      return;
    }
    default:
      ours.header().sleeping.store(script.byte());
      return;
  }
}

void read_all(RingConsumer& consumer, RingMemory& memory, Script& script) {
  std::size_t records = 0;
  unsigned sum = 0;
  for (RingRecord record = consumer.next(); record.type != kPaddingType; record = consumer.next()) {
    CHECK(++records <= kRecordsMax);
    CHECK(memory.has(record.payload.data(), record.payload.size()));
    for (const std::byte byte : record.payload) sum += static_cast<unsigned>(byte);
    if ((sum & 3) == 0) consumer.release();
  }
  if (script.byte() % 2 == 0) consumer.release();
  if (consumer.violated()) CHECK(consumer.next().type == kPaddingType);
}

void write_some(RingProducer& producer, RingMemory& memory, Script& script) {
  const std::size_t size = script.byte() % (producer.payload_max() + 1);
  CHECK(producer.free_bytes() <= kCapacity);
  std::byte* const space = producer.reserve(1 + script.byte(), size);
  if (space == nullptr) return;
  CHECK(memory.has(space, size));
  script.fill(space, size);
  (void)producer.publish();
}

void fuzz_rings(Bytes input) {
  Script script(input);
  RingMemory ours;    // that we write
  RingMemory theirs;  // that we read
  RingProducer producer(ours.data(), kCapacity);
  RingConsumer consumer(theirs.data(), kCapacity);
  script.fill(theirs.buffer(), std::min<std::size_t>(script.byte(), kCapacity));
  while (!script.is_over()) {
    act_as_peer(script, ours, theirs);
    read_all(consumer, theirs, script);
    write_some(producer, ours, script);
    if (consumer.prepare_to_sleep()) consumer.wake();
  }
}

class PlainLink final : public Link {
 public:
  PlainLink(RingMemory& ours, RingMemory& theirs) {
    producer_ = RingProducer(ours.data(), kCapacity);
    consumer_ = RingConsumer(theirs.data(), kCapacity);
  }
  Result<void> send_file(std::uint64_t, io::File) override { return failure(Code::unsupported); }
  void receive_files() override {}

 private:
  void ring_peer() override {}
};

void fuzz_channel(Bytes input) {
  Script script(input);
  RingMemory ours;
  RingMemory theirs;
  static const std::unique_ptr<io::Io> loop = std::move(*io::EpollIo::create());
  MessageChannel channel(*loop, std::make_unique<PlainLink>(ours, theirs));
  script.fill(theirs.buffer(), std::min<std::size_t>(script.byte(), kCapacity));
  std::vector<std::byte> message(script.byte() * std::size_t{4});
  while (!script.is_over()) {
    act_as_peer(script, ours, theirs);
    std::size_t messages = 0;
    channel.poll([&](std::uint32_t type, Bytes received) {
      CHECK(++messages <= kRecordsMax);
      if (!received.empty()) CHECK(received.data() != nullptr);
      if (type % 2 == 0) channel.send(type & 0xFF, {Bytes(message)});
    });
    channel.publish();
    if (channel.prepare_to_sleep()) channel.wake();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input{reinterpret_cast<const std::byte*>(data), size};
  fuzz_rings(input);
  fuzz_channel(input);
  return 0;
}
