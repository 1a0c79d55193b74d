// Batches of any magic from arbitrary bytes: nothing crashes, nothing unpacks to more than allowed, and what is
// accepted can be built again. Each input is taken as it is, and once more with the length and the checksum that its
// header should have, since chance would never get past those.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/record/builder.h"
#include "engine/record/control.h"
#include "engine/record/legacy.h"
#include "engine/record/records.h"
#include "engine/record/validate.h"

namespace {

using namespace tailrace;
using namespace tailrace::record;

constexpr std::size_t kUnpackedMax = 1 << 20;

// Iterates all of it; `visit` is called for each record. True when it was sound to the end.
template <class Visit>
bool walk(Bytes batch, Visit visit) {
  Scratch scratch;
  auto records = Records::open(batch, scratch, kUnpackedMax);
  CHECK(scratch.capacity() <= 2 * kUnpackedMax);
  if (!records) return false;
  Record record;
  while (true) {
    const auto has_record = records->next(record);
    if (!has_record) return false;
    if (!*has_record) return true;
    std::int32_t count = 0;
    Headers left = record.headers;
    for (Header header; left.next(header);) ++count;
    CHECK(count == record.headers.count());
    visit(records->header(), record);
  }
}

std::string build_again(Bytes batch) {
  const BatchHeader header = read_header(batch.data());
  BatchBuilder builder({.producer_id = header.producer_id,
                        .producer_epoch = header.producer_epoch,
                        .base_sequence = header.base_sequence,
                        .is_transactional = header.is_transactional()});
  std::vector<Header> headers;
  const bool is_sound = walk(batch, [&](const BatchHeader&, const Record& record) {
    headers.clear();
    Headers left = record.headers;
    for (Header one; left.next(one);) headers.push_back(one);
    const TimestampMs timestamp = record.timestamp < 0 ? kNoTimestamp : record.timestamp;
    CHECK(builder.add(timestamp, record.key, record.value, headers).has_value());
  });
  CHECK(is_sound);
  const auto built = builder.finish();
  CHECK(built.has_value());
  return std::string(as_text(*built));
}

void fuzz_produced(Bytes batch) {
  const auto header = check_produced(batch);
  Scratch scratch;
  const RecordRules rules{.keys_required = true, .now_ms = 1'700'000'000'000, .uncompressed_bytes_max = kUnpackedMax};
  const auto validation = validate_records(batch, rules, scratch);
  if (!header || !validation) return;
  CHECK(validation->failures.size() <= static_cast<std::size_t>(header->record_count));

  const std::string built = build_again(batch);
  CHECK(check_produced(as_bytes(built)).has_value());
  CHECK(build_again(as_bytes(built)) == built);

  std::vector<std::byte> stamped(batch.begin(), batch.end());
  stamp_timestamps(stamped, true, 1);
  CHECK(check_produced(stamped).has_value());
  Scratch out;
  scratch.clear();
  const auto records = Records::open(batch, scratch, kUnpackedMax);
  if (records && pack_batch(records->header(), records->uncompressed(), Compression::lz4, std::nullopt, out))
    CHECK(check_produced(out.bytes()).has_value());
}

void fuzz_stored(Bytes batch) {
  walk(batch, [](const BatchHeader&, const Record&) {});
  (void)end_marker_of_batch(batch);
  (void)legacy_crc_is_valid(batch);
  (void)shallow_batch_header(batch);
  Scratch scratch;
  if (const auto header = batch_header(batch, scratch, kUnpackedMax))
    CHECK(header->base_offset <= header->last_offset());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input{reinterpret_cast<const std::byte*>(data), size};
  fuzz_produced(input);
  fuzz_stored(input);
  if (size < kSizeUpToMagic) return 0;
  std::vector<std::byte> sealed(input.begin(), input.end());
  store_big_endian(sealed.data() + 8, static_cast<std::int32_t>(size - kLogOverhead));
  if (size >= kBatchHeaderSize && sealed[kMagicPosition] == std::byte{2}) {
    store_big_endian(sealed.data(), std::int64_t{0});
    store_big_endian(sealed.data() + kCrcPosition, compute_crc(sealed));
    fuzz_produced(sealed);
  }
  fuzz_stored(sealed);
  return 0;
}
