// Java .properties text, the format of Kafka's server.properties: comments, continued lines, escapes. PURE.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::node {

struct Property {
  std::string key;
  std::string value;
  std::size_t line = 0;  // where it begins, from 1
};

// In the order of the text; a key may come more than once (the last one counts). Bytes outside ASCII are kept as they
// are (UTF-8), \uXXXX becomes UTF-8. Error: a broken \u escape, naming its line.
std::expected<std::vector<Property>, std::string> parse_properties(std::string_view text);

}  // namespace tailrace::node
