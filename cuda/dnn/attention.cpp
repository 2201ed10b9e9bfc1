#include <cuda/dnn/attention.hpp>

#include <limits>

namespace tenon::cuda::dnn {

namespace {

using sizes = std::vector<std::int64_t>;

sizes dense_strides(const sizes& of) {
    sizes strides(of.size());
    std::int64_t step = 1;
    for (std::size_t i = of.size(); i-- > 0; step *= of[i]) strides[i] = step;
    return strides;
}
tensor dense(const sizes& of, element_type e) {
    tensor t;
    t.sizes = of;
    t.strides = dense_strides(of);
    t.element = e;
    return t;
}
// Its matrices transposed, where they lie.
tensor transposed(tensor t) {
    std::swap(t.sizes[2], t.sizes[3]);
    std::swap(t.strides[2], t.strides[3]);
    return t;
}

class builder {
public:
    builder(const attention_layout& l, const char* name) : l_(l) {
        g.name = name;
        g.compute = element_type::float32;
    }
    /// A tensor of heads of queries, or of keys, in memory.
    int of_queries(std::int64_t size, element_type e) {
        return g.add(dense({l_.batch, l_.heads, l_.queries, size}, e));
    }
    int of_keys(std::int64_t size, element_type e) { return g.add(dense({l_.batch, l_.key_heads, l_.keys, size}, e)); }
    int number(float value) {
        tensor t = dense({1, 1, 1, 1}, element_type::float32);
        t.is_number = true;
        t.number = value;
        return g.add(t);
    }
    int between(tensor t) {
        t.between = true;
        return g.add(std::move(t));
    }
    /// What lies between two operations: an element for each query and key, or for each query.
    int scores(element_type e = element_type::float32) {
        return between(dense({l_.batch, l_.heads, l_.queries, l_.keys}, e));
    }
    int row() { return between(dense({l_.batch, l_.heads, l_.queries, 1}, element_type::float32)); }
    /// `to` as the result of an operation.
    int run(operation_kind kind, std::vector<int> operands, int to, std::int64_t axis = 0) {
        operands.push_back(to);
        g.operations.push_back({kind, std::move(operands), {}, axis});
        return to;
    }
    /// scale q k^T.
    int scaled(int q, int k_transposed) {
        const int x = run(operation_kind::product, {q, k_transposed}, scores());
        return run(operation_kind::multiply, {x, number(static_cast<float>(l_.scale))}, scores());
    }
    /// The lowest number where a causal query does not see the key.
    int hidden(int x) {
        if (!l_.causal) return x;
        const int query = run(operation_kind::index, {x}, scores(element_type::int32), 2);
        const int key = run(operation_kind::index, {x}, scores(element_type::int32), 3);
        const int seen = run(operation_kind::at_least, {query, key}, scores(element_type::boolean));
        return run(operation_kind::select, {x, number(std::numeric_limits<float>::lowest()), seen}, scores());
    }

    graph g;

private:
    const attention_layout& l_;
};

} // namespace

graph attention_graph(const attention_layout& l, element_type e) {
    using kind = operation_kind;
    builder b(l, "attention");
    const int q = b.of_queries(l.size, e);
    const int k = b.g.add(transposed(dense({l.batch, l.key_heads, l.keys, l.size}, e)));
    const int v = b.of_keys(l.value_size, e), y = b.of_queries(l.value_size, e);
    const int logs = b.of_queries(1, element_type::float32);
    const int x = b.hidden(b.scaled(q, k));
    const int most = b.run(kind::largest, {x}, b.row());
    const int weights = b.run(kind::exp, {b.run(kind::subtract, {x, most}, b.scores())}, b.scores());
    const int sum = b.run(kind::sum, {weights}, b.row());
    b.run(kind::add, {most, b.run(kind::log, {sum}, b.row())}, logs);
    const int p = b.run(kind::divide, {weights, sum}, b.scores(e));
    b.run(kind::product, {p, v}, y);
    return b.g;
}

attention_layout gradient_part(const attention_layout& l, bool least) {
    attention_layout part = l;
    part.heads = l.group();
    part.key_heads = 1;
    part.batch = 0;
    const auto padded = [](std::int64_t n) { return static_cast<double>((n + 63) / 64 * 64); };
    const double bytes = 2 * static_cast<double>(part.heads) * padded(l.keys) *
                         (padded(l.queries) + padded(l.size) + padded(l.value_size));
    const std::int64_t all = l.batch * l.key_heads;
    const std::int64_t row_bytes = part.heads * l.queries * static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t n = 1; n <= all && static_cast<double>(n) * bytes < static_cast<double>(most_gradient_workspace);
         ++n) {
        const bool aligned = n == all || n * row_bytes % static_cast<std::int64_t>(alignment) == 0;
        if (all % n == 0 && aligned && !(least && part.batch > 0)) part.batch = n;
    }
    return part;
}

