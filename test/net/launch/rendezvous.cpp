#include <sys/stat.h>

#include <net/launch/rendezvous/rendezvous.hpp>
#include <net/rpc/peer.hpp>
#include <net/transport/simulated/simulated.hpp>

#include "tests.hpp"

// A rendezvous over a simulated network: rank r runs on host "h<r>", rank 0 serves on h0:2221.

using namespace tenon::net;
using namespace std::chrono_literals;

namespace {

class meeting {
public:
    explicit meeting(int size, std::uint64_t seed = 1) : network(seed), parts(static_cast<std::size_t>(size)) {}

    rendezvous_point point(int rank) const {
        rendezvous_point p;
        p.rank = rank;
        p.size = static_cast<int>(parts.size());
        p.job = rank == 0 ? "ps" : "worker";
        p.task = rank == 0 ? 0 : rank - 1;
        p.serve = ":2222";
        p.listen = {"h0:2221"};
        p.addresses = {"h0:2221"};
        p.run = "run";
        return p;
    }
    void start(int rank, const rendezvous_options& o = {}) { start(point(rank), o); }
    void start(const rendezvous_point& p, const rendezvous_options& o = {}) {
        parts[static_cast<std::size_t>(p.rank)] =
            rendezvous_part::begin(network.start("h" + std::to_string(p.rank)), p, o);
    }
    /// Until all that have begun are done.
    bool work(duration limit) {
        return network.work_until(
            [&] {
                for (const auto& part : parts)
                    if (part && !part->done()) return false;
                return true;
            },
            network.now() + limit);
    }
    placed result(int rank) const { return parts[static_cast<std::size_t>(rank)]->result(); }
    template <class Error> std::string failure(int rank) const {
        return message_of<Error>([&] { result(rank); });
    }

    simulated_network network;
    std::vector<std::unique_ptr<rendezvous_part>> parts;
};

using late = tn::deadline_exceeded_error;

} // namespace

TEST_CASE("rendezvous: all ranks are given the same cluster, with the hosts that rank 0 saw") {
    meeting m(4);
    for (int rank = 0; rank < 4; ++rank) m.start(rank);
    const time_point began = m.network.now();
    REQUIRE(m.work(60s));
    CHECK(m.network.now() - began < 1s);
    const tn::cluster all({{"ps", {"h0:2222"}}, {"worker", {"h1:2222", "h2:2222", "h3:2222"}}});
    for (int rank = 0; rank < 4; ++rank) CHECK(m.result(rank).tasks == all);
    CHECK(m.result(0).job == "ps");
    CHECK(m.result(3).job == "worker");
    CHECK(m.result(3).task == 2);
    m.parts.clear();
    m.network.work_for(1s);
    CHECK(m.network.connections() == 0);
}

TEST_CASE("rendezvous: one rank alone meets itself") {
    meeting m(1);
    m.start(0);
    REQUIRE(m.work(1s));
    CHECK(m.result(0).tasks == tn::cluster({{"ps", {"h0:2222"}}}));
}

TEST_CASE("rendezvous: who does not come is named to all, at the limit") {
    meeting m(5);
    for (const int rank : {0, 1, 3}) m.start(rank, {.limit = 10s, .serve = "", .token = "", .insecure = false});
    const time_point began = m.network.now();
    REQUIRE(m.work(60s));
    CHECK(m.network.now() - began < 13s);
    const std::string why = "rendezvous: of 5 ranks these did not come to rank 0 at h0:2221 within 10000 ms: 2, 4";
    CHECK(m.failure<late>(0) == why);
    CHECK(m.failure<late>(1) == why);
    CHECK(m.failure<late>(3) == why);
}

TEST_CASE("rendezvous: where there is no rank 0 the address is named") {
    meeting m(2);
    m.network.start("h0");
    m.start(1, {.limit = 3s, .serve = "", .token = "", .insecure = false});
    REQUIRE(m.work(60s));
    CHECK(contains(m.failure<late>(1), "rank 1 of 2 did not reach rank 0 at h0:2221 within 3000 ms: "));
    CHECK(contains(m.failure<late>(1), "set TENON_RENDEZVOUS"));
}

TEST_CASE("rendezvous: a rank that was killed comes again, and so does rank 0") {
    meeting m(3);
    m.start(0);
    m.start(1);
    m.network.work_for(1s);
    m.network.kill("h1");
    m.parts[1].reset();
    m.network.work_for(1s);
    m.start(1); // another process of this rank
    m.network.work_for(1s);
    m.network.kill("h0");
    m.parts[0].reset();
    m.network.work_for(1s);
    m.start(0);
    m.start(2);
    REQUIRE(m.work(60s));
    for (int rank = 0; rank < 3; ++rank) CHECK(m.result(rank).tasks.tasks("worker").size() == 2);
}

