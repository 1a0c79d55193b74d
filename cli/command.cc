#include "cli/command.h"

#include "cli/help.h"

namespace tailrace::cli {

void add_examples(CLI::App& command, std::initializer_list<std::string_view> lines) {
  std::string text = command.get_footer();
  if (!text.empty()) text += "\n\n";
  text += lines.size() == 1 ? "Example:" : "Examples:";
  for (const std::string_view line : lines) text += fmt::format("\n  tailrace {}", line);
  command.footer(text);
}

CLI::App* add_group(CLI::App& parent, const char* name, const char* what) {
  CLI::App* group = parent.add_subcommand(name, what);
  group->require_subcommand(1);
  group->footer(fmt::format("`tailrace {} SUBCOMMAND --help` shows the options of each.", name));
  return group;
}

void add_common_options(CLI::App& command, CommandOptions& options) {
  command.add_flag("--json", options.json, "print JSON")->group(kCommonGroup);
  add_client_options(command, options.client);
}

}  // namespace tailrace::cli
