#include "cli/command.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/help.h"

namespace tailrace::cli {

Option Option::type_name(const char* name) const { return Option(option_->type_name(name)); }
Option Option::description(const std::string& what) const { return Option(option_->description(what)); }
Option Option::group(const char* name) const { return Option(option_->group(name)); }
Option Option::required(bool is_required) const { return Option(option_->required(is_required)); }
Option Option::allow_extra_args(bool are_allowed) const { return Option(option_->allow_extra_args(are_allowed)); }
Option Option::expected(int min, int max) const { return Option(option_->expected(min, max)); }
Option Option::delimiter(char separator) const { return Option(option_->delimiter(separator)); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }
Option Option::trigger_on_parse() const { return Option(option_->trigger_on_parse()); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::excludes(const char* other) const { return Option(option_->excludes(other)); }
Option Option::take_last() const { return Option(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)); }
std::size_t Option::count() const { return option_->count(); }

// Help does not show the checks: it says what values are in words.
template <class Number>
Option Option::in_range(Number min, Number max) const {
  return Option(option_->check(CLI::Range(min, max).description("")));
}
template Option Option::in_range(int min, int max) const;
template Option Option::in_range(std::uint64_t min, std::uint64_t max) const;
template Option Option::in_range(double min, double max) const;

// CLI11's own checks of this tell the range of a double.
Option Option::non_negative() const {
  return check([](const std::string& text) { return text.starts_with('-') ? text + " is negative" : std::string(); });
}
Option Option::positive() const {
  return check([](const std::string& text) {
    return std::strtod(text.c_str(), nullptr) > 0 ? std::string() : text + " is not positive";
  });
}
Option Option::one_of(std::initializer_list<const char*> words) const {
  return Option(option_->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())).description("")));
}
Option Option::one_of_in_any_case(std::initializer_list<const char*> words) const {
  return Option(option_->check(
      CLI::IsMember(std::vector<std::string>(words.begin(), words.end()), CLI::ignore_case).description("")));
}
Option Option::check(std::function<std::string(const std::string&)> error_of) const {
  return Option(option_->check(
      CLI::Validator([error_of = std::move(error_of)](std::string& text) { return error_of(text); }, "")));
}

Command Command::add_subcommand(const char* name, const char* what) const { return *app_->add_subcommand(name, what); }
Command Command::description(const std::string& what) const { return *app_->description(what); }
Command Command::footer(const std::string& text) const { return *app_->footer(text); }
Command Command::alias(const char* name) const { return *app_->alias(name); }
Command Command::callback(std::function<void()> run) const { return *app_->callback(std::move(run)); }

namespace {

template <class Value>
constexpr bool kIsList = false;
template <class Element>
constexpr bool kIsList<std::vector<Element>> = true;

// An option that may be repeated takes one value each time: the next word is an argument. Arguments take all there are.
template <class Value>
CLI::Option* one_value_each(CLI::Option* option) {
  if (kIsList<Value> && !option->get_positional()) option->allow_extra_args(false);
  return option;
}

}  // namespace

template <class Value>
Option Command::add_option(const char* names, Value& value, const std::string& what) const {
  return Option(one_value_each<Value>(app_->add_option(names, value, what)));
}
template Option Command::add_option(const char*, std::string&, const std::string&) const;
template Option Command::add_option(const char*, std::int16_t&, const std::string&) const;
template Option Command::add_option(const char*, std::int32_t&, const std::string&) const;
template Option Command::add_option(const char*, std::int64_t&, const std::string&) const;
template Option Command::add_option(const char*, std::uint64_t&, const std::string&) const;
template Option Command::add_option(const char*, double&, const std::string&) const;
template Option Command::add_option(const char*, std::optional<std::string>&, const std::string&) const;
template Option Command::add_option(const char*, std::optional<std::int64_t>&, const std::string&) const;
template Option Command::add_option(const char*, std::vector<std::string>&, const std::string&) const;
template Option Command::add_option(const char*, std::vector<std::int32_t>&, const std::string&) const;

template <class Value>
Option Command::add_option_function(const char* names, std::function<void(const Value&)> take,
                                    const std::string& what) const {
  return Option(one_value_each<Value>(app_->add_option_function<Value>(names, std::move(take), what)));
}
template Option Command::add_option_function(const char*, std::function<void(const std::string&)>,
                                             const std::string&) const;
template Option Command::add_option_function(const char*, std::function<void(const double&)>, const std::string&) const;
template Option Command::add_option_function(const char*, std::function<void(const std::vector<std::string>&)>,
                                             const std::string&) const;

Option Command::add_flag(const char* names, bool& flag, const std::string& what) const {
  return Option(app_->add_flag(names, flag, what));
}
Option Command::add_flag_callback(const char* names, std::function<void()> take, const std::string& what) const {
  return Option(app_->add_flag_callback(names, std::move(take), what));
}
Option Command::get_option(const char* name) const { return Option(app_->get_option(name)); }

void refuse_without(const char* what) { throw CLI::RequiredError(what); }

void add_examples(Command command, std::initializer_list<std::string_view> lines) {
  std::string text = command.app().get_footer();
  if (!text.empty()) text += "\n\n";
  text += lines.size() == 1 ? "Example:" : "Examples:";
  for (const std::string_view line : lines) text += fmt::format("\n  tailrace {}", line);
  command.footer(text);
}

Command add_group(Command parent, const char* name, const char* what) {
  const Command group = parent.add_subcommand(name, what);
  group.app().require_subcommand(1);
  return group.footer(fmt::format("`tailrace {} SUBCOMMAND --help` shows the options of each.", name));
}

void add_common_options(Command command, CommandOptions& options) {
  command.add_flag("--json", options.json, "print JSON").group(kCommonGroup);
  add_client_options(command, options.client);
}

}  // namespace tailrace::cli
