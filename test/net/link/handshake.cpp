#include <deque>

#include "two.hpp"

using namespace net_test;

namespace {

/// A connection that is used by hand.
struct raw : connection_user {
    void received(message m) override { heard.push_back(std::move(m)); }
    void closed(const std::string& why) override {
        over = true;
        end = why;
    }
    std::shared_ptr<connection> to;
    std::deque<message> heard;
    bool over = false;
    std::string end;
};

struct by_hand : two {
    explicit by_hand(const std::string& token = {}) {
        served.self.token = token;
        served.self.cluster = 5;
        served.log = [this](const std::string& line) { log.push_back(line); };
    }
    ~by_hand() { server.reset(); } // it writes to the log
    std::shared_ptr<raw> connection_to_bob() {
        auto r = std::make_shared<raw>();
        alice.dial("bob:1", 1s, [r](std::shared_ptr<connection> c, const std::string&) {
            r->to = c;
            return r;
        });
        net.work_until([&] { return r->to != nullptr; }, in(1s));
        return r;
    }
    hello good() const {
        hello h;
        h.job = "worker";
        h.incarnation = 33;
        h.cluster = 5;
        h.link = h.attempt = h.stream = 1;
        h.has_token = !served.self.token.empty();
        h.random = random_nonce();
        return h;
    }
    static message of(message_type t, bytes body) { return message{.type = t, .body = std::move(body)}; }
    /// What comes back on this connection: its type, or why it ended.
    std::string say(raw& r, message m) {
        const auto before = r.heard.size();
        if (r.to) r.to->send(std::move(m));
        net.work_until([&] { return r.heard.size() > before || r.over; }, in(1s));
        if (r.heard.size() == before) return r.over ? "ended" : "nothing";
        const message& back = r.heard.back();
        if (back.type == message_type::goodbye) {
            const goodbye g = read_goodbye(back.body);
            return std::string(tn::name_of(g.code)) + ": " + g.why;
        }
        return std::to_string(static_cast<int>(back.type));
    }
    std::string greet(const hello& h) {
        const auto r = connection_to_bob();
        const std::string said = say(*r, of(message_type::hello, write(h)));
        if (r->to) r->to->close("enough");
        net.work_for(10ms);
        return said;
    }
    std::vector<std::string> log;
};

const std::string challenged = std::to_string(static_cast<int>(message_type::challenge));
const std::string made_ready = std::to_string(static_cast<int>(message_type::ready));

} // namespace

TEST_CASE("handshake: what is written is read") {
    hello h;
    h.job = "worker";
    h.task = 7;
    h.incarnation = h.link = h.attempt = 1;
    h.expected_job = "ps";
    h.established = true;
    h.received = 99;
    h.limits.calls = 12;
    h.random = random_nonce();
    const hello r = read_hello(write(h));
    CHECK(r.job == "worker");
    CHECK(r.task == 7);
    CHECK(r.expected_job == "ps");
    CHECK(r.established);
    CHECK(r.received == 99);
    CHECK(r.limits.calls == 12);
    CHECK(r.random == h.random);
    const goodbye g = read_goodbye(write(goodbye{tn::error_code::aborted, "line\nbreak\x7f"}));
    CHECK(g.code == tn::error_code::aborted);
    CHECK(g.why == "line break "); // what others say is printed
}

TEST_CASE("handshake: bodies that are cut short, too long or of no sense are refused by name") {
    hello h{.incarnation = 1, .link = 1, .attempt = 1};
    bytes b = write(h);
    b.pop_back();
    CHECK_ERROR(tn::data_loss_error, "hello: ", read_hello(b));
    b = write(h);
    b.push_back({});
    CHECK_THROWS_WITH_AS(read_hello(b), "hello: 1 bytes follow its end", tn::data_loss_error);
    struct row {
        void (*change)(hello&);
        const char* words;
    };
    const row wrong[] = {
        {[](hello& o) { o.incarnation = 0; }, "it has no incarnation"},
        {[](hello& o) { o.task = -1; }, "a task has a negative number"},
        {[](hello& o) { o.attempt = 0; }, "its link, or attempt, has no number"},
        {[](hello& o) { o.job = "a\nb"; }, "a character that is none of a text"},
        {[](hello& o) { o.job = "a\x7f"; }, "a character that is none of a text"},
        {[](hello& o) { o.link = 0; }, "its link, or attempt, has no number"},
    };
    for (const row& r : wrong) {
        hello other = h;
        r.change(other);
        CHECK_ERROR(tn::data_loss_error, r.words, read_hello(write(other)));
    }
    CHECK_THROWS_AS(read_proof(bytes(31)), tn::data_loss_error);
    CHECK_THROWS_AS(read_challenge({}), tn::data_loss_error);
    CHECK_THROWS_AS(read_ready({}), tn::data_loss_error);
    CHECK_THROWS_AS(read_goodbye(bytes(5, std::byte{200})), tn::data_loss_error);
}

