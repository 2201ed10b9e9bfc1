// Sends any messages to a service and to a peer, before and after the handshake: the handler hears numbered messages in order, once,
// and what does not follow the rules ends a connection or a link, no more.
// covers: net/link/link net/rpc/accepted net/rpc/service net/rpc/service_link net/rpc/peer net/rpc/peer_end net/link/link_end net/link/handshake

#include <net/link/handshake.hpp>
#include <net/rpc/peer.hpp>
#include <net/rpc/service.hpp>
#include <net/transport/simulated/simulated.hpp>
#include <net/wire/bytes.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

using namespace tenon::net;
using namespace std::chrono_literals;

/// Whoever is at the other end of what is tested: says what the input says.
struct speaker : connection_user {
    void received(message m) override { last = std::move(m); }
    void closed(const std::string&) override { to.reset(); }
    std::shared_ptr<connection> to;
    message last;
};

struct handler final : service_handler {
    void linked(link_number, const link_peer&) override {
        if (++links > 1) fuzz::stop("there is a second link");
    }
    void called(link_number, std::uint8_t verb, bytes body, std::vector<tenon::any_array>, time_point,
                replier&& answer) override {
        if (links != 1) fuzz::stop("a call comes without a link");
        if (answer.request() <= last) fuzz::stop("a call comes twice, or out of order");
        last = answer.request();
        if (verb % 2) answer.reply(std::move(body));
        else waiting.push_back(std::move(answer));
    }
    void cancelled(link_number, std::uint64_t request) override {
        for (const auto& w : waiting)
            if (w.request() == request) return;
        fuzz::stop("a call is cancelled that does not wait");
    }
    void peer_lost(link_number, const std::string&) override { links = 100; }
    int links = 0;
    std::uint64_t last = 0;
    std::vector<replier> waiting;
};

message read_message(byte_reader& r) {
    message m;
    m.type = static_cast<message_type>(r.number<std::uint8_t>() % static_cast<std::uint8_t>(message_type::count));
    m.verb = r.number<std::uint8_t>();
    m.sequence = r.number<std::uint8_t>();
    m.acknowledged = r.number<std::uint8_t>();
    m.request = r.number<std::uint8_t>();
    const auto body = r.raw(r.number<std::uint8_t>());
    m.body.assign(body.begin(), body.end());
    return m;
}

void say(simulated_network& net, speaker& s, byte_reader& r) {
    while (s.to && r.left() > 0) {
        const auto step = r.number<std::uint8_t>();
        s.to->send(read_message(r));
        net.work_for(step % 8 == 0 ? 500ms : 1ms);
    }
}

const identity there{"ps", 0, 22, 0, {}, false};

void to_service(simulated_network& net, bool shakes_hands, byte_reader& r) {
    handler h;
    service_options so{.self = there};
    so.limits.calls = 8;
    transport& bob = net.start("bob");
    const auto server = service::make(bob, so, h);
    server->listen("bob:1");
    const auto s = std::make_shared<speaker>();
    net.start("alice").dial("bob:1", 1s, [s](std::shared_ptr<connection> c, const std::string&) {
        s->to = c;
        return s;
    });
    net.work_for(1ms);
    if (shakes_hands) {
        message m{.type = message_type::hello, .body = write(hello{.incarnation = 1, .link = 1, .attempt = 1})};
        s->to->send(std::move(m));
        net.work_for(1ms);
        message p{.type = message_type::proof, .body = write(proof())};
        s->to->send(std::move(p));
        net.work_for(1ms);
        if (h.links != 1) fuzz::stop("a handshake as it should be makes no link");
    }
    fuzz::is_read<tenon::data_loss_error>([&] { say(net, *s, r); }); // until the input has ended
    h.waiting.clear();
    net.work_for(20s);
    if (h.links != 0 && h.links != 100) fuzz::stop("a link lives past its lease");
    if (net.connections() != 0) fuzz::stop("a connection lives past its lease");
    if (server->count().links != 0) fuzz::stop("a service keeps a dead link");
}

void to_peer(simulated_network& net, bool shakes_hands, byte_reader& r) {
    const auto s = std::make_shared<speaker>();
    transport& bob = net.start("bob");
    const auto listening = bob.listen("bob:1", [s](std::shared_ptr<connection> c) {
        s->to = c;
        return s;
    });
    peer_options po{.address = "bob:1", .self = {"worker", 0, 1, 0, {}, false}};
    const auto p = peer::make(net.start("alice"), po);
    int ended = 0;
    for (int i = 0; i < 4; ++i) p->call(0, bytes(3), {}, net.now() + 10s, [&](answer) { ++ended; });
    net.work_for(1ms);
    if (shakes_hands && s->to) {
        challenge c{.incarnation = 22};
        message m{.type = message_type::challenge, .body = write(c)};
        s->to->send(std::move(m));
        net.work_for(1ms);
        message last{.type = message_type::ready, .body = write(ready{.lease_ms = 6000})};
        s->to->send(std::move(last));
        net.work_for(1ms);
        if (p->state() != peer_state::ready) fuzz::stop("a handshake as it should be makes no link");
    }
    fuzz::is_read<tenon::data_loss_error>([&] { say(net, *s, r); });
    net.work_for(11s);
    if (ended != 4) fuzz::stop("a call has not ended, or twice");
    p->close();
    net.work_for(20s);
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0 || in.size() > 4096) return;
    simulated_network net(1);
    byte_reader r(in.bytes(1), "input");
    const bool shakes_hands = in[0] & 1;
    if (in[0] & 2) to_peer(net, shakes_hands, r);
    else to_service(net, shakes_hands, r);
}
