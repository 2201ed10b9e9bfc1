#include <tenon/net/join.hpp>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include <unistd.h>

#include <net/client/client.hpp>
#include <net/client/credentials.hpp>
#include <net/join/member_state.hpp>
#include <net/launch/free_ports.hpp>
#include <net/launch/pmi_board.hpp>
#include <net/launch/rendezvous/rendezvous.hpp>
#include <net/launch/run_files.hpp>
#include <net/client/settings.hpp>
#include <net/transport/service.hpp>
#include <tenon/core/error.hpp>
#include <tenon/train/session/chief_limit.hpp>

namespace tenon::net {

namespace {

constexpr int usual_timeout = 60, usual_grace = 20; // seconds

/// One joining.
class joining_run {
public:
    joining_run(const cluster_flags& flags, join_options options, member::state& s) :
        options_(std::move(options)),
        flags_(flags),
        variables_(environment::of_process()),
        said_(flags_, variables_),
        state_(s) {}

    void run();

private:
    void say(const std::string& line) const { state_.log("cluster: " + line); }
    double seconds(double given, const char* name, int otherwise) const;
    void be_alone();
    std::unique_ptr<reserved_port> tell_by_pmi(rendezvous_point& p);
    void meet_others();
    void check_place() const;
    void serve_own();
    [[noreturn]] void fail(const error& e) const;
    std::string who_reaches_it() const;
    void note_run() const;

