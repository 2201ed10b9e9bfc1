#pragma once

#include <net/link/handshake.hpp>
#include <net/rpc/peer.hpp>
#include <net/rpc/service.hpp>
#include <net/transport/simulated/simulated.hpp>

#include "tests.hpp"

/// Two hosts, of which one calls the other.

namespace net_test {

using namespace tenon::net;
using namespace std::chrono_literals;

inline bytes text(const std::string& s) {
    const auto* first = reinterpret_cast<const std::byte*>(s.data());
    return bytes(first, first + s.size());
}
inline std::string text(const bytes& b) { return std::string(reinterpret_cast<const char*>(b.data()), b.size()); }

/// Answers "echo" at once with what it was sent; keeps the replier of all else.
struct echo_service : service_handler {
    enum verb : std::uint8_t { echo, wait, fail, unanswered };

    void linked(link_number link, const link_peer& who) override {
        heard.push_back("linked " + std::to_string(link) + " " + who.name());
    }
    void called(link_number link, std::uint8_t v, bytes body, std::vector<tn::any_array> arrays, time_point by,
                replier&& answer) override {
        heard.push_back("called " + text(body));
        deadline = by;
        if (v == echo) return answer.reply(std::move(body), std::move(arrays));
        if (v == fail) throw tn::not_found_error("there is no " + text(body));
        if (v == wait) waiting.emplace(std::pair(link, answer.request()), std::move(answer));
    }
    void noted(link_number, std::uint8_t, bytes body, std::vector<tn::any_array>) override {
        heard.push_back("noted " + text(body));
    }
    void cancelled(link_number, std::uint64_t request) override {
        heard.push_back("cancelled " + std::to_string(request));
    }
    tn::any_array place_for(link_number, std::uint8_t, const bytes& body, std::size_t i, const tn::tensor_type& type,
                            std::size_t) override {
        places_asked.push_back(text(body) + "#" + std::to_string(i));
        return place && place.type() == type ? place.share() : tn::any_array();
    }
    void peer_lost(link_number link, const std::string& why) override {
        heard.push_back("lost " + std::to_string(link) + " " + why);
    }

    std::size_t count(const std::string& what) const {
        std::size_t n = 0;
        for (const auto& h : heard) n += h.compare(0, what.size(), what) == 0;
        return n;
    }

    std::vector<std::string> heard, places_asked;
    time_point deadline{};
    tn::any_array place;
    std::map<std::pair<link_number, std::uint64_t>, replier> waiting;
};

inline const std::string& last(const std::vector<std::string>& v) {
    static const std::string none;
    return v.empty() ? none : v.back();
}

struct two {
    explicit two(std::uint64_t seed = 1) : net(seed), alice(net.start("alice")), bob(&net.start("bob")) {
        callers.self = {"worker", 1, 11, 0, {}, false};
        callers.address = "bob:1";
        callers.job = "ps";
        served.self = {"ps", 0, 22, 0, {}, false};
    }
    void serve() {
        server = service::make(*bob, served, handler);
        server->listen("bob:1");
    }
    peer& dial() {
        caller = peer::make(alice, callers);
        return *caller;
    }
    peer& begin() {
        serve();
        return dial();
    }
    /// Begins, and a first call has made the link.
    void begin_linked() {
        begin();
        CHECK(said(echo_service::echo, "first") == "first");
    }
    /// The process of bob ends, as it does when it is killed.
    void kill_bob(bool silently = false) {
        net.kill("bob", silently);
        handler.waiting.clear();
        server.reset();
    }
    void restart_bob(std::uint64_t incarnation = 23) {
        bob = &net.start("bob");
        served.self.incarnation = incarnation;
        serve();
    }
    time_point in(duration d) const { return net.now() + d; }

    /// A call whose answer is kept.
    struct outcome {
        int ended = 0;
        answer a;
        time_point at{};
        std::uint64_t call = 0;
        std::string said() const {
            return !ended ? "nothing" : a.failed ? std::string(tn::name_of(a.code)) + ": " + a.message : text(a.body);
        }
    };
    std::shared_ptr<outcome> call(std::uint8_t verb, const std::string& body, duration limit = 60s,
                                  std::vector<tn::any_array> arrays = {}, std::uint64_t incarnation = 0) {
        auto o = std::make_shared<outcome>();
        o->call = caller->call(
            verb, text(body), std::move(arrays), in(limit),
            [this, o](answer a) {
                ++o->ended;
                o->a = std::move(a);
                o->at = net.now();
            },
            incarnation);
        return o;
    }
    bool wait(const std::shared_ptr<outcome>& o, duration limit = 100s) {
        return net.work_until([&] { return o->ended > 0; }, in(limit));
    }

    /// What a call is answered with, or its error.
    std::string said(std::uint8_t verb, const std::string& body, duration limit = 60s,
                     std::vector<tn::any_array> arrays = {}, std::uint64_t incarnation = 0) {
        const auto o = call(verb, body, limit, std::move(arrays), incarnation);
        wait(o);
        return o->said();
    }

    simulated_network net;
    transport& alice;
    transport* bob;
    peer_options callers;
    service_options served;
    echo_service handler;
    std::unique_ptr<service> server;
    std::shared_ptr<peer> caller;
};

inline tn::any_array floats(std::size_t count, float first = 0) {
    tn::any_array a(tn::element_type::float32, tn::extents{static_cast<std::int64_t>(count)});
    for (std::size_t i = 0; i < count; ++i) a.data<float>()[i] = first + static_cast<float>(i);
    return a;
}
template <class... A> std::vector<tn::any_array> arrays_of(A... each) {
    std::vector<tn::any_array> all;
    (all.push_back(std::move(each)), ...);
    return all;
}

} // namespace net_test
