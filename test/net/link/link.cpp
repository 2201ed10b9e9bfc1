#include <net/link/handshake.hpp>
#include <net/link/link.hpp>

#include "two.hpp"

using namespace net_test;
using side = tenon::net::link::side;
using state_machine = tenon::net::link;

namespace {

message make(message_type type, const std::string& body) { return message{.type = type, .body = text(body)}; }

/// Two ends, and what is between them.
struct line {
    line() : dialing(side::dialing, options, now), listening(side::listening, options, now) { connect(); }
    explicit line(const link_options& o) :
        options(o), dialing(side::dialing, o, now), listening(side::listening, o, now) {
        connect();
    }

    void connect() {
        const auto a = dialing.received(), b = listening.received();
        dialing.connected(b, now);
        listening.connected(a, now);
    }
    void lose() {
        dialing.disconnected();
        listening.disconnected();
    }
    std::vector<message> sent(state_machine& by) {
        std::vector<message> all;
        while (auto m = by.next(now)) all.push_back(std::move(*m));
        return all;
    }
    static std::string arrive(state_machine& at, message m, time_point now) {
        std::string in_order;
        auto found = at.receive(std::move(m), now);
        while (found) {
            if (found->type == message_type::call) at.take_deadline(found->body, now);
            in_order += text(found->body);
            found = at.next_in_order();
        }
        return in_order;
    }
    std::string arrive(state_machine& at, message m) { return arrive(at, std::move(m), now); }
    std::string arrive(state_machine& at, std::vector<message> each) {
        std::string in_order;
        for (message& m : each) in_order += arrive(at, std::move(m));
        return in_order;
    }

    time_point now{1h};
    link_options options;
    state_machine dialing, listening;
};

} // namespace

TEST_CASE("link: messages are numbered and kept until they are acknowledged, which rides on what is sent") {
    line l;
    l.dialing.post(make(message_type::note, "a"));
    l.dialing.post(make(message_type::note, "b"));
    auto sent = l.sent(l.dialing);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].sequence == 1);
    CHECK(sent[1].sequence == 2);
    CHECK(l.dialing.kept_messages() == 2);
    CHECK(l.arrive(l.listening, std::move(sent[0])) == "a");
    CHECK(l.arrive(l.listening, std::move(sent[1])) == "b");
    l.listening.post(make(message_type::reply, "r"));
    auto reply = l.sent(l.listening);
    REQUIRE(reply.size() == 1);
    CHECK(reply[0].acknowledged == 2);
    CHECK(l.arrive(l.dialing, std::move(reply[0])) == "r");
    CHECK(l.dialing.kept_messages() == 0);
    CHECK(l.dialing.kept_bytes() == 0);
}

TEST_CASE("link: what is kept shares its arrays, and gives them back to end elsewhere") {
    line l;
    message m = make(message_type::note, "a");
    m.arrays.push_back(floats(1000));
    const void* memory = m.arrays[0].data();
    l.dialing.post(std::move(m));
    CHECK(l.dialing.kept_bytes() > 4000);
    auto sent = l.sent(l.dialing);
    CHECK(sent[0].arrays[0].data() == memory);
    CHECK(!sent[0].arrays[0].is_unique());
    l.arrive(l.listening, std::move(sent[0]));
    message ack = make(message_type::acknowledge, "");
    ack.acknowledged = 1;
    l.arrive(l.dialing, std::move(ack));
    const auto released = l.dialing.released();
    REQUIRE(released.size() == 1);
    CHECK(released[0].data() == memory);
    CHECK(l.dialing.released().empty());
}

TEST_CASE("link: after a loss what the other end does not have is sent again, and what it has is not") {
    line l;
    for (const char* body : {"a", "b", "c"}) l.dialing.post(make(message_type::note, body));
    auto sent = l.sent(l.dialing);
    CHECK(l.arrive(l.listening, std::move(sent[0])) == "a"); // b and c are lost
    l.lose();
    CHECK(!l.dialing.next(l.now));
    l.dialing.post(make(message_type::note, "d"));
    l.connect();
    sent = l.sent(l.dialing);
    REQUIRE(sent.size() == 3);
    CHECK(sent[0].sequence == 2);
    CHECK(l.arrive(l.listening, std::move(sent)) == "bcd");
}

