#include <net/launch/pmi_board.hpp>

#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t longest_line = 65536;

[[noreturn]] void fail(const std::string& why) {
    throw unavailable_error("mpiexec cannot be asked where rank 0 runs (PMI_FD): " + why + "; set TENON_RENDEZVOUS");
}

} // namespace

std::string pmi_value(const std::string& line, const std::string& key) {
    const std::string mark = key + "=";
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        if (line.compare(at, mark.size(), mark) == 0) return line.substr(at + mark.size(), end - at - mark.size());
        at = end + 1;
    }
    return {};
}

bool uses_mpi() noexcept { return ::dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr; }

pmi_board::pmi_board(int socket, duration limit) : socket_(socket), until_(std::chrono::steady_clock::now() + limit) {
    (void)ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    space_ = pmi_value(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
    if (space_.empty()) fail("it gives no name of the run");
}

void pmi_board::put(const std::string& word, const std::string& text) {
    (void)ask("cmd=put kvsname=" + space_ + " key=" + word + " value=" + text, "put_result");
}

void pmi_board::meet() { (void)ask("cmd=barrier_in", "barrier_out"); }

std::string pmi_board::get(const std::string& word) {
    const std::string text = pmi_value(ask("cmd=get kvsname=" + space_ + " key=" + word, "get_result"), "value");
    if (text.empty()) fail("rank 0 has said nothing under \"" + word + "\"");
    return text;
}

std::string pmi_board::ask(const std::string& what, const std::string& expected) {
    const std::string line = what + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t n = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(std::strerror(errno));
        sent += static_cast<std::size_t>(n);
    }
    std::size_t end = 0;
    while ((end = rest_.find('\n')) == std::string::npos) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now()).count();
        pollfd one{socket_, POLLIN, 0};
        const int ready = left > 0 ? ::poll(&one, 1, static_cast<int>(std::min<long long>(left, 1'000'000))) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (left <= 0)
            throw deadline_exceeded_error(
                "not all processes of this run of mpiexec have come in time: it does not answer " + what);
        if (ready == 0) continue;
        char some[4096];
        const ssize_t n = ::recv(socket_, some, sizeof some, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail(n == 0 ? "it has closed the connection" : std::strerror(errno));
        rest_.append(some, static_cast<std::size_t>(n));
        if (rest_.size() > longest_line) fail("its answer has no end");
    }
    const std::string answer = rest_.substr(0, end);
    rest_.erase(0, end + 1);
    const std::string code = pmi_value(answer, "rc");
    if (pmi_value(answer, "cmd") != expected || (!code.empty() && code != "0"))
        fail("it answers " + what + " with " + answer);
    return answer;
}

} // namespace tenon::net
