#include "tests.hpp"
#include "../untyped_run.hpp"

using namespace tenon;

// What is combined has the same bits whatever the number of threads: their pieces begin and end anywhere.

namespace {

using generator = std::mt19937;

std::int64_t any(generator& random, std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

// Numbers that do not add up exactly, and zeros of both signs.
any_array random_numbers(element_type e, const extents& sizes, generator& random) {
    any_array a(e, sizes);
    std::normal_distribution<double> number(0, 1);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const double x = random() % 8 == 0 ? (random() % 2 ? 0.0 : -0.0) : number(random);
        if (e == element_type::float64) a.data<double>()[i] = x;
        else if (e == element_type::float16) a.data<half>()[i] = half(static_cast<float>(x));
        else a.data<float>()[i] = static_cast<float>(x);
    }
    return a;
}
any_array random_indices(const extents& sizes, std::int64_t end, generator& random) {
    any_array a(element_type::int64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<std::int64_t>()[i] = any(random, 0, end - 1);
    return a;
}

// Which of the results differ between one thread and some other number of them; "": none.
std::string differences(const graph& g, const std::vector<fed_value>& feeds, const std::vector<any_tensor>& results) {
    std::string found;
    std::vector<any_array> expected;
    for (const int threads : {1, 2, 3, 4, 7}) {
        session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        std::vector<fed_value> own;
        for (const fed_value& f : feeds) own.push_back({f.tensor, f.value.share()});
        std::vector<any_array> got = s.run_untyped(std::move(own), results);
        if (threads == 1) expected = std::move(got);
        else
            for (std::size_t r = 0; r < results.size(); ++r) {
                const std::size_t bytes = static_cast<std::size_t>(got[r].elements()) * size_of(got[r].element());
                if (std::memcmp(got[r].data(), expected[r].data(), bytes) != 0)
                    found += results[r].name() + " with " + std::to_string(threads) + " threads; ";
            }
    }
    return found;
}

std::vector<any_tensor> all_reductions(const any_tensor& x, const index_list& axes) {
    using namespace untyped;
    return {sum(x, axes),      mean(x, axes),    max(x, axes),     min(x, axes),
            variance(x, axes), norm(x, 1, axes), norm(x, 2, axes), logsumexp(x, axes)};
}

// Of about 200,000 elements, which several threads take: rows of few elements and of many.
extents random_sizes(generator& random) {
    const std::int64_t inner = random() % 2 ? any(random, 1, 40) : any(random, 41, 700);
    const std::int64_t outer = random() % 3 ? any(random, 1, 6) : 1;
    return extents(outer, 200'000 / (outer * inner) + any(random, 1, 9), inner);
}

} // namespace

TEST_CASE("reductions of random sizes over any axes: the number of threads changes no bit") {
    generator random(1);
    const std::vector<index_list> axes{{2}, {1}, {0}, {1, 2}, {0, 1}, {0, 2}, {}};
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16})
        for (int round = 0; round < 6; ++round) {
            const any_array value = random_numbers(e, random_sizes(random), random);
            const own_graph g;
            const any_tensor x = untyped::placeholder(e, value.extents());
            std::vector<any_tensor> results;
            for (const index_list& a : axes)
                for (const any_tensor& t : all_reductions(x, a)) results.push_back(t);
            CAPTURE(std::string(name_of(e)));
            CAPTURE(to_string(value.extents()));
            CHECK(differences(g, test::fed(x, value), results) == "");
        }
}