TEST_CASE("link: what comes twice is dropped") {
    line l;
    l.dialing.post(make(message_type::note, "a"));
    auto m = std::move(l.sent(l.dialing)[0]);
    CHECK(l.listening.is_new(m));
    CHECK(l.arrive(l.listening, m.share()) == "a");
    CHECK(!l.listening.is_new(m));
    CHECK(l.arrive(l.listening, m.share()).empty());
}

TEST_CASE("link: calls and notes that have overtaken others wait for them; replies do not") {
    line l;
    for (const char* body : {"a", "b", "c"}) {
        l.dialing.post(make(message_type::note, body));
        l.listening.post(make(message_type::reply, body));
    }
    auto notes = l.sent(l.dialing), replies = l.sent(l.listening);
    CHECK(l.arrive(l.listening, notes[2].share()).empty());
    CHECK(!l.listening.is_new(notes[2]));
    CHECK(l.arrive(l.listening, notes[1].share()).empty());
    CHECK(l.arrive(l.listening, notes[2].share()).empty()); // twice
    CHECK(l.listening.received() == 0);
    CHECK(l.arrive(l.listening, notes[0].share()) == "abc");
    CHECK(l.listening.received() == 3);

    CHECK(l.arrive(l.dialing, replies[2].share()) == "c");
    CHECK(l.arrive(l.dialing, replies[2].share()).empty());
    CHECK(l.dialing.received() == 0);
    CHECK(l.arrive(l.dialing, replies[0].share()) == "a");
    CHECK(l.dialing.received() == 1);
    CHECK(l.arrive(l.dialing, replies[1].share()) == "b");
    CHECK(l.dialing.received() == 3);
}

TEST_CASE("link: a gap with too much behind it ends the connection, and the next one fills it") {
    line l(link_options{.early_messages = 2});
    for (const char* body : {"a", "b", "c", "d"}) l.dialing.post(make(message_type::note, body));
    auto sent = l.sent(l.dialing);
    l.arrive(l.listening, std::move(sent[1]));
    l.arrive(l.listening, std::move(sent[2]));
    CHECK_THROWS_WITH_AS(l.arrive(l.listening, std::move(sent[3])), "link: message 1 is missing behind 2 later ones",
                         tn::data_loss_error);
    l.lose();
    l.connect();
    CHECK(l.arrive(l.listening, l.sent(l.dialing)) == "abcd");
}

TEST_CASE("link: a large message is not held behind a gap: it ends the connection, and the next one brings both") {
    line l;
    l.dialing.post(make(message_type::note, "a"));
    message large = make(message_type::note, "b");
    large.arrays.emplace_back(tn::element_type::float32, tn::extents{100000});
    l.dialing.post(std::move(large));
    auto sent = l.sent(l.dialing);
    CHECK_THROWS_WITH_AS(l.arrive(l.listening, std::move(sent[1])),
                         "link: message 2 is large, and comes ahead of message 1", tn::data_loss_error);
    l.lose();
    l.connect();
    CHECK(l.arrive(l.listening, l.sent(l.dialing)) == "ab");
}

TEST_CASE("link: what cannot come on a link is refused by name") {
    line l;
    const auto refused = [&](state_machine& at, message m, const char* why) {
        CHECK_ERROR(tn::data_loss_error, why, l.arrive(at, std::move(m)));
    };
    const auto numbered = [](message_type type) {
        message m = make(type, "");
        m.sequence = 1;
        return m;
    };
    message acknowledging = make(message_type::note, "");
    acknowledging.acknowledged = 1;
    refused(l.listening, std::move(acknowledging), "message 1 is acknowledged, of 0 that were sent");
    refused(l.listening, make(message_type::note, ""), "has no number");
    refused(l.listening, make(message_type::hello, ""), "a handshake in the middle of a link");
    refused(l.listening, numbered(message_type::ping), "has number 1");
    refused(l.listening, numbered(message_type::reply), "a reply comes to who has not called");
    refused(l.dialing, numbered(message_type::call), "a service calls");
    refused(l.dialing, make(message_type::cancel, ""), "a service cancels");
}

