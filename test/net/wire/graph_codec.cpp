#include <net/wire/graph_codec.hpp>
#include <tenon/core/sizes/size_name.hpp>

#include "tests.hpp"

using namespace tenon::net;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

packed nodes_of(const tn::graph& g) {
    graph_mark none, now;
    return encode_nodes(g, none, now);
}

void expect_same(const tn::graph& a, const tn::graph& b) { CHECK(tn::to_json(a) == tn::to_json(b)); }

// A layer, its gradients and an optimiser; constants of both sizes; devices, containers and controls.
void build(const std::string& prefix, bool large) {
    const tn::name_scope in(prefix);
    auto x = tn::placeholder<float, tn::shape<batch, 6>>("x");
    const tn::container_scope kept("kept");
    const tn::device_scope there("/job:ps/task:1");
    auto w = tn::variable<float, tn::shape<6, 5>>("w", tn::glorot_uniform());
    auto h = relu(matmul(x, w));
    auto loss = mean(h * h);
    auto train = tn::gradient_descent(0.1f).minimize(loss);
    const tn::control_dependencies after(train);
    auto c = tn::constant({1.0f, 2.0f, 3.0f});
    auto d = c + 1.0f;
    (void)d.materialize();
    if (large) (void)tn::untyped::constant(tn::any_array::zeros(tn::element_type::float32, {10000}));
    (void)tn::untyped::constant(tn::any_array::zeros(tn::element_type::string, {2}));
}

tn::graph some_graph(bool large = true) {
    const own_graph g;
    tn::graph(g).set_seed(7);
    build("first", large);
    return g;
}

} // namespace

TEST_CASE("graph codec: a graph comes back as it was") {
    const tn::graph g = some_graph(), copy;
    packed p = nodes_of(g);
    CHECK(p.arrays.size() == 1);
    append_nodes(copy, p);
    expect_same(g, copy);
    CHECK(copy.collection(tn::trainable_variables).size() == 1);
    CHECK(copy.seed() == 7);
    // The copy's large constant is the memory that came.
    CHECK(nodes_of(copy).arrays[0].data() == nodes_of(g).arrays[0].data());
}

TEST_CASE("SEMANTICS 27: a graph grows between runs, and what is new is sent") {
    const tn::graph g = some_graph(false), copy;
    graph_mark sent;
    packed p = encode_nodes(g, sent, sent);
    append_nodes(copy, p);
    {
        const tn::graph_scope in(g);
        build("second", true);
        tn::graph(g).add_to_collection("mine", tn::any_tensor({g.at(g.size() - 1), 0}));
    }
    const std::int64_t before = sent.nodes;
    packed more = encode_nodes(g, sent, sent);
    CHECK(more.body.size() < nodes_of(g).body.size() * 2 / 3);
    CHECK(sent.nodes == g.size());
    CHECK(before < g.size());
    append_nodes(copy, more);
    expect_same(g, copy);
    packed nothing = encode_nodes(g, sent, sent);
    append_nodes(copy, nothing);
    expect_same(g, copy);
    // An old node that enters a collection later is sent too.
    tn::graph(g).add_to_collection("late", tn::any_tensor({g.at(0), 0}));
    packed late = encode_nodes(g, sent, sent);
    append_nodes(copy, late);
    expect_same(g, copy);
}

TEST_CASE("SEMANTICS 27: who extends a graph that another client has extended is refused, and nothing is changed") {
    const tn::graph g = some_graph(), copy;
    packed p = nodes_of(g), again = nodes_of(g);
    append_nodes(copy, p);
    const std::string before = tn::to_json(copy);
    CHECK_ERROR(tn::aborted_error, "another client has extended it", append_nodes(copy, again));
    CHECK(tn::to_json(copy) == before);
}

TEST_CASE("graph codec: names of sizes are the graph's, and go with it") {
    const std::size_t before = tn::detail::shared_size_names();
    {
        tn::graph copy;
        {
            const tn::graph g = some_graph();
            packed p = nodes_of(g);
            append_nodes(copy, p);
        }
        CHECK(tn::to_string(copy.at(0)->outputs[0]) == "float[batch, 6]");
        CHECK(tn::detail::shared_size_names() == before + 1);
    }
    CHECK(tn::detail::shared_size_names() == before);
}

