#include "engine/log/checkpoint.h"

#include <fmt/format.h>

#include "engine/log/text_lines.h"

namespace tailrace::log {

std::string encode_offset_checkpoint(const OffsetCheckpoint& offsets) {
  std::string text = fmt::format("0\n{}\n", offsets.size());
  for (const auto& [key, offset] : offsets) text += fmt::format("{} {} {}\n", key.topic, key.partition, offset);
  return text;
}

Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text) {
  if (take_line(text) != "0") return failure(Code::corrupt, "reading the version of an offset checkpoint");
  const auto count = parse_number<std::uint32_t>(take_line(text));
  OffsetCheckpoint offsets;
  std::uint32_t lines = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view topic = take_word(line);
    const auto partition = parse_number<std::int32_t>(take_word(line));
    const auto offset = parse_number<Offset>(take_word(line));
    if (topic.empty() || !partition || *partition < 0 || !offset || !line.empty())
      return failure(Code::corrupt, "reading an entry of an offset checkpoint");
    offsets[{std::string(topic), *partition}] = *offset;
    ++lines;
  }
  if (count != lines) return failure(Code::corrupt, "counting the entries of an offset checkpoint");
  return offsets;
}

Result<OffsetCheckpoint> read_offset_checkpoint(io::Files& files, const std::string& path) {
  Result<std::string> text = io::read_file(files, path);
  if (!text && text.error().code == Code::not_found) return OffsetCheckpoint{};
  if (!text) return std::unexpected(text.error());
  return parse_offset_checkpoint(*text);
}

Result<void> write_offset_checkpoint(io::Files& files, const std::string& path, const OffsetCheckpoint& offsets) {
  return io::replace_file(files, path, encode_offset_checkpoint(offsets));
}

}  // namespace tailrace::log