    join_options options_;
    const cluster_flags& flags_;
    const environment variables_;
    const settings said_;
    member::state& state_;
    credentials shown_;
    std::string listen_; // where the task serves; empty: where its cluster says
    std::string bound_;  // what it was asked to listen on
    bool is_local_ = false;
    std::unique_ptr<reserved_port> port_; // until it serves
};

double joining_run::seconds(double given, const char* name, int otherwise) const {
    if (given > 0) return given;
    const auto v = said_.variable(name);
    return v ? v->number(1, 1'000'000, "a number of seconds") : otherwise;
}

void joining_run::be_alone() {
    port_ = std::make_unique<reserved_port>("127.0.0.1", said_.port(0, 0));
    listen_ = "127.0.0.1:" + std::to_string(port_->number());
    state_.place.tasks = cluster({{"worker", {listen_}}});
    if (shown_.token.empty()) shown_.token = random_digits(64); // nobody else is to use it
    state_.place.job = "worker";
    state_.place.task = 0;
}

// Rank 0 tells where it serves the rendezvous, and a token, where nobody else hears it.
std::unique_ptr<reserved_port> joining_run::tell_by_pmi(rendezvous_point& p) {
    if (uses_mpi())
        throw invalid_argument_error(
            "join: mpiexec of MPICH started this process on several hosts, and the program uses MPI, which has "
            "mpiexec's connection to itself; set TENON_RENDEZVOUS to \"host:port\" of rank 0's host");
    pmi_board board(p.pmi, state_.timeout);
    const std::string word = "tenon";
    std::unique_ptr<reserved_port> port;
    if (p.rank == 0) {
        port = std::make_unique<reserved_port>("", 0);
        const std::string at = ":" + std::to_string(port->number()), named = p.serve.substr(0, p.serve.rfind(':'));
        p.listen = {at};
        if (shown_.token.empty()) shown_.token = random_digits(64);
        board.put(word, (named.empty() ? own_name() : named) + at + "/" + shown_.token);
    }
    board.meet();
    const std::string told = board.get(word);
    const std::size_t end = told.find('/');
    if (end == std::string::npos)
        throw unavailable_error("join: rank 0 has told through mpiexec what is no address: " + told);
    p.addresses = {told.substr(0, end)};
    if (shown_.token.empty()) shown_.token = told.substr(end + 1);
    return port;
}

// Its port is its own before others are told of it.
void joining_run::meet_others() {
    rendezvous_point& p = *state_.place.rendezvous;
    const std::size_t colon = p.serve.rfind(':');
    std::string host = p.serve.substr(0, colon);
    // A launcher's "localhost" may be what rank 0 alone is told.
    const auto meeting = said_.rendezvous();
    const bool met_here =
        meeting && is_loopback_address(meeting->value) && (host.empty() || is_loopback_address(host + ":0"));
    is_local_ = met_here || (p.one_host && host.empty());
    if (is_local_) host = "127.0.0.1";
    else if (host.empty() && !shown_.tls.empty()) host = own_name(); // certificates are of names
    if (shown_.token.empty()) shown_.token = p.token;
    const bool has_secret = !shown_.token.empty() || !p.file.empty() || p.pmi >= 0 || !shown_.tls.authorities.empty();
    if (!is_local_ && !shown_.insecure && (shown_.tls.empty() || !has_secret))
        throw permission_denied_error("join: this run is of several hosts, and " +
                                      std::string(shown_.tls.empty() ? "connections between them are not encrypted"
                                                                     : "nobody has to prove who it is") +
                                      "; set TENON_CERTIFICATE, TENON_KEY and TENON_AUTHORITIES, which `tenon "
                                      "certificates` makes, and TENON_TOKEN, or say that it "
                                      "may be insecure: TENON_INSECURE=1");
    port_ = std::make_unique<reserved_port>(is_local_ ? "127.0.0.1" : "", std::stoi(p.serve.substr(colon + 1)));
    const std::string port = ":" + std::to_string(port_->number());
    listen_ = (is_local_ ? host : "") + port;

    const auto place_of_rank_0 = p.pmi >= 0 ? tell_by_pmi(p) : nullptr;
    auto over = make_tcp_transport(tcp_options_of(shown_.tls, false));
    rendezvous_options o{
        .limit = state_.timeout, .serve = host + port, .token = shown_.token, .insecure = shown_.insecure};
    met all = meet(*over, state_.place, o);
    say(state_.place.explanation.back());
    if (shown_.token.empty()) shown_.token = std::move(all.token);
    // Who comes again has the port that the others know.
    const std::string& at = state_.place.tasks.address(state_.place.job, state_.place.task);
    const std::string known = at.substr(at.rfind(':'));
    if (known != port) {
        port_ = std::make_unique<reserved_port>(is_local_ ? "127.0.0.1" : "", std::stoi(known.substr(1)));
        listen_ = (is_local_ ? host : "") + known;
    }
    if (all.open) {
        state_.over = std::move(over);
        state_.open = std::move(all.open);
    }
}

// Who reads it looks for what he has said.
void joining_run::fail(const error& e) const {
    std::string said = e.what();
    const auto names = [&](const char* name) { return said.find(name) != std::string::npos; };
    std::string given;
    for (const char* name : {"TENON_HOST", "TENON_PORT", "TENON_RENDEZVOUS", "TENON_CERTIFICATE", "TENON_KEY",
                             "TENON_AUTHORITIES", "TENON_FILES", "TENON_HTTP", "TENON_TOKEN", "TF_CONFIG"})
        if (const auto v = said_.variable(name); v && !names(name))
            given +=
                (given.empty() ? "" : ", ") + (v->value.size() > 80 || v->name == "TENON_TOKEN" ? v->name : v->text());
    if (!given.empty()) said += "; this process was given " + given;
    if (e.code() == error_code::permission_denied && !names("TENON_INSECURE"))
        said +=
            "; a program that joins takes TENON_TOKEN, TENON_CERTIFICATE, TENON_KEY and TENON_AUTHORITIES, the same "
            "everywhere, or TENON_INSECURE=1";
    if (e.code() == error_code::deadline_exceeded && !names("TENON_JOIN_TIMEOUT"))
        said += "; TENON_JOIN_TIMEOUT gives more seconds";
    throw_error(e, said);
}

void joining_run::check_place() const {
    const cluster_source& p = state_.place;
    if (p.is_task() || p.job == "evaluator") return;
    throw invalid_argument_error(
        "join: a cluster is given by " + p.decided +
        ", and not which of its tasks this process is; set TENON_JOB and TENON_TASK, or give --job and --task");
}

std::string joining_run::who_reaches_it() const {
    const std::string &at = state_.own->address(), &bound = bound_.empty() ? at : bound_;
    return state_.device + " is reached at " + at + " from " +
           (is_loopback_address(bound) ? "this machine alone"
            : shown_.tls.empty()       ? "other machines, in plain"
                                       : "other machines, encrypted") +
           ", by " +
           (shown_.token.empty() ? "anybody (TENON_TOKEN would ask for a secret)" : "who has the run's token");
}

void joining_run::run() {
    state_.log =
        options_.log ? options_.log : [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    if (options_.stop_on_signals) stop_on_signals();
    state_.timeout = seconds_of(seconds(options_.timeout, "TENON_JOIN_TIMEOUT", usual_timeout));
    state_.grace = seconds_of(seconds(options_.grace, "TENON_GRACE", usual_grace));
    state_.limits = {state_.timeout, state_.grace, said_.switched_on("TENON_STAY")};
    shown_ = completed({options_.server.token, options_.server.tls, options_.server.insecure});
    state_.place = resolve_cluster(flags_, variables_);
    try {
        if (state_.place.decided.empty()) be_alone();
        else
            for (const std::string& line : state_.place.explanation) say(line);
        if (state_.place.rendezvous) meet_others();
    } catch (const error& e) {
        fail(e);
    }
    check_place();

    const cluster& tasks = state_.place.tasks;
    state_.device = name_of(state_.place.job, state_.place.task);
    if (tasks.has("ps"))
        for (const int t : tasks.tasks("ps")) state_.holders.emplace_back("ps", t);
    else state_.holders.emplace_back(tasks.jobs().front(), tasks.tasks(tasks.jobs().front()).front());
    for (const auto& [job, task] : state_.holders) state_.holds |= job == state_.place.job && task == state_.place.task;
    set_token_of_run(shown_.token);
    if (!state_.place.is_task()) return; // an evaluator
    try {
        serve_own();
    } catch (const error& e) {
        fail(e);
    }
    if (!state_.place.decided.empty()) say(who_reaches_it());
    note_run();
    if (state_.place.is_chief()) return;
    const char* const chief = tasks.has("chief") ? "chief" : tasks.has("master") ? "master" : "worker";
    tenon::detail::set_chief_limit({std::chrono::duration<double>(state_.timeout).count(), name_of(chief, 0)});
}

void joining_run::serve_own() {
    const cluster& tasks = state_.place.tasks;
    server_options o = std::move(options_.server);
    if (o.listen.empty()) o.listen = listen_.empty() ? state_.place.listen : listen_;
    bound_ = o.listen;
    if (o.run.empty()) o.run = state_.place.run;
    o.token = shown_.token;
    o.tls = shown_.tls;
    o.insecure = shown_.insecure;
    if (const auto folder = said_.variable("TENON_FILES"); folder && o.files.empty()) o.files = folder->value;
    // Who has the run's token is the run itself: its checkpoints are where its programs would write them.
    if (o.files.empty() && !o.token.empty()) o.files = std::filesystem::current_path().string();
    if (!o.log) o.log = state_.log;
    state_.own.emplace(tasks, state_.place.job, state_.place.task, std::move(o));
}

// So that `tenon status` of this user on this machine need not be told the token.
void joining_run::note_run() const {
    if (shown_.token.empty()) return;
    const std::string& name = state_.place.run;
    std::string file = name.substr(name.rfind(' ') + 1) + state_.place.job + std::to_string(state_.place.task) + "p" +
                       std::to_string(::getpid());
    std::erase_if(file, [](unsigned char c) { return !std::isalnum(c); });
    try {
        state_.noted.emplace(run_file{file, shown_.token, state_.place.tasks, ::getpid()});
    } catch (const error& e) {
        say(std::string("the run is not written down for `tenon status`: ") + e.what());
    }
}

} // namespace

void member::state::begin(const cluster_flags& flags, join_options options) {
    process = ::getpid();
    joining_run(flags, std::move(options), *this).run();
}

member join(int& argc, char** argv, join_options options) {
    static std::mutex guard;
    static auto& joined = *new std::shared_ptr<member::state>; // until the process has ended
    const std::lock_guard lock(guard);
    if (joined)
        throw failed_precondition_error("join: this process has joined already, as " + joined->device + " of the run " +
                                        joined->place.run);
    auto s = std::make_shared<member::state>();
    s->begin(take_cluster_flags(argc, argv), std::move(options));
    if (s->own) s->attend();
    joined = s;
    return member(std::move(s));
}

} // namespace tenon::net