TEST_CASE("rendezvous: a second process of a rank waits for the first to go, and does not hold up the others") {
    meeting m(3);
    m.start(0);
    m.start(1);
    m.network.work_for(1s);
    const auto second = rendezvous_part::begin(m.network.start("other"), m.point(1),
                                               {.limit = 20s, .serve = "", .token = "", .insecure = false});
    m.network.work_for(1s);
    CHECK_FALSE(second->done());
    m.start(2);
    REQUIRE(m.work(60s));
    CHECK(m.result(1).tasks.address("worker", 0) == "h1:2222");
    m.parts.clear();
    m.network.work_until([&] { return second->done(); }, m.network.now() + 60s);
    CHECK_ERROR(late, "rank 0 refuses: rank 1 is here already, and serves on h1:2222; each needs a rank of its own",
                second->result());
}

TEST_CASE("rendezvous: who is lost when all have met comes again to the place that it had, on the host that it had") {
    meeting m(3);
    for (int rank = 0; rank < 3; ++rank) m.start(rank);
    REQUIRE(m.work(60s));
    const placed before = m.result(2);
    m.parts[2].reset();
    m.network.kill("h2");
    m.network.work_for(10s);
    rendezvous_point again = m.point(2);
    again.serve = ":2999"; // another port is free now
    m.start(again);
    REQUIRE(m.work(60s));
    CHECK(m.result(2).tasks == before.tasks);
    CHECK(m.result(2).task == before.task);
    CHECK(m.result(2).run == before.run);
    CHECK(m.result(2).token == before.token);
    m.parts[2].reset();
    m.network.work_for(1s);
    m.start(again, {.limit = 5s, .serve = "elsewhere:1", .token = "", .insecure = false});
    REQUIRE(m.work(60s));
    CHECK(contains(m.failure<tn::invalid_argument_error>(2),
                   "rank 2 was of job worker on h2, and comes again as of job worker on elsewhere"));
}

TEST_CASE("rendezvous: a process of another run, or told of another size, is refused") {
    meeting m(2);
    m.start(0, {.limit = 5s, .serve = "", .token = "", .insecure = false});
    rendezvous_point other = m.point(1);
    other.run = "another";
    m.start(other);
    REQUIRE(m.work(60s));
    CHECK(m.failure<tn::failed_precondition_error>(1) == "rendezvous: rank 0 refuses: it is of another run");
    CHECK(contains(m.failure<late>(0), "within 5000 ms: 1; refused: it is of another run"));
}

TEST_CASE("rendezvous: over connections that others could read only when that is asked for by name, on both sides") {
    for (const bool host : {false, true})
        for (const bool visitor : {false, true}) {
            CAPTURE(host);
            CAPTURE(visitor);
            meeting m(2);
            m.network.set_private(false);
            m.start(0, {.limit = 5s, .serve = "", .token = "", .insecure = host});
            m.start(1, {.limit = 5s, .serve = "", .token = "", .insecure = visitor});
            REQUIRE(m.work(60s));
            if (host && visitor) {
                CHECK(m.result(1).tasks == m.result(0).tasks);
                continue;
            }
            const std::string why = m.failure<tn::permission_denied_error>(1);
            CHECK(contains(why, "others can read: use TLS, or ask for"));
            CHECK(contains(why, "h0:2221"));
            CHECK(contains(m.failure<late>(0), " within 5000 ms: 1"));
        }
}

TEST_CASE("rendezvous: all have the same token, or none") {
    for (const char* token : {"", "other", "secret"}) {
        CAPTURE(token);
        meeting m(2);
        m.start(0, {.limit = 5s, .serve = "", .token = "secret", .insecure = false});
        m.start(1, {.limit = 5s, .serve = "", .token = token, .insecure = false});
        REQUIRE(m.work(60s));
        if (std::string(token) == "secret") {
            CHECK(m.result(1).tasks == m.result(0).tasks);
        } else {
            CHECK(contains(m.failure<tn::permission_denied_error>(1), "token"));
            CHECK(contains(m.failure<late>(0),
                           " within 5000 ms: 1; refused: 1 connection of another token, encryption or version"));
        }
    }
}

