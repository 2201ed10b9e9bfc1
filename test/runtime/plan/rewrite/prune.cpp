#include <tenon/runtime/plan/rewrite/prune.hpp>

#include "tests.hpp"
#include "runtime/support.hpp"

// The program that a request makes of a graph.

namespace rt = tenon::runtime;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

rt::request fetching(const std::vector<tn::any_tensor>& fetches) {
    rt::request r;
    for (const tn::any_tensor& t : fetches) r.fetches.push_back(t.output());
    return r;
}
void feed(rt::request& r, const tn::any_tensor& t, const tn::extents& sizes) {
    r.feeds.push_back(t.output());
    r.feed_types.push_back({t.element(), sizes});
}
const rt::program_item* item_of(const rt::program& p, const tn::any_tensor& t) {
    for (const rt::program_item& i : p.items)
        if (i.origin == t.node()) return &i;
    return nullptr;
}

} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "prune: what the fetches need is there, each node once and after its inputs, and nothing else") {
    const auto a = tn::variable<float, tn::shape<4>>("a", tn::ones());
    const tn::any_tensor b = exp(a).materialize(), c = (a + exp(a)).materialize(), unneeded = sin(a).materialize();
    const rt::program p = rt::prune(fetching({c, b, c}));
    REQUIRE(p.items.size() == 3);
    CHECK(p.items[0].origin == a.node());
    CHECK(p.items[1].origin == b.node());
    CHECK(p.items[2].origin == c.node());
    CHECK(item_of(p, unneeded) == nullptr);
    for (int i = 0; i < 3; ++i)
        for (const int v : p.item(i).inputs) CHECK(p.value(v).producer < i);
    REQUIRE(p.fetches.size() == 3);
    CHECK(p.fetches[0] == p.fetches[2]);
    CHECK(p.value(p.fetches[1]).origin == b.output());
}

TEST_CASE_FIXTURE(in_graph, "prune: what is fed is a value, and what only it needs is not there") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const tn::any_tensor y = exp(x).materialize(), z = tn::detail::add_instruction(tn::opcode::sin, {y});
    rt::request r = fetching({z});
    feed(r, y, {4});
    const rt::program p = rt::prune(r);
    REQUIRE(p.items.size() == 1);
    CHECK(p.items[0].origin == z.node());
    REQUIRE(p.items[0].inputs.size() == 1);
    CHECK(p.value(p.items[0].inputs[0]).feed == 0);
    CHECK(p.value(p.items[0].inputs[0]).producer == -1);
}

TEST_CASE_FIXTURE(in_graph, "prune: sizes are numbers, those of the step") {
    const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
    const auto w = tn::variable<float, tn::shape<4, 2>>("w", tn::ones());
    const tn::any_tensor y = matmul(x, w);
    rt::request r = fetching({y});
    feed(r, x, {7, 4});
    const rt::program p = rt::prune(r);
    CHECK(p.value(p.fetches[0]).type == tn::tensor_type{tn::element_type::float32, {7, 2}});
    for (const rt::program_value& v : p.values) CHECK(v.type.extents.is_static());
}

TEST_CASE_FIXTURE(
    in_graph, "prune: of what is needed for its sizes alone there is an item that does not run, nor what it needs") {
    const auto v = tn::variable<float, tn::shape<4>>("v", tn::ones());
    const tn::any_tensor sized = exp(v).materialize();
    const tn::any_tensor filled(tn::node_output{
        tn::add_node(tn::fill_like_definition, {sized}, tn::encode(tn::fill_like_op::attributes{2.0})), 0});
    const rt::program p = rt::prune(fetching({filled}));
    REQUIRE(item_of(p, sized) != nullptr);
    CHECK(item_of(p, sized)->removed);
    CHECK(item_of(p, v)->removed);
    REQUIRE(item_of(p, filled) != nullptr);
    CHECK_FALSE(item_of(p, filled)->removed);
    CHECK_FALSE(p.reads(*item_of(p, filled), 0));
}

TEST_CASE_FIXTURE(in_graph, "prune: control dependencies are predecessors, and targets are known as such") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    const tn::any_tensor update = v.assign(3.0f);
    const tn::any_tensor after = [&]() -> tn::any_tensor {
        const tn::control_dependencies dependencies(update);
        return tn::identity(tn::constant(1.0f), "after");
    }();
    rt::request r = fetching({after});
    r.targets.push_back(v.initializer().node());
    const rt::program p = rt::prune(r);
    const rt::program_item* waiting = item_of(p, after);
    REQUIRE(waiting != nullptr);
    REQUIRE(waiting->predecessors.size() == 1);
    CHECK(p.item(waiting->predecessors[0]).origin == update.node());
    CHECK_FALSE(waiting->target);
    for (const rt::program_item& i : p.items) CHECK(i.target == (i.origin == v.initializer().node()));
}

TEST_CASE_FIXTURE(in_graph, "prune: sizes that do not fit in a step are a fault of the op as the user knows it") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x"), y = tn::placeholder<float, tn::shape<tn::dyn>>("y");
    const tn::any_tensor sum = (x + y).materialize();
    rt::request r = fetching({sum});
    feed(r, x, {3});
    feed(r, y, {4});
    const std::string text = message_of<tn::invalid_argument_error>([&] { rt::prune(r); });
    CHECK(contains(text, "add: "));
    CHECK(contains(text, "[3] x [4]"));
    CHECK(contains(text, " in this step's sizes [node " + sum.node()->name + " (add)"));
    CHECK_FALSE(contains(text, "fused"));
}

TEST_CASE_FIXTURE(in_graph, "prune: a placeholder that is needed and not fed is an error that names it") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    CHECK_ERROR(tn::invalid_argument_error, "placeholder x of type float[4] must be fed in this step",
                rt::prune(fetching({exp(x).materialize()})));
}

TEST_CASE_FIXTURE(in_graph, "prune: which nodes run is known without sizes, and is what the program has") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto v = tn::variable<float, tn::shape<4>>("v", tn::ones());
    const tn::any_tensor noise = tn::random_normal<float, tn::shape<4>>();
    const tn::any_tensor sizes = tn::untyped::random_uniform_like(noise); // asks for its sizes alone
    const tn::any_tensor sum = (v + exp(v)).materialize();
    const auto update = v.assign_add(exp(v));
    const auto runs = [](const rt::request& r, const tn::any_tensor& t) {
        const std::vector<const tn::node*> all = rt::nodes_that_run(r);
        std::vector<const tn::node*> expected;
        for (const rt::program_item& i : rt::prune(r).items)
            if (!i.removed) expected.push_back(i.origin);
        CHECK(all == expected);
        return std::find(all.begin(), all.end(), t.node()) != all.end();
    };
    CHECK(!runs(fetching({sizes}), noise));
    CHECK(runs(fetching({sizes, noise}), noise));
    CHECK(!runs(fetching({sum}), noise));
    rt::request fed = fetching({sizes, sum, noise});
    feed(fed, noise, {4});
    feed(fed, v, {4});
    CHECK(!runs(fed, noise));
    CHECK(!runs(fed, v));
    rt::request updates = fetching({(x + 1.0f).materialize()});
    updates.targets.push_back(update.node());
    feed(updates, x, {3});
    CHECK(runs(updates, update));
}
