#include "cli/producer_options.h"

#include <CLI/CLI.hpp>

namespace tailrace::cli {

void add_acks(CLI::App& command, std::string& acks) {
  command.add_option("--acks", acks, "who must have it: all, 1 (the leader) or 0 (do not wait)")
      ->check(CLI::IsMember({"all", "-1", "1", "0"}).description(""))
      ->type_name("WHO")
      ->capture_default_str();
}

void add_compression(CLI::App& command, ProducerOptions& options) {
  command
      .add_option_function<std::string>(
          "-z,--compression",
          [&options](const std::string& text) {
            for (const auto codec : {record::Compression::none, record::Compression::gzip, record::Compression::snappy,
                                     record::Compression::lz4, record::Compression::zstd}) {
              if (text == record::name(codec)) options.compression = codec;
            }
          },
          "none, gzip, snappy, lz4 or zstd (default: none)")
      ->check(CLI::IsMember({"none", "gzip", "snappy", "lz4", "zstd"}).description(""))
      ->type_name("CODEC");
}

void add_batching(CLI::App& command, ProducerOptions& options) {
  command.add_option("--batch-bytes", options.batch_bytes, "send a batch when it has this many bytes")
      ->check(CLI::Range(1, 1 << 30).description(""))
      ->type_name("BYTES")
      ->capture_default_str();
  command.add_option("--linger", options.linger_ms, "or when it is this many milliseconds old")
      ->check(CLI::Range(0, 3'600'000).description(""))
      ->type_name("MS")
      ->capture_default_str();
}

}  // namespace tailrace::cli
