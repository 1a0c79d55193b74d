// How a subcommand that talks to a node is made: the options that all of them have, its help, and what it runs.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/client.h"

namespace tailrace::cli {

// Every command's options begin with these.
struct CommandOptions {
  ClientOptions client;
  bool json = false;
};

// Adds the lines as "Examples:" to the end of the command's help. Each is what follows `tailrace`.
void add_examples(CLI::App& command, std::initializer_list<std::string_view> lines);

// A group of commands: `tailrace topics ...`.
CLI::App* add_group(CLI::App& parent, const char* name, const char* what);

// Adds --bootstrap-server, --timeout and --json.
void add_common_options(CLI::App& command, CommandOptions& options);

// Options: derived from CommandOptions. When the command line is parsed, `run` gets them; its result is the status.
template <class Options>
CLI::App* add_command(CLI::App& parent, const char* name, const char* what, const std::shared_ptr<Options>& options,
                      int& exit_code, int (*run)(const Options&)) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->footer("");  // else it is the parent's
  add_common_options(*command, *options);
  command->callback([options, run, &exit_code] { exit_code = run(*options); });
  return command;
}

}  // namespace tailrace::cli
