// DescribeUserScramCredentials (key 50, KIP-554). Null or no users: all that have credentials.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeUserScramCredentialsRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeUserScramCredentialsRequest",
                                        .api_key = 50,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct UserName {
    std::string_view name{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
    }
  };

  std::optional<std::vector<UserName>> users{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("users", m.users);
  }
};

struct DescribeUserScramCredentialsResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeUserScramCredentialsResponse",
                                        .api_key = 50,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct CredentialInfo {
    std::int8_t mechanism = 0;
    std::int32_t iterations = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("mechanism", m.mechanism);
      v("iterations", m.iterations);
    }
  };

  struct DescribeUserScramCredentialsResult {
    std::string_view user{};
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::vector<CredentialInfo> credential_infos{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("user", m.user);
      v("error_code", m.error_code);
      v("error_message", m.error_message);
      v("credential_infos", m.credential_infos);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::vector<DescribeUserScramCredentialsResult> results{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("error_message", m.error_message);
    v("results", m.results);
  }
};

}  // namespace tailrace::kafka