TEST_CASE("handshake: proofs depend on the token, on all that was said, and on who says it") {
    hello h{.incarnation = 1, .random = random_nonce()};
    challenge c{.incarnation = 2, .random = random_nonce()};
    const bytes a = write(h), b = write(c);
    const proof_bytes p = dialing_proof("token", a, b);
    CHECK(same(p, dialing_proof("token", a, b)));
    CHECK(!same(p, dialing_proof("Token", a, b)));
    CHECK(!same(p, listening_proof("token", a, b, ready())));
    c.random = random_nonce();
    CHECK(!same(p, dialing_proof("token", a, write(c))));
    h.incarnation = 3;
    CHECK(!same(p, dialing_proof("token", write(h), b)));
    ready r;
    const proof_bytes q = listening_proof("token", a, b, r);
    r.received = 1;
    CHECK(!same(q, listening_proof("token", a, b, r)));
}

TEST_CASE("handshake: a hello that fits is challenged, a proof makes it ready") {
    by_hand w("secret");
    w.serve();
    const auto r = w.connection_to_bob();
    const bytes hello_bytes = write(w.good());
    REQUIRE(w.say(*r, w.of(message_type::hello, hello_bytes)) == challenged);
    const bytes challenge_bytes = r->heard.back().body;
    CHECK(w.server->count().handshakes == 1);
    CHECK(w.server->count().links == 0);
    REQUIRE(w.say(*r, w.of(message_type::proof, write(proof{dialing_proof("secret", hello_bytes, challenge_bytes)}))) ==
            made_ready);
    const ready said = read_ready(r->heard.back().body);
    CHECK(same(said.mac, listening_proof("secret", hello_bytes, challenge_bytes, said)));
    CHECK(w.server->count().handshakes == 0);
    CHECK(w.server->count().links == 1);
    CHECK(w.server->linked().at(0).second.name().find("/job:worker/task:0 (alice:") == 0);
}

TEST_CASE("handshake: a wrong proof, and one of an earlier handshake, are refused") {
    by_hand w("secret");
    w.serve();
    const bytes hello_bytes = write(w.good());
    const auto first = w.connection_to_bob();
    REQUIRE(w.say(*first, w.of(message_type::hello, hello_bytes)) == challenged);
    const bytes overheard = write(proof{dialing_proof("secret", hello_bytes, first->heard.back().body)});
    REQUIRE(w.say(*first, w.of(message_type::proof, overheard)) == made_ready);
    first->to->close("enough");

    const auto second = w.connection_to_bob();
    REQUIRE(w.say(*second, w.of(message_type::hello, hello_bytes)) == challenged);
    CHECK(w.say(*second, w.of(message_type::proof, overheard)) == "permission_denied: the token is not the cluster's");
    const auto third = w.connection_to_bob();
    REQUIRE(w.say(*third, w.of(message_type::hello, hello_bytes)) == challenged);
    CHECK(w.say(*third, w.of(message_type::proof,
                             write(proof{dialing_proof("guess", hello_bytes, third->heard.back().body)}))) ==
          "permission_denied: the token is not the cluster's");
    CHECK(w.server->count().refused == 2);
    CHECK(last(w.log).find("refused alice:") == 0);
}

