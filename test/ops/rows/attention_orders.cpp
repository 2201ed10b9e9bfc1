#include "tests.hpp"
#include "attention_orders.hpp"

// Attention reads and writes heads where they lie: transposes beside it are no copies.

using namespace tenon;
using test::attention_operands, test::attention_orders, test::attention_problem;

namespace {

struct placed {
    own_graph g;
    std::vector<any_tensor> in;
    std::vector<const any_array*> values;
    explicit placed(std::vector<const any_array*> of) : values(std::move(of)) {
        for (const any_array* a : values) in.push_back(untyped::placeholder(a->element(), a->extents()));
    }
    std::vector<fed_value> fed() const {
        std::vector<fed_value> feeds;
        for (std::size_t k = 0; k < in.size(); ++k) feeds.push_back({in[k], values[k]->share()});
        return feeds;
    }
};

int count_of(const step_report& r, const std::string& op) {
    return static_cast<int>(std::count_if(r.order.begin(), r.order.end(), [&](const std::string& line) {
        return line.find("(" + op + ")") != std::string::npos;
    }));
}
bool same_bits(const any_array& a, const any_array& b) {
    return a.extents() == b.extents() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

template <class T> void check(const attention_problem& p, std::mt19937& random, int threads) {
    CAPTURE(to_string(p.of_queries(p.d)));
    CAPTURE(to_string(p.of_keys(p.e)));
    const attention_operands o = attention_operands::of<T>(p);
    const attention_orders orders(random);
    const any_array* const operands[] = {&o.q, &o.k, &o.v, &o.dy};
    std::vector<any_array> lying;
    for (int k = 0; k < 4; ++k) lying.push_back(orders.lying(k, *operands[k]));
    std::vector<const any_array*> values{&lying[0], &lying[1], &lying[2], &lying[3]}, dense{operands, operands + 4};
    if (!p.lengths.empty()) {
        values.push_back(&o.lengths);
        dense.push_back(&o.lengths);
    }
    const attention_op::attributes how{p.causal, p.scale};
    const auto results = [&](const placed& by, const std::vector<any_tensor>& out, bool transposes) {
        session s(by.g, {.intra_op_threads = threads, .use_per_session_threads = true});
        CHECK((count_of(s.report_untyped(by.fed(), out), "transpose") > 0) == transposes);
        return s.run_untyped(by.fed(), out);
    };
    const placed by(values), as_it_is(dense);
    std::vector<any_array> found, wanted;
    {
        const graph_scope scope(by.g);
        found = results(by, test::attended_in_orders(by.in, orders, how), false);
    }
    {
        const graph_scope scope(as_it_is.g);
        const std::vector<any_tensor>& in = as_it_is.in;
        const any_tensor y = in.size() > 4 ? untyped::attention(in[0], in[1], in[2], in[4], how)
                                           : untyped::attention(in[0], in[1], in[2], how);
        std::vector<any_tensor> out = tenon::detail::add_gradients({y}, {in[0], in[1], in[2]}, {in[3]});
        out.insert(out.begin(), y);
        wanted = results(as_it_is, out, false);
    }
    for (std::size_t k = 0; k < 4; ++k) CHECK(same_bits(found[k], test::permuted(wanted[k], orders.out[k])));
}

} // namespace

TEST_CASE_TEMPLATE("attention of transposed operands, transposed, is the same to the bit, and nothing is transposed", T,
                   float, double, half, bfloat16) {
    std::mt19937 random(20);
    for (int round = 0; round < 12; ++round) check<T>(test::drawn_problem(random, 150), random, 1 + round % 2);
    check<T>({.batch = 2, .heads = 6, .key_heads = 2, .n = 1, .m = 60, .d = 8, .e = 9}, random, 1);
    check<T>({.batch = 2, .heads = 6, .key_heads = 2, .n = 1, .m = 60, .d = 8, .e = 9, .lengths = {0, 7}}, random, 2);
}

TEST_CASE("what somebody else reads densely is transposed for those who read it otherwise") {
    const attention_problem p{.batch = 2, .heads = 3, .key_heads = 3, .n = 5, .m = 5, .d = 4, .e = 4};
    const attention_operands o = attention_operands::of<float>(p);
    const any_array q = test::permuted(o.q, {0, 2, 1, 3});
    const placed by({&q, &o.k, &o.v});
    const any_tensor y = untyped::attention(untyped::transpose(by.in[0], {0, 2, 1, 3}), by.in[1], by.in[2]),
                     joined = untyped::transpose(y, {0, 2, 1, 3});
    session s(by.g);
    CHECK(count_of(s.report_untyped(by.fed(), {joined}), "transpose") == 0);
    CHECK(count_of(s.report_untyped(by.fed(), {joined, y}), "transpose") == 1);
    const auto both = s.run_untyped(by.fed(), {joined, y});
    CHECK(same_bits(both[0], test::permuted(both[1], {0, 2, 1, 3})));
    const any_tensor turned = untyped::transpose(y, {0, 1, 3, 2}); // the last axis does not stay the last
    CHECK(count_of(s.report_untyped(by.fed(), {turned}), "transpose") == 1);
}

TEST_CASE("sequences in several axes, one after another, and a single head") {
    const any_array x = test::random_array<float>(extents{2, 3, 5, 4, 8}, 1),
                    one = test::random_array<float>(extents{5, 2, 8}, 2);
    const auto compare = [&](const any_array& a, const index_list& order, int transposes) {
        const placed by({&a});
        const any_tensor t = untyped::transpose(by.in[0], order);
        const any_tensor y = untyped::transpose(untyped::attention(t, t, t), test::inverse_order(order));
        session s(by.g), apart(by.g, {.fuse = false});
        CHECK(count_of(s.report_untyped(by.fed(), {y}), "transpose") == transposes);
        CHECK(same_bits(s.run_untyped(by.fed(), {y})[0], apart.run_untyped(by.fed(), {y})[0]));
    };
    compare(x, {0, 1, 3, 2, 4}, 0);
    compare(x, {2, 3, 0, 1, 4}, 0);
    compare(x, {1, 0, 3, 2, 4}, 2); // sequences do not follow one another
    compare(one, {1, 0, 2}, 0);
}
