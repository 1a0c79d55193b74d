// Producer snapshots from arbitrary bytes, as they are and with a right checksum: what is loaded is written again the
// same, and the state can be used.
#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/crc32c.h"
#include "engine/partition/producers.h"

namespace {

using namespace tailrace;
using namespace tailrace::partition;

void fuzz(Bytes snapshot) {
  Producers producers;
  if (!producers.load_snapshot(snapshot)) return;
  const std::string encoded = producers.encode_snapshot();
  Producers again;
  CHECK(again.load_snapshot(as_bytes(encoded)).has_value());
  CHECK(again.encode_snapshot() == encoded);
  CHECK(again.first_unstable_offset() == producers.first_unstable_offset());
  const std::map<ProducerId, ProducerState> states = producers.all();
  for (const auto& [id, state] : states) {
    record::BatchHeader header{
        .producer_id = id, .producer_epoch = state.producer_epoch, .base_sequence = 0, .record_count = 1};
    (void)producers.check(header);
    header.attributes = record::kControlBit | record::kTransactionalBit;
    (void)producers.apply(header, Producers::EndMarker{});
  }
  producers.expire(1'700'000'000'000, 1);
  (void)producers.encode_snapshot();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> snapshot(reinterpret_cast<const std::byte*>(data),
                                  reinterpret_cast<const std::byte*>(data) + size);
  fuzz(snapshot);
  constexpr std::size_t kCheckedAt = 6;
  if (size < kCheckedAt) return 0;
  store_big_endian(snapshot.data() + 2, crc32c(Bytes(snapshot).subspan(kCheckedAt)));
  fuzz(snapshot);
  return 0;
}