TEST_CASE("handshake: before it is over nothing else is read") {
    by_hand w;
    w.serve();
    for (const message_type t :
         {message_type::call, message_type::proof, message_type::ping, message_type::ready, message_type::goodbye}) {
        const auto r = w.connection_to_bob();
        CHECK(w.say(*r, w.of(t, bytes(100))) == "ended");
        const auto s = w.connection_to_bob();
        REQUIRE(w.say(*s, w.of(message_type::hello, write(w.good()))) == challenged);
        if (t != message_type::proof) CHECK(w.say(*s, w.of(t, bytes(100))) == "ended");
    }
    const auto r = w.connection_to_bob();
    CHECK(w.say(*r, w.of(message_type::hello, bytes(most_handshake_bytes + 1))) == "ended");
    message with_array = w.of(message_type::hello, write(w.good()));
    with_array.arrays.push_back(floats(1));
    const auto s = w.connection_to_bob();
    CHECK(w.say(*s, std::move(with_array)) == "ended");
    CHECK(w.handler.heard.empty());
    CHECK(w.handler.places_asked.empty());
}

TEST_CASE("handshake: who does not fit is told why") {
    by_hand w("secret");
    w.serve();
    struct row {
        const char* what;
        void (*change)(hello&);
        std::string answer;
    };
    const row cases[] = {
        {"versions", [](hello& h) { h.oldest = 6, h.newest = 9; },
         "failed_precondition: it speaks versions 5 to 5 of the protocol, and was offered 6 to 9: update the older "
         "one"},
        {"another cluster", [](hello& h) { h.cluster = 6; },
         "failed_precondition: /job:ps/task:0 is of another run, or of a cluster with another description: start all "
         "tasks together, with the same one"},
        {"a client that does not know the cluster", [](hello& h) { h.cluster = 0; }, challenged},
        {"another task", [](hello& h) { h.expected_job = "ps", h.expected_task = 1; },
         "failed_precondition: it is /job:ps/task:0, not /job:ps/task:1: check the addresses of the cluster"},
        {"an earlier life", [](hello& h) { h.expected_incarnation = 21; }, "aborted: it was restarted"},
        {"no token", [](hello& h) { h.has_token = false; },
         "permission_denied: it asks for a token, and was offered none"},
        {"all as it should be", [](hello&) {}, challenged},
    };
    for (const row& r : cases) {
        CAPTURE(r.what);
        hello h = w.good();
        r.change(h);
        CHECK(w.greet(h) == r.answer);
    }
}

TEST_CASE("handshake: a link that was given up, or is older than another one, is refused by its number") {
    by_hand w;
    w.serve();
    const auto shake = [&](const hello& h) {
        const auto r = w.connection_to_bob();
        std::string said = w.say(*r, w.of(message_type::hello, write(h)));
        if (said == challenged) said = w.say(*r, w.of(message_type::proof, write(proof())));
        return said;
    };
    hello h = w.good();
    h.established = true; // nobody knows it
    CHECK(shake(h) == "unavailable: it has given this link up; what is new begins with a new one");
    h.established = false;
    h.link = 5;
    CHECK(shake(h) == made_ready);
    CHECK(shake(h) == "unavailable: a later connection has taken its place"); // the same attempt
    ++h.attempt;
    CHECK(shake(h) == made_ready);
    CHECK(w.server->count().links == 1);
    ++h.link;
    CHECK(shake(h) == made_ready);
    h.link = 5;
    ++h.attempt;
    CHECK(shake(h) == "unavailable: it has given this link up; what is new begins with a new one");
    w.net.work_for(10ms);
    CHECK(w.handler.count("linked") == 2);
    CHECK(w.handler.count("lost 1") == 1);
    CHECK(w.server->count().links == 1);
}

TEST_CASE(
    "handshake: connections that say nothing are closed after a while, and when there are too many, the oldest first") {
    by_hand w;
    w.served.handshakes = 10;
    w.serve();
    std::vector<std::shared_ptr<raw>> idle;
    for (int i = 0; i < 30; ++i) idle.push_back(w.connection_to_bob());
    w.net.work_for(10ms);
    CHECK(w.server->count().handshakes == 10);
    CHECK(idle[19]->over);
    CHECK(!idle[20]->over);
    w.dial();
    CHECK(text(w.caller->ask(echo_service::echo, text("x"), {}, w.in(1s)).body) == "x");
    w.net.work_for(6s);
    CHECK(w.server->count().handshakes == 0);
    CHECK(w.net.connections() == 1);
}

