#include "cli/producer_options.h"

#include "cli/command.h"

namespace tailrace::cli {

void add_acks(Command command, std::string& acks) {
  command.add_option("--acks", acks, "who must have it: all, 1 (the leader) or 0 (do not wait)")
      .one_of({"all", "-1", "1", "0"})
      .type_name("WHO")
      .capture_default_str();
}

void add_compression(Command command, ProducerOptions& options) {
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
      .one_of({"none", "gzip", "snappy", "lz4", "zstd"})
      .type_name("CODEC");
}

void add_batching(Command command, ProducerOptions& options) {
  command.add_option("--batch-bytes", options.batch_bytes, "send a batch when it has this many bytes")
      .in_range(1, 1 << 30)
      .type_name("BYTES")
      .capture_default_str();
  command.add_option("--linger", options.linger_ms, "or when it is this many milliseconds old")
      .in_range(0, 3'600'000)
      .type_name("MS")
      .capture_default_str();
}

}  // namespace tailrace::cli
