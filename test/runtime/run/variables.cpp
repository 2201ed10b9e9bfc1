#include "runtime/counted_memory.hpp"
#include "runtime/every_session.hpp"
#include "runtime/support.hpp"

// SEMANTICS 20, 25: steps of several threads that read and update the same variables.

using namespace probe;

namespace {

// Runs a step that stays in its watched kernel, f beside it, and then lets it end.
template <class F> void beside(tn::session& s, const tn::any_tensor& step, F&& f) {
    present() = 0;
    leave() = false;
    std::thread other([&] { (void)s.run(step); });
    while (present() == 0) std::this_thread::yield();
    f();
    leave() = true;
    other.join();
}

template <class F> void in_threads(int count, F&& f) {
    std::vector<std::thread> all;
    for (int t = 0; t < count; ++t) all.emplace_back([&f, t] { f(t); });
    for (std::thread& t : all) t.join();
}

} // namespace

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 20: a step that computes locks no variable: others read and update, and it reads what was there") {
    const auto v = tn::variable<float, tn::shape<4>>("v", tn::ones());
    const auto w = tn::variable<float, tn::shape<4>>("w", tn::ones());
    // It reads v before and after it stays, and w only then.
    const auto stays = watched(v * 1.0f, "stays", deed::stay);
    const auto seen = (stays + w) * v;
    const auto train = v.assign_add(seen); // of the value from before the step, to the current one
    initialized_session s;
    beside(s, train, [&] {
        CHECK(s.run_for(1000, v.assign_add(10.0f))(0) == 11);
        CHECK(s.run_for(1000, w.assign(w * 7.0f))(0) == 7);
        CHECK(s.run_for(1000, v.assign_add(10.0f))(0) == 21);
        CHECK(s.run_for(1000, v)(0) == 21);
    });
    CHECK(s.run(v)(3) == 23); // 21, and (1 + 1) * 1
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 20: a plain read and the value that an update changes are of two moments in one step") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::constant_value(3));
    const auto doubled = v * 2.0f;
    const auto stays = watched(v * 1.0f, "stays", deed::stay);
    const auto update = v.assign_add(stays * 0.0f + 1.0f);
    initialized_session s;
    present() = 0;
    leave() = false;
    float before = 0, twice = 0, after = 0;
    std::thread other([&] {
        const auto [b, t, a] = s.run(v, doubled, update);
        before = b.item(), twice = t.item(), after = a.item();
    });
    while (present() == 0) std::this_thread::yield();
    s.run(v.assign(50.0f));
    leave() = true;
    other.join();
    CHECK(before == 3);
    CHECK(twice == 6);
    CHECK(after == 51);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 20: steps that move amounts between variables: every step sees one sum, and nothing is lost") {
    in_every_session([](tn::session& s) {
        constexpr int accounts = 4, threads = 3, steps = 150;
        std::vector<tn::variable_tensor<std::int64_t, tn::shape<64>>> v;
        for (int i = 0; i < accounts; ++i)
            v.push_back(tn::variable<std::int64_t, tn::shape<64>>("account", tn::constant_value(1000)));
        const auto by = tn::placeholder<std::int64_t>("by");
        std::vector<tn::operation> moves;
        for (std::size_t i = 0; i < accounts; ++i)
            for (std::size_t j = 0; j < accounts; ++j)
                if (i != j) moves.push_back(tn::group(v[i].assign_sub(by), v[j].assign_add(by)));
        const auto total = v[0] + v[1] + v[2] + v[3];
        const auto most = tn::max(total), least = tn::min(total);
        s.run(tn::initialize_variables());
        std::atomic<int> wrong{0};
        in_threads(threads, [&](int t) {
            std::mt19937 random(static_cast<unsigned>(t));
            for (int n = 0; n < steps; ++n) {
                const auto amount = static_cast<std::int64_t>(random() % 100);
                const tn::operation move = moves[random() % moves.size()];
                if (random() % 2 == 0) {
                    const auto [a, b, c, d] = s.run(v[0], v[1], v[2], v[3]);
                    for (int i = 0; i < 64; ++i)
                        if (a(i) + b(i) + c(i) + d(i) != 4000) ++wrong;
                    s.run(tn::feed(by, amount), move);
                } else {
                    const auto [x, y] = s.run(most, least);
                    if (x.item() != 4000 || y.item() != 4000) ++wrong;
                    // The sum that a step reads is of one moment also where it moves something itself.
                    const auto [z] = s.run(tn::feed(by, amount), most, move);
                    if (z.item() != 4000) ++wrong;
                }
            }
        });
        CHECK(wrong == 0);
        CHECK(s.run(most).item() == 4000);
    });
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 20: counters of several variables in several steps lose nothing, however many update them") {
    in_every_session([](tn::session& s) {
        constexpr int threads = 4, steps = 200;
        const auto a = tn::variable<std::int64_t, tn::shape<>>("a", tn::zeros());
        const auto b = tn::variable<float, tn::shape<300>>("b", tn::zeros());
        const auto c = tn::variable<double, tn::shape<7>>("c", tn::zeros());
        const tn::operation updates[] = {tn::group(a.assign_add(1), b.assign_add(1.0f)),
                                         tn::group(b.assign_add(1.0f), c.assign_add(1.0)),
                                         tn::group(c.assign_add(1.0), a.assign_add(1)),
                                         tn::group(a.assign_add(1), a.assign_add(2), a.assign_sub(2))};
        s.run(tn::initialize_variables());
        in_threads(threads, [&](int t) {
            for (int n = 0; n < steps; ++n) s.run(updates[(n + t) % 4]);
        });
        const auto [x, y, z] = s.run(a, b, c);
        CHECK(x.item() == threads * steps * 3 / 4);
        CHECK(y(299) == threads * steps / 2);
        CHECK(z(6) == threads * steps / 2);
    });
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 20: rows that are scattered are seen whole, together, and none is lost; tables are not copied for it") {
    constexpr int rows = 100, width = 8, threads = 4, steps = 300;
    const auto table = tn::variable<float, tn::shape<rows, width>>("table", tn::zeros());
    const auto mirror = tn::variable<float, tn::shape<rows, width>>("mirror", tn::zeros());
    const auto ids = tn::placeholder<std::int32_t, tn::shape<5>>("ids");
    const auto ones = tn::ones_like(tn::gather<0>(table, ids));
    const tn::operation update = tn::group(table.scatter_add(ids, ones), mirror.scatter_sub(ids, ones));
    const auto left = tn::gather<0>(table, ids), right = tn::gather<0>(mirror, ids);
    const auto sums = tn::max(tn::abs(left + right)) + tn::max(tn::max<1>(left) - tn::min<1>(left));
    initialized_session s;
    const std::size_t bytes = s.statistics().variable_bytes;
    std::atomic<int> wrong{0};
    in_threads(threads, [&](int t) {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int n = 0; n < steps; ++n) {
            tn::array<std::int32_t, tn::shape<5>> some{};
            for (std::int32_t& i : some) i = static_cast<std::int32_t>(random() % rows);
            if (t % 2 == 0) s.run(tn::feed(ids, some), update);
            else if (s.run(tn::feed(ids, some), sums).item() != 0) ++wrong;
        }
    });
    CHECK(wrong == 0);
    CHECK(s.statistics().variable_bytes == bytes);
    const auto [t, m] = s.run(tn::sum(table), tn::sum(mirror));
    CHECK(t.item() == threads / 2 * steps * 5 * width);
    CHECK(m.item() == -t.item());
    // Beside steps that read it as a whole, too.
    in_threads(threads, [&](int n) {
        for (int i = 0; i < 50; ++i) {
            if (n % 2 == 0) s.run(tn::feed(ids, {0, 1, 2, 3, 4}), update);
            else {
                const auto [x, y] = s.run(table, mirror);
                for (int r = 0; r < rows; ++r)
                    for (int k = 0; k < width; ++k)
                        if (x(r, k) != -y(r, k) || x(r, k) != x(r, 0)) ++wrong;
            }
        }
    });
    CHECK(wrong == 0);
    CHECK(s.run(tn::sum(table)).item() == t.item() + threads / 2 * 50 * 5 * width);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 20: slots and variables that an optimiser updates belong together, and every step counts once") {
    // With a gradient of one, momentum 1/2 and rate 1: after n steps the slot is m = 2 - 2 / 2^n and the variable m - 2n.
    const auto w = tn::variable<double, tn::shape<50>>("w", tn::zeros());
    const auto train = tn::momentum(1.0, 0.5).minimize(tn::sum(w));
    const auto slots = g.collection(tn::global_variables);
    initialized_session s(tn::session_options{.intra_op_threads = 1});
    constexpr int threads = 3, steps = 200;
    std::atomic<int> wrong{0};
    in_threads(threads, [&](int) {
        for (int n = 0; n < steps; ++n) {
            s.run(train);
            const std::vector<tn::any_array> all = s.run_untyped({}, slots);
            double done = 0, slot = 0, value = 0;
            for (const tn::any_array& a : all) {
                if (a.element() == tn::element_type::int64) done = static_cast<double>(a.data<std::int64_t>()[0]);
                else if (const double last = a.data<double>()[49]; last > 0) slot = last;
                else value = last;
            }
            if (std::abs(slot - (2 - 2 * std::pow(0.5, done))) > 1e-9 || std::abs(value - (slot - 2 * done)) > 1e-9)
                ++wrong;
        }
    });
    CHECK(wrong == 0);
    CHECK(s.run(w)(0) == doctest::Approx(2 - 2 * threads * steps));
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 17, 20: steps that fail or are late beside others leave variables whole and nothing locked") {
    constexpr int size = 100'000;
    const auto a = tn::variable<float, tn::shape<size>>("a", tn::zeros());
    const auto b = tn::variable<float, tn::shape<size>>("b", tn::zeros());
    const auto good = tn::group(a.assign_add(1.0f), b.assign_add(1.0f));
    const auto first = a.assign_add(1.0f);
    tn::tensor<float, tn::shape<size>> broken;
    {
        const tn::control_dependencies then(first);
        broken = b.assign_add(watched(a * 0.0f, "fails", deed::fail));
    }
    const auto spread_a = tn::max(a) - tn::min(a), spread_b = tn::max(b) - tn::min(b);
    initialized_session s;
    std::atomic<int> wrong{0}, done{0}, failed{0};
    in_threads(4, [&](int t) {
        for (int n = 0; n < 60; ++n) {
            if (t == 0) {
                s.run(good);
                ++done;
            } else if (t == 1) {
                try {
                    s.run(broken);
                } catch (const tn::out_of_range_error&) {
                    ++failed;
                }
            } else if (t == 2) {
                try {
                    s.run_for(2e-5, good);
                    ++done;
                } catch (const tn::deadline_exceeded_error&) {
                }
            } else {
                const auto [x, y] = s.run(spread_a, spread_b);
                if (x.item() != 0 || y.item() != 0) ++wrong;
            }
        }
    });
    CHECK(wrong == 0);
    CHECK(failed == 60);
    const auto [x, y] = s.run_for(1000, a, b);
    CHECK(x(0) >= static_cast<float>(done + failed));
    CHECK(x(size - 1) == x(0));
    CHECK(y(0) >= static_cast<float>(done));
    CHECK(y(0) <= 120);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: texts are seen whole, too") {
    const auto v = tn::variable("v", tn::constant({std::string("begin"), std::string("begin")}));
    const auto x = tn::placeholder<std::string, tn::shape<2>>("x");
    const auto update = v.assign(x);
    initialized_session s;
    std::atomic<int> wrong{0};
    in_threads(4, [&](int t) {
        for (int n = 0; n < 200; ++n) {
            if (t % 2 == 0) {
                const std::string text = "a text that is longer than a short one, by " + std::to_string(t);
                tn::array<std::string, tn::shape<2>> both;
                both(0) = both(1) = text;
                s.run(tn::feed(x, both), update);
            } else if (const auto got = s.run(v); got(0) != got(1)) ++wrong;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE(
    "SEMANTICS 20: training steps of several threads all count, on one thread each, side by side and on streams") {
    for (const tn::session_options& o : {tn::session_options{.intra_op_threads = 1, .use_per_session_threads = true},
                                         tn::session_options{.intra_op_threads = 2, .use_per_session_threads = true},
                                         tn::session_options{.gpus = tn::simulated_gpu(1, 16 << 20)}}) {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<32, 64>>("x");
        const auto w1 = tn::variable<float, tn::shape<64, 64>>("w1", tn::glorot_uniform(1));
        const auto w2 = tn::variable<float, tn::shape<64, 64>>("w2", tn::glorot_uniform(2));
        const auto loss = tn::mean(tn::abs(tn::matmul(tanh(tn::matmul(x, w1)), w2)));
        const auto train = tn::gradient_descent(0.01).minimize(loss);
        const auto steps_done = tn::global_step();
        initialized_session s(o);
        tn::array<float, tn::shape<32, 64>> data;
        for (float& v : data) v = 0.5f;
        const float begin = s.run(tn::feed(x, data), loss).item();
        in_threads(3, [&](int) {
            for (int n = 0; n < 30; ++n) s.run(tn::feed(x, data), train);
        });
        CHECK(s.run(steps_done).item() == 90);
        CHECK(s.run(tn::feed(x, data), loss).item() < begin);
    }
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 11: memory of updates beside readers counts as the variable's, and is given back where it is needed") {
    constexpr std::size_t bytes = 400 * 400 * sizeof(float);
    const auto v = tn::variable<float, tn::shape<400, 400>>("v", tn::ones());
    const auto stays = watched(tn::sum(v), "stays", deed::stay);
    const auto x = tn::placeholder<float, tn::shape<400, 400>>("x");
    constexpr std::size_t of_kernels = 4096; // what products hold besides
    initialized_session s(tn::session_options{.memory_limit = 3 * bytes + of_kernels});
    beside(s, stays, [&] { s.run(v.assign_add(1.0f)); });
    CHECK(s.statistics().variable_bytes == 2 * bytes);
    CHECK(s.run(tn::sum(v)).item() == 2 * 400 * 400);
    const tn::array<float, tn::shape<400, 400>> data{};
    CHECK(s.run(tn::feed(x, data), tn::matmul(tn::matmul(x, v), v)).size() == 400 * 400);
    CHECK(s.statistics().variable_bytes == bytes);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 20: what reads and updates variables takes no memory from the system when nobody is beside it") {
    const auto v = tn::variable<float, tn::shape<100, 100>>("v", tn::ones());
    const auto train = v.assign_sub(tn::sum(v) * v * 1e-9f);
    initialized_session s(tn::session_options{.intra_op_threads = 1, .use_per_session_threads = true});
    const auto step = s.callable(tn::feeds(), tn::fetches(train.operation()));
    step();
    const std::int64_t before = counted_memory::taken_blocks();
    for (int n = 0; n < 10; ++n) step();
    CHECK(counted_memory::taken_blocks() == before);
}
