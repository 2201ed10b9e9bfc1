#include <net/command/guard.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::command {

namespace {

// The guard itself: hears of groups until the line ends, which it does when all who hold its other end have.
[[noreturn]] void watch_over(int line) {
    ::setpgid(0, 0);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) ::signal(number, SIG_IGN);
    ::close(0); // who waits for the end of what is written shall not wait for this process
    ::close(1);
    ::close(2);
    std::vector<pid_t> groups;
    for (;;) {
        pid_t what = 0;
        const ssize_t got = ::read(line, &what, sizeof what); // writes of so few bytes arrive whole
        if (got < 0 && errno == EINTR) continue;
        if (got != static_cast<ssize_t>(sizeof what)) break;
        if (what > 0) groups.push_back(what);
        else groups.erase(std::remove(groups.begin(), groups.end(), -what), groups.end());
    }
    for (const pid_t group : groups) ::kill(-group, SIGKILL);
    ::_exit(0);
}

} // namespace

guard::guard() {
    int ends[2];
    if (::pipe(ends) != 0) throw resource_exhausted_error(std::string("no pipe can be had: ") + std::strerror(errno));
    ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[1]);
        watch_over(ends[0]);
    }
    ::close(ends[0]);
    line_ = ends[1];
    if (pid_ < 0) {
        const std::string why = std::strerror(errno);
        ::close(line_);
        throw resource_exhausted_error("no process can be had: " + why);
    }
}

guard::~guard() {
    ::close(line_);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void guard::tell(pid_t what) noexcept {
    while (::write(line_, &what, sizeof what) < 0 && errno == EINTR) {
    }
}

} // namespace tenon::command
