#include "tests.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::drawn_seed, test::indices_below, test::numbers, test::same_bits;

namespace {

constexpr scatter_op::way ways[] = {scatter_op::way::update,   scatter_op::way::add,    scatter_op::way::subtract,
                                    scatter_op::way::multiply, scatter_op::way::divide, scatter_op::way::minimum,
                                    scatter_op::way::maximum};

// A variable on a device that begins as a value, and one update of it.
struct scattered {
    graph g;
    std::optional<any_tensor> variable, update;
    std::optional<session> s;

    scattered(const char* device, scatter_op::way how, const any_array& value, const any_array& indices,
              const any_array& updates) {
        const graph_scope scope(g);
        const auto there = on(device_name(std::string(device)));
        variable = untyped::variable("table", constant_like(value));
        update = untyped::scatter(how, *variable, constant_like(indices), constant_like(updates));
        s.emplace(g);
        s->run(initialize_variables());
    }
    static any_tensor constant_like(const any_array& a) { return untyped::constant(a.share()); }
    any_array run() { return std::move(s->run_untyped({}, {*update})[0]); }
    any_array value() { return std::move(s->run_untyped({}, {*variable})[0]); }
};

// Without the place, which names the device.
std::string sentence_of(const std::string& message) { return message.substr(0, message.find(" [node ")); }

} // namespace

TEST_CASE("SEMANTICS 20: scatter updates on a GPU leave the host's bits, also where indices are equal") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16,
                                 element_type::bfloat16, element_type::int64}) {
        INFO(std::string(name_of(e)));
        for (const scatter_op::way how : ways)
            for (const bool one : {false, true}) {
                const auto rows = static_cast<std::int64_t>(1 + random() % 20),
                           row = static_cast<std::int64_t>(1 + random() % 9);
                const auto count = static_cast<std::int64_t>(random() % 60);
                const any_array value = numbers(e, extents(rows, row), random);
                const any_array updates = numbers(e, one ? extents() : extents(count, row), random);
                const any_array indices = random() % 2 ? indices_below<std::int32_t>(rows, extents(count), random)
                                                       : indices_below<std::int64_t>(rows, extents(count), random);
                scattered host("/cpu:0", how, value, indices, updates), gpu("/gpu:0", how, value, indices, updates);
                INFO(detail::name_of(how), ", ", count, " of ", rows, " rows of ", row);
                for (int step = 0; step < 2; ++step) {
                    CHECK(same_bits(host.run(), gpu.run()));
                    CHECK(same_bits(host.value(), gpu.value()));
                }
            }
    }
}

TEST_CASE("SEMANTICS 20: an index out of range leaves a GPU's variable as it was, and says what the host says") {
    std::mt19937_64 random(drawn_seed());
    const any_array value = numbers<float>(extents(8, 5), random);
    for (const scatter_op::way how : ways) {
        const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 40000);
        const any_array updates = numbers<float>(extents(count, 5), random);
        any_array indices = indices_below<std::int64_t>(8, extents(count), random);
        indices.data<std::int64_t>()[random() % static_cast<std::uint64_t>(count)] = random() % 2 ? 8 : -1;
        scattered host("/cpu:0", how, value, indices, updates), gpu("/gpu:0", how, value, indices, updates);
        const std::string message = sentence_of(message_of<invalid_argument_error>([&] { (void)host.run(); }));
        CHECK(message.find("is out of range for the 8 rows of variable \"table\"") != std::string::npos);
        for (int step = 0; step < 2; ++step) {
            CHECK(sentence_of(message_of<invalid_argument_error>([&] { (void)gpu.run(); })) == message);
            CHECK(same_bits(gpu.value(), value));
        }
    }
}

TEST_CASE("a variable that is updated by what an index out of range gathered keeps its value") {
    std::mt19937_64 random(drawn_seed());
    for (const char* device : {"/cpu:0", "/gpu:0"}) {
        const own_graph g;
        const auto there = on(device_name(std::string(device)));
        const auto table = variable<float, shape<4, 3>>("table", constant_value(2));
        const auto dense = variable<float, shape<3>>("dense", constant_value(1));
        const auto other = variable<float, shape<3>>("other", constant_value(7));
        const auto at = placeholder<std::int32_t, shape<5>>("at");
        const auto taken = sum<0>(gather(table, at));
        const auto update = dense.assign(taken);
        const auto rows = other.scatter_add(constant(1), constant(5.0f));
        session s(g);
        s.run(initialize_variables());
        const std::string found = sentence_of(message_of<invalid_argument_error>([&] {
            (void)s.run(feed(at, {0, 1, 4, 2, 3}), update, taken);
        }));
        INFO(device);
        CHECK(found.find("index 4 at [2] is out of range for axis 0 of size 4") != std::string::npos);
        CHECK(s.run(dense) == array<float, shape<3>>{1, 1, 1});
        CHECK(s.run(feed(at, {0, 1, 3, 2, 3}), update) == array<float, shape<3>>{10, 10, 10});
        CHECK(s.run(dense) == array<float, shape<3>>{10, 10, 10});
        CHECK(s.run(rows) == array<float, shape<3>>{7, 12, 7});
    }
}

TEST_CASE("a scatter update of a variable without a value says so on a GPU") {
    const own_graph g;
    const auto there = on(device_name("/gpu:0"));
    const auto v = variable<float, shape<4, 3>>("v", constant_value(2));
    const auto update = v.scatter_add(constant({1, 2}), 1.0f);
    session s(g);
    CHECK(message_of<failed_precondition_error>([&] {
              (void)s.run(update);
          }).find("variable \"v\" is changed before it has a value") != std::string::npos);
    s.run(initialize_variables());
    CHECK(s.run(update)(2, 0) == 3);
}
