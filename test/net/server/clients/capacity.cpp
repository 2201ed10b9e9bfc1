#include <net/server/servers.hpp>
#include <net/transport/peers.hpp>

#include "tests.hpp"

// How much of everything a cluster holds.

using namespace net_test;

TEST_CASE_FIXTURE(in_graph, "capacity: a session with 10,000 variables on two ps initialises, reads and saves them") {
    constexpr int count = memory_counts ? 10000 : 1000; // a sanitizer takes its time
    const temporary_folder folder;
    tn::server_options o{.files = folder.path().string()};
    servers all(2, 1, o);
    std::vector<tn::any_tensor> variables;
    {
        const auto dealt = tn::on(tn::replica_device_setter(2));
        for (int i = 0; i < count; ++i)
            variables.push_back(tn::variable("v" + std::to_string(i), static_cast<float>(i)));
    }
    initialized_session sess(all.target("worker", 0), g);
    const std::vector<tn::any_array> read = sess.run_untyped({}, variables);
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += read[static_cast<std::size_t>(i)].data<float>()[0] != static_cast<float>(i);
    CHECK(wrong == 0);
    const tn::saved_checkpoint saved = tn::saver("m").save(sess, 1);
    REQUIRE(saved.manifest.shards.size() == 2);
}

TEST_CASE_FIXTURE(in_graph, "capacity: a hundred tasks in one process start, finish a step together, and stop") {
    const servers all(50, 50, tn::server_options());
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> parts;
    for (const char* job : {"ps", "worker"})
        for (int i = 0; i < 50; ++i) {
            const tn::device_scope there("/job:" + std::string(job) + "/task:" + std::to_string(i));
            parts.push_back(tn::identity(tn::constant(std::int64_t{i})));
        }
    tn::tensor<std::int64_t, tn::shape<>> sum = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) sum = tn::identity(sum + parts[i]);
    tn::session sess("tenon://" + all.cluster.address("worker", 0), g, {.open_timeout = 60});
    CHECK(sess.run(sum)() == 2 * 49 * 50 / 2);
    CHECK(sess.run(sum)() == 2 * 49 * 50 / 2);
}

TEST_CASE_FIXTURE(in_graph, "capacity: memory is after many steps what it was after few") {
    // TENON_CAPACITY_STEPS=1000000 shows it of a million.
    const char* const asked = std::getenv("TENON_CAPACITY_STEPS");
    const int few = 2000, many = asked ? std::atoi(asked) : 20000;
    servers all(1, 1);
    const auto x = tn::placeholder<float, tn::shape<16>>("x");
    const auto v = [] {
        const tn::device_scope ps("/job:ps");
        return tn::variable<float, tn::shape<16>>("v", tn::zeros());
    }();
    const auto more = v.assign_add(x);
    initialized_session sess(all.target("worker", 0), g);
    auto step = sess.callable(tn::feeds(x), tn::fetches(more));
    tn::array<float, tn::shape<16>> one;
    for (int i = 0; i < 16; ++i) one(i) = 1.0f / 1048576;
    std::size_t after_few = 0;
    for (int i = 1; i <= many; ++i) {
        (void)step(one);
        if (i == few) after_few = resident_bytes();
    }
    const std::size_t after_many = resident_bytes();
    MESSAGE("after " << few << " steps " << (after_few >> 10) << " KiB, after " << many << " " << (after_many >> 10)
                     << " KiB");
    CHECK((after_many < after_few + (std::size_t{2} << 20) || !memory_counts));
    CHECK(sess.run(v)(3) == static_cast<float>(many) / 1048576);
}