TEST_CASE("link: an end that has received what was never sent, or has forgotten what it received, is no other end") {
    line l;
    l.dialing.post(make(message_type::note, "a"));
    auto m = std::move(l.sent(l.dialing)[0]);
    l.dialing.disconnected();
    CHECK_ERROR(tn::data_loss_error, "has received 2 messages, of which 1 were sent", l.dialing.connected(2, l.now));
    l.dialing.connected(1, l.now);
    l.dialing.disconnected();
    CHECK_ERROR(tn::data_loss_error, "has received 0 messages, and had 1 before", l.dialing.connected(0, l.now));
}

TEST_CASE("link: an acknowledgement of its own comes after so many messages, so many bytes, or a while") {
    link_options o{.acknowledge_messages = 3, .acknowledge_bytes = 1000};
    line l(o);
    for (int i = 0; i < 10; ++i) l.dialing.post(make(message_type::note, "x"));
    l.dialing.post(make(message_type::note, std::string(2000, 'y')));
    l.dialing.post(make(message_type::note, "z"));
    auto sent = l.sent(l.dialing);
    const auto acknowledged = [&]() -> std::uint64_t {
        auto out = l.sent(l.listening);
        if (out.empty()) return 0;
        CHECK(out.size() == 1);
        CHECK(out[0].type == message_type::acknowledge);
        return out[0].acknowledged;
    };
    l.arrive(l.listening, std::move(sent[0]));
    l.arrive(l.listening, std::move(sent[1]));
    CHECK(acknowledged() == 0);
    l.arrive(l.listening, std::move(sent[2]));
    CHECK(acknowledged() == 3);
    for (std::size_t i = 3; i < 11; ++i) l.arrive(l.listening, std::move(sent[i]));
    CHECK(acknowledged() == 11); // by bytes
    l.arrive(l.listening, std::move(sent[11]));
    CHECK(acknowledged() == 0);
    CHECK(l.listening.next_tick() == l.now + o.acknowledge_within);
    l.listening.tick(l.now + o.acknowledge_within);
    CHECK(acknowledged() == 12);
}

TEST_CASE(
    "link: the dialing side pings when nothing it sends is answered, and who does not answer is dead after the lease") {
    line l;
    const auto begin = l.now;
    CHECK(l.dialing.next_tick() == begin + 2s);
    CHECK(l.listening.next_tick() == begin + 6s);
    l.now += 2s;
    l.dialing.tick(l.now);
    auto ping = l.sent(l.dialing);
    REQUIRE(ping.size() == 1);
    CHECK(ping[0].type == message_type::ping);
    CHECK(ping[0].sequence == 0);
    l.arrive(l.listening, std::move(ping[0]));
    auto pong = l.sent(l.listening);
    REQUIRE(pong.size() == 1);
    CHECK(pong[0].type == message_type::pong);
    l.arrive(l.dialing, std::move(pong[0]));
    CHECK(l.dialing.contact() == l.now);

    // A reply that was on its way shows nothing of whether what this side sends arrives.
    l.listening.post(make(message_type::reply, "late"));
    auto reply = std::move(l.sent(l.listening)[0]);
    l.now += 3s;
    l.arrive(l.dialing, std::move(reply));
    CHECK(l.dialing.contact() == begin + 2s);
    CHECK(!l.dialing.is_doubtful(begin + 5s));
    CHECK(l.dialing.is_doubtful(begin + 6s));
    CHECK(!l.dialing.is_dead(begin + 7s));
    CHECK(l.dialing.is_dead(begin + 8s));
    CHECK(l.listening.is_dead(begin + 8s));
}