TEST_CASE("rendezvous: what speaks another language is answered and held against nobody") {
    meeting m(2);
    m.start(0);
    peer_options o{.address = "h0:2221"};
    o.self.incarnation = 7;
    const auto stranger = peer::make(m.network.start("stranger"), o);
    const auto asked = [&](int verb, bytes body) {
        return message_of<tn::error>(
            [&] { stranger->ask(static_cast<std::uint8_t>(verb), std::move(body), {}, m.network.now() + 1s); });
    };
    CHECK(contains(asked(1, bytes(100, std::byte{0xff})), "rendezvous: a process speaks version 4294967295 of it"));
    CHECK(contains(asked(1, {}), "rendezvous: 4 bytes are asked for where 0 are left"));
    CHECK(contains(asked(2, {}), "rendezvous: join it first"));
    CHECK(contains(asked(9, {}), "rendezvous: there is no such call"));
    m.start(1);
    REQUIRE(m.work(60s));
    CHECK(m.result(0).tasks == m.result(1).tasks);
}

TEST_CASE("rendezvous: connections that are lost, refused or slow, in any order, change nothing") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        meeting m(6, seed);
        simulated_faults faults{
            .duplicate = 0.1, .slow = 0.2, .slow_by = 50ms, .refuse = 0.3, .connection_life = 200ms};
        m.network.inject(faults);
        for (int i = 0; i < 6; ++i) {
            m.start(static_cast<int>((seed + static_cast<std::uint64_t>(i) * 5) % 6));
            m.network.work_for(std::chrono::milliseconds(seed * 7 % 40));
        }
        m.network.work_until([&] { return m.parts[0]->done(); }, m.network.now() + 30s);
        m.network.inject({});
        const bool done = m.work(200s);
        if (!done) MESSAGE(m.network.history());
        REQUIRE(done);
        for (int rank = 0; rank < 6; ++rank) {
            const placed p = m.result(rank);
            CHECK(p.tasks == m.result(0).tasks);
            CHECK(p.tasks.address(p.job, p.task) == "h" + std::to_string(rank) + ":2222");
        }
    }
}

TEST_CASE(
    "rendezvous: a rank that falls silent is not taken for one that is there, and is heard again when it speaks") {
    meeting m(3);
    m.start(0);
    m.start(1);
    m.network.work_for(1s);
    m.network.kill("h1", true); // as after a loss of power: nobody is told
    m.parts[1].reset();
    m.network.work_for(8s);
    m.start(2);
    m.network.work_for(1s);
    CHECK_FALSE(m.parts[0]->done());
    m.start(1);
    REQUIRE(m.work(30s));
    CHECK(m.result(0).tasks.tasks("worker").size() == 2);
}

TEST_CASE_FIXTURE(in_folder, "rendezvous: rank 0 can tell its address by a file, with a word that no other run has") {
    meeting m(2);
    // An old one lies there: nobody answers at its address.
    write_rendezvous_file(folder / "here", {"h0:9", "old"});
    for (const int rank : {1, 0}) {
        rendezvous_point p = m.point(rank);
        p.listen = {"h0:0"};
        p.addresses.clear();
        p.file = folder / "here";
        m.start(p);
        m.network.work_for(1s);
    }
    REQUIRE(m.work(60s));
    CHECK(m.result(1).tasks == tn::cluster({{"ps", {"h0:2222"}}, {"worker", {"h1:2222"}}}));
    m.parts.clear();
    CHECK(folder.file_count() == 0); // rank 0 takes it away
}

TEST_CASE_FIXTURE(in_folder, "rendezvous: a file is this user's alone, and is read whole or not at all") {
    const std::string path = folder / "here";
    rendezvous_file read;
    CHECK(contains(read_rendezvous_file(path, read), "No such file"));
    write_rendezvous_file(path, {"h0:1", "word"});
    CHECK(read_rendezvous_file(path, read).empty());
    CHECK(read.address == "h0:1");
    CHECK(read.word == "word");
    struct stat about {};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    CHECK(contains(read_rendezvous_file(path, read), "others can write it"));
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    for (const char* text : {"", "h0:1", "h0:1\n", "h0:1\nword", "h0:1\nword\nmore"}) {
        write_bytes(path, text);
        CAPTURE(text);
        CHECK(contains(read_rendezvous_file(path, read), "it is not what rank 0 writes"));
    }
    CHECK(contains(read_rendezvous_file(folder.path().string(), read), "it is no file"));
    CHECK_ERROR(tn::unavailable_error, "rank 0 cannot write its address into",
                write_rendezvous_file(folder / "no/where", {"h0:1", "word"}));
}

TEST_CASE("rendezvous: two ranks on a host need ports of their own") {
    meeting m(2);
    m.start(0, {.limit = 5s, .serve = "h:1", .token = "", .insecure = false});
    m.start(1, {.limit = 5s, .serve = "h:1", .token = "", .insecure = false});
    REQUIRE(m.work(60s));
    CHECK(contains(m.failure<tn::invalid_argument_error>(1),
                   "rank 1 and rank 0 will both serve on h:1; give each a port"));
}
