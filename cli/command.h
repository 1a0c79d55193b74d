// How a subcommand is told: its name, its options, its help, and what it runs. CLI11, which reads the command line,
// stands behind it and is seen by few files: whoever sees it takes seconds to compile. Command and Option are handles;
// what they stand for belongs to the program's CLI::App.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "cli/client.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tailrace::cli {

// Of the options that all commands have; help shows it last.
constexpr const char* kCommonGroup = "Common options";

// Functions that are named like those of CLI11 do the same.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option type_name(const char* name) const;
  Option description(const std::string& what) const;
  Option group(const char* name) const;
  Option required(bool is_required = true) const;
  Option allow_extra_args(bool are_allowed) const;
  Option expected(int min, int max) const;
  Option delimiter(char separator) const;
  Option capture_default_str() const;
  Option trigger_on_parse() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option excludes(const char* other) const;
  // The last value counts.
  Option take_last() const;

  // Values that are refused else. Number: int, std::uint64_t, double.
  template <class Number>
  Option in_range(Number min, Number max) const;
  Option non_negative() const;
  Option positive() const;
  Option one_of(std::initializer_list<const char*> words) const;
  Option one_of_in_any_case(std::initializer_list<const char*> words) const;
  // `error_of` says what is wrong, or nothing.
  Option check(std::function<std::string(const std::string&)> error_of) const;

  // How often it was given.
  [[nodiscard]] std::size_t count() const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  Command(CLI::App& app) : app_(&app) {}  // NOLINT(google-explicit-constructor): whoever has the app has the command

  Command add_subcommand(const char* name, const char* what) const;
  Command description(const std::string& what) const;
  Command footer(const std::string& text) const;
  Command alias(const char* name) const;
  Command callback(std::function<void()> run) const;

  // Value: text, numbers, vectors and optionals of them; command.cc has the list.
  template <class Value>
  Option add_option(const char* names, Value& value, const std::string& what) const;
  template <class Value>
  Option add_option_function(const char* names, std::function<void(const Value&)> take, const std::string& what) const;
  Option add_flag(const char* names, bool& flag, const std::string& what) const;
  Option add_flag_callback(const char* names, std::function<void()> take, const std::string& what) const;
  [[nodiscard]] Option get_option(const char* name) const;

  [[nodiscard]] CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

// For callbacks: ends the command, since the line lacks something.
[[noreturn]] void refuse_without(const char* what);

// Every command's options begin with these.
struct CommandOptions {
  ClientOptions client;
  bool json = false;
};

// Adds the lines as "Examples:" to the end of the command's help. Each is what follows `tailrace`.
void add_examples(Command command, std::initializer_list<std::string_view> lines);

// A group of commands: `tailrace topics ...`.
Command add_group(Command parent, const char* name, const char* what);

// Adds --bootstrap-server, --timeout and --json.
void add_common_options(Command command, CommandOptions& options);

// Options: derived from CommandOptions. When the command line is parsed, `run` gets them; its result is the status.
template <class Options>
Command add_command(Command parent, const char* name, const char* what, const std::shared_ptr<Options>& options,
                    int& exit_code, int (*run)(const Options&)) {
  const Command command = parent.add_subcommand(name, what).footer("");  // else it is the parent's
  add_common_options(command, *options);
  return command.callback([options, run, &exit_code] { exit_code = run(*options); });
}

}  // namespace tailrace::cli