TEST_CASE("graph codec: an op that this program does not know names itself") {
    const tn::graph g = some_graph(), copy;
    packed p = nodes_of(g);
    const char* const known = "placeholder";
    const auto at = std::search(p.body.begin(), p.body.end(), reinterpret_cast<const std::byte*>(known),
                                reinterpret_cast<const std::byte*>(known) + std::strlen(known));
    REQUIRE(at != p.body.end());
    *at = std::byte{'q'};
    CHECK_ERROR(tn::invalid_argument_error,
                "(qlaceholder): op \"qlaceholder\" is not known to this program; similar "
                "ones: placeholder",
                append_nodes(copy, p));
    CHECK(copy.size() == 0);
}

TEST_CASE("graph codec: limits on nodes, bytes and names") {
    const tn::graph g = some_graph(), copy;
    packed p = nodes_of(g);
    CHECK_THROWS_AS(append_nodes(copy, p, {.nodes = g.size() - 1}), tn::resource_exhausted_error);
    packed q = nodes_of(g);
    CHECK_THROWS_AS(append_nodes(copy, q, {.bytes = q.size() - 1}), tn::resource_exhausted_error);
    CHECK(copy.size() == 0);
    append_nodes(copy, q, {.nodes = g.size(), .bytes = q.size()});
    CHECK(copy.size() == g.size());

    const tn::graph named;
    {
        const tn::graph_scope in(named);
        (void)tn::placeholder<float, tn::shape<>>(std::string(5000, 'n'));
    }
    CHECK_ERROR(tn::invalid_argument_error, "names of at most 4096 can be sent", nodes_of(named));
}

TEST_CASE("graph codec: what is wrong changes nothing, wherever it is") {
    const tn::graph g = some_graph();
    const packed whole = nodes_of(g);
    const tn::graph copy;
    const std::string empty = tn::to_json(copy);
    for (std::size_t n = 0; n < whole.body.size(); n += 1 + n / 50) {
        packed p = whole.share();
        p.body.resize(n);
        CHECK_THROWS_AS(append_nodes(copy, p), tn::error);
        REQUIRE(tn::to_json(copy) == empty);
    }
    packed alone = whole.share();
    alone.arrays.clear();
    CHECK_THROWS_AS(append_nodes(copy, alone), tn::data_loss_error);
    CHECK(tn::to_json(copy) == empty);
}

TEST_CASE("graph codec: changed bytes are refused, or are a graph") {
    const tn::graph g = some_graph();
    const packed whole = nodes_of(g);
    std::mt19937_64 random(3);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        packed p = whole.share();
        p.body[random() % p.body.size()] ^= static_cast<std::byte>(1U << random() % 8);
        const tn::graph copy;
        try {
            append_nodes(copy, p);
            packed again = nodes_of(copy);
            const bytes body = again.body;
            const tn::graph once_more;
            append_nodes(once_more, again);
            REQUIRE(nodes_of(once_more).body == body);
        } catch (const tn::internal_error& e) {
            FAIL(e.what());
        } catch (const tn::error&) {
            ++refused;
            REQUIRE(copy.size() == 0);
        }
    }
    CHECK(refused > 1000);
}

TEST_CASE("graph codec: a name that is there already, and types that are not what the rule gives, are refused") {
    const tn::graph g, copy;
    {
        const tn::graph_scope in(g);
        (void)tn::placeholder<float, tn::shape<2>>("x");
    }
    packed p = nodes_of(g);
    append_nodes(copy, p);
    packed twice = nodes_of(g);
    const std::int64_t one = 1;
    std::memcpy(twice.body.data() + 1, &one, sizeof one);
    CHECK_THROWS_WITH_AS(append_nodes(copy, twice), "there are two nodes called \"x\"", tn::invalid_argument_error);
    packed other = nodes_of(g);
    const std::int64_t three = 3;
    std::memcpy(other.body.data() + other.body.size() - 4 - sizeof three, &three, sizeof three);
    const tn::graph empty;
    CHECK_THROWS_WITH_AS(append_nodes(empty, other),
                         "node 0, \"x\" (placeholder): it is stated that output 0 is float[3], the op's rule gives "
                         "float[2]",
                         tn::invalid_argument_error);
}
