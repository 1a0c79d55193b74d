// `tailrace`: the command line. Each subcommand is a file of its own in this folder; this one lists them.
#include <clocale>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"

int main(int argument_count, char** arguments) {
  using namespace tailrace::cli;
  std::setlocale(LC_CTYPE, "");
  CLI::App app(
      "A Kafka-compatible log broker for one machine.\n"
      "`tailrace up` runs a node; the other commands talk to a running one, or read its files.");
  app.name("tailrace");
  app.set_version_flag("--version", "tailrace " TAILRACE_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  int exit_code = kExitDone;
  add_up_command(app, exit_code);
  add_stat_command(app, exit_code);
  add_topics_command(app, exit_code);
  add_configs_command(app, exit_code);
  add_client_metrics_command(app, exit_code);
  add_quotas_command(app, exit_code);
  add_groups_command(app, exit_code);
  add_offsets_command(app, exit_code);
  add_records_command(app, exit_code);
  add_producers_command(app, exit_code);
  add_log_dirs_command(app, exit_code);
  add_cluster_command(app, exit_code);
  add_api_versions_command(app, exit_code);
  add_reassign_command(app, exit_code);
  add_elect_leaders_command(app, exit_code);
  add_produce_command(app, exit_code);
  add_consume_command(app, exit_code);
  add_dump_command(app, exit_code);
  add_perf_command(app, exit_code);
  add_completion_command(app, exit_code);
  app.footer(
      "`tailrace COMMAND --help` shows the options of each.\n"
      "Exit status: 0 done, 1 failed (standard error says why), 2 wrong arguments.");
  end_when_nobody_reads();
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == kExitDone ? finish_output(kExitDone) : kExitMisuse;
  }
  return finish_output(exit_code);
}
