#include <net/wire/program_codec.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/runtime/place/place.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/task_programs.hpp>

#include "tests.hpp"
#include "random_graphs/wire_session.hpp"

// That parts which travelled run as those that did not is shown on random graphs too: the session "by_wire" in
// test/random_graphs.

namespace rt = tenon::runtime;
using namespace tenon::net;
using random_graphs::wire_session;

namespace {

using scalar = tn::shape<>;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// Parts of a step on two tasks, cut as a session cuts them.
struct cutter {
    std::vector<std::unique_ptr<tn::device>> devices;
    rt::plan_options options;
    rt::task_programs programs_of(const rt::request& r) {
        std::vector<tn::device_attributes> descriptions;
        std::vector<rt::task_devices> tasks;
        std::vector<tn::device*> own;
        for (int t = 0; t < 2; ++t) {
            devices.push_back(tn::make_cpu_device(0, 0));
            devices.back()->belong_to(tn::device_name("/job:worker/task:" + std::to_string(t)));
            own.push_back(devices.back().get());
            descriptions.push_back(devices.back()->attributes());
            tasks.push_back({{t}});
        }
        options.set_devices(own);
        rt::placer placer(descriptions, true, {}, devices[0]->full_name());
        rt::program whole = rt::prune(r);
        rt::place(whole, options, placer, nullptr);
        return rt::cut_by_task(whole, tasks, options);
    }
};

tn::fed_value fed(const tn::any_tensor& t, tn::any_array a) { return {t, std::move(a)}; }
tn::any_array number(float v) { return tn::test::array_of<float>({}, {v}); }
float number(const tn::any_array& a) { return *a.data<float>(); }

// w = w - (x * w summed) on the second task, read on the first, which has large constants.
struct model {
    tn::graph g;
    tn::any_tensor x, w, y, update, large;
    model() {
        const tn::graph_scope in(g);
        auto fed_x = tn::placeholder<float, tn::shape<batch, 4>>("x");
        x = fed_x;
        {
            const tn::device_scope there("/job:worker/task:1");
            auto v = tn::variable("w", 2.0f);
            w = v;
            update = v.assign_sub(tn::sum(fed_x * v));
        }
        const tn::device_scope here("/job:worker/task:0");
        large = tn::untyped::constant(tn::any_array::zeros(tn::element_type::float32, {1000}));
        y = tn::untyped::add(tn::untyped::multiply(w, x), tn::untyped::sum(large));
    }
    rt::task_programs programs() const {
        rt::request r;
        r.feeds = {x.output()};
        r.feed_types = {{tn::element_type::float32, {3, 4}}};
        r.fetches = {y.output(), update.output()};
        cutter c;
        return c.programs_of(r);
    }
};

} // namespace

TEST_CASE("program codec: a part is written in one way, and comes back as it was") {
    const model m;
    const rt::task_programs cut = m.programs();
    REQUIRE(cut.programs.size() == 2);
    for (const rt::program& part : cut.programs) {
        packed p = encode_program(part);
        CHECK(hash_of(p) == hash_of(encode_program(part)));
        const program_part back = decode_program(p, 1);
        REQUIRE(back.program.items.size() == part.items.size());
        REQUIRE(back.program.values.size() == part.values.size());
        for (std::size_t n = 0; n < part.items.size(); ++n) {
            const rt::program_item &a = part.items[n], &b = back.program.items[n];
            CHECK(a.op == b.op);
            CHECK(a.attributes == b.attributes);
            CHECK(std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end()));
            CHECK(std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end()));
            CHECK(
                std::equal(a.predecessors.begin(), a.predecessors.end(), b.predecessors.begin(), b.predecessors.end()));
            CHECK(std::equal(a.read.begin(), a.read.end(), b.read.begin(), b.read.end()));
            CHECK((a.device == b.device && a.removed == b.removed && a.target == b.target));
            CHECK(a.origin->name == b.origin->name);
            CHECK(std::string(tn::shown_op(*a.origin)) == tn::shown_op(*b.origin));
            CHECK(back.number_of(*b.origin) == a.origin->number);
        }
        for (std::size_t v = 0; v < part.values.size(); ++v) {
            const rt::program_value &a = part.values[v], &b = back.program.values[v];
            CHECK(a.type == b.type);
            CHECK((a.producer == b.producer && a.feed == b.feed && a.device == b.device));
            CHECK(tn::any_tensor(a.origin).name() == tn::any_tensor(b.origin).name());
        }
        CHECK(back.program.fetches == part.fetches);
        CHECK(back.program.feed_types == part.feed_types);
        CHECK(back.program.sizes.known({tn::extent::named("batch")}) == tn::extents{3});
    }
    CHECK(hash_of(encode_program(cut.programs[0])) != hash_of(encode_program(cut.programs[1])));
}

