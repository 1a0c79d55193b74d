#include "engine/record/control.h"

#include <array>

#include "engine/record/builder.h"
#include "engine/record/records.h"

namespace tailrace::record {
namespace {

constexpr std::size_t kKeySize = 4;    // version, type
constexpr std::size_t kValueSize = 6;  // version, coordinator epoch

}  // namespace

Result<ControlType> control_type(const Record& record) {
  if (!record.key || record.key->size() < kKeySize) return failure(Code::corrupt, "key of a control record");
  if (load_big_endian<std::int16_t>(record.key->data()) < 0)
    return failure(Code::corrupt, "version of a control record's key");
  return static_cast<ControlType>(load_big_endian<std::int16_t>(record.key->data() + 2));
}

Result<std::optional<EndMarker>> end_marker(const Record& record) {
  const auto type = control_type(record);
  if (!type) return std::unexpected(type.error());
  if (*type != ControlType::abort && *type != ControlType::commit) return std::nullopt;
  if (!record.value || record.value->size() < kValueSize)
    return failure(Code::corrupt, "value of a transaction marker");
  if (load_big_endian<std::int16_t>(record.value->data()) < 0)
    return failure(Code::corrupt, "version of a transaction marker");
  return EndMarker{.aborts = *type == ControlType::abort,
                   .coordinator_epoch = load_big_endian<std::int32_t>(record.value->data() + 2)};
}

Result<std::optional<EndMarker>> end_marker_of_batch(Bytes batch) {
  Scratch scratch;
  constexpr std::size_t kUnpackedMax = 1 << 20;  // brokers do not compress control batches
  auto records = Records::open(batch, scratch, kUnpackedMax);
  if (!records) return std::unexpected(records.error());
  Record record;
  const auto has_record = records->next(record);
  if (!has_record) return std::unexpected(has_record.error());
  if (!*has_record) return std::nullopt;
  return end_marker(record);
}

Result<Bytes> build_end_marker(BatchBuilder& builder, ProducerId producer_id, ProducerEpoch producer_epoch,
                               EndMarker marker, TimestampMs timestamp) {
  std::array<std::byte, kKeySize> key{};
  store_big_endian(key.data() + 2, static_cast<std::int16_t>(marker.aborts ? ControlType::abort : ControlType::commit));
  std::array<std::byte, kValueSize> value{};
  store_big_endian(value.data() + 2, marker.coordinator_epoch);
  builder.start(
      {.producer_id = producer_id, .producer_epoch = producer_epoch, .is_transactional = true, .is_control = true});
  if (auto added = builder.add(timestamp, Bytes(key), Bytes(value)); !added) return std::unexpected(added.error());
  return builder.finish();
}

}  // namespace tailrace::record
