#include "cli/help.h"

#include <algorithm>

#include "cli/command.h"

namespace tailrace::cli {
namespace {

constexpr std::size_t kLeft = 30;  // columns of the left side

// Two columns; the left one on a line of its own when it is too long.
std::string entry(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  if (right.empty()) return out + "\n";
  if (out.size() + 2 > kLeft) {
    out += "\n" + std::string(kLeft, ' ');
  } else {
    out.resize(kLeft, ' ');
  }
  return out + wrap(right, kHelpColumns - kLeft, kLeft) + "\n";
}

}  // namespace

std::string wrap(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n') {
      out += "\n" + std::string(indent, ' ');
      used = 0;
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (used > 0 && used + 1 + word.size() > columns) {
      out += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const {
  std::string out = make_description(command) + make_usage(command, std::move(name)) + make_positionals(command);
  // The options that all commands have come last.
  std::vector<std::string> groups = command->get_groups();
  if (std::erase(groups, kCommonGroup) > 0) groups.emplace_back(kCommonGroup);
  for (const std::string& group : groups) {
    const auto options = command->get_options(
        [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    if (!group.empty() && !options.empty()) out += make_group(group, false, options);
  }
  return out + make_subcommands(command, mode) + "\n" + make_footer(command);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_items_expected_max() == 0) return {};  // a flag
  std::string text = " " + option->get_type_name();
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
  return text;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
  if (option->get_required()) text += " (required)";
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  // An argument is named like its type.
  std::string left =
      is_positional ? make_option_name(option, true) : make_option_name(option, false) + make_option_opts(option);
  if (is_positional && option->get_expected_max() == CLI::detail::expected_max_vector_size) left += " ...";
  return entry(left, make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  // The first sentence; the rest stands in the command's own help.
  const std::string& all = command->get_description();
  return entry(command->get_display_name(true), all.substr(0, all.find('\n')));
}

std::string HelpFormatter::make_description(const CLI::App* command) const {
  return wrap(CLI::Formatter::make_description(command), kHelpColumns, 0);
}

std::string HelpFormatter::make_footer(const CLI::App* command) const {
  const std::string footer = command->get_footer();
  std::string out;
  for (std::size_t at = 0; at < footer.size();) {
    const std::size_t end = std::min(footer.find('\n', at), footer.size());
    const std::string line = footer.substr(at, end - at);
    out += (line.starts_with(' ') ? line : wrap(line, kHelpColumns, 0)) + "\n";  // examples stay as they are
    at = end + 1;
  }
  return out;
}

}  // namespace tailrace::cli