TEST_CASE("program codec: what a part does not need stays at home; edges are told") {
    const model m;
    const rt::task_programs cut = m.programs();
    packed p = encode_program(cut.programs[1]);
    CHECK(p.arrays.empty()); // the constant is read on the other task
    const program_part back = decode_program(p, 1);
    for (std::int64_t n = 0; n < back.nodes.size(); ++n) CHECK(back.nodes.at(n)->op != &tn::constant_definition);
    CHECK(back.sends.size() + back.receives.size() == cut.edges.size());
    packed q = encode_program(cut.programs[0]);
    CHECK(q.arrays.size() == 1); // once, though node and item have it
    const program_part first = decode_program(q, 1);
    CHECK(first.sends == back.receives);
    CHECK(first.receives == back.sends);
}

TEST_CASE("program codec: a part names its bytes' hash by content") {
    packed a{bytes(3), {}}, b{bytes(3), {}};
    CHECK(hash_of(a) == hash_of(b));
    b.arrays.push_back(tn::any_array::zeros(tn::element_type::float32, {2}));
    CHECK(hash_of(a) != hash_of(b));
    a.arrays.push_back(tn::any_array::zeros(tn::element_type::float32, {2, 1}));
    CHECK(hash_of(a) != hash_of(b));
}

TEST_CASE("program codec: devices that are not there are refused") {
    const model m;
    packed p = encode_program(m.programs().programs[1]);
    CHECK_ERROR(tn::data_loss_error, "device 0 is asked for; this task has 0", decode_program(p, 0));
}

TEST_CASE("program codec: what was bound or rewritten is not sent") {
    const model m;
    rt::task_programs cut = m.programs();
    cut.programs[0].values[0].view_of = 1;
    CHECK_THROWS_AS(encode_program(cut.programs[0]), tn::internal_error);
}

TEST_CASE("program codec: what is cut short is refused; changed bytes are refused, or are a part") {
    const model m;
    std::mt19937_64 random(5);
    int refused = 0, rounds = 0;
    for (const rt::program& part : m.programs().programs) {
        const packed whole = encode_program(part);
        for (std::size_t n = 0; n < whole.body.size(); ++n) {
            packed p = whole.share();
            p.body.resize(n);
            CHECK_THROWS_AS(decode_program(p, 1), tn::error);
        }
        for (int i = 0; i < 3000; ++i, ++rounds) {
            packed p = whole.share();
            p.body[random() % p.body.size()] ^= static_cast<std::byte>(1U << random() % 8);
            try {
                const program_part back = decode_program(p, 1);
                packed again = encode_program(back.program);
                (void)decode_program(again, 1);
            } catch (const tn::internal_error& e) {
                FAIL(e.what());
            } catch (const tn::error&) {
                ++refused;
            }
        }
    }
    CHECK(refused > rounds / 2);
}

TEST_CASE("a part that travelled reads and updates the variables of its task") {
    const model m;
    wire_session sess(m.g, {});
    sess.run_untyped({}, {}, {tn::operation(m.g.collection("w/initializer").at(0).node())});
    tn::any_array ones(tn::element_type::float32, {3, 4});
    for (int i = 0; i < 12; ++i) ones.data<float>()[i] = 1;
    std::vector<tn::fed_value> feeds;
    feeds.push_back(fed(m.x, std::move(ones)));
    const auto got = sess.run_untyped(std::move(feeds), {m.y, m.update});
    CHECK(got[0].data<float>()[11] == 2.0f);
    CHECK(number(got[1]) == 2.0f - 24.0f);
    CHECK(number(sess.run_untyped({}, {m.w})[0]) == -22.0f);
}

