// `tailrace`: the command line. Each subcommand is a file of its own in this folder; this one lists them.
#include <clocale>
#include <csignal>

#include <CLI/CLI.hpp>

#include "cli/consume.h"
#include "cli/dump.h"
#include "cli/produce.h"
#include "cli/stat.h"
#include "cli/topics.h"
#include "cli/up.h"

int main(int argument_count, char** arguments) {
  using namespace tailrace::cli;
  std::setlocale(LC_CTYPE, "");
  CLI::App app(
      "A Kafka-compatible log broker for one machine.\n"
      "`tailrace up` runs a node; the other commands talk to a running one, or read its files.");
  app.name("tailrace");
  app.set_version_flag("--version", "tailrace " TAILRACE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  add_up_command(app, exit_code);
  add_topics_command(app, exit_code);
  add_produce_command(app, exit_code);
  add_consume_command(app, exit_code);
  add_dump_command(app, exit_code);
  add_stat_command(app, exit_code);
  CLI11_PARSE(app, argument_count, arguments);
  return exit_code;
}
