// What the protocol costs on the paths that matter: decoding Produce and Fetch requests, encoding Fetch and Produce
// responses. One iteration is one message.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "services/kafka/codec.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/produce.h"

namespace {

using namespace tailrace;
using namespace tailrace::kafka;

constexpr std::int16_t kProduceVersion = 11;
constexpr std::int16_t kFetchVersion = 16;

void decode_produce(benchmark::State& state) {
  const std::string records(1000, 'r');
  ProduceRequest request{.acks = -1, .timeout_ms = 30000};
  request.topic_data.push_back({.name = "a-topic-of-usual-length"});
  for (int i = 0; i < state.range(0); ++i) {
    request.topic_data[0].partition_data.push_back({.index = i, .records = as_bytes(records)});
  }
  Buffer body;
  encode(request, kProduceVersion, body);
  for (auto _ : state) {
    Result<ProduceRequest> decoded = decode<ProduceRequest>(body.bytes(), kProduceVersion);
    benchmark::DoNotOptimize(decoded);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(decode_produce)->Arg(1)->Arg(100);

void decode_fetch(benchmark::State& state) {
  FetchRequest request{.max_wait_ms = 500, .min_bytes = 1};
  request.topics.push_back({.topic_id = Uuid{{1, 2, 3}}});
  for (int i = 0; i < state.range(0); ++i) {
    request.topics[0].partitions.push_back({.partition = i, .fetch_offset = 1000, .partition_max_bytes = 1 << 20});
  }
  Buffer body;
  encode(request, kFetchVersion, body);
  for (auto _ : state) {
    Result<FetchRequest> decoded = decode<FetchRequest>(body.bytes(), kFetchVersion);
    benchmark::DoNotOptimize(decoded);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(decode_fetch)->Arg(1)->Arg(100);

void encode_fetch_response(benchmark::State& state) {
  FetchResponse response{.session_id = 7};
  response.responses.push_back({.topic_id = Uuid{{1, 2, 3}}});
  for (int i = 0; i < state.range(0); ++i) {
    response.responses[0].partitions.push_back({.partition_index = i,
                                                .high_watermark = 2000,
                                                .last_stable_offset = 2000,
                                                .log_start_offset = 0,
                                                .records = RecordsField::external(1 << 20)});
  }
  Buffer out;
  std::vector<Gap> gaps;
  for (auto _ : state) {
    out.clear();
    gaps.clear();
    const std::size_t start = begin_response(1, 1, kFetchVersion, out);
    encode(response, kFetchVersion, out, &gaps);
    end_frame(start, out, gaps);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(encode_fetch_response)->Arg(1)->Arg(100);

void encode_produce_response(benchmark::State& state) {
  ProduceResponse response;
  response.responses.push_back({.name = "a-topic-of-usual-length"});
  for (int i = 0; i < state.range(0); ++i) {
    response.responses[0].partition_responses.push_back({.index = i, .base_offset = 123456, .log_start_offset = 0});
  }
  Buffer out;
  for (auto _ : state) {
    out.clear();
    const std::size_t start = begin_response(1, 0, kProduceVersion, out);
    encode(response, kProduceVersion, out);
    end_frame(start, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(encode_produce_response)->Arg(1)->Arg(100);

}  // namespace
