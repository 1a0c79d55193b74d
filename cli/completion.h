// Completion for bash, zsh and fish, written from the tree of commands itself, so that it never says less than --help.
// Pure.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tailrace::cli {

// What may stand after an option, or as an argument.
enum class ValueKind { none, any, topic, group, file, directory, choice };

struct CompletedOption {
  std::vector<std::string> names;  // "-t", "--topic"; empty: an argument without a name
  std::string description;
  ValueKind kind = ValueKind::none;
  std::vector<std::string> choices;
  bool is_argument = false;  // may stand without its name
};

struct CompletedCommand {
  std::string path;  // "topics list"; "" for the program itself
  std::string description;
  std::vector<std::string> subcommands;  // their names
  std::vector<CompletedOption> options;
};

// The program and all its commands, parents before children.
std::vector<CompletedCommand> completed_commands(const CLI::App& app);

std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace tailrace::cli
