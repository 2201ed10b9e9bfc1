#include "tests.hpp"
#include "runtime/counted_memory.hpp"

// Large graphs: what they take grows as they do, in memory and in work. Counted, never timed.

namespace {
using scalar = tn::tensor<float, tn::shape<>>;
using list = tn::tensor<float, tn::shape<8>>;

struct taken {
    std::int64_t bytes = 0;  // held at the end
    std::int64_t blocks = 0; // taken on the way
    std::int64_t passed = 0; // bytes of these
};
template <class F> taken taken_by(const F& work) {
    const std::int64_t bytes = counted_memory::held_bytes(), blocks = counted_memory::taken_blocks(),
                       passed = counted_memory::taken_bytes();
    taken t;
    work([&] {
        t = {counted_memory::held_bytes() - bytes, counted_memory::taken_blocks() - blocks,
             counted_memory::taken_bytes() - passed};
    });
    return t;
}

// Scalar variables in one loss, under Adam: built, initialised and trained by one step.
taken variables_under_adam(int count) {
    return taken_by([&](const auto& look) {
        const own_graph g;
        scalar loss = tn::constant(0.0f);
        for (int i = 0; i < count; ++i) loss = loss + tn::square(tn::variable("v" + std::to_string(i), 1.0f));
        const auto train = tn::adam(0.1).minimize(loss);
        initialized_session s;
        s.run(train);
        look();
    });
}

// h = tanh(h) again and again, and its gradient, planned.
taken chain(int length) {
    return taken_by([&](const auto& look) {
        const own_graph g;
        const auto w = tn::variable<float, tn::shape<8>>("w", tn::ones());
        list h = w;
        for (int i = 0; i < length; ++i) h = tanh(h);
        const auto train = tn::gradient_descent(0.1).minimize(tn::sum(h));
        tn::session s;
        const tn::step_report r = s.report(train);
        CHECK(r.nodes > length); // h is read again by its gradient, so it is not fused away
        look();
    });
}

// Few variables, each read and updated by many nodes of one step.
taken readers_and_updates(int count) {
    return taken_by([&](const auto& look) {
        const own_graph g;
        std::vector<tn::variable_tensor<float, tn::shape<4, 4>>> v;
        for (int i = 0; i < 8; ++i)
            v.push_back(tn::variable<float, tn::shape<4, 4>>("v" + std::to_string(i), tn::ones()));
        std::vector<tn::operation> updates;
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i % 8);
            updates.push_back(v[(at + 1) % 8].assign_add(v[at] * static_cast<float>(i)).operation());
        }
        tn::session s;
        (void)s.report(tn::group(updates));
        look();
    });
}

// Selections one after another, each of a size that the one before tells: planned, then run, when each segment is planned.
struct planned_and_run {
    taken planned, run;
};
planned_and_run selections(int count) {
    const own_graph g;
    using some = tn::tensor<float, tn::shape<tn::dyn>>;
    some h = tn::constant({1.0f, -2.0f, 3.0f});
    for (int i = 0; i < count; ++i) h = tn::boolean_mask<tn::dyn>(h, h > -1.0f) * 1.01f;
    tn::session s;
    planned_and_run t;
    t.planned = taken_by([&](const auto& look) {
        (void)s.report(h);
        look();
    });
    t.run = taken_by([&](const auto& look) {
        CHECK(s.run(h).size() == 2);
        look();
    });
    return t;
}

// Variables in parts, each of which is gathered from, in one loss: every part of a sum comes after more that waits.
taken tables_in_parts(int count) {
    return taken_by([&](const auto& look) {
        const own_graph g;
        scalar loss = tn::constant(0.0f);
        for (int i = 0; i < count; ++i) {
            const auto table = tn::variable<float, tn::shape<16, 4>>("table" + std::to_string(i), tn::ones(),
                                                                     {.partition = {.parts = 4}});
            loss = loss + tn::mean(tn::square(gather(table, tn::constant({1, 9, 12}))));
        }
        const auto train = tn::gradient_descent(0.1).minimize(loss);
        initialized_session s;
        s.run(train);
        look();
    });
}