TEST_CASE("reductions of what the step computes, and their gradients: the number of threads changes no bit") {
    generator random(2);
    const std::vector<index_list> axes{{2}, {1}, {0, 1}, {}};
    for (const element_type e : {element_type::float32, element_type::float64})
        for (int round = 0; round < 5; ++round) {
            const extents sizes = random_sizes(random), row = extents(sizes[2].size);
            const any_array value = random_numbers(e, sizes, random), bias = random_numbers(e, row, random);
            const own_graph g;
            const any_tensor x = untyped::placeholder(e, sizes), b = untyped::placeholder(e, row);
            const any_tensor made = untyped::tanh(untyped::multiply(x, b));
            std::vector<any_tensor> results;
            for (const index_list& a : axes)
                for (const any_tensor& t : all_reductions(made, a)) {
                    results.push_back(t);
                    for (const any_tensor& d : detail::add_gradients({t}, {x, b})) results.push_back(d);
                }
            CAPTURE(std::string(name_of(e)));
            CAPTURE(to_string(sizes));
            CHECK(differences(g, test::fed(x, value, b, bias), results) == "");
        }
}

TEST_CASE("softmax, layer norm and cross entropy with their gradients: the number of threads changes no bit") {
    generator random(3);
    for (const element_type e : {element_type::float32, element_type::float64})
        for (int round = 0; round < 6; ++round) {
            const extents sizes = random_sizes(random), row = extents(sizes[2].size),
                          rows = extents(sizes[0].size, sizes[1].size);
            const any_array value = random_numbers(e, sizes, random), weight = random_numbers(e, sizes, random),
                            scale = random_numbers(e, row, random),
                            labels = random_indices(rows, sizes[2].size, random);
            const own_graph g;
            const any_tensor x = untyped::placeholder(e, sizes), w = untyped::placeholder(e, sizes),
                             gamma = untyped::placeholder(e, row),
                             label = untyped::placeholder(element_type::int64, rows);
            std::vector<any_tensor> results;
            for (const any_tensor& y : {untyped::softmax(x, -1), untyped::softmax(x, 1), untyped::log_softmax(x, -1),
                                        untyped::log_softmax(x, 0), untyped::layer_norm(x, gamma, gamma),
                                        untyped::sparse_softmax_cross_entropy(x, label)}) {
                results.push_back(y);
                const bool by_row = y.type().extents.rank() == 2;
                const any_tensor loss = by_row ? y : untyped::multiply(y, w);
                for (const any_tensor& d : detail::add_gradients({loss}, {x, gamma}))
                    if (d.node()) results.push_back(d);
            }
            CAPTURE(std::string(name_of(e)));
            CAPTURE(to_string(sizes));
            CHECK(differences(g, test::fed(x, value, w, weight, gamma, scale, label, labels), results) == "");
        }
}

TEST_CASE("attention and sums of rows by index, with gradients: the number of threads changes no bit") {
    generator random(4);
    for (int round = 0; round < 4; ++round) {
        const std::int64_t queries = any(random, 60, 200), keys = any(random, 60, 200), width = any(random, 1, 5) * 8;
        const extents of_queries(4, queries, width), of_keys(4, keys, width), table(300, width);
        const std::int64_t count = 40'000 / width;
        const element_type e = element_type::float32;
        const own_graph g;
        const any_tensor q = untyped::placeholder(e, of_queries), k = untyped::placeholder(e, of_keys),
                         v = untyped::placeholder(e, of_keys), x = untyped::placeholder(e, table),
                         i = untyped::placeholder(element_type::int64, extents(count));
        std::vector<any_tensor> results;
        for (const bool causal : {false, true}) {
            attention_op::attributes how;
            how.causal = causal;
            const any_tensor y = untyped::attention(q, k, v, how);
            results.push_back(y);
            for (const any_tensor& d : detail::add_gradients({untyped::multiply(y, q)}, {q, k, v}))
                results.push_back(d);
        }
        const any_tensor rows = untyped::gather(x, i);
        results.push_back(detail::add_gradients({untyped::tanh(rows)}, {x})[0]);
        CAPTURE(to_string(of_queries));
        CAPTURE(keys);
        CHECK(differences(g,
                          test::fed(q, random_numbers(e, of_queries, random), k, random_numbers(e, of_keys, random), v,
                                    random_numbers(e, of_keys, random), x, random_numbers(e, table, random), i,
                                    random_indices(extents(count), 300, random)),
                          results) == "");
    }
}
