// How --help looks: descriptions beside the options, wrapped so that a terminal of 80 columns shows them whole.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tailrace::cli {

constexpr std::size_t kHelpColumns = 80;

// Breaks at blanks so that no line is longer than `columns` (a longer word stays whole); lines after the first begin
// with `indent` blanks. Line ends in the text are kept.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indent);

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Arguments"); }
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
};

}  // namespace tailrace::cli
