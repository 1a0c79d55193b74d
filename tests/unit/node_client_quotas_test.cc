// Client quotas: the entity's place in Kafka 3.x's tree, there and back, and what counts as a quota.
#include "services/node/client_quotas.h"

#include <gtest/gtest.h>

namespace tailrace::node {
namespace {

QuotaName named(std::string name) { return {std::move(name)}; }

TEST(ClientQuotas, PathsAreThoseOfKafkasTree) {
  const std::pair<QuotaEntity, std::string> cases[] = {
      {{.user = named("alice")}, "users/alice"},
      {{.user = QuotaName{}}, "users/<default>"},
      {{.user = named("a b/c*~"), .client_id = QuotaName{}}, "users/a%20b%2Fc%2A%7E/clients/<default>"},
      {{.user = named("clients"), .client_id = named("clients")}, "users/clients/clients/clients"},
      {{.client_id = named("<default>")}, "clients/%3Cdefault%3E"},
      {{.client_id = named("grün")}, "clients/gr%C3%BCn"},
      {{.ip = named("10.0.0.1")}, "ips/10.0.0.1"},
      {{.ip = QuotaName{}}, "ips/<default>"},
      {{.client_id = named("")}, "clients/"},
  };
  for (const auto& [entity, path] : cases) {
    EXPECT_EQ(quota_path(entity), path);
    EXPECT_EQ(parse_quota_path(path), entity) << path;
  }
}

TEST(ClientQuotas, OtherPathsAreNotTaken) {
  for (const char* path : {"", "users", "topics/t", "users/a/b", "clients/a/b", "users/%4", "users/%zz", "ips/a/b"}) {
    EXPECT_EQ(parse_quota_path(path), std::nullopt) << path;
  }
}

TEST(ClientQuotas, OnlyNumbersOfKnownKeysCount) {
  const auto quota = client_quota("users/alice", {{"producer_byte_rate", "1024.5"},
                                                  {"consumer_byte_rate", "many"},
                                                  {"SCRAM-SHA-256", "salt=x"},
                                                  {"request_percentage", "200"}});
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->producer_byte_rate, 1024.5);
  EXPECT_EQ(quota->consumer_byte_rate, std::nullopt);
  EXPECT_EQ(quota->request_percentage, 200);
  EXPECT_EQ(client_quota("users/alice", {{"SCRAM-SHA-256", "salt=x"}}), std::nullopt);
  for (const char* text : {"nan", "-1", "-0.5", "inf", "Infinity", "-inf", "1e999", "", " 1", "1 "}) {
    EXPECT_EQ(client_quota("users/alice", {{"producer_byte_rate", text}}), std::nullopt) << text;
  }
  EXPECT_TRUE(client_quota("ips/10.0.0.1", {{"connection_creation_rate", "0"}}));
}

}  // namespace
}  // namespace tailrace::node
