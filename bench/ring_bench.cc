// What a message between two processes costs: the ring alone, by how many records share one publish, and the way to
// another thread and back with its doorbell, when the other sleeps each time.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include <benchmark/benchmark.h>

#include "engine/base/check.h"
#include "engine/ipc/ring.h"

namespace {

using namespace tailrace;
using namespace tailrace::ipc;

constexpr std::size_t kCapacity = std::size_t{1} << 20;  // as between broker and engine
constexpr std::size_t kRecordBytes = 64;                 // an append or its answer
constexpr std::uint32_t kType = 1;
constexpr std::uint32_t kLast = 2;  // nothing follows

class RingMemory {
 public:
  RingMemory() : bytes_(static_cast<std::byte*>(::operator new(sizeof(RingHeader) + kCapacity, kAlignment))) {
    new (bytes_) RingHeader;
  }
  ~RingMemory() { ::operator delete(bytes_, kAlignment); }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  [[nodiscard]] std::byte* data() { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{alignof(RingHeader)};
  std::byte* bytes_;
};

void write_record(RingProducer& producer, std::uint32_t type = kType) {
  std::byte* const space = producer.reserve(type, kRecordBytes);
  CHECK(space != nullptr);
  std::memset(space, 0x5A, kRecordBytes);
}

void publish_every(benchmark::State& state) {
  RingMemory memory;
  RingProducer producer(memory.data(), kCapacity);
  RingConsumer consumer(memory.data(), kCapacity);
  const std::int64_t records = state.range(0);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < records; ++i) write_record(producer);
    benchmark::DoNotOptimize(producer.publish());
    for (std::int64_t i = 0; i < records; ++i) benchmark::DoNotOptimize(consumer.next());
    consumer.release();
  }
  state.SetItemsProcessed(state.iterations() * records);
}
BENCHMARK(publish_every)->Arg(1)->Arg(16)->Arg(64);

// One end of two rings with a doorbell, as a thread of ours uses it.
class End {
 public:
  End(RingMemory& to, RingMemory& from) : producer_(to.data(), kCapacity), consumer_(from.data(), kCapacity) {}
  ~End() { ::close(bell_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void send(const End& to, std::int64_t records, std::uint32_t type = kType) {
    for (std::int64_t i = 0; i < records; ++i) write_record(producer_, type);
    constexpr std::uint64_t kOne = 1;
    if (producer_.publish()) CHECK(::write(to.bell_, &kOne, sizeof kOne) == sizeof kOne);
  }
  // False: the other end has sent its last.
  bool receive(std::int64_t records) {
    while (records > 0) {
      const RingRecord record = consumer_.next();
      if (record.type == kLast) return false;
      if (record.type != kPaddingType) {
        --records;
        continue;
      }
      consumer_.release();
      if (!consumer_.prepare_to_sleep()) continue;
      std::uint64_t rung = 0;
      CHECK(::read(bell_, &rung, sizeof rung) == sizeof rung);
      consumer_.wake();
    }
    consumer_.release();
    return true;
  }

 private:
  RingProducer producer_;
  RingConsumer consumer_;
  int bell_ = ::eventfd(0, EFD_CLOEXEC);
};

void to_a_thread_and_back(benchmark::State& state) {
  RingMemory there, back;
  End near(there, back);
  End far(back, there);
  const std::int64_t records = state.range(0);
  std::thread other([&] {
    while (far.receive(records)) far.send(near, records);
  });
  for (auto _ : state) {
    near.send(far, records);
    near.receive(records);
  }
  near.send(far, 1, kLast);
  other.join();
  state.SetItemsProcessed(state.iterations() * records);
}
BENCHMARK(to_a_thread_and_back)->Arg(1)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
