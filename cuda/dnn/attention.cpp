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
tensor dense(const sizes& of, element_type e) { return {.sizes = of, .strides = dense_strides(of), .element = e}; }
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
    tensor queries(std::int64_t size, element_type e, const detail::attention_steps& by) const {
        return placed(dense({l_.batch, l_.heads, l_.queries, size}, e), by);
    }
    tensor keys(std::int64_t size, element_type e, const detail::attention_steps& by) const {
        return placed(dense({l_.batch, l_.key_heads, l_.keys, size}, e), by);
    }
    /// A number for each query, dense.
    int rows() { return g.add(dense({l_.batch, l_.heads, l_.queries, 1}, element_type::float32)); }
    /// How many keys, and queries, each sequence has, where it may have less keys than all: of int32, dense.
    struct lengths {
        int of_keys = -1, of_queries = -1;
    };
    lengths add_lengths() {
        if (!l_.has_lengths) return {};
        tensor t = dense({l_.batch, 1, 1, 1}, element_type::int32);
        t.alignment = sizeof(std::int32_t); // those of a part of the sequences begin anywhere
        const int of_keys = g.add(t);
        return {of_keys, g.add(t)};
    }
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
    /// The lowest number where the key is beyond its sequence's length, or a causal query does not see it. Of queries no sequence has less than
    /// all, but cuDNN has engines for the gradient on all cards only where it is told both lengths.
    int hidden(int x, const lengths& n) {
        const auto place = [&](std::int64_t axis) {
            return run(operation_kind::index, {x}, scores(element_type::int32), axis);
        };
        const auto whether = [&](operation_kind kind, int a, int b) {
            return run(kind, {a, b}, scores(element_type::boolean));
        };
        const auto keep = [&](int seen) {
            x = run(operation_kind::select, {x, number(std::numeric_limits<float>::lowest()), seen}, scores());
        };
        if (n.of_keys >= 0) {
            const int query = place(2), key = place(3);
            const int is_query = whether(operation_kind::less, query, n.of_queries);
            keep(whether(operation_kind::both, is_query, whether(operation_kind::less, key, n.of_keys)));
        }
        if (l_.causal) {
            const int query = place(2), key = place(3);
            keep(whether(operation_kind::at_least, query, key));
        }
        return x;
    }

    graph g;

private:
    static tensor placed(tensor t, const detail::attention_steps& by) {
        t.strides = {by.batch, by.head, by.row, 1};
        return t;
    }

    const attention_layout& l_;
};

} // namespace

graph attention_graph(const attention_layout& l, element_type e) {
    using kind = operation_kind;
    builder b(l, "attention");
    const int q = b.g.add(b.queries(l.size, e, l.q)), k = b.g.add(transposed(b.keys(l.size, e, l.k)));
    const int v = b.g.add(b.keys(l.value_size, e, l.v)), y = b.g.add(b.queries(l.value_size, e, l.y)), logs = b.rows();
    const auto lengths = b.add_lengths();
    const int x = b.hidden(b.scaled(q, k), lengths);
    const int most = b.run(kind::largest, {x}, b.row());
    const int weights = b.run(kind::exp, {b.run(kind::subtract, {x, most}, b.scores())}, b.scores());
    const int sum = b.run(kind::sum, {weights}, b.row());
    b.run(kind::add, {most, b.run(kind::log, {sum}, b.row())}, logs);
    const int p = b.run(kind::divide, {weights, sum}, b.scores(e));
    b.run(kind::product, {p, v}, y);
    return b.g;
}

// Whether the tensors of every n heads of keys begin where cuDNN can take them.
namespace {
bool parts_are_aligned(const attention_layout& l, std::int64_t n) {
    const auto is_whole = [](std::int64_t bytes) { return bytes % static_cast<std::int64_t>(alignment) == 0; };
    const auto bytes = [&](const detail::attention_steps& by, std::int64_t heads) {
        return 2 * (n < l.key_heads ? heads * by.head : n / l.key_heads * by.batch);
    };
    bool aligned = is_whole(n * l.group() * l.queries * static_cast<std::int64_t>(sizeof(float)));
    for (const detail::attention_steps& by : {l.q, l.y, l.dy, l.dq}) aligned &= is_whole(bytes(by, n * l.group()));
    for (const detail::attention_steps& by : {l.k, l.v, l.dk, l.dv}) aligned &= is_whole(bytes(by, n));
    return aligned;
}
} // namespace

attention_layout gradient_part(const attention_layout& l, bool least) {
    attention_layout part = l;
    part.batch = 0;
    const auto padded = [](std::int64_t n) { return static_cast<double>((n + 63) / 64 * 64); };
    const double bytes = 2 * static_cast<double>(l.group()) * padded(l.keys) *
                         (padded(l.queries) + padded(l.size) + padded(l.value_size));
    const std::int64_t all = l.batch * l.key_heads;
    for (std::int64_t n = 1; n <= all && static_cast<double>(n) * bytes < static_cast<double>(most_gradient_workspace);
         ++n) {
        const bool regular = l.key_heads % n == 0 || n % l.key_heads == 0; // heads of one sequence, or sequences
        if (all % n != 0 || !regular || (least && part.batch > 0) || (n != all && !parts_are_aligned(l, n))) continue;
        part.batch = n > l.key_heads ? n / l.key_heads : 1;
        part.key_heads = n / part.batch;
        part.heads = part.key_heads * l.group();
    }
    return part;
}

graph attention_gradient_graph(const attention_layout& l, element_type e) {
    using kind = operation_kind;
    builder b(l, "attention_gradient");
    b.g.most_workspace_bytes = most_gradient_workspace;
    const tensor keys = transposed(b.keys(l.size, e, l.k));
    const int q = b.g.add(b.queries(l.size, e, l.q)), k = b.g.add(keys);
    const int v = b.g.add(transposed(b.keys(l.value_size, e, l.v)));
    const int y = b.g.add(b.queries(l.value_size, e, l.y)), logs = b.rows();
    const int dy = b.g.add(b.queries(l.value_size, e, l.dy)), dq = b.g.add(b.queries(l.size, e, l.dq));
    const int dk = b.g.add(b.keys(l.size, e, l.dk)), dv = b.g.add(b.keys(l.value_size, e, l.dv)), along = b.rows();
    const auto lengths = b.add_lengths();

    const int both = b.run(kind::multiply, {dy, y},
                           b.between(dense({l.batch, l.heads, l.queries, l.value_size}, element_type::float32)));
    const int sums = b.run(kind::sum, {both}, b.row());
    b.run(kind::multiply, {sums, b.number(1)}, along);

    const int x = b.scaled(q, k);
    const int p = b.run(kind::exp, {b.hidden(b.run(kind::subtract, {x, logs}, b.scores()), lengths)}, b.scores());
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
    if (e != element_type::float16 && e != element_type::bfloat16) return false;
    const std::int64_t most = std::int64_t{1} << 31, widest = l.size > l.value_size ? l.size : l.value_size;
    const std::int64_t longest = l.queries > l.keys ? l.queries : l.keys;
    return l.batch > 0 && l.heads > 0 && l.queries > 0 && l.keys > 0 && l.size > 0 && l.value_size > 0 &&
           l.batch * l.heads * longest < most / widest;
}

} // namespace tenon::cuda::dnn