TEST_CASE("a part that travelled uses queues of its task, whose elements' sizes are known late") {
    const tn::graph g;
    tn::any_tensor x, sum, size;
    tn::operation put, close;
    {
        const tn::graph_scope in(g);
        x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
        const tn::device_scope there("/job:worker/task:1");
        const tn::untyped::queue q = tn::untyped::fifo_queue({{tn::element_type::float32, {tn::dynamic_extent}}}, 10);
        const std::vector<tn::any_tensor> got = q.dequeue();
        put = q.enqueue({x});
        size = q.size();
        close = q.close();
        const tn::device_scope here("/job:worker/task:0");
        sum = tn::untyped::sum(tn::untyped::multiply(got[0], got[0]));
    }
    wire_session sess(g, {});
    const auto enqueue = [&](std::vector<float> values) {
        tn::any_array a(tn::element_type::float32, {static_cast<std::int64_t>(values.size())});
        std::copy(values.begin(), values.end(), a.data<float>());
        std::vector<tn::fed_value> feeds;
        feeds.push_back(fed(x, std::move(a)));
        sess.run_untyped(std::move(feeds), {}, {put});
    };
    enqueue({1, 2, 3});
    enqueue({4});
    CHECK(*sess.run_untyped({}, {size})[0].data<std::int64_t>() == 2);
    CHECK(number(sess.run_untyped({}, {sum})[0]) == 14.0f);
    CHECK(number(sess.run_untyped({}, {sum})[0]) == 16.0f);
    sess.run_untyped({}, {}, {close});
    CHECK_ERROR(tn::out_of_range_error, "is closed and has insufficient elements", sess.run_untyped({}, {sum}));
}

TEST_CASE("random steps with queues on two tasks give by wire what a session gives") {
    // Queues of both tasks, of elements whose first size is open; each step moves elements between them.
    std::mt19937 random(11);
    for (int round = 0; round < 60; ++round) {
        const tn::graph g;
        tn::any_tensor x;
        std::vector<tn::untyped::queue> queues;
        std::vector<tn::operation> fill;
        std::vector<std::vector<tn::any_tensor>> fetches;
        const auto place = [&] { return tn::device_name("/job:worker/task:" + std::to_string(random() % 2)); };
        {
            const tn::graph_scope in(g);
            x = tn::placeholder<float, tn::shape<tn::dyn, 2>>("x");
            for (int q = 0; q < 3; ++q) {
                const tn::device_scope there(place());
                queues.push_back(tn::untyped::fifo_queue(
                    {{tn::element_type::float32, {tn::dynamic_extent, 2}}, {tn::element_type::float32, {}}}, 20,
                    {.shared_name = "q" + std::to_string(q), .name = "q" + std::to_string(q)}));
                fill.push_back(
                    queues.back().enqueue({tn::untyped::multiply(x, static_cast<float>(q + 1)), tn::untyped::sum(x)}));
            }
            auto count = tn::untyped::variable("count", tn::untyped::constant(number(0)));
            for (int s = 0; s < 4; ++s) {
                const auto got = queues[random() % 3].dequeue();
                const auto a =
                    tn::on(place(), [&] { return tn::untyped::add(tn::untyped::multiply(got[0], got[1]), got[0]); });
                const auto b = tn::on(place(), [&] { return tn::untyped::sum(a); });
                const auto back = queues[random() % 3].enqueue({a, b});
                const tn::control_dependencies after(back);
                fetches.push_back({a, b, tn::untyped::assign_add(count, b)});
            }
        }
        tn::session_options o{.fuse = random() % 2 == 1};
        tn::session local({tn::task({.intra_op_threads = 2, .job = "worker", .index = 0}),
                           tn::task({.intra_op_threads = 2, .job = "worker", .index = 1})},
                          g, o);
        wire_session wire(g, o);
        const tn::operation init(g.collection("count/initializer").at(0).node());
        local.run_untyped({}, {}, {init});
        wire.run_untyped({}, {}, {init});
        for (int i = 0; i < 18; ++i) {
            tn::any_array a(tn::element_type::float32, {1 + static_cast<std::int64_t>(random() % 4), 2});
            for (std::int64_t k = 0; k < a.elements(); ++k) a.data<float>()[k] = static_cast<float>(random() % 7) - 3;
            const tn::operation& into = fill[static_cast<std::size_t>(i) % 3];
            for (int both = 0; both < 2; ++both) {
                std::vector<tn::fed_value> feeds;
                feeds.push_back(fed(x, a.share()));
                if (both) wire.run_untyped(std::move(feeds), {}, {into});
                else local.run_untyped(std::move(feeds), {}, {into});
            }
        }
        for (int step = 0; step < 6; ++step) {
            const auto& asked = fetches[random() % fetches.size()];
            const auto one = local.run_untyped({}, asked), two = wire.run_untyped({}, asked);
            for (std::size_t f = 0; f < one.size(); ++f) CHECK(one[f] == two[f]);
        }
    }
}
