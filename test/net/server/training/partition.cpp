#include <net/server/free_ports.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

// Variables in parts over the parameter servers of a cluster.

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

// Some parameter servers and a worker, all in this process.
struct small_cluster {
    explicit small_cluster(int ps, const tn::server_options& o = {}) {
        const std::vector<std::string> at = free_addresses(ps + 1);
        described = tn::cluster({{"ps", std::vector<std::string>(at.begin(), at.begin() + ps)},
                                 {"worker", std::vector<std::string>{at.back()}}});
        for (int i = 0; i < ps; ++i) servers.emplace_back(described, "ps", i, o);
        servers.emplace_back(described, "worker", 0, o);
    }
    std::string target() const { return servers.back().target(); }
    tn::cluster described{{{"none", {"localhost:1"}}}};
    std::vector<tn::server> servers;
};

constexpr int rows = 1001, width = 16;
using table_shape = tn::shape<rows, width>;

// Trains a table by rows; the same in every cluster, or without one.
struct model {
    explicit model(int parts) :
        table(tn::variable<double, table_shape>("table", tn::uniform(-1, 1, 7), {.partition = {.parts = parts}})),
        ids(tn::placeholder<std::int32_t, tn::shape<batch>>("ids")),
        found(gather(table, ids)),
        loss(mean(square(sum<1>(found) - 1.0))),
        train(tn::adam(0.05).minimize(loss)) {}
    double step(tn::session& s, int i) const {
        tn::array<std::int32_t, tn::shape<batch>> fed(3 + i % 5);
        for (int k = 0; k < 3 + i % 5; ++k) fed(k) = (i * 389 + k * k * 251) % rows;
        return s.run(tn::feed(ids, fed), train, loss)();
    }
    tn::variable_tensor<double, table_shape> table;
    tn::tensor<std::int32_t, tn::shape<batch>> ids;
    tn::tensor<double, tn::shape<batch, width>> found;
    tn::tensor<double, tn::shape<>> loss;
    tn::operation train;
};

} // namespace

TEST_CASE("a table over parameter servers: the same training as in one piece in one process") {
    std::vector<double> expected;
    tn::array<double, table_shape> trained;
    {
        const own_graph g;
        const model m(1);
        initialized_session s;
        for (int i = 0; i < 20; ++i) expected.push_back(m.step(s, i));
        trained = s.run(m.table);
    }
    for (const int ps : {2, 3}) {
        const small_cluster cluster(ps);
        const own_graph g;
        const auto dealt = tn::on(tn::replica_device_setter(cluster.described));
        const model m(3);
        initialized_session s(cluster.target(), g);
        for (int i = 0; i < 20; ++i) CHECK(m.step(s, i) == doctest::Approx(expected[static_cast<std::size_t>(i)]));
        const auto got = s.run(m.table);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < width; ++j) CHECK(got(i, j) == doctest::Approx(trained(i, j)));
        const std::string where = s.explain_placement(tn::feed(m.ids, {1, 1000, 5}), m.train).to_text();
        for (int p = 0; p < 3; ++p) CHECK_MESSAGE(contains(where, "table/part_" + std::to_string(p)), where);
    }
}

TEST_CASE_FIXTURE(in_graph, "rows alone cross between the tasks, and to each their own") {
    const small_cluster cluster(2);
    const auto dealt = tn::on(tn::replica_device_setter(cluster.described));
    const model m(2);
    initialized_session s(cluster.target(), g);
    const auto explained = s.explain_placement(tn::feed(m.ids, {1, 1000, 5}), m.train, m.loss);
    std::map<std::string, tn::device_name> device_of;
    for (const auto& n : explained.nodes) device_of[n.name] = n.device;
    CHECK(device_of.at("table/part_0").task == 0);
    CHECK(device_of.at("table/part_1").task == 1);
    // Whatever crosses from or to a parameter server is of rows whose number the indices decide, or a number.
    const auto crosses_to = [&](int task, bool from_there) {
        int rows_that_cross = 0;
        for (const auto& e : explained.edges) {
            const tn::device_name &from = device_of[e.from], &to = device_of[e.to]; // what is fed is on none
            if (from == to || (from_there ? from : to).job != "ps" || (from_there ? from : to).task != task) continue;
            const tn::extents& sizes = e.type.extents;
            CHECK_MESSAGE((sizes.rank() == 0 || sizes[0].is_dynamic()), e.tensor << " " << to_string(e.type));
            rows_that_cross += sizes.rank() == 2;
        }
        return rows_that_cross;
    };
    for (const int task : {0, 1}) {
        CHECK(crosses_to(task, true) == 1);  // its rows
        CHECK(crosses_to(task, false) == 1); // their gradients
    }
    // Before a step as many as there are indices, at most; then those of the last step, all of whose rows were in the first part.
    const auto bytes_from = [&](const tn::placement_explanation& e, int task, tn::bytes_known known) {
        std::int64_t bytes = 0;
        for (const auto& edge : e.edges) {
            const tn::device_name &from = device_of[edge.from], &to = device_of[edge.to];
            if (from == to || from.job != "ps" || from.task != task || edge.type.extents.rank() != 2) continue;
            CHECK(edge.known == known);
            bytes += edge.bytes;
        }
        return bytes;
    };
    constexpr std::int64_t all = 3 * width * static_cast<std::int64_t>(sizeof(double));
    for (const int task : {0, 1}) CHECK(bytes_from(explained, task, tn::bytes_known::at_most) == all);
    m.step(s, 0);
    const auto after = s.explain_placement(tn::feed(m.ids, {1, 1000, 5}), m.train, m.loss);
    CHECK(bytes_from(after, 0, tn::bytes_known::last_step) == all);
    CHECK(bytes_from(after, 1, tn::bytes_known::last_step) == 0);
}

TEST_CASE_FIXTURE(in_folder, "tables of one checkpoint go into other numbers of parameter servers") {
    tn::array<double, table_shape> expected;
    double next = 0;
    const auto in_cluster = [&](int ps, int parts, const std::function<void(tn::session&, const model&)>& f) {
        const small_cluster cluster(ps, {.files = folder.path().string()});
        const own_graph g;
        const auto dealt = tn::on(tn::replica_device_setter(cluster.described));
        const model m(parts);
        tn::session s(cluster.target(), g);
        f(s, m);
    };
    in_cluster(3, 3, [&](tn::session& s, const model& m) {
        s.run(tn::initialize_variables());
        for (int i = 0; i < 5; ++i) m.step(s, i);
        const auto saved = tn::saver("model").save(s, 5).manifest;
        CHECK(saved.find("table")->slices.size() == 3);
        CHECK(saved.shards.size() == 3);
        for (int p = 0; p < 3; ++p) // what a task holds it writes
            CHECK(saved.shards[static_cast<std::size_t>(saved.find("table")->slices[static_cast<std::size_t>(p)].shard)]
                      .task == "/job:ps/replica:0/task:" + std::to_string(p));
        expected = s.run(m.table);
        next = m.step(s, 5);
    });
    for (const auto& [ps, parts] : {std::pair(2, 2), {1, 1}, {2, 5}})
        in_cluster(ps, parts, [&](tn::session& s, const model& m) {
            tn::saver("model").restore(s);
            CHECK(s.run(m.table) == expected);
            CHECK(m.step(s, 5) == doctest::Approx(next)); // with the moments that it had
            CHECK(m.step(s, 6) < 10);
        });
}
