#pragma once

#include <array>
#include <string>
#include <utility>

#include <net/http/http_server.hpp>
#include <net/messages.hpp>
#include <net/transport/raw_socket.hpp>

/// Who asks by HTTP, byte by byte; and a server of facts that a test makes up.

namespace net_test {

inline std::string rest_of(raw_socket& from) {
    std::string all;
    std::array<std::byte, 4096> some;
    while (const std::size_t n = from.read(some)) all.append(reinterpret_cast<const char*>(some.data()), n);
    return all;
}
/// The whole answer to these bytes.
inline std::string answer_to(const std::string& address, const std::string& request) {
    raw_socket s(address);
    s.write(to_bytes(request));
    return rest_of(s);
}
inline std::string get(const std::string& address, const std::string& path, const std::string& headers = {}) {
    return answer_to(address, "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\n" + headers + "\r\n");
}
inline std::string status_of(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }
inline std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

/// A connection that brings several requests.
struct kept {
    explicit kept(const std::string& address) : socket(address) {}
    void send(const std::string& text) { socket.write(to_bytes(text)); }
    /// The next response, by its Content-Length.
    std::string receive() {
        for (;;) {
            const std::size_t end = left.find("\r\n\r\n");
            const std::size_t at = left.find("Content-Length: ");
            if (end != std::string::npos && at < end) {
                const std::size_t size = end + 4 + std::stoul(left.substr(at + 16));
                if (left.size() >= size) {
                    const std::string one = left.substr(0, size);
                    left.erase(0, size);
                    return one;
                }
            }
            std::array<std::byte, 4096> some;
            const std::size_t n = socket.read(some);
            if (n == 0) return std::exchange(left, {});
            left.append(reinterpret_cast<const char*>(some.data()), n);
        }
    }
    raw_socket socket;
    std::string left;
};

struct made_up_facts : tenon::net::http_facts {
    tenon::net::task_row own() override { return row; }
    tenon::net::task_totals totals() override { return counted; }
    void ask_all(std::function<void(std::vector<tenon::net::task_row>)> then) override {
        ++asked;
        if (tells) then({row});
        else waiting.push_back(std::move(then));
    }
    std::string why_not_ready() override { return trouble; }
    bool is_stopping() override { return row.stopping; }
    std::vector<std::pair<std::string, tenon::serving_metrics>> served() override { return models; }

    tenon::net::task_row row = [] {
        return tenon::net::task_row{
            .task = "/job:worker/task:0", .address = "127.0.0.1:2222", .reached = true, .version = "1"};
    }();
    tenon::net::task_totals counted;
    std::vector<std::pair<std::string, tenon::serving_metrics>> models;
    std::string trouble;
    bool tells = true;
    int asked = 0;
    std::vector<std::function<void(std::vector<tenon::net::task_row>)>> waiting;
};

} // namespace net_test