graph attention_gradient_graph(const attention_layout& l, element_type e) {
    using kind = operation_kind;
    builder b(l, "attention_gradient");
    b.g.most_workspace_bytes = most_gradient_workspace;
    const int q = b.of_queries(l.size, e);
    const tensor keys = transposed(dense({l.batch, l.key_heads, l.keys, l.size}, e));
    const int k = b.g.add(keys);
    const int v = b.g.add(transposed(dense({l.batch, l.key_heads, l.keys, l.value_size}, e)));
    const int y = b.of_queries(l.value_size, e), logs = b.of_queries(1, element_type::float32);
    const int dy = b.of_queries(l.value_size, e), dq = b.of_queries(l.size, e);
    const int dk = b.of_keys(l.size, e), dv = b.of_keys(l.value_size, e);
    const int along = b.of_queries(1, element_type::float32);

    const int both = b.run(kind::multiply, {dy, y},
                           b.between(dense({l.batch, l.heads, l.queries, l.value_size}, element_type::float32)));
    const int sums = b.run(kind::sum, {both}, b.row());
    b.run(kind::multiply, {sums, b.number(1)}, along);

    const int x = b.scaled(q, k);
    const int p = b.run(kind::exp, {b.hidden(b.run(kind::subtract, {x, logs}, b.scores()))}, b.scores());
    const auto by_keys = [&](int of) {
        return b.run(kind::transpose, {of}, b.between(transposed(dense({l.batch, l.heads, l.queries, l.keys}, e))));
    };
    // Of all heads of queries; those of a head of keys are added up.
    const auto key_gradient = [&](int weights, int with, std::int64_t size, int to) {
        if (l.heads == l.key_heads) return b.run(kind::product, {weights, with}, to);
        const int each = b.run(kind::product, {weights, with}, b.between(dense({l.batch, l.heads, l.keys, size}, e)));
        return b.run(kind::sum, {each}, to);
    };
    key_gradient(by_keys(p), dy, l.value_size, dv);
    const int dp = b.run(kind::product, {dy, v}, b.scores());
    const int d = b.run(kind::multiply, {b.run(kind::subtract, {dp, along}, b.scores()), p}, b.scores());
    const int dx = b.run(kind::multiply, {d, b.number(static_cast<float>(l.scale))}, b.scores());
    key_gradient(by_keys(dx), q, l.size, dk);
    const int rows = b.run(kind::transpose, {k}, b.between(transposed(keys)));
    b.run(kind::product, {dx, rows}, dq);
    return b.g;
}

bool may_take(const attention_layout& l, element_type e) {
    if (l.has_lengths || (e != element_type::float16 && e != element_type::bfloat16)) return false;
    const std::int64_t most = std::int64_t{1} << 31, widest = l.size > l.value_size ? l.size : l.value_size;
    const std::int64_t longest = l.queries > l.keys ? l.queries : l.keys;
    return l.batch > 0 && l.heads > 0 && l.queries > 0 && l.keys > 0 && l.size > 0 && l.value_size > 0 &&
           l.batch * l.heads * longest < most / widest;
}

} // namespace tenon::cuda::dnn
