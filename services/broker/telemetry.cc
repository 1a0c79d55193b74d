#include "services/broker/telemetry.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "services/broker/connection.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/get_telemetry_subscriptions.h"
#include "services/kafka/messages/push_telemetry.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

constexpr Duration kShowPause = std::chrono::seconds(1);
// What a push may unpack to: text packs well, and nobody has so much to tell.
constexpr std::size_t kUnpackedBytesMax = std::size_t{8} << 20;
// zstd, lz4, gzip, snappy: as Kafka prefers them.
constexpr std::int8_t kCompressions[] = {4, 3, 1, 2};

Uuid random_uuid(io::Io& io) {
  Uuid id;
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t word = io.random();
    std::memcpy(id.bytes.data() + 8 * half, &word, sizeof word);
  }
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x40);  // version 4
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
  return id;
}

}  // namespace

Telemetry::Telemetry(NodeState& node, Counters& counters)
    : node_(node), metrics_(static_cast<std::size_t>(node.config.integer("telemetry.max.bytes"))) {
  show_timer_.bind<&Telemetry::on_show>(this);
  pushes_ = counters.make("client_metrics_pushes");
  refused_ = counters.make("client_metrics_pushes_refused");
  bytes_ = counters.make("client_metrics_bytes");
  instances_ = counters.make("client_metrics_instances");
}

Telemetry::~Telemetry() { node_.io.disarm(show_timer_); }

MetricsClient Telemetry::client_of(const Request& request) const {
  MetricsClient client;
  client.client_id = request.header.client_id.value_or("");
  client.connection = request.connection;
  // Neither may have a space in it.
  const std::string& software = request.connection->client_software;
  const std::size_t space = std::min(software.find(' '), software.size());
  client.software_name = software.substr(0, space);
  client.software_version = software.substr(std::min(space + 1, software.size()));
  if (const Result<io::Address> peer = request.connection->peer_address()) {
    client.address = peer->host;
    client.port = std::to_string(peer->port);
  }
  return client;
}

void Telemetry::get_subscriptions(Request& request) {
  const auto message = kafka::decode<kafka::GetTelemetrySubscriptionsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  const ClientMetrics::Answer answer = metrics_.subscriptions_of(message->client_instance_id, random_uuid(node_.io),
                                                                 client_of(request), node_.quota_time());
  instances_.set(metrics_.instances().size());
  kafka::GetTelemetrySubscriptionsResponse response;
  response.error_code = kafka::wire(answer.error);
  if (answer.error == ErrorCode::NONE) {
    response.client_instance_id = answer.instance;
    response.subscription_id = answer.subscription_id;
    response.accepted_compression_types.assign(std::begin(kCompressions), std::end(kCompressions));
    response.push_interval_ms = answer.push_interval_ms;
    response.telemetry_max_bytes = static_cast<std::int32_t>(node_.config.integer("telemetry.max.bytes"));
    response.delta_temporality = true;
    response.requested_metrics.assign(answer.metrics.begin(), answer.metrics.end());
  }
  request.respond(response);
}

void Telemetry::push(Request& request) {
  const auto message = kafka::decode<kafka::PushTelemetryRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  const TimestampMs now = node_.quota_time();
  kafka::PushTelemetryResponse response;
  ErrorCode error = metrics_.check_push({.instance = message->client_instance_id,
                                         .subscription_id = message->subscription_id,
                                         .is_last = message->terminating,
                                         .compression = message->compression_type,
                                         .bytes = message->metrics.size()},
                                        client_of(request), now);
  if (error == ErrorCode::NONE) {
    constexpr std::int8_t kNewestMagic = 2;
    scratch_.clear();
    const Result<void> unpacked = record::decompress(static_cast<record::Compression>(message->compression_type),
                                                     message->metrics, kNewestMagic, kUnpackedBytesMax, scratch_);
    Result<std::vector<MetricSeries>> series =
        unpacked ? read_otlp(scratch_.bytes(), ClientMetrics::kSeriesMax) : std::unexpected(unpacked.error());
    if (!series)
      error = ErrorCode::INVALID_RECORD;
    else
      metrics_.keep(message->client_instance_id, std::move(*series), message->metrics.size(), now);
  }
  if (scratch_.capacity() > kUnpackedBytesMax / 8) scratch_ = {};  // not kept for the next one
  if (error == ErrorCode::NONE) {
    pushes_.add();
    bytes_.add(message->metrics.size());
    show_later();
  } else {
    refused_.add();
  }
  instances_.set(metrics_.instances().size());
  response.error_code = kafka::wire(error);
  request.respond(response);
}

void Telemetry::on_connection_over(const Connection& connection) {
  const std::size_t before = metrics_.instances().size();
  metrics_.closed(&connection);
  if (metrics_.instances().size() == before) return;
  instances_.set(metrics_.instances().size());
  show_later();
}

void Telemetry::forget_silent() {
  metrics_.forget_silent(node_.quota_time());
  instances_.set(metrics_.instances().size());
}

void Telemetry::show_later() {
  if (!path_.empty() && !show_timer_.armed()) node_.io.arm(show_timer_, node_.io.now() + kShowPause);
}

// The file is replaced as a whole, and what cannot be written is not: nothing depends on it.
void Telemetry::on_show() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [id, instance] : metrics_.instances()) {
    if (instance.pushes == 0) continue;
    std::map<std::string_view, double> values;
    for (const MetricSeries& series : instance.series) values[series.name] = series.value;
    const std::string software = instance.client.software_name + " " + instance.client.software_version;
    all.push_back({{"client_instance_id", id.text()},
                   {"client_id", instance.client.client_id},
                   {"software", software},
                   {"address", instance.client.address},
                   {"pushes", instance.pushes},
                   {"bytes", instance.bytes},
                   {"metrics", std::move(values)}});
  }
  const std::string text = all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const std::string fresh = path_ + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool is_written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  if (is_written) std::rename(fresh.c_str(), path_.c_str());
}

}  // namespace tailrace::broker
