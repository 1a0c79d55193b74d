#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace tailrace::cli {
namespace {

struct Choices {
  std::string_view option;
  std::vector<std::string> values;
};
// Where there are few words to choose from.
const std::vector<Choices>& known_choices() {
  static const std::vector<Choices> kChoices = {
      {"--acks", {"all", "1", "0"}},
      {"--compression", {"none", "gzip", "snappy", "lz4", "zstd"}},
      {"--election-type", {"preferred", "unclean"}},
      {"--entity-type", {"topics", "brokers", "broker-loggers", "client-metrics", "groups", "users", "clients", "ips"}},
      {"--from", {"earliest", "latest"}},
      {"--print", {"key", "headers", "timestamp", "offset", "partition"}},
      {"--state", {"Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Dead"}},
      {"--time", {"latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload"}},
      {"--type", {"classic", "consumer", "share", "streams"}},
      {"--until", {"end"}},
      {"SHELL", {"bash", "zsh", "fish"}},
  };
  return kChoices;
}

CompletedOption completed_option(const CLI::Option& option) {
  CompletedOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const std::string& text = option.get_description();
  out.description = text.substr(0, std::min(text.find_first_of(";\n"), text.find(" (default")));
  if (option.get_items_expected_max() == 0) return out;  // a flag
  const std::string type = option.get_type_name();
  out.is_argument = option.get_positional();
  out.kind = type.starts_with("TOPIC") ? ValueKind::topic
             : type == "GROUP"         ? ValueKind::group
             : type == "FILE"          ? ValueKind::file
             : type == "DIR"           ? ValueKind::directory
                                       : ValueKind::any;
  for (const Choices& known : known_choices()) {
    const bool is_this = option.get_positional() ? option.get_name(true, false) == known.option
                                                 : std::count(out.names.begin(), out.names.end(), known.option) > 0;
    if (!is_this) continue;
    out.kind = ValueKind::choice;
    out.choices = known.values;
  }
  return out;
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& all) {
  CompletedCommand command{.path = path, .description = app.get_description(), .subcommands = {}, .options = {}};
  command.description = command.description.substr(0, command.description.find('\n'));
  std::vector<const CLI::App*> named;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name().empty()) {  // a group of options
      for (const CLI::Option* option : sub->get_options()) command.options.push_back(completed_option(*option));
      continue;
    }
    command.subcommands.push_back(sub->get_name());
    named.push_back(sub);
  }
  for (const CLI::Option* option : app.get_options()) command.options.push_back(completed_option(*option));
  all.push_back(std::move(command));
  for (const CLI::App* sub : named) collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), all);
}

struct CompletionOptions {
  std::string shell;
};

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& app) {
  std::vector<CompletedCommand> all;
  collect(app, "", all);
  return all;
}

void add_completion_command(Command app, int& exit_code) {
  auto options = std::make_shared<CompletionOptions>();
  const Command command = app.add_subcommand("completion", "Print what a shell needs to complete commands and options");
  command.add_option("SHELL", options->shell, "bash, zsh or fish")
      .required()
      .type_name("SHELL")
      .one_of({"bash", "zsh", "fish"});
  command.footer(
      "Topics and groups are completed, too, by asking the node (for a second at most).\n\n"
      "Examples:\n"
      "  tailrace completion bash > /etc/bash_completion.d/tailrace\n"
      "  tailrace completion zsh > ~/.zfunc/_tailrace      (with ~/.zfunc in fpath)\n"
      "  tailrace completion fish > ~/.config/fish/completions/tailrace.fish");
  command.callback([options, app, &exit_code] {
    const std::vector<CompletedCommand> commands = completed_commands(app.app());
    write_out(options->shell == "bash"  ? bash_completion(commands)
              : options->shell == "zsh" ? zsh_completion(commands)
                                        : fish_completion(commands));
    exit_code = kExitDone;
  });
}

}  // namespace tailrace::cli
