#include <net/launch/rendezvous/rendezvous_table.hpp>

#include "tests.hpp"

// Who has come to a rendezvous, and what is made of it.

using namespace tenon::net;

namespace {

joining rank(int r, const char* job = "worker", int task = -1, int size = 3) {
    return {"run", size, r, job, task, "h:" + std::to_string(100 + r), 1000u + static_cast<unsigned>(r)};
}

} // namespace

TEST_CASE("rendezvous: tasks are numbered in the order of ranks, around those that are asked for") {
    rendezvous_table t("run", 5);
    CHECK(t.missing() == "0, 1, 2, 3, 4");
    CHECK(t.join(rank(3, "worker", -1, 5)).empty());
    CHECK(t.join(rank(0, "ps", -1, 5)).empty());
    CHECK(t.join(rank(4, "worker", 1, 5)).empty());
    CHECK(t.join(rank(1, "worker", -1, 5)).empty());
    CHECK_FALSE(t.complete());
    CHECK(t.missing() == "2");
    CHECK(t.join(rank(2, "worker", -1, 5)).empty());
    REQUIRE(t.complete());
    const placed p = t.place_of(3);
    CHECK(p.tasks == tn::cluster({{"ps", {"h:100"}}, {"worker", {"h:101", "h:104", "h:102", "h:103"}}}));
    CHECK(p.job == "worker");
    CHECK(p.task == 3);
    CHECK(t.place_of(0).tasks == p.tasks);
}

TEST_CASE("rendezvous: who comes again is welcome, another process of its rank is not") {
    rendezvous_table t("run", 3);
    CHECK(t.join(rank(1)).empty());
    CHECK(t.join(rank(1)).empty());
    joining other = rank(1);
    other.incarnation = 7;
    other.address = "h:9";
    CHECK(t.join(other) == "rank 1 is here already, and serves on h:101; each needs a rank of its own");
    t.leave(1, 7); // not the one that is here
    CHECK(t.missing() == "0, 2");
    t.leave(1, 1001);
    CHECK(t.missing() == "0, 1, 2");
    CHECK(t.join(other).empty());
}

TEST_CASE("rendezvous: what cannot be is refused in words") {
    rendezvous_table t("run", 3);
    CHECK(t.join(rank(0, "ps", 0)).empty());
    joining who = rank(1);
    who.run = "other";
    CHECK(t.join(who) == "it is of another run");
    CHECK(t.join(rank(1, "worker", -1, 4)) == "it is told of 4 processes, and rank 0 of 3");
    CHECK(t.join(rank(3)) == "rank 3 is none of 0 to 2");
    CHECK(t.join(rank(-1)) == "rank -1 is none of 0 to 2");
    CHECK(t.join(rank(1, "ps", 0)) == "rank 1 asks for /job:ps/task:0, as another rank did");
    CHECK(t.join(rank(1, "ps", -2)) == "rank 1 asks for task -2, which is no task's index");
    CHECK(contains(t.join(rank(1, "a b")), "a job's name is a letter"));
    who = rank(1);
    who.address = "h";
    CHECK(contains(t.join(who), "its address \"h\" has no port"));
    who.address = "h:100";
    CHECK(t.join(who) == "rank 1 and rank 0 will both serve on h:100; give each a port of its own");
    CHECK(t.missing() == "1, 2");
    CHECK(t.join(rank(1)).empty()); // nothing of the refused ones stays
}

TEST_CASE("rendezvous: of many that are missing the first are named") {
    rendezvous_table t("run", 1000);
    CHECK(t.missing() == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 984 more");
}

TEST_CASE("rendezvous: what is written is read, what is cut short is not") {
    const joining who = rank(2, "ps", 4);
    const bytes written = encode(who);
    const joining read = decode_joining(written);
    CHECK(read.run == who.run);
    CHECK(read.size == 3);
    CHECK(read.rank == 2);
    CHECK(read.job == "ps");
    CHECK(read.task == 4);
    CHECK(read.address == who.address);
    CHECK(read.incarnation == 1002);
    for (std::size_t n = 0; n < written.size(); ++n)
        CHECK_THROWS_AS(decode_joining(std::span(written).first(n)), tn::data_loss_error);

    const placed place{tn::cluster({{"ps", {"a:1"}}, {"worker", {"b:1", "c:1"}}}), "worker", 1, "run 7", "secret"};
    const bytes text = encode(place);
    CHECK(decode_placed(text).tasks == place.tasks);
    CHECK(decode_placed(text).task == 1);
    CHECK(decode_placed(text).run == "run 7");
    CHECK(decode_placed(text).token == "secret");
    CHECK_THROWS_AS(decode_placed(encode(placed{place.tasks, "worker", 2, "run", "token"})), tn::data_loss_error);
    CHECK_THROWS_AS(decode_placed(std::span(text).first(text.size() - 1)), tn::data_loss_error);
}
