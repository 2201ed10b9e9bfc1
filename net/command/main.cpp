// The command `tenon`. Its options are read here and nowhere else; what each subcommand does is in a file of its own.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <net/client/ask_once.hpp>
#include <net/command/ask.hpp>
#include <net/command/certificates.hpp>
#include <net/command/launch.hpp>
#include <net/command/printable.hpp>
#include <net/command/serve.hpp>
#include <net/launch/run_files.hpp>
#include <tenon/core/config.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/edit_distance.hpp>

namespace {

using namespace tenon::command;
namespace net = tenon::net;

/// Where this program lies: its own name, unless the system says better.
std::string path_of_self(const char* name) {
    std::error_code none;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
    return none ? std::string(name) : self.string();
}

/// Adds a subcommand; `status` is what the command ends with when it was called.
void add_launch(CLI::App& app, const std::string& self, int& status) {
    auto* sub =
        app.add_subcommand("launch", "Start a cluster on this machine, or on others by ssh, and a program on it");
    sub->footer(
        "Each task finds itself by TENON_CLUSTER, TENON_JOB and TENON_TASK, or on several hosts by TENON_RANK,\n"
        "TENON_TASKS and TENON_RENDEZVOUS. A line that a task writes is shown "
        "behind its\n"
        "name. A task that fails leaves the others running; the status is that of the first that failed. When "
        "the last\n"
        "worker has ended, parameter servers are asked to stop. Ctrl-C is passed on; a second one kills.\n\n"
        "Examples: tenon launch --ps 2 --worker 2 -- ./train --epochs 5\n"
        "          tenon launch --hosts a,b,ada@c --ps 1 --worker 3 -- ./train");
    auto o = std::make_shared<launch_options>();
    const auto count = CLI::Range(0, 1000);
    sub->add_option("--ps", o->ps, "Parameter servers")->check(count)->capture_default_str();
    sub->add_option("--worker", o->workers, "Workers")->check(count)->capture_default_str();
    sub->add_option("--gpus", o->gpus,
                    "GPUs that are dealt out to the workers, as 0,1,3, or none; else all of the machine. With --hosts "
                    "those of each host; else nothing is said of them")
        ->type_name("LIST");
    auto* host = sub->add_option("--host", o->host, "The host in the tasks' addresses")->capture_default_str();
    sub->add_option("--port-base", o->port_base,
                    "The port of the first task, the others following; else ports that are free. With --hosts that "
                    "where they meet, tasks following")
        ->check(CLI::Range(1, 65535));
    sub->add_option("--ps-command", o->ps_command, "What parameter servers run, instead of tenon serve")
        ->type_name("PROGRAM");
    sub->add_flag("--ps-run-program", o->ps_run_program, "Parameter servers run the program, as workers do");
    sub->add_option("--ps-restarts", o->ps_restarts, "How often each parameter server that ended is started again")
        ->check(CLI::Range(0, 1000000))
        ->capture_default_str();
    sub->add_option("--worker-restarts", o->worker_restarts, "How often each worker that failed is started again")
        ->check(CLI::Range(0, 1000000))
        ->capture_default_str();
    sub->add_option("--grace", o->grace, "Seconds for tasks to end that were asked to, before they are killed")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    auto* hosts = sub->add_option("--hosts", o->hosts,
                                  "Tasks run on these hosts, by ssh, dealt out in turn, as a,ada@b; c=10.0.0.3 where "
                                  "others reach a host by another name than ssh does")
                      ->type_name("LIST")
                      ->excludes(host);
    sub->add_option("--ps-hosts", o->ps_hosts, "Parameter servers run on these instead")
        ->type_name("LIST")
        ->needs(hosts);
    sub->add_option("--worker-hosts", o->worker_hosts, "Workers run on these instead")->type_name("LIST")->needs(hosts);
    sub->add_option("--ssh", o->ssh, "The command that is given a host and a command, with options, as a shell has it")
        ->type_name("COMMAND")
        ->capture_default_str()
        ->needs(hosts);
    sub->add_option("--workdir", o->workdir, "The folder there; else this one, where it is not there the user's own")
        ->type_name("FOLDER")
        ->needs(hosts);
    sub->add_option("--env", o->env, "A variable of this shell that tasks there have too; once for each")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->needs(hosts);
    sub->add_option("--remote-tenon", o->remote_tenon, "Where this command is there; else where it is here")
        ->type_name("PATH")
        ->needs(hosts);
    sub->add_flag("--insecure", o->insecure, "Plain connections between the hosts; else certificates are made for them")
        ->needs(hosts);
    sub->add_flag("-v,--verbose", o->verbose, "Tell of each task's start and end");
    sub->add_option("program", o->program, "The program and its arguments, behind --")
        ->type_name("-- PROGRAM [ARGUMENT]...");
    sub->positionals_at_end();
    sub->callback([o, self, &status] { status = launch(*o, self); });
}

/// The options of a process that shows who it is.
void add_identity(CLI::App& app, std::string& token, tenon::tls_files& tls, bool& insecure) {
    app.add_option("--token", token, "The cluster's secret, which all its processes prove to each other")
        ->envname("TENON_TOKEN");
    const auto add_file = [&app](const char* flag, const char* variable, std::string& to, const char* what) {
        app.add_option(flag, to, what)->envname(variable)->check(CLI::ExistingFile);
    };
    add_file("--certificate", "TENON_CERTIFICATE", tls.certificate_chain,
             "A file: its certificate, and those that lead to an authority");
    add_file("--key", "TENON_KEY", tls.private_key, "A file: the certificate's private key");
    add_file("--authorities", "TENON_AUTHORITIES", tls.authorities,
             "A file of authorities: both sides must show a certificate of theirs");
    app.add_flag("--insecure", insecure, "Plain connections beyond this machine")->envname("TENON_INSECURE");
}

void add_certificates(CLI::App& app) {
    auto* sub = app.add_subcommand("certificates", "Make what TLS between the tasks of a cluster needs");
    sub->footer("One certificate and its key for all of the hosts, in a folder to be copied to each of them.\n\n"
                "Example: tenon certificates --hosts a,b,10.0.0.3");
    auto o = std::make_shared<certificates_options>();
    sub->add_option("--hosts", o->hosts, "The hosts' names and IP addresses; localhost is always one of them")
        ->type_name("LIST")
        ->required();
    sub->add_option("--out", o->folder, "The folder that they are written to")
        ->type_name("FOLDER")
        ->capture_default_str();
    sub->add_option("--days", o->days, "For so long they are valid")
        ->check(CLI::Range(1, 36500))
        ->capture_default_str();
    sub->add_flag("--force", o->force, "Replace files that are there");
    sub->callback([o] { std::fputs(make_certificates(*o).c_str(), stdout); });
}

void add_serve(CLI::App& app, int& status) {
    auto* sub = app.add_subcommand("serve", "Be a task of a cluster, until it is stopped");
    sub->footer(
        "Which cluster and task: by these options, by TENON_CLUSTER, TENON_JOB and TENON_TASK, or by what a launcher "
        "sets.\n\nExample: tenon serve --cluster '{\"ps\": [\"localhost:2222\"]}' --job ps --task 0");
    auto o = std::make_shared<serve_options>();
    net::cluster_flags& f = o->source;
    sub->add_option("--cluster", f.cluster, "The cluster as JSON, or a file that holds it");
    sub->add_option("--job", f.job, "The job of this task");
    sub->add_option("--task", f.task, "Its number, or rank");
    sub->add_option("--tasks", f.tasks, "How many tasks each job has, as ps=2,worker=6");
    sub->add_option("--ps-tasks", f.ps_tasks, "How many of a launcher's first ranks are parameter servers");
    sub->add_option("--port", f.port, "The port of the first task of a host");
    sub->add_option("--host", f.host, "The name by which others reach this host");
    sub->add_option("--rendezvous", f.rendezvous, "host:port where rank 0 serves it, or file:PATH");
    sub->add_option("--launcher", f.launcher, "Whose variables count, or none");
    sub->add_option("--listen", o->server.listen, "Where it listens; else the task's address")->type_name("HOST:PORT");
    sub->add_option("--threads", o->server.intra_op_threads, "Threads of its kernels; 0: all cores")
        ->check(CLI::Range(0, 4096));
    sub->add_option("--memory-limit", o->server.memory_limit,
                    "Bytes of memory that all of its clients may have it hold; 0: no limit")
        ->transform(CLI::AsSizeValue(false))
        // Asked first: a negative number would be a large one.
        ->transform([](const std::string& bytes) {
            return bytes.starts_with('-') ? throw CLI::ValidationError(bytes + " is negative") : bytes;
        });
    sub->add_option("--files", o->server.files, "A folder below which ops may read and write files; none without it")
        ->type_name("FOLDER")
        ->envname("TENON_FILES");
    sub->add_option("--heartbeat", o->server.heartbeat, "Seconds between signs of life")->capture_default_str();
    sub->add_option("--lease", o->server.lease, "Seconds without one after which a peer is taken for dead")
        ->capture_default_str();
    sub->add_option("--grace", o->grace, "Seconds for steps in flight, when it is asked to stop by a signal")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    sub->add_flag_callback(
        "--no-shared-memory", [o] { o->server.shared_memory = false; },
        "All by TCP, also to processes of this machine");
    sub->add_option(
           "--http", o->server.http,
           "Tell by HTTP how it is: a page, /metrics, /status.json, /healthz and /readyz, at this port of this "
           "machine, or at a host's; 0: any port, of which the log tells (TENON_HTTP)")
        ->type_name("[HOST:]PORT");
    CLI::Option* const quiet = sub->add_flag("-q,--quiet", o->quiet, "Tell nothing");
    sub->add_flag("-v,--verbose", o->verbose,
                  "Tell also of links that come and go, and of connections that say nothing")
        ->excludes(quiet);
    add_identity(*sub, o->server.token, o->server.tls, o->server.insecure);
    sub->callback([o, &status] { status = serve(*o); });
}

/// A subcommand that asks a server.
struct asking {
    std::string target;
    double seconds = 5;
    tenon::client_options client;
};
template <class F>
CLI::App* add_asking(CLI::App& app, const char* name, const char* what, const std::shared_ptr<asking>& o, F&& then) {
    auto* sub = app.add_subcommand(name, what);
    sub->add_option("target", o->target, "A server of the cluster, tenon://host:port")->required();
    sub->add_option("--timeout", o->seconds, "Seconds that it may take")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    add_identity(*sub, o->client.token, o->client.tls, o->client.insecure);
    sub->callback([o, then = std::forward<F>(then)] {
        if (o->client.token.empty())
            if (const auto run = net::find_run(net::address_of_target(o->target))) o->client.token = run->token;
        tenon::set_client_options(o->client);
        then(*o);
    });
    return sub;
}

void add_questions(CLI::App& app, int& status) {
    auto alone = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
    CLI::App* const asks_status = add_asking(
        app, "status", "What the tasks of a cluster hold and do; its status is 1 where a task does not answer",
        std::make_shared<asking>(), [alone, json, &status](const asking& a) {
            const cluster_status s = status_of(a.target, !*alone, a.seconds, *json);
            std::fputs(s.text.c_str(), stdout);
            status = s.is_whole ? 0 : 1;
        });
    asks_status->add_flag("--alone", *alone, "Of this server only");
    asks_status->add_flag("--json", *json, "As JSON, with the members that docs/operating.md describes");
    add_asking(app, "devices", "The devices of a cluster's tasks", std::make_shared<asking>(),
               [](const asking& a) { std::fputs(devices_text(a.target, a.seconds).c_str(), stdout); });

    auto containers = std::make_shared<std::vector<std::string>>();
    add_asking(app, "reset", "Forget what containers hold, the default one or those named, on all tasks",
               std::make_shared<asking>(), [containers](const asking& a) { reset(a.target, *containers, a.seconds); })
        ->add_option("--container", *containers, "Its name, once for each; else the default container");

    auto all = std::make_shared<bool>(false);
    auto grace = std::make_shared<double>(10);
    auto* sub = add_asking(app, "stop", "Stop a server", std::make_shared<asking>(),
                           [all, grace](const asking& a) { stop(a.target, *all, *grace, a.seconds); });
    sub->add_flag("--all", *all, "And all other tasks of its cluster");
    sub->add_option("--grace", *grace, "Seconds for steps in flight")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
}

/// "; did you mean serve?" where one of them is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
    const auto best = std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
        return tenon::detail::edit_distance(word, a) < tenon::detail::edit_distance(word, b);
    });
    if (best == known.end() || tenon::detail::edit_distance(word, *best) * 3 > word.size() + 1) return {};
    return "; did you mean " + *best + "?";
}

