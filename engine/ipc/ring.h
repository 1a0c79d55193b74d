// Ring: a single-producer single-consumer queue of byte records in memory shared by two processes. The producer writes
// any number of whole records and then publishes them with one store of `tail`: before that store nothing is visible,
// so nothing is ever half-written, and a producer that dies leaves no hole. The peer is not trusted: the consumer reads
// each record's header once, bounds it, and reports a violation instead of following it.
//
// Memory: a RingHeader (three cache-line pairs), then `capacity` bytes, a power of two. A record is {size, type} and
// its bytes, padded to 8; it never wraps: a padding record (type 0) fills the end of the buffer. Positions only grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/base/bytes.h"
#include "engine/base/check.h"

namespace tailrace::ipc {

struct RingHeader {
  // Each word on its own pair of cache lines, for the adjacent-line prefetcher.
  alignas(128) std::atomic<std::uint64_t> tail{0};      // written by the producer
  alignas(128) std::atomic<std::uint64_t> head{0};      // written by the consumer
  alignas(128) std::atomic<std::uint32_t> sleeping{0};  // 1: the consumer waits for its doorbell
};
static_assert(sizeof(RingHeader) == 384);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct RecordHeader {
  std::uint32_t size = 0;  // of the payload, in bytes
  std::uint32_t type = 0;  // 0: padding
};

constexpr std::size_t kRecordAlignment = 8;
constexpr std::uint32_t kPaddingType = 0;

constexpr std::size_t record_space(std::size_t payload) {
  return (sizeof(RecordHeader) + payload + kRecordAlignment - 1) & ~(kRecordAlignment - 1);
}

class RingProducer {
 public:
  RingProducer() = default;
  // `memory` holds a RingHeader and `capacity` bytes behind it and outlives this object.
  RingProducer(std::byte* memory, std::size_t capacity)
      : header_(reinterpret_cast<RingHeader*>(memory)), buffer_(memory + sizeof(RingHeader)), capacity_(capacity) {
    CHECK((capacity & (capacity - 1)) == 0);
  }

  // A record of at most this many bytes always fits into an empty ring, wherever the position stands.
  [[nodiscard]] std::size_t payload_max() const { return capacity_ / 4; }

  // Space for a record of `size` bytes, to be filled before publish; nullptr while the ring is too full. The record's
  // content is uninitialised. Several records may be reserved before one publish.
  [[nodiscard]] std::byte* reserve(std::uint32_t type, std::size_t size) {
    CHECK(type != kPaddingType);
    CHECK(size <= payload_max());
    const std::size_t needed = record_space(size);
    const std::size_t at = tail_ & (capacity_ - 1);
    const std::size_t to_end = capacity_ - at;
    const std::size_t padding = needed > to_end ? to_end : 0;
    if (tail_ + padding + needed - head_cache_ > capacity_) {
      head_cache_ = header_->head.load(std::memory_order_acquire);
      // A head beyond our tail, or too far behind, is the peer's lie: the ring counts as full for ever.
      if (head_cache_ > tail_ || tail_ - head_cache_ > capacity_) head_cache_ = tail_ - capacity_;
      if (tail_ + padding + needed - head_cache_ > capacity_) return nullptr;
    }
    if (padding != 0) {
      write_header(at, padding - sizeof(RecordHeader), kPaddingType);
      tail_ += padding;
    }
    const std::size_t start = tail_ & (capacity_ - 1);
    write_header(start, size, type);
    tail_ += needed;
    return buffer_ + start + sizeof(RecordHeader);
  }

  // Bytes that can be reserved now at least, whatever the size of the records (half of what is free may go to padding).
  [[nodiscard]] std::size_t free_bytes() {
    head_cache_ = header_->head.load(std::memory_order_acquire);
    if (head_cache_ > tail_ || tail_ - head_cache_ > capacity_) return 0;
    return capacity_ - static_cast<std::size_t>(tail_ - head_cache_);
  }

  // Makes all reserved records visible. True: the consumer sleeps and its doorbell must be rung (it was claimed by us).
  [[nodiscard]] bool publish() {
    if (tail_ == published_) return false;
    published_ = tail_;
    // seq_cst on both words: either the consumer's re-read of tail (after it set sleeping) sees our store, or our read
    // of sleeping sees its store. With weaker orders both could miss, and the wake-up would be lost.
    header_->tail.store(tail_, std::memory_order_seq_cst);
    return header_->sleeping.load(std::memory_order_seq_cst) != 0 &&
           header_->sleeping.exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  void write_header(std::size_t at, std::size_t size, std::uint32_t type) {
    const RecordHeader record{static_cast<std::uint32_t>(size), type};
    std::memcpy(buffer_ + at, &record, sizeof record);
  }

  RingHeader* header_ = nullptr;
  std::byte* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t head_cache_ = 0;  // no newer than the consumer's head
};

struct RingRecord {
  std::uint32_t type = kPaddingType;  // padding: nothing there
  Bytes payload;                      // in shared memory: the peer may change it while it is read, so copy, then check
};

class RingConsumer {
 public:
  RingConsumer() = default;
  RingConsumer(std::byte* memory, std::size_t capacity)
      : header_(reinterpret_cast<RingHeader*>(memory)), buffer_(memory + sizeof(RingHeader)), capacity_(capacity) {
    CHECK((capacity & (capacity - 1)) == 0);
  }

  // The next record, valid until release(). `violated()` after an empty answer: the peer broke the format.
  [[nodiscard]] RingRecord next() {
    for (;;) {
      if (violated_) return {};
      if (read_ == tail_cache_) {
        tail_cache_ = header_->tail.load(std::memory_order_acquire);
        if (tail_cache_ < read_ || tail_cache_ - released_ > capacity_) violated_ = true;
        if (violated_ || read_ == tail_cache_) return {};
      }
      const std::uint64_t available = tail_cache_ - read_;
      const std::size_t at = read_ & (capacity_ - 1);
      if (available < sizeof(RecordHeader) || at + sizeof(RecordHeader) > capacity_) return violation();
      RecordHeader record;
      std::memcpy(&record, buffer_ + at, sizeof record);
      const std::size_t space = record_space(record.size);
      if (record.size > capacity_ || space > available || at + space > capacity_) return violation();
      read_ += space;
      if (record.type == kPaddingType) continue;
      return {record.type, {buffer_ + at + sizeof(RecordHeader), record.size}};
    }
  }

  // Gives the space of all records read so far back to the producer.
  void release() {
    if (released_ == read_) return;
    released_ = read_;
    header_->head.store(read_, std::memory_order_release);
  }

  [[nodiscard]] bool violated() const { return violated_; }

  // True: nothing is there and the next publish will ring the doorbell. False: records arrived meanwhile; do not sleep.
  [[nodiscard]] bool prepare_to_sleep() {
    header_->sleeping.store(1, std::memory_order_seq_cst);
    if (header_->tail.load(std::memory_order_seq_cst) == read_) return true;
    header_->sleeping.store(0, std::memory_order_relaxed);
    return false;
  }
  void wake() { header_->sleeping.store(0, std::memory_order_relaxed); }

 private:
  RingRecord violation() {
    violated_ = true;
    return {};
  }

  RingHeader* header_ = nullptr;
  std::byte* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t tail_cache_ = 0;
  bool violated_ = false;
};

}  // namespace tailrace::ipc
