// The subcommands of `tailrace`, each in a file of its own. Each function adds one; when it runs, `exit_code` gets the
// status.
#pragma once

namespace tailrace::cli {

class Command;

void add_up_command(Command app, int& exit_code);
void add_stat_command(Command app, int& exit_code);
void add_dump_command(Command app, int& exit_code);

void add_produce_command(Command app, int& exit_code);
void add_consume_command(Command app, int& exit_code);
void add_perf_command(Command app, int& exit_code);

void add_topics_command(Command app, int& exit_code);
void add_configs_command(Command app, int& exit_code);
void add_client_metrics_command(Command app, int& exit_code);
void add_quotas_command(Command app, int& exit_code);
void add_groups_command(Command app, int& exit_code);
void add_offsets_command(Command app, int& exit_code);
void add_records_command(Command app, int& exit_code);
void add_producers_command(Command app, int& exit_code);
void add_log_dirs_command(Command app, int& exit_code);
void add_cluster_command(Command app, int& exit_code);
void add_api_versions_command(Command app, int& exit_code);
void add_reassign_command(Command app, int& exit_code);
void add_elect_leaders_command(Command app, int& exit_code);

// Reads the tree of commands of `app`, so it is added last.
void add_completion_command(Command app, int& exit_code);

}  // namespace tailrace::cli
