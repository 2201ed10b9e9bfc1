#include <net/command/child.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <tenon/core/error.hpp>

extern char** environ;

namespace tenon::command {

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;

void write_all(int to, const char* data, std::size_t size) {
    while (size > 0) {
        const ssize_t wrote = ::write(to, data, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return; // nobody reads any more
        data += wrote;
        size -= static_cast<std::size_t>(wrote);
    }
}

struct pipe_ends {
    int read = -1, write = -1;
    pipe_ends() {
        int ends[2];
        if (::pipe(ends) != 0)
            throw resource_exhausted_error(std::string("no pipe can be had: ") + std::strerror(errno));
        read = ends[0];
        write = ends[1];
        for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    }
    pipe_ends(pipe_ends&&) = delete;
    ~pipe_ends() {
        if (read >= 0) ::close(read);
        if (write >= 0) ::close(write);
    }
};

void take(int& from, line_writer& lines) {
    char buffer[65536];
    while (from >= 0) {
        const ssize_t got = ::read(from, buffer, sizeof buffer);
        if (got > 0) {
            lines.add({buffer, static_cast<std::size_t>(got)});
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        ::close(std::exchange(from, -1));
        lines.end();
    }
}

// In the new process: nothing here may take memory or a lock. Ends it, after telling why over `report`.
[[noreturn]] void become(char* const* arguments, char* const* variables, int in, int out, int err, int report,
                         pid_t parent) {
    ::setpgid(0, 0);
#if defined(__linux__)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127); // it has ended before that
#else
    (void)parent;
#endif
    if (in < 0) in = ::open("/dev/null", O_RDONLY);
    if (in >= 0 && ::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0 && ::dup2(err, 2) >= 0) {
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE}) ::signal(number, SIG_DFL);
        environ = const_cast<char**>(variables);
        ::execvp(arguments[0], arguments);
    }
    const int why = errno;
    write_all(report, reinterpret_cast<const char*>(&why), sizeof why);
    ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& t : texts) list.push_back(t.data());
    list.push_back(nullptr);
    return list;
}

} // namespace

void line_writer::add(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) {
            begun_.append(text.substr(at));
            if (begun_.size() > longest_line) this->end();
            return;
        }
        if (begun_.empty()) {
            write_line(text.substr(at, end - at));
        } else {
            begun_.append(text.substr(at, end - at));
            this->end();
        }
        at = end + 1;
    }
}

void line_writer::end() {
    if (begun_.empty()) return;
    write_line(begun_);
    begun_.clear();
}

void line_writer::write_line(std::string_view line) {
    if (!mark_.empty() && line.ends_with(mark_)) {
        line.remove_suffix(mark_.size());
        mark_.clear();
        if (line.empty()) return;
    }
    std::string whole = prefix_;
    whole.append(line).push_back('\n');
    write_all(to_, whole.data(), whole.size());
}

child::child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
             const std::string& prefix, guard& watcher, const std::optional<child_input>& input) :
    watcher_(watcher),
    out_lines_(STDOUT_FILENO, prefix),
    err_lines_(STDERR_FILENO, prefix, input ? input->mark : std::string()) {
    std::vector<std::string> words = arguments, settings;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string all = *entry;
        if (!variables.contains(all.substr(0, all.find('=')))) settings.push_back(all);
    }
    for (const auto& [name, value] : variables) settings.push_back(name + "=" + value);
    const std::vector<char*> argv = pointers(words), envp = pointers(settings);

    pipe_ends in, out, err, report;
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw resource_exhausted_error(std::string("no process can be had: ") + std::strerror(errno));
    if (pid_ == 0) become(argv.data(), envp.data(), input ? in.read : -1, out.write, err.write, report.write, parent);
    ::setpgid(pid_, pid_); // whoever is first
    watcher_.watch(pid_);
    ::close(std::exchange(report.write, -1));
    int why = 0;
    ssize_t got;
    do got = ::read(report.read, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(sizeof why)) {
        watcher_.forget(pid_);
        ::waitpid(pid_, nullptr, 0);
        throw unavailable_error("\"" + arguments[0] + "\" cannot be started: " + std::strerror(why));
    }
    out_ = std::exchange(out.read, -1);
    err_ = std::exchange(err.read, -1);
    for (const int end : {out_, err_}) ::fcntl(end, F_SETFL, O_NONBLOCK);
    if (!input) return;
    in_ = std::exchange(in.write, -1);
    ::fcntl(in_, F_SETFL, O_NONBLOCK);
    tell(input->text);
}

child::~child() {
    if (!ended_) {
        signal(SIGKILL);
        watcher_.forget(pid_);
        ::waitpid(pid_, nullptr, 0);
    }
    for (const int end : {in_, out_, err_})
        if (end >= 0) ::close(end);
}

void child::signal(int number) noexcept {
    if (!ended_) ::kill(-pid_, number);
}

void child::tell(std::string_view text) {
    if (in_ < 0) return;
    untold_.append(text);
    write_input();
}

void child::write_input() {
    while (in_ >= 0 && !untold_.empty()) {
        const ssize_t wrote = ::write(in_, untold_.data(), untold_.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (wrote < 0) ::close(std::exchange(in_, -1)); // it reads no more
        else untold_.erase(0, static_cast<std::size_t>(wrote));
    }
}

void child::read_output() { take(out_, out_lines_); }
void child::read_errors() { take(err_, err_lines_); }

bool child::ended() {
    if (ended_) return true;
    siginfo_t about{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid != pid_)
        return false;
    // What it left in its group goes with it, while its number is still its own; what it wrote is there by now.
    signal(SIGKILL);
    watcher_.forget(pid_);
    ::waitpid(pid_, &status_, 0);
    ended_ = true;
    read_output();
    read_errors();
    out_lines_.end();
    err_lines_.end();
    return true;
}

int child::status() const noexcept { return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_); }

std::string child::status_words() const {
    if (!WIFSIGNALED(status_)) return "ended with status " + std::to_string(WEXITSTATUS(status_));
    return "was killed by signal " + std::to_string(WTERMSIG(status_)) + " (" + ::strsignal(WTERMSIG(status_)) + ")";
}

} // namespace tenon::command
