// Servers, writers and readers as processes, and a nemesis that kills, stops and cuts. When it is over, what everybody was answered is
// held against what may be answered.
//
//   standing TENON [--seconds 30] [--seed N] [--plant twice|torn|lost] [--keep FOLDER]
//
// It ends with 0 where nothing is wrong; with a fault that is planted, where that was found. The seed is that of what the nemesis and
// the clients do; threads and processes are not in it: what it finds may need several runs to be seen again.
#define DOCTEST_CONFIG_IMPLEMENT

#include <filesystem>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <net/server/free_ports.hpp>
#include <net/server/proxy.hpp>

#include "tests.hpp"
#include "checker.hpp"
#include "client.hpp"

namespace standing {

namespace {

constexpr int readers = 2;

// A process that goes with this one.
class child {
public:
    child(const std::vector<std::string>& arguments, const std::string& log) {
        std::vector<char*> all;
        for (const std::string& a : arguments) all.push_back(const_cast<char*>(a.c_str()));
        all.push_back(nullptr);
        take_end(false); // not by a client before it knows what to do then
        pid_ = ::fork();
        if (pid_ != 0) {
            take_end(true);
            return;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        ::dup2(to, 1);
        ::dup2(to, 2);
        ::execv(all[0], all.data());
        ::_exit(127);
    }
    child(const child&) = delete;
    ~child() { end(SIGKILL); }
    void signal(int number) const { ::kill(pid_, number); }
    void end(int number) {
        if (pid_ < 0) return;
        ::kill(pid_, number);
        (void)wait(true);
    }
    // False where it has not ended.
    bool wait(bool until_it_ends) {
        if (pid_ < 0) return true;
        if (::waitpid(pid_, &status, until_it_ends ? 0 : WNOHANG) != pid_) return false;
        pid_ = -1;
        return true;
    }
    int status = 0;

private:
    pid_t pid_ = -1;
};

struct settings {
    std::string self, tenon = {}, folder = {};
    double seconds = 30;
    std::uint64_t seed = 0;
    std::string plant = "nothing";
};

class world {
public:
    explicit world(const settings& s) : settings_(s), chance_(s.seed), addresses_(free_addresses(servers)) {
        for (int k = 0; k < servers; ++k) {
            proxies_.push_back(std::make_unique<net_test::tcp_proxy>(addresses_[index(k)]));
            proxied_.push_back(proxies_.back()->address());
        }
        processes_.resize(servers);
        clients_.resize(writers + readers);
        for (int k = 0; k < servers; ++k) serve(k);
        for (int k = 0; k < servers; ++k) begin_life(k);
        for (int c = 0; c < writers + readers; ++c) start_client(c);
    }

    void run() {
        const double until = seconds_now() + settings_.seconds;
        while (seconds_now() < until) {
            rest(0.2, 0.8);
            const int k = static_cast<int>(chance_() % servers);
            net_test::tcp_proxy& proxy = *proxies_[index(k)];
            switch (chance_() % 10) {
            case 0:
                say("server " + std::to_string(k) + " is killed");
                kill_server(k);
                break;
            case 1: stop(k, 2, 3); break; // beyond its lease
            case 2:
            case 3: stop(k, 0.1, 1); break;
            case 4: {
                const int c = static_cast<int>(chance_() % clients_.size());
                say("client " + std::to_string(c) + " is killed");
                clients_[index(c)]->end(SIGKILL);
                start_client(c);
                break;
            }
            case 5:
            case 6: {
                say("a connection to server " + std::to_string(k) + " is cut inside of a message");
                const auto left = std::make_shared<int>(1 + static_cast<int>(chance_() % 20));
                proxy.judge_by([left](const net_test::tcp_proxy::frame& f) {
                    using fate = net_test::tcp_proxy::fate;
                    return f.is_of_link() && (*left)-- == 0 ? fate::cut_inside : fate::pass;
                });
                break;
            }
            default: say("connections to server " + std::to_string(k) + " are cut"); proxy.cut_all();
            }
        }
        for (const auto& p : proxies_) p->judge_by({});
    }

