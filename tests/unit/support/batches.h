// Record batches for tests, byte by byte, without the code under test.
#pragma once

#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/record/batch.h"

namespace tailrace::test {

struct Batch {
  record::BatchHeader header;
  std::vector<std::byte> bytes;
  [[nodiscard]] Bytes records() const { return Bytes(bytes).subspan(record::kBatchHeaderSize); }
};

struct BatchSpec {
  Offset base_offset = 0;
  int records = 1;
  std::size_t value_bytes = 10;
  TimestampMs timestamp = 1'700'000'000'000;  // of the first record; the following ones have one more each
  LeaderEpoch epoch = 0;
  char fill = 'x';
};

inline void put_varint(std::vector<std::byte>& to, std::int64_t value) {
  std::byte encoded[10];
  const std::size_t size = write_unsigned_varint(encoded, zigzag_encode(value));
  to.insert(to.end(), encoded, encoded + size);
}

inline Batch make_batch(const BatchSpec& spec) {
  Batch batch;
  batch.bytes.resize(record::kBatchHeaderSize);
  for (int i = 0; i < spec.records; ++i) {
    std::vector<std::byte> body{std::byte{0}};
    put_varint(body, i);   // timestamp delta
    put_varint(body, i);   // offset delta
    put_varint(body, -1);  // null key
    put_varint(body, static_cast<std::int64_t>(spec.value_bytes));
    body.resize(body.size() + spec.value_bytes, static_cast<std::byte>(spec.fill));
    put_varint(body, 0);  // no headers
    put_varint(batch.bytes, static_cast<std::int64_t>(body.size()));
    batch.bytes.insert(batch.bytes.end(), body.begin(), body.end());
  }
  record::BatchHeader& header = batch.header;
  header.base_offset = spec.base_offset;
  header.batch_length = static_cast<std::int32_t>(batch.bytes.size() - record::kLogOverhead);
  header.partition_leader_epoch = spec.epoch;
  header.last_offset_delta = spec.records - 1;
  header.base_timestamp = spec.timestamp;
  header.max_timestamp = spec.timestamp + spec.records - 1;
  header.record_count = spec.records;
  record::write_header(header, batch.bytes.data());
  header.crc = record::compute_crc(batch.bytes);
  record::write_header(header, batch.bytes.data());
  return batch;
}

}  // namespace tailrace::test
