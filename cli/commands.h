// The subcommands of `tailrace`, each in a file of its own. Each function adds one; when it runs, `exit_code` gets the
// status.
#pragma once

namespace CLI {
class App;
}

namespace tailrace::cli {

void add_up_command(CLI::App& app, int& exit_code);
void add_stat_command(CLI::App& app, int& exit_code);
void add_dump_command(CLI::App& app, int& exit_code);

void add_produce_command(CLI::App& app, int& exit_code);
void add_consume_command(CLI::App& app, int& exit_code);
void add_perf_command(CLI::App& app, int& exit_code);

void add_topics_command(CLI::App& app, int& exit_code);
void add_configs_command(CLI::App& app, int& exit_code);
void add_client_metrics_command(CLI::App& app, int& exit_code);
void add_quotas_command(CLI::App& app, int& exit_code);
void add_groups_command(CLI::App& app, int& exit_code);
void add_offsets_command(CLI::App& app, int& exit_code);
void add_records_command(CLI::App& app, int& exit_code);
void add_producers_command(CLI::App& app, int& exit_code);
void add_log_dirs_command(CLI::App& app, int& exit_code);
void add_cluster_command(CLI::App& app, int& exit_code);
void add_api_versions_command(CLI::App& app, int& exit_code);
void add_reassign_command(CLI::App& app, int& exit_code);
void add_elect_leaders_command(CLI::App& app, int& exit_code);

// Reads the tree of commands of `app`, so it is added last.
void add_completion_command(CLI::App& app, int& exit_code);

}  // namespace tailrace::cli