// One variable, updated again and again by what waits for what it held before; all that it became is fetched.
taken selections_added(int count) {
    return taken_by([&](const auto& look) {
        const own_graph g;
        const auto v = tn::variable<float, tn::shape<4>>("v", tn::ones());
        std::vector<tn::any_tensor> became;
        for (int i = 0; i < count; ++i)
            became.push_back(v.assign_add(tn::sum(tn::boolean_mask<tn::dyn>(v, v > static_cast<float>(-i)))));
        tn::session s;
        (void)s.report_untyped({}, became);
        look();
    });
}
} // namespace

TEST_CASE("a scalar variable under Adam takes at most 60 KB, with its slots, gradients, initialisers and plans") {
    (void)variables_under_adam(10); // what is taken once for the process
    const taken some = variables_under_adam(500), many = variables_under_adam(2000);
    CHECK(many.bytes <= 2000 * 60'000);
    CHECK(static_cast<double>(many.bytes) <= 4.4 * static_cast<double>(some.bytes));
    CHECK(static_cast<double>(many.blocks) <= 4.4 * static_cast<double>(some.blocks));
}

TEST_CASE("the gradient of a chain of 100,000 ops is built and planned; twice the chain takes twice as much") {
    (void)chain(10);
    const taken some = chain(2000), twice = chain(4000);
    CHECK(static_cast<double>(twice.bytes) <= 2.2 * static_cast<double>(some.bytes));
    CHECK(static_cast<double>(twice.blocks) <= 2.2 * static_cast<double>(some.blocks));
    const taken many = chain(100'000);
    CHECK(static_cast<double>(many.bytes) <= 55 * static_cast<double>(some.bytes));
    CHECK(many.bytes <= std::int64_t{200'000} * 8'000); // so a million nodes take at most 8 GB
}

TEST_CASE("many readers and updates of few variables: twice of them take twice as much") {
    (void)readers_and_updates(10);
    const taken some = readers_and_updates(1000), twice = readers_and_updates(2000);
    CHECK(static_cast<double>(twice.bytes) <= 2.2 * static_cast<double>(some.bytes));
    CHECK(static_cast<double>(twice.blocks) <= 2.2 * static_cast<double>(some.blocks));
}

TEST_CASE(
    "steps of many stages: twice the selections one after another, or twice the tables in parts, take twice as much") {
    (void)selections(10);
    const planned_and_run some = selections(200), twice = selections(400);
    const auto grows = [](const taken& from, const taken& to) {
        CHECK(static_cast<double>(to.bytes) <= 2.2 * static_cast<double>(from.bytes));
        CHECK(static_cast<double>(to.blocks) <= 2.2 * static_cast<double>(from.blocks));
        CHECK(static_cast<double>(to.passed) <= 2.5 * static_cast<double>(from.passed));
    };
    grows(some.planned, twice.planned);
    grows(some.run, twice.run);
    (void)tables_in_parts(5);
    grows(tables_in_parts(50), tables_in_parts(100));
    (void)selections_added(5);
    grows(selections_added(1000), selections_added(2000));
}

TEST_CASE("a graph, its session and its plans give back all that they took") {
    (void)variables_under_adam(50);
    (void)chain(50);
    const std::int64_t before = counted_memory::held_bytes();
    (void)variables_under_adam(50);
    (void)chain(50);
    CHECK(counted_memory::held_bytes() - before <= 4096); // of messages and the like
}

TEST_CASE("nodes with equal tapes share one, and the last of them gives it back") {
    const std::size_t before = tn::detail::shared_tapes();
    {
        const own_graph g;
        scalar loss = tn::constant(0.0f);
        for (int i = 0; i < 3; ++i) loss = loss + tn::square(tn::variable("v" + std::to_string(i), 1.0f));
        (void)tn::adam(0.1).minimize(loss);
        const std::size_t few = tn::detail::shared_tapes();
        for (int i = 3; i < 40; ++i) loss = loss + tn::square(tn::variable("v" + std::to_string(i), 1.0f));
        (void)tn::adam(0.1).minimize(loss);
        CHECK(tn::detail::shared_tapes() == few);
    }
    CHECK(tn::detail::shared_tapes() <= before + 8); // single instructions are kept for the process
}
