/* The functions behind the table's rows, one file a command (or a family of small ones). */
#ifndef PDK_ORCHESTRATOR_CLI_COMMANDS_H
#define PDK_ORCHESTRATOR_CLI_COMMANDS_H

struct pdk_cli;
struct pdk_args;

/* Each returns the process's exit status. */
int pdk_command_run(
        struct pdk_cli *cli, const struct pdk_args *args); /* mission and fleet run */
int pdk_command_cancel(
        struct pdk_cli *cli, const struct pdk_args *args); /* mission and fleet cancel */
int pdk_command_completion(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_init(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_validate(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_plan(
        struct pdk_cli *cli, const struct pdk_args *args); /* mission and fleet show */
int pdk_command_schema(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_report(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_verdict(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_mission_verdict(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_verify(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_promote(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_undo(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_runs(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_show(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_logs(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_diff(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_events(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_doctor(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_gc(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_provider_check(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_create(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_list(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_status(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_exec(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_mode(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_diff(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_pull(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_read(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_write(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_remove(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_stat(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_glob(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_grep(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_fingerprint(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_shell(struct pdk_cli *cli, const struct pdk_args *args);
int pdk_command_sandbox_discard(struct pdk_cli *cli, const struct pdk_args *args);

#endif