/// What is wrong with the arguments, of which command, and what to do.
std::string complaint(const CLI::App& app, const CLI::ParseError& e) {
    const std::vector<CLI::App*> called = app.get_subcommands();
    const CLI::App& of = called.empty() ? app : *called.front();
    const std::string name = called.empty() ? "tenon" : "tenon " + of.get_name();
    std::string text = called.empty() ? "it is given no command" : e.what();
    // Variables are read for all commands, whichever is called.
    std::set<std::string> variables;
    for (const CLI::App* any : app.get_subcommands([](const CLI::App*) { return true; }))
        for (const CLI::Option* o : any->get_options())
            if (const std::string v = o->get_envname(); !v.empty() && text.find(o->get_name()) != std::string::npos)
                variables.insert(v);
    for (const std::string& v : variables)
        if (std::getenv(v.c_str())) text += "; the variable " + v + " is set";
    const std::vector<std::string> rest = of.remaining();
    if (!rest.empty() && (called.empty() || e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))) {
        std::vector<std::string> known;
        const bool is_option = rest.front().starts_with("-");
        for (const CLI::Option* o : of.get_options())
            for (const std::string& l : o->get_lnames())
                if (is_option) known.push_back("--" + l);
        for (const CLI::App* sub : of.get_subcommands([](const CLI::App*) { return true; }))
            if (!is_option) known.push_back(sub->get_name());
        text = rest.front() + (is_option        ? " is no option of it"
                               : called.empty() ? " is none of its commands"
                                                : " is not expected");
        text += suggestion(rest.front().substr(0, rest.front().find('=')), known);
    }
    return name + ": " + text + "\nWrite " + name + " --help for what it takes.\n";
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("tenon: clusters of Tenon, their tasks and what lives on them", "tenon");
    app.set_version_flag("--version", std::string("tenon ") + TENON_VERSION);
    app.require_subcommand(1);
    int status = 0;
    add_launch(app, path_of_self(argv[0]), status);
    add_serve(app, status);
    add_certificates(app);
    add_questions(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e); // help and the version were asked for
        std::fputs(complaint(app, e).c_str(), stderr);
        return 2;
    } catch (const tenon::error& e) {
        std::fprintf(stderr, "tenon: %s\n", printable(e.what(), true).c_str());
        return 1;
    } catch (const std::exception& e) { // of the system, or memory that has ended
        std::fprintf(stderr, "tenon: %s\n", printable(e.what(), true).c_str());
        return 1;
    }
    return status;
}
