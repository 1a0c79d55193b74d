#include "cli/payloads.h"

#include <algorithm>

namespace tailrace::cli {
namespace {

// Values are pieces at random places: large enough that a codec does not find one value in another's place too often.
constexpr std::size_t kStoreBytes = std::size_t{4} << 20;

}  // namespace

Payloads Payloads::random(std::size_t size, std::uint64_t seed) {
  Payloads payloads(seed);
  payloads.size_ = size;
  payloads.store_.resize(size + kStoreBytes);
  for (char& c : payloads.store_) c = static_cast<char>('A' + payloads.chance_() % 26);
  return payloads;
}

Outcome<Payloads> Payloads::from_text(std::string text, std::string_view delimiter, std::uint64_t seed) {
  if (delimiter.empty()) return std::unexpected(std::string("the delimiter is empty"));
  Payloads payloads(seed);
  payloads.store_ = std::move(text);
  for (std::size_t at = 0; at < payloads.store_.size();) {
    const std::size_t end = std::min(payloads.store_.find(delimiter, at), payloads.store_.size());
    if (end > at) payloads.pieces_.emplace_back(at, end - at);
    at = end + delimiter.size();
  }
  if (payloads.pieces_.empty()) return std::unexpected(std::string("the file has no values"));
  return payloads;
}

std::string_view Payloads::next() {
  const std::string_view store = store_;
  if (size_ > 0) return store.substr(chance_() % kStoreBytes, size_);
  const auto& [begin, size] = pieces_[chance_() % pieces_.size()];
  return store.substr(begin, size);
}

std::string unescape_delimiter(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
  }
  return out;
}

}  // namespace tailrace::cli
