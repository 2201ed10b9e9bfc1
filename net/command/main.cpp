// The command `tenon`. Its options are read here and nowhere else; what each subcommand does is in a file of its own.

#include <cstdio>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include <net/command/launch.hpp>
#include <tenon/core/config.hpp>
#include <tenon/core/error.hpp>

namespace {

using namespace tenon::command;

/// Where this program lies: its own name, unless the system says better.
std::string path_of_self(const char* name) {
    std::error_code none;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
    return none ? std::string(name) : self.string();
}

/// Adds a subcommand; `status` is what the command ends with when it was called.
void add_launch(CLI::App& app, const std::string& self, int& status) {
    auto* sub = app.add_subcommand("launch", "Start a cluster on this machine, and a program on it");
    sub->footer("Each task finds itself by TENON_CLUSTER, TENON_JOB and TENON_TASK. A line that a task writes is shown "
                "behind its\n"
                "name. A task that fails leaves the others running; the status is that of the first that failed. When "
                "the last\n"
                "worker has ended, parameter servers are asked to stop. Ctrl-C is passed on; a second one kills.\n\n"
                "Example: tenon launch --ps 2 --worker 2 -- ./train --epochs 5");
    auto o = std::make_shared<launch_options>();
    const auto count = CLI::Range(0, 1000);
    sub->add_option("--ps", o->ps, "Parameter servers")->check(count)->capture_default_str();
    sub->add_option("--worker", o->workers, "Workers")->check(count)->capture_default_str();
    sub->add_option("--gpus", o->gpus,
                    "GPUs that are dealt out to the workers, as 0,1,3, or none; else all of the machine")
        ->type_name("LIST");
    sub->add_option("--host", o->host, "The host in the tasks' addresses")->capture_default_str();
    sub->add_option("--port-base", o->port_base,
                    "The port of the first task, the others following; else ports that are free")
        ->check(CLI::Range(1, 65535));
    sub->add_option("--ps-command", o->ps_command, "What parameter servers run, instead of tenon serve")
        ->type_name("PROGRAM");
    sub->add_flag("--ps-run-program", o->ps_run_program, "Parameter servers run the program, as workers do");
    sub->add_option("--ps-restarts", o->ps_restarts, "How often each parameter server that ended is started again")
        ->check(CLI::Range(0, 1000000))
        ->capture_default_str();
    sub->add_option("--grace", o->grace, "Seconds for tasks to end that were asked to, before they are killed")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    sub->add_flag("-v,--verbose", o->verbose, "Tell of each task's start and end");
    sub->add_option("program", o->program, "The program and its arguments, behind --")
        ->type_name("-- PROGRAM [ARGUMENT]...");
    sub->positionals_at_end();
    sub->callback([o, self, &status] { status = launch(*o, self); });
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("tenon: clusters of Tenon, their tasks and what lives on them", "tenon");
    app.set_version_flag("--version", std::string("tenon ") + TENON_VERSION);
    app.require_subcommand(1);
    int status = 0;
    add_launch(app, path_of_self(argv[0]), status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    } catch (const tenon::error& e) {
        std::fprintf(stderr, "tenon: %s\n", e.what());
        return 1;
    }
    return status;
}