TEST_CASE("handshake: a peer says what is wrong, and does not dial again for it") {
    const std::string refuses = ": /job:ps/task:0 (bob:1) refuses the connection: ", unsent = "; the call was not sent";
    struct row {
        const char* what;
        void (*change)(two&);
        std::string begins;
    };
    const row cases[] = {
        {"no token", [](two& w) { w.served.self.token = "secret"; },
         "permission_denied" + refuses + "it asks for a token, and was offered none" + unsent},
        {"another token", [](two& w) { w.served.self.token = "secret", w.callers.self.token = "guess"; },
         "permission_denied" + refuses + "the token is not the cluster's" + unsent},
        {"a service without a token", [](two& w) { w.callers.self.token = "secret"; }, "permission_denied: "},
        {"another task", [](two& w) { w.callers.task = 3; },
         "failed_precondition: /job:ps/task:3 (bob:1) refuses the connection: it is /job:ps/task:0, not "
         "/job:ps/task:3: check the addresses of the cluster" +
             unsent},
        {"another cluster", [](two& w) { w.callers.self.cluster = 1, w.served.self.cluster = 2; },
         "failed_precondition: "},
        {"a connection that others can read",
         [](two& w) { w.net.set_private(false), w.callers.self.token = w.served.self.token = "secret"; },
         "permission_denied: /job:ps/task:0 (bob:1) is reached by a connection that others can read: use TLS, or ask "
         "for an insecure one by name" +
             unsent},
        {"a connection that others can read, of which the service wants none",
         [](two& w) { w.net.set_private(false), w.callers.self.insecure = true; }, "permission_denied: "},
        {"too many links", [](two& w) { w.served.links = 0; }, "resource_exhausted: "},
    };
    for (const row& r : cases) {
        CAPTURE(r.what);
        two w;
        r.change(w);
        w.begin();
        const std::string said = w.said(echo_service::echo, "x");
        CHECK_MESSAGE(said.starts_with(r.begins), said);
        CHECK(w.net.now() - time_point(1h) < 1s);
        CHECK(w.handler.heard.empty());
        CHECK(w.caller->count().connections == 0);
        CHECK(w.caller->state() == peer_state::idle);
        w.net.work_for(6s);
        CHECK(w.net.connections() == 0);
    }
}

TEST_CASE("handshake: with the token, and insecure where it is asked for by both, calls are answered") {
    two w;
    w.net.set_private(false);
    w.callers.self.insecure = w.served.self.insecure = true;
    w.callers.self.token = w.served.self.token = "secret";
    w.begin();
    CHECK(text(w.caller->ask(echo_service::echo, text("x"), {}, w.in(1s)).body) == "x");
}

TEST_CASE("handshake: a service that does not have the token itself is not believed") {
    two w;
    // Mallory says that he has one.
    auto user = std::make_shared<raw>();
    const auto listening = w.bob->listen("bob:1", [user](std::shared_ptr<connection> c) {
        user->to = c;
        return user;
    });
    w.callers.self.token = "secret";
    w.dial();
    const auto a = w.call(echo_service::echo, "x");
    w.net.work_until([&] { return user->heard.size() == 1; }, w.in(1s));
    REQUIRE(user->heard.size() == 1);
    challenge c{.job = "ps", .incarnation = 22, .has_token = true};
    user->to->send(by_hand::of(message_type::challenge, write(c)));
    w.net.work_until([&] { return user->heard.size() == 2; }, w.in(1s));
    ready r{.lease_ms = 6000};
    r.mac = read_proof(user->heard.back().body).mac; // what he was told himself
    user->to->send(by_hand::of(message_type::ready, write(r)));
    REQUIRE(w.wait(a, 1s));
    CHECK(a->said() ==
          "permission_denied: /job:ps/task:0 (bob:1) does not have this process's token; the call was not sent");
    CHECK(user->heard.size() == 2);
}
