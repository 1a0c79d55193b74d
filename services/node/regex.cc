#include "services/node/regex.h"

#include <re2/re2.h>

namespace tailrace::node {
namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::expected<Regex, std::string> Regex::compile(std::string_view pattern, std::int64_t memory_bytes_max) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory_bytes_max);
  auto compiled = std::make_shared<const re2::RE2>(piece(pattern), options);
  if (!compiled->ok()) return std::unexpected(compiled->error());
  return Regex(std::move(compiled));
}

bool Regex::matches(std::string_view text) const { return re2::RE2::FullMatch(piece(text), *compiled_); }

}  // namespace tailrace::node
