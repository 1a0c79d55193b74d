#include "services/kafka/group_record.h"

namespace tailrace::kafka {

Result<std::int16_t> record_prefix(Bytes key_or_value) {
  if (key_or_value.size() < sizeof(std::int16_t)) {
    return failure(Code::corrupt, "reading a group's record that ends too early");
  }
  return load_big_endian<std::int16_t>(key_or_value.data());
}

}  // namespace tailrace::kafka
