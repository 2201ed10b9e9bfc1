// Messages over loopback TCP, and with their payloads through shared memory, beside blocking sockets that carry the same bytes, with
// as many threads, in turns: the round trip of 64 bytes, and large arrays one way until the receiver's word that they are there.
// Medians of the rounds; on a machine that has other work a lower quantile of their times says more, and so does the time that
// processors were busy for it ("busy": Tenon's over TCP in that of the sockets, then that with shared memory).
//
//   net_transport [ROUNDS [QUANTILE]]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/uio.h>

#include <net/transport/tcp.hpp>

#include "raw_sockets.hpp"

namespace tn = tenon;
using namespace tenon::net;

namespace {

constexpr std::size_t kilo = 1'000, mega = 1'000'000;

struct seconds {
    double passed = 0, busy = 0; // the latter of all threads
};

double busy_now() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

seconds seconds_of(const std::function<void()>& what) {
    const auto began = std::chrono::steady_clock::now();
    const double busy = busy_now();
    what();
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), busy_now() - busy};
}

double quantile = 0.5;

double typical(const std::vector<seconds>& all, double seconds::*which) {
    std::vector<double> of;
    for (const seconds& s : all) of.push_back(s.*which);
    const auto at = std::min(of.size() - 1, static_cast<std::size_t>(quantile * static_cast<double>(of.size())));
    std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(at), of.end());
    return of[at];
}

using raw::require;

// Memory as arrays have it.
tn::any_array room(std::size_t bytes) { return {tn::element_type::uint8, {static_cast<std::int64_t>(bytes)}}; }

// ---- Tenon ----

struct answering final : connection_user {
    std::shared_ptr<connection> to;
    tn::any_array place; // none: arrays are made for what comes
    tn::any_array place_for(const message&, std::size_t, const tn::tensor_type& type, std::size_t) override {
        return place && place.type() == type ? place.share() : tn::any_array();
    }
    void received(message m) override {
        if (m.arrays.empty()) return to->send(std::move(m));
        to->send(message{.type = message_type::reply});
    }
    void closed(const std::string&) override { to.reset(); }
};

struct waiting final : connection_user {
    transport* of = nullptr;
    std::atomic<int> answers{0};
    void received(message) override {
        answers.fetch_add(1);
        of->wake();
    }
    void closed(const std::string& why) override { std::fprintf(stderr, "closed: %s\n", why.c_str()); }
};

class tenon_side {
public:
    explicit tenon_side(const tcp_options& o) : server_(make_tcp_transport(o)), client_(make_tcp_transport(o)) {
        listener_ = server_->listen("127.0.0.1:0", [this](std::shared_ptr<connection> c) {
            there_->to = std::move(c);
            return there_;
        });
        here_->of = client_.get();
        std::promise<std::shared_ptr<connection>> connected;
        client_->dial(listener_->address(), std::chrono::seconds(5),
                      [&](std::shared_ptr<connection> c, const std::string&) {
                          connected.set_value(std::move(c));
                          return here_;
                      });
        to_ = connected.get_future().get();
        require(to_ != nullptr, "dial");
        round_trip();
    }
    void round_trip() {
        message m{.type = message_type::call};
        m.body.resize(64);
        exchange(std::move(m));
    }
    void one_way(const tn::any_array& a) {
        message m{.type = message_type::note};
        m.arrays.push_back(a.share());
        exchange(std::move(m));
    }
    void give_place(tn::any_array place) { there_->place = std::move(place); } // while nothing is on its way

private:
    void exchange(message m) {
        const int before = here_->answers.load();
        to_->send(std::move(m));
        client_->work_until([&] { return here_->answers.load() > before; }, time_point::max());
    }

    std::shared_ptr<answering> there_ = std::make_shared<answering>();
    std::shared_ptr<waiting> here_ = std::make_shared<waiting>();
    std::shared_ptr<transport> server_, client_;
    std::unique_ptr<listener> listener_;
    std::shared_ptr<connection> to_;
};

// ---- sockets ----

// A head of 64 bytes, and what comes behind it.
void write_all(int socket, const void* head, const void* rest, std::size_t bytes) {
    iovec list[2] = {{const_cast<void*>(head), 64}, {const_cast<void*>(rest), bytes}};
    for (int i = 0; i < 2;) {
        const ssize_t n = ::writev(socket, list + i, 2 - i);
        require(n > 0, "writev");
        for (auto left = static_cast<std::size_t>(n); i < 2;) {
            const std::size_t now = std::min(left, list[i].iov_len);
            list[i].iov_base = static_cast<char*>(list[i].iov_base) + now;
            list[i].iov_len -= now;
            left -= now;
            if (list[i].iov_len > 0) break;
            ++i;
        }
    }
}

