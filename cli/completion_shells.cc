// The scripts of completion.h. All three follow the words of the line to the command that is meant, look at the word
// before the cursor for an option that wants a value, and else offer subcommands, options, and topics or groups
// where a command takes them.
#include <algorithm>

#include <fmt/format.h>

#include "cli/completion.h"

namespace tailrace::cli {
namespace {

std::string join(const std::vector<std::string>& words, std::string_view separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

std::string quote_for_fish(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

// Arguments, whose values are offered beside options. Files are not: shells offer them by themselves.
const CompletedOption* argument_of(const CompletedCommand& command) {
  const auto found = std::find_if(command.options.begin(), command.options.end(), [](const CompletedOption& option) {
    return option.is_argument &&
           (option.kind == ValueKind::choice || option.kind == ValueKind::topic || option.kind == ValueKind::group);
  });
  return found == command.options.end() ? nullptr : &*found;
}

std::vector<std::string> all_paths(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> paths;
  for (const CompletedCommand& command : commands) {
    if (!command.path.empty()) paths.push_back(quote(command.path));
  }
  return paths;
}

// "path|-t" and "path|--topic" patterns of a case, for options of one kind.
std::vector<std::string> patterns_of(const CompletedCommand& command, const CompletedOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(quote(command.path + "|" + name));
  return patterns;
}

std::vector<std::string> option_names(const CompletedCommand& command) {
  std::vector<std::string> names;
  for (const CompletedOption& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// The `case` that answers for an option before the cursor: `offer` writes what is to be run for a value's kind.
template <class Offer>
std::string value_cases(const std::vector<CompletedCommand>& commands, Offer offer) {
  std::string out;
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) {
      if (option.kind == ValueKind::none || option.names.empty()) continue;
      out += fmt::format("    {}) {}; return ;;\n", join(patterns_of(command, option), "|"), offer(option));
    }
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  const auto offer = [](const CompletedOption& option) -> std::string {
    switch (option.kind) {
      case ValueKind::topic:
        return "_tailrace_offer \"$(_tailrace_list topics \"$bootstrap\")\"";
      case ValueKind::group:
        return "_tailrace_offer \"$(_tailrace_list groups \"$bootstrap\")\"";
      case ValueKind::file:
        return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\")";
      case ValueKind::directory:
        return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\")";
      case ValueKind::choice:
        return "_tailrace_offer " + quote(join(option.choices));
      default:
        return "COMPREPLY=()";
    }
  };
  std::string out = R"(# bash completion for tailrace; made by `tailrace completion bash`
_tailrace_list() {
  timeout 2 tailrace "$1" list --timeout 1 ${2:+-b "$2"} 2> /dev/null
}
_tailrace_offer() {
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$current")
}
_tailrace() {
  local -a words
  local line=${COMP_LINE:0:COMP_POINT} current='' previous='' path='' bootstrap='' word next
  read -ra words <<< "$line"
  if [[ $line != *' ' ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  COMPREPLY=()
  for word in "${words[@]:1}"; do
    [[ $previous == -b || $previous == --bootstrap-server ]] && bootstrap=$word
    previous=$word
    next="${path:+$path }$word"
    case $next in
)";
  out += fmt::format("      {}) path=$next ;;\n", join(all_paths(commands), " | "));
  out += R"(    esac
  done
  case "$path|$previous" in
)";
  out += value_cases(commands, offer);
  out += "  esac\n  case $path in\n";
  for (const CompletedCommand& command : commands) {
    std::string offers = fmt::format(
        "_tailrace_offer {}",
        quote(join(command.subcommands) + (command.subcommands.empty() ? "" : " ") + join(option_names(command))));
    if (const CompletedOption* argument = argument_of(command)) {
      offers += fmt::format("; [[ $current == -* ]] || {}", offer(*argument));
    }
    out += fmt::format("    {}) {} ;;\n", quote(command.path), offers);
  }
  return out + "  esac\n}\ncomplete -F _tailrace tailrace\n";
}

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  const auto offer = [](const CompletedOption& option) -> std::string {
    switch (option.kind) {
      case ValueKind::topic:
        return "compadd -- ${(f)\"$(_tailrace_list topics $bootstrap)\"}";
      case ValueKind::group:
        return "compadd -- ${(f)\"$(_tailrace_list groups $bootstrap)\"}";
      case ValueKind::file:
        return "_files";
      case ValueKind::directory:
        return "_files -/";
      case ValueKind::choice:
        return "compadd -- " + join(option.choices);
      default:
        return "true";
    }
  };
  std::string out = R"(#compdef tailrace
# zsh completion for tailrace; made by `tailrace completion zsh`
_tailrace_list() {
  timeout 2 tailrace $1 list --timeout 1 ${2:+-b} ${2:+$2} 2> /dev/null
}
_tailrace() {
  local at='' previous='' bootstrap='' word next
  local -a offered
  for word in ${words[2,CURRENT-1]}; do
    [[ $previous == (-b|--bootstrap-server) ]] && bootstrap=$word
    previous=$word
    next="${at:+$at }$word"
    case $next in
)";
  out += fmt::format("      {}) at=$next ;;\n", join(all_paths(commands), " | "));
  out += R"(    esac
  done
  case "$at|$previous" in
)";
  out += value_cases(commands, offer);
  out += "  esac\n  case $at in\n";
  // _describe takes "word:description".
  const auto described = [](std::string_view word, std::string_view description) {
    std::string text;
    for (const char c : description) text += c == ':' ? std::string("\\:") : std::string(1, c);
    return quote(fmt::format("{}:{}", word, text));
  };
  for (const CompletedCommand& command : commands) {
    out += fmt::format("    {})\n", quote(command.path));
    std::vector<std::string> words;
    for (const std::string& name : command.subcommands) {
      const std::string path = command.path.empty() ? name : command.path + " " + name;
      const auto sub =
          std::find_if(commands.begin(), commands.end(), [&](const auto& one) { return one.path == path; });
      words.push_back(described(name, sub == commands.end() ? "" : sub->description));
    }
    if (!words.empty()) out += fmt::format("      offered=({})\n      _describe command offered\n", join(words));
    words.clear();
    for (const CompletedOption& option : command.options) {
      for (const std::string& name : option.names) words.push_back(described(name, option.description));
    }
    if (!words.empty()) out += fmt::format("      offered=({})\n      _describe option offered\n", join(words));
    if (const CompletedOption* argument = argument_of(command)) {
      out += fmt::format("      [[ $PREFIX == -* ]] || {}\n", offer(*argument));
    }
    out += "      ;;\n";
  }
  return out +
         "  esac\n}\nif [[ $funcstack[1] == _tailrace ]]; then _tailrace \"$@\"; else compdef _tailrace tailrace; fi\n";
}

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string out = R"(# fish completion for tailrace; made by `tailrace completion fish`
function __tailrace_at
    # Whether the words before the cursor name exactly this command.
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        switch "$next"
)";
  std::vector<std::string> paths;
  for (const CompletedCommand& command : commands) {
    if (!command.path.empty()) paths.push_back(quote_for_fish(command.path));
  }
  out += fmt::format("            case {}\n", join(paths));
  out += R"(                set at $next
        end
    end
    test "$at" = "$argv[1]"
end
function __tailrace_list
    set -l words (commandline -opc)
    set -l bootstrap
    for i in (seq 2 (count $words))
        contains -- $words[$i] -b --bootstrap-server; and set bootstrap -b $words[(math $i + 1)]
    end
    timeout 2 tailrace $argv[1] list --timeout 1 $bootstrap 2>/dev/null
end
complete -c tailrace -f
)";
  for (const CompletedCommand& command : commands) {
    const std::string condition = fmt::format("-n \"__tailrace_at {}\"", quote(command.path));
    for (const std::string& name : command.subcommands) {
      const std::string path = command.path.empty() ? name : command.path + " " + name;
      const auto sub =
          std::find_if(commands.begin(), commands.end(), [&](const auto& one) { return one.path == path; });
      out += fmt::format("complete -c tailrace {} -a {} -d {}\n", condition, name,
                         quote_for_fish(sub == commands.end() ? "" : sub->description));
    }
    if (const CompletedOption* argument = argument_of(command)) {
      const std::string values = argument->kind == ValueKind::topic   ? "(__tailrace_list topics)"
                                 : argument->kind == ValueKind::group ? "(__tailrace_list groups)"
                                                                      : join(argument->choices);
      out += fmt::format("complete -c tailrace {} -a {}\n", condition, quote_for_fish(values));
    }
    for (const CompletedOption& option : command.options) {
      if (option.names.empty()) continue;
      std::string line = "complete -c tailrace " + condition;
      for (const std::string& name : option.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.kind == ValueKind::file) {
        line += " -r -F";
      } else if (option.kind == ValueKind::directory) {
        line += " -x -a '(__fish_complete_directories)'";
      } else if (option.kind == ValueKind::topic) {
        line += " -x -a '(__tailrace_list topics)'";
      } else if (option.kind == ValueKind::group) {
        line += " -x -a '(__tailrace_list groups)'";
      } else if (option.kind == ValueKind::choice) {
        line += " -x -a " + quote_for_fish(join(option.choices));
      } else if (option.kind == ValueKind::any) {
        line += " -x";
      }
      out += line + " -d " + quote_for_fish(option.description) + "\n";
    }
  }
  return out;
}

}  // namespace tailrace::cli
