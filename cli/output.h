// What commands say: results on standard output, errors as one sentence on standard error, and the exit status that
// goes with them. Printing never fails at once: what could not be written is seen at the end, by finish_output.
#pragma once

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

namespace tailrace::cli {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitMisuse = 2;  // the command line is wrong; nothing was asked of anybody

// On standard output.
void write_out(std::string_view text);
template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  write_out(fmt::format(format, std::forward<Values>(values)...));
}
// Indented; what is no UTF-8 is replaced.
void print_json(const nlohmann::ordered_json& value);

// "tailrace COMMAND: TEXT" on standard error; the exit status.
int fail(std::string_view command, std::string_view text);
int misuse(std::string_view command, std::string_view text);
// The same for what people should know although all is well; it changes no status.
void note(std::string_view command, std::string_view text);

// Who reads our output may go away, as `head` does: the process then ends with status 0, in the middle of its work.
// For commands that only print.
void end_when_nobody_reads();
// Writes what is left: `status`, or, when all else went well and the output could not be written, kExitFailed with a
// sentence.
int finish_output(int status);

}  // namespace tailrace::cli
