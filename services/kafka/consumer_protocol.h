// What consumers put into the metadata of JoinGroup and the assignment of SyncGroup (messages/consumer_protocol.h): a
// version in two bytes, then the message. Pure functions over bytes; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_protocol.h"

namespace tailrace::kafka {

// ConsumerProtocolSubscription or ConsumerProtocolAssignment of any version: one that is newer than ours begins with
// what ours has. Errors: corrupt, too_large.
template <class M>
[[nodiscard]] Result<M> decode_consumer_protocol(Bytes bytes) {
  static_assert(M::kMessage.kind == MessageKind::data);
  const Result<std::int16_t> version = record_prefix(bytes);
  if (!version) return std::unexpected(version.error());
  if (*version < 0) return failure(Code::corrupt, "reading a consumer's protocol of a negative version");
  return decode<M>(bytes.subspan(sizeof *version), std::min(*version, M::kMessage.version_max));
}

// too_large: a string that is longer than Kafka's protocol can say.
template <class M>
[[nodiscard]] Result<void> encode_consumer_protocol(const M& message, std::int16_t version, Buffer& to) {
  static_assert(M::kMessage.kind == MessageKind::data);
  return encode_prefixed(version, message, version, to);
}

}  // namespace tailrace::kafka