class socket_side {
public:
    socket_side() : answering_([this] { answer(); }) {}
    ~socket_side() {
        ::shutdown(ends_.here, SHUT_RDWR);
        answering_.join();
    }
    void round_trip() { one_way(nullptr, 0); }
    void one_way(const void* from, std::size_t bytes) {
        std::size_t head[8] = {bytes};
        write_all(ends_.here, head, from, bytes);
        require(raw::read_all(ends_.here, head, sizeof head), "read");
    }
    void give_place(tn::any_array place) { place_ = std::move(place); }

private:
    void answer() {
        std::size_t head[8];
        while (::recv(ends_.there, head, sizeof head, MSG_WAITALL) == sizeof head) {
            const std::size_t bytes = head[0];
            tn::any_array made;
            if (bytes > 0 && place_.bytes() != bytes) made = room(bytes);
            if (bytes > 0) require(raw::read_all(ends_.there, made ? made.data() : place_.data(), bytes), "read");
            write_all(ends_.there, head, nullptr, 0);
        }
    }

    raw::connected ends_;
    tn::any_array place_;
    std::thread answering_;
};

struct three {
    std::vector<seconds> tcp, shared, sockets;
    // `x` and `y` over `z`, each as a figure in `unit`.
    void print(const char* what, double per, const char* unit, bool less_is_better, const char* targets) const {
        const auto figure = [&](const std::vector<seconds>& of) {
            const double s = typical(of, &seconds::passed);
            return less_is_better ? s * per : per / s;
        };
        const auto busy = [&](const std::vector<seconds>& of) {
            return typical(of, &seconds::busy) / typical(sockets, &seconds::busy);
        };
        const double x = figure(tcp), y = figure(shared), z = figure(sockets);
        std::printf("%-38s %7.2f %7.2f %7.2f %-4s %8.2f %8.2f %8.2f %5.2f   %s\n", what, x, y, z, unit, x / z, y / x,
                    busy(tcp), busy(shared), targets);
        std::fflush(stdout);
    }
};

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 25;
    if (argc > 2) quantile = std::clamp(std::atof(argv[2]), 0.0, 1.0);
    tcp_options sharing, apart;
    apart.shared_memory = false;
    if (argc > 3) sharing.ring_bytes = std::size_t(std::atoi(argv[3])) << 10;
    tenon_side ours(apart), shared(sharing);
    socket_side theirs;
    std::printf("%-38s %7s %7s %7s %-4s %8s %8s %8s %5s   %s\n", "", "TCP", "shared", "sockets", "", "TCP/sock",
                "shm/TCP", "busy", "", "targets");
    {
        constexpr int each = 1000;
        three all;
        for (int i = 0; i < rounds; ++i) {
            all.tcp.push_back(seconds_of([&] {
                for (int n = 0; n < each; ++n) ours.round_trip();
            }));
            all.shared.push_back(seconds_of([&] {
                for (int n = 0; n < each; ++n) shared.round_trip();
            }));
            all.sockets.push_back(seconds_of([&] {
                for (int n = 0; n < each; ++n) theirs.round_trip();
            }));
        }
        all.print("64 bytes, there and back", 1e6 / each, "us", true, "<= 1.3");
    }
    for (const bool given : {true, false})
        for (const std::size_t size : {kilo * 64, 1 * mega, 4 * mega, 16 * mega, 64 * mega, 256 * mega}) {
            const tn::any_array a = tn::any_array::zeros(tn::element_type::uint8, {static_cast<std::int64_t>(size)});
            ours.give_place(given ? room(size) : tn::any_array());
            shared.give_place(given ? room(size) : tn::any_array());
            theirs.give_place(given ? room(size) : tn::any_array());
            const std::size_t each = std::max<std::size_t>(1, 16 * mega / size);
            three all;
            for (int i = -1; i < rounds; ++i) { // the first touches the memory
                const seconds s = seconds_of([&] {
                    for (std::size_t n = 0; n < each; ++n) ours.one_way(a);
                });
                const seconds m = seconds_of([&] {
                    for (std::size_t n = 0; n < each; ++n) shared.one_way(a);
                });
                const seconds t = seconds_of([&] {
                    for (std::size_t n = 0; n < each; ++n) theirs.one_way(a.data(), size);
                });
                if (i < 0) continue;
                all.tcp.push_back(s);
                all.shared.push_back(m);
                all.sockets.push_back(t);
            }
            const std::string what =
                (size < mega ? std::to_string(size / kilo) + " KB" : std::to_string(size / mega) + " MB") +
                " one way, " + (given ? "a place given" : "new arrays");
            all.print(what.c_str(), static_cast<double>(size * each) / 1e9, "GB/s", false,
                      size < mega ? "" : ">= 0.9, >= 2");
        }
}
