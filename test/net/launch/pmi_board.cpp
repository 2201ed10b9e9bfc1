#include <sys/socket.h>
#include <unistd.h>

#include <net/launch/pmi_board.hpp>

#include "tests.hpp"

// mpiexec's proxy, played by a thread: it answers each line with the next of these.

using namespace tenon::net;
using namespace std::chrono_literals;

namespace {

class played_proxy {
public:
    explicit played_proxy(std::vector<std::string> answers) {
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0);
        thread_ = std::thread([this, answers] {
            for (const std::string& a : answers) {
                for (char c = 0; c != '\n'; heard_ += c)
                    if (::read(ends_[1], &c, 1) != 1) return;
                for (const char c : a) (void)::send(ends_[1], &c, 1, MSG_NOSIGNAL); // in pieces
            }
        });
    }
    ~played_proxy() {
        ::shutdown(ends_[0], SHUT_RDWR);
        thread_.join();
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    int socket() const { return ends_[0]; }
    std::string heard() {
        ::shutdown(ends_[0], SHUT_WR);
        thread_.join();
        thread_ = std::thread([] {});
        return heard_;
    }

private:
    int ends_[2]{};
    std::string heard_;
    std::thread thread_;
};

const std::string init = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
const std::string name = "cmd=my_kvsname kvsname=kvs_58_0_60659301_a\n";

} // namespace

TEST_CASE("what rank 0 tells through mpiexec the others are told") {
    played_proxy p({init, name, "cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n",
                    "cmd=get_result rc=0 msg=success value=n1:1234/secret\n"});
    pmi_board board(p.socket(), 60s);
    board.put("tenon", "n1:1234/secret");
    board.meet();
    CHECK(board.get("tenon") == "n1:1234/secret");
    CHECK(p.heard() == "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n"
                       "cmd=put kvsname=kvs_58_0_60659301_a key=tenon value=n1:1234/secret\ncmd=barrier_in\n"
                       "cmd=get kvsname=kvs_58_0_60659301_a key=tenon\n");
}

TEST_CASE("what is no answer is an error that says it, and who does not come is waited for no longer than that") {
    for (const char* wrong : {"cmd=response_to_init rc=-1\n", "hello\n", "\n", "cmd=my_kvsname\n"}) {
        CAPTURE(wrong);
        played_proxy p({wrong, wrong});
        CHECK_ERROR(tenon::unavailable_error, "set TENON_RENDEZVOUS", pmi_board(p.socket(), 60s));
    }
    {
        played_proxy p({init, std::string(100000, 'x')});
        CHECK_ERROR(tenon::unavailable_error, "its answer has no end", pmi_board(p.socket(), 60s));
    }
    played_proxy p({init, name});
    CHECK_THROWS_AS(pmi_board(p.socket(), 1ms).meet(), tenon::deadline_exceeded_error);
}

TEST_CASE("values of a line") {
    CHECK(pmi_value("cmd=get_result rc=0 value=a=b", "value") == "a=b");
    CHECK(pmi_value("cmd=get_result rc=0 value=", "value").empty());
    CHECK(pmi_value("xcmd=1 cmd=2", "cmd") == "2");
    CHECK(pmi_value("", "cmd").empty());
}
