// InitProducerId (key 22): a producer id and epoch for an idempotent (null transactional id) or transactional producer.
// From version 3 on a producer names the id and epoch it has, to be given the next epoch (KIP-360).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct InitProducerIdRequest {
  static constexpr MessageInfo kMessage{.name = "InitProducerIdRequest",
                                        .api_key = 22,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 2};

  std::optional<std::string_view> transactional_id{};
  std::int32_t transaction_timeout_ms = 0;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  bool enable2_pc = false;
  bool keep_prepared_txn = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("transactional_id", m.transactional_id);
    v("transaction_timeout_ms", m.transaction_timeout_ms);
    v("producer_id", m.producer_id, since(3));
    v("producer_epoch", m.producer_epoch, since(3));
    v("enable2_pc", m.enable2_pc, since(6));
    v("keep_prepared_txn", m.keep_prepared_txn, since(6));
  }
};

struct InitProducerIdResponse {
  static constexpr MessageInfo kMessage{.name = "InitProducerIdResponse",
                                        .api_key = 22,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 2};

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = 0;
  std::int64_t ongoing_txn_producer_id = -1;
  std::int16_t ongoing_txn_producer_epoch = -1;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("producer_id", m.producer_id);
    v("producer_epoch", m.producer_epoch);
    v("ongoing_txn_producer_id", m.ongoing_txn_producer_id, since(6));
    v("ongoing_txn_producer_epoch", m.ongoing_txn_producer_epoch, since(6));
  }
};

}  // namespace tailrace::kafka