    history end() {
        history h;
        for (const auto& c : clients_) c->signal(SIGTERM);
        const double until = seconds_now() + 20;
        for (const auto& c : clients_) {
            while (!c->wait(false) && seconds_now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (!c->wait(false)) ended_badly_.push_back("a client does not end");
            else if (c->status != 0)
                ended_badly_.push_back("a client has ended with status " + std::to_string(c->status));
        }
        for (const std::string& file : files_) read_log(file, h.all);
        h.left.resize(servers);
        for (int k = 0; k < servers; ++k) read_last("tenon://" + addresses_[index(k)], k, h.all, h.left[index(k)]);
        h.lives = lives_;
        return h;
    }
    const std::vector<std::string>& ended_badly() const { return ended_badly_; }

private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    double between(double least, double most) { return std::uniform_real_distribution<>(least, most)(chance_); }
    void rest(double least, double most) {
        std::this_thread::sleep_for(std::chrono::duration<double>(between(least, most)));
    }
    void say(const std::string& what) const { std::printf("%10.3f %s\n", seconds_now(), what.c_str()); }
    std::string file(const std::string& name) const { return settings_.folder + "/" + name; }

    void serve(int k) {
        processes_[index(k)] = std::make_unique<child>(
            std::vector<std::string>{
                settings_.tenon, "serve", "--cluster", tenon::cluster({{"ps", proxied_}}).to_json(), "--job", "ps",
                "--task", std::to_string(k), "--listen", addresses_[index(k)], "--heartbeat", "0.3", "--lease", "1.5"},
            file("server" + std::to_string(k)));
    }
    void begin_life(int k) {
        const double from = seconds_now();
        initialize("tenon://" + addresses_[index(k)], k, static_cast<std::int64_t>(lives_.size()) + 1);
        lives_.push_back({k, static_cast<std::int64_t>(lives_.size()) + 1, from});
    }
    void kill_server(int k) {
        processes_[index(k)]->end(SIGKILL);
        for (life& l : lives_)
            if (l.server == k) l.end = std::min(l.end, seconds_now());
        serve(k);
        begin_life(k);
    }
    void stop(int k, double least, double most) {
        say("server " + std::to_string(k) + " is stopped");
        processes_[index(k)]->signal(SIGSTOP);
        rest(least, most);
        processes_[index(k)]->signal(SIGCONT);
    }

    // Each goes through one of the servers to the variables of one, its own or another.
    void start_client(int c) {
        const bool writes = c < writers;
        const int server = (writes ? c : c - writers) % servers, through = (c / servers + c) % servers;
        std::int64_t first = 1;
        if (writes)
            for (std::size_t f = 0; f < files_.size(); ++f)
                if (file_of_[f] == c) {
                    std::vector<operation> before;
                    read_log(files_[f], before);
                    for (const operation& o : before) first = std::max(first, o.number + 1);
                }
        files_.push_back(file("client" + std::to_string(files_.size())));
        file_of_.push_back(c);
        clients_[index(c)] = std::make_unique<child>(
            std::vector<std::string>{settings_.self, "--client", std::to_string(writes ? c : -1),
                                     std::to_string(server), "tenon://" + proxied_[index(through)], files_.back(),
                                     std::to_string(first), std::to_string(chance_()), settings_.plant},
            file("errors"));
    }

    const settings settings_;
    std::mt19937_64 chance_;
    const std::vector<std::string> addresses_;
    std::vector<std::string> proxied_;
    std::vector<std::unique_ptr<net_test::tcp_proxy>> proxies_;
    std::vector<std::unique_ptr<child>> processes_, clients_;
    std::vector<std::string> files_;
    std::vector<int> file_of_;
    std::vector<life> lives_;
    std::vector<std::string> ended_badly_;
};

plant plant_of(const std::string& name) {
    return name == "twice"  ? plant::twice
           : name == "torn" ? plant::torn
           : name == "lost" ? plant::lost
                            : plant::nothing;
}

int nemesis(const settings& s) {
    std::printf("again: standing TENON --seconds %g --seed %llu%s\n", s.seconds,
                static_cast<unsigned long long>(s.seed), s.plant == "nothing" ? "" : (" --plant " + s.plant).c_str());
    history h;
    std::vector<std::string> wrong;
    {
        world w(s);
        w.run();
        h = w.end();
        wrong = w.ended_badly();
    }
    for (const std::string& f : faults_of(h)) wrong.push_back(f);
    std::size_t ok = 0, failed = 0, unknown = 0;
    for (const operation& o : h.all)
        ++(o.outcome == outcome::ok ? ok : o.outcome == outcome::failed ? failed : unknown);
    std::printf("%zu operations were done, %zu failed, of %zu it is not known; %zu lives of %d servers\n", ok, failed,
                unknown, h.lives.size(), servers);
    for (const std::string& w : wrong) std::printf("WRONG: %s\n", w.c_str());
    const bool is_planted = s.plant != "nothing";
    if (ok < 100) std::printf("WRONG: too little was done to say anything\n");
    return ok >= 100 && wrong.empty() != is_planted ? 0 : 1;
}

} // namespace

} // namespace standing

int main(int argc, char** argv) {
    doctest::Context context; // the proxy's checks are not in a test case
    context.setAsDefaultForAssertsOutOfTestCases();
    context.setAssertHandler([](const doctest::AssertData& a) {
        if (!a.m_failed) return;
        std::printf("%s:%d: %s\n", a.m_file, a.m_line, a.m_expr);
        std::exit(1);
    });
    const std::vector<std::string> given(argv + 1, argv + argc);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    try {
        if (given.size() == 8 && given[0] == "--client") {
            standing::client_options o;
            o.writer = std::stoi(given[1]);
            o.server = std::stoi(given[2]);
            o.target = given[3];
            o.file = given[4];
            o.first = std::stoll(given[5]);
            o.seed = std::stoull(given[6]);
            o.what = standing::plant_of(given[7]);
            standing::run_client(o);
            return 0;
        }
        standing::settings s{.self = std::filesystem::canonical("/proc/self/exe"), .seed = std::random_device()()};
        for (std::size_t i = 0; i < given.size(); ++i) {
            const bool has_value = i + 1 < given.size();
            if (given[i] == "--seconds" && has_value) s.seconds = std::stod(given[++i]);
            else if (given[i] == "--seed" && has_value) s.seed = std::stoull(given[++i]);
            else if (given[i] == "--plant" && has_value) s.plant = given[++i];
            else if (given[i] == "--keep" && has_value) s.folder = given[++i];
            else s.tenon = given[i];
        }
        if (s.tenon.empty()) {
            std::printf("standing TENON [--seconds 30] [--seed N] [--plant twice|torn|lost] [--keep FOLDER]\n");
            return 2;
        }
        s.tenon = std::filesystem::canonical(s.tenon);
        const temporary_folder files;
        if (s.folder.empty()) s.folder = files.path();
        std::filesystem::create_directories(s.folder);
        return standing::nemesis(s);
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        return 1;
    }
}
