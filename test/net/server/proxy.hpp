#pragma once

#include <list>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <net/wire/calls.hpp>
#include <net/wire/frame.hpp>

#include "tests.hpp"

/// A network that misbehaves: what stands between a server and those that connect to it, and decides of each frame what becomes of it.

namespace net_test {

class tcp_proxy {
public:
    enum class way { to_server, to_client };
    enum class fate {
        pass,
        drop,
        twice,
        after_next, ///< it comes behind the next frame of its direction
        damaged,    ///< a bit of it is another one
        cut,        ///< the connection ends before it
        cut_inside, ///< the connection ends in its middle
    };
    struct frame {
        way goes;
        int connection; ///< from 1, in the order in which they came
        tenon::net::frame_header head;
        std::vector<std::byte> bytes;
        tenon::net::message_type type() const { return head.type; }
        tenon::net::verb verb() const { return static_cast<tenon::net::verb>(head.verb); }
        bool is_call(tenon::net::verb v) const {
            return type() == tenon::net::message_type::call && head.verb == static_cast<std::uint8_t>(v);
        }
        /// Of a link, not of its handshake or its end.
        bool is_of_link() const {
            using enum tenon::net::message_type;
            return type() == call || type() == reply || type() == note;
        }
    };
    /// Called for each frame, by one thread at a time.
    using judge = std::function<fate(const frame&)>;

    explicit tcp_proxy(std::string to = {}) : listener_(::socket(AF_INET, SOCK_STREAM, 0)), to_(std::move(to)) {
        sockaddr_in at = loopback(0);
        socklen_t size = sizeof at;
        REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) == 0);
        REQUIRE(::listen(listener_, 64) == 0);
        REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
        address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
        accepting_ = std::thread([this] { accept_all(); });
    }
    tcp_proxy(const tcp_proxy&) = delete;
    ~tcp_proxy() {
        {
            const std::lock_guard lock(guard_);
            ended_ = true;
            stalled_ = false;
            for (connection& c : all_) c.cut();
        }
        changed_.notify_all();
        ::shutdown(listener_, SHUT_RDWR);
        accepting_.join();
        ::close(listener_);
        for (connection& c : all_) {
            for (std::thread& t : c.threads) t.join();
            for (const int s : c.sockets) ::close(s);
        }
    }

    const std::string& address() const { return address_; }
    std::string target() const { return "tenon://" + address_; }
    void forward_to(std::string server) {
        const std::lock_guard lock(guard_);
        to_ = std::move(server);
    }
    /// From now on; none: all frames pass.
    void judge_by(judge j) {
        const std::lock_guard lock(judging_);
        judge_ = std::move(j);
    }
    void cut_all() {
        const std::lock_guard lock(guard_);
        for (connection& c : all_) c.cut();
    }
    /// Nothing that goes to clients is read any more: servers cannot get rid of it.
    void stall_to_client(bool now) {
        {
            const std::lock_guard lock(guard_);
            stalled_ = now;
        }
        changed_.notify_all();
    }
    int connections() const {
        const std::lock_guard lock(guard_);
        return count_;
    }

private:
    struct connection {
        int number = 0;
        int sockets[2] = {-1, -1}; // the client's, the server's
        std::thread threads[2];
        std::atomic<int> ended{0}; // threads
        void cut() const {
            for (const int s : sockets) ::shutdown(s, SHUT_RDWR);
        }
    };

    static sockaddr_in loopback(int port) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(static_cast<std::uint16_t>(port));
        return at;
    }

    void accept_all() {
        for (;;) {
            const int client = ::accept(listener_, nullptr, nullptr);
            const std::lock_guard lock(guard_);
            if (ended_ || client < 0) {
                if (client >= 0) ::close(client);
                return;
            }
            const int server = ::socket(AF_INET, SOCK_STREAM, 0);
            const sockaddr_in at = loopback(to_.empty() ? 0 : std::stoi(to_.substr(to_.rfind(':') + 1)));
            if (to_.empty() || ::connect(server, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
                ::close(server);
                ::close(client);
                continue;
            }
            for (auto each = all_.begin(); each != all_.end();)
                each = each->ended == 2 ? let_go(each) : std::next(each);
            connection& c = all_.emplace_back();
            c.number = ++count_;
            c.sockets[0] = client;
            c.sockets[1] = server;
            c.threads[0] = std::thread([this, &c] { carry(c, way::to_server); });
            c.threads[1] = std::thread([this, &c] { carry(c, way::to_client); });
        }
    }

    std::list<connection>::iterator let_go(std::list<connection>::iterator c) {
        for (std::thread& t : c->threads) t.join();
        for (const int s : c->sockets) ::close(s);
        return all_.erase(c);
    }

    static bool read_whole(int socket, std::byte* to, std::size_t count) {
        while (count > 0) {
            const ssize_t n = ::recv(socket, to, count, 0);
            if (n <= 0) return false;
            to += n;
            count -= static_cast<std::size_t>(n);
        }
        return true;
    }
    static bool write_whole(int socket, const std::vector<std::byte>& all, std::size_t count) {
        for (std::size_t at = 0; at < count;) {
            const ssize_t n = ::send(socket, all.data() + at, count - at, MSG_NOSIGNAL);
            if (n <= 0) return false;
            at += static_cast<std::size_t>(n);
        }
        return true;
    }

    void carry(connection& c, way goes) {
        const int from = c.sockets[goes == way::to_server ? 0 : 1], to = c.sockets[goes == way::to_server ? 1 : 0];
        std::vector<std::byte> held; // comes behind the next one
        const auto send = [&](const frame& f) {
            return write_whole(to, f.bytes, f.bytes.size()) && write_whole(to, held, held.size());
        };
        for (bool is_on = true; is_on;) {
            if (goes == way::to_client) {
                std::unique_lock lock(guard_);
                changed_.wait(lock, [&] { return !stalled_ || ended_; });
            }
            frame f{goes, c.number, {}, {}};
            f.bytes.resize(sizeof f.head);
            if (!read_whole(from, f.bytes.data(), sizeof f.head)) break;
            std::memcpy(&f.head, f.bytes.data(), sizeof f.head);
            const std::size_t rest = f.head.metadata_bytes + f.head.payload_bytes;
            f.bytes.resize(sizeof f.head + rest);
            if (!read_whole(from, f.bytes.data() + sizeof f.head, rest)) break;
            fate what = fate::pass;
            {
                const std::lock_guard lock(judging_);
                if (judge_) what = judge_(f);
            }
            switch (what) {
            case fate::drop: continue;
            case fate::cut: is_on = false; continue;
            case fate::cut_inside:
                (void)write_whole(to, f.bytes, f.bytes.size() / 2);
                is_on = false;
                continue;
            case fate::after_next: held.insert(held.end(), f.bytes.begin(), f.bytes.end()); continue;
            case fate::damaged: f.bytes[sizeof f.head - 1] ^= std::byte{1}; break;
            case fate::twice: is_on = write_whole(to, f.bytes, f.bytes.size()); break;
            case fate::pass: break;
            }
            is_on = is_on && send(f);
            held.clear();
        }
        c.cut();
        ++c.ended;
    }

    const int listener_;
    std::string address_;
    std::thread accepting_;
    std::mutex judging_; // of judge_
    judge judge_;
    mutable std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::string to_;
    bool ended_ = false, stalled_ = false;
    std::list<connection> all_; // those that have ended go when a further one comes
    int count_ = 0;             // that ever were
};

} // namespace net_test