TEST_CASE("link: pings without end are not answered without end") {
    line l;
    int pongs = 0;
    for (int i = 0; i < 1000; ++i) {
        l.arrive(l.listening, make(message_type::ping, ""));
        pongs += static_cast<int>(l.sent(l.listening).size());
        l.now += 1ms;
    }
    CHECK(pongs <= 200);
}

TEST_CASE("link: what is urgent goes first, and is forgotten with the connection") {
    line l;
    l.dialing.post(make(message_type::note, "a"));
    l.dialing.post_urgent(make(message_type::cancel, ""));
    auto sent = l.sent(l.dialing);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].type == message_type::cancel);
    l.dialing.post_urgent(make(message_type::cancel, ""));
    l.lose();
    l.dialing.post_urgent(make(message_type::cancel, ""));
    l.connect();
    sent = l.sent(l.dialing);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].type == message_type::note);
}

TEST_CASE("link: a call carries what is left until its deadline when it is sent, and again when it is sent again") {
    line l;
    l.dialing.post(make(message_type::call, "a"), l.now + 10s);
    l.now += 1s;
    auto first = std::move(l.sent(l.dialing)[0]);
    CHECK(l.listening.take_deadline(first.body, l.now) == l.now + 9s);
    CHECK(text(first.body) == "a");
    l.lose();
    l.now += 4s;
    l.connect();
    auto second = std::move(l.sent(l.dialing)[0]);
    const time_point other_clock{500h};
    delays late(6s);
    CHECK(take_time_left(second.body, other_clock, late) == other_clock + 5s);

    l.dialing.post(make(message_type::call, "b"));
    auto without = std::move(l.sent(l.dialing)[0]);
    CHECK(l.listening.take_deadline(without.body, l.now) == never);
    bytes shorter(15);
    CHECK_THROWS_AS(take_time_left(shorter, l.now, late), tn::data_loss_error);
}

TEST_CASE("link: the time for which a call lay on its way is not added to its deadline") {
    line l;
    const auto sent_call = [&] {
        l.dialing.post(make(message_type::call, "a"), l.now + 10s);
        return std::move(l.sent(l.dialing)[0]);
    };
    const duration apart = 400h; // of the clocks
    const auto arrives = [&](message& m) { return l.listening.take_deadline(m.body, l.now + apart) - apart; };
    auto quick = sent_call(), slow = sent_call();
    l.now += 1ms;
    CHECK(arrives(quick) == l.now + 10s); // nothing faster is known
    l.now += 3s;
    CHECK(arrives(slow) == l.now + 10s - 3s);
    // Pings say it as well.
    l.dialing.tick(l.now);
    for (message& m : l.sent(l.dialing)) (void)l.listening.receive(std::move(m), l.now + apart);
    auto other = sent_call();
    l.now += 12s;
    CHECK(arrives(other) == l.now + 10s - 12s);
}

TEST_CASE("link: who is asked whether it is there is pinged once until it answers, and not again at once") {
    line l;
    (void)l.sent(l.dialing);
    CHECK(l.dialing.asked() == never);
    l.now = l.dialing.may_ask();
    const auto asked = l.now;
    l.dialing.ask(l.now);
    l.now += 1ms;
    l.dialing.ask(l.now);
    auto pings = l.sent(l.dialing);
    REQUIRE(pings.size() == 1);
    CHECK(pings[0].type == message_type::ping);
    CHECK(l.dialing.asked() == asked);
    l.arrive(l.listening, std::move(pings[0]));
    auto pong = l.sent(l.listening);
    REQUIRE(pong.size() == 1);
    l.arrive(l.dialing, std::move(pong[0]));
    CHECK(l.dialing.asked() == never);
    l.dialing.ask(l.now); // it was heard of just now
    CHECK(l.sent(l.dialing).empty());
    l.now = l.dialing.may_ask();
    l.dialing.ask(l.now);
    auto again = l.sent(l.dialing);
    REQUIRE(again.size() == 1);
    l.arrive(l.listening, std::move(again[0]));
    CHECK(l.sent(l.listening).size() == 1); // it is answered, soon though it is after the other
}
