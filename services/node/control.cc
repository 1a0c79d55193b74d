#include "services/node/control.h"

#include <nlohmann/json.hpp>

namespace tailrace::node {
namespace {

using nlohmann::json;

json parse(Bytes message) { return json::parse(as_text(message), nullptr, false); }

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_of(const json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

}  // namespace

std::string encode(const Hello& hello) {
  json endpoints = json::array();
  for (const Endpoint& each : hello.endpoints) {
    endpoints.push_back({{"listener", each.listener}, {"protocol", each.security_protocol}, {"host", each.host}, {"port", each.port}});
  }
  return json{{"broker", hello.is_broker}, {"endpoints", std::move(endpoints)}, {"rack", hello.rack}}.dump();
}

std::string encode(const Welcome& welcome) {
  return json{{"cluster_id", welcome.cluster_id}, {"node_id", welcome.node_id}, {"broker_epoch", welcome.broker_epoch}}.dump();
}

Result<Hello> parse_hello(Bytes message) {
  const json object = parse(message);
  if (!object.is_object()) return failure(Code::corrupt, "reading a hello");
  Hello hello;
  const auto is_broker = object.find("broker");
  hello.is_broker = is_broker != object.end() && is_broker->is_boolean() && is_broker->get<bool>();
  hello.rack = text_of(object, "rack");
  const auto endpoints = object.find("endpoints");
  if (endpoints == object.end() || !endpoints->is_array()) return hello;
  for (const json& each : *endpoints) {
    if (!each.is_object()) return failure(Code::corrupt, "reading a hello's endpoints");
    const std::int64_t port = number_of(each, "port", 0);
    if (port <= 0 || port > 65535) return failure(Code::corrupt, "reading a hello's endpoints");
    hello.endpoints.push_back({text_of(each, "listener"), text_of(each, "protocol"), text_of(each, "host"),
                               static_cast<std::uint16_t>(port)});
  }
  return hello;
}

Result<Welcome> parse_welcome(Bytes message) {
  const json object = parse(message);
  if (!object.is_object()) return failure(Code::corrupt, "reading a welcome");
  Welcome welcome;
  welcome.cluster_id = text_of(object, "cluster_id");
  welcome.node_id = static_cast<BrokerId>(number_of(object, "node_id", -1));
  welcome.broker_epoch = number_of(object, "broker_epoch", -1);
  if (welcome.cluster_id.empty() || welcome.node_id < 0) return failure(Code::corrupt, "reading a welcome");
  return welcome;
}

Result<NumberedFrame> parse_numbered_frame(Bytes message) {
  if (message.size() < kFrameNumberSize) return failure(Code::corrupt, "reading a numbered frame");
  return NumberedFrame{load_big_endian<std::uint64_t>(message.data()), message.subspan(kFrameNumberSize)};
}

}  // namespace tailrace::node
