#include "tests.hpp"
#include "ops/random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

// Slices that elementwise items read where they lie.

namespace {

bool same_bits(const tn::any_array& a, const tn::any_array& b) {
    return a.type() == b.type() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// A random slice of x whose result has the given sizes, where there is one.
tn::any_tensor some_part(const tn::any_tensor& x, const std::vector<std::int64_t>& sizes, std::mt19937& random) {
    tn::slice_op::attributes a;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        const std::int64_t n = x.extents()[static_cast<int>(d)].size, size = sizes[d];
        const std::int64_t most = size > 1 ? (n - 1) / (size - 1) : 1;
        std::int64_t step = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
        if (random() % 3 > 0) step = 1;
        const std::int64_t span = (size - 1) * step + 1;
        const std::int64_t first = static_cast<std::int64_t>(random() % static_cast<unsigned>(n - span + 1));
        const bool backwards = random() % 4 == 0;
        a.begins.push_back(backwards ? first + span - 1 : first);
        a.ends.push_back(backwards ? (first == 0 ? tn::unbounded : first - 1) : first + span);
        a.steps.push_back(backwards ? -step : step);
    }
    return tn::add<tn::slice_op>(a, {x});
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a five-point stencil is one pass over memory") {
    const auto x = tn::placeholder<float, tn::shape<34, 300>>("x");
    constexpr tn::range inner{1, -1}, before{tn::unbounded, -2}, after{2, tn::unbounded};
    const auto y = 0.25f * (tn::slice<before, inner>(x) + tn::slice<after, inner>(x) + tn::slice<inner, before>(x) +
                            tn::slice<inner, after>(x)) -
                   tn::slice<inner, inner>(x);
    tn::session s;
    tn::array<float, tn::shape<34, 300>> given;
    for (std::int64_t i = 0; i < 34; ++i)
        for (std::int64_t j = 0; j < 300; ++j)
            given(i, j) = static_cast<float>(std::sin(0.37 * static_cast<double>(i * 300 + j)));
    CHECK(s.report(y, tn::feed(x, given)).nodes == 1);
    const auto got = s.run(y, tn::feed(x, given));
    for (std::int64_t i = 0; i < 32; ++i)
        for (std::int64_t j = 0; j < 298; ++j) {
            const float wanted =
                0.25f * (given(i, j + 1) + given(i + 2, j + 1) + given(i + 1, j) + given(i + 1, j + 2)) -
                given(i + 1, j + 1);
            REQUIRE(got(i, j) == doctest::Approx(wanted).epsilon(1e-6));
        }
}

TEST_CASE("parts of tensors, read in place or copied first, give the same bits") {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        const auto upto = [&](unsigned most) { return 1 + static_cast<std::int64_t>(random() % most); };
        const tn::graph_scope scope{tn::graph()};
        const int rank = static_cast<int>(upto(3));
        std::vector<std::int64_t> sizes;
        tn::extents whole;
        for (int d = 0; d < rank; ++d) {
            sizes.push_back(upto(d + 1 == rank && random() % 3 == 0 ? 400 : 7));
            whole.push_back(sizes.back() + static_cast<std::int64_t>(random() % 9));
        }
        const bool is_double = random() % 2;
        const tn::any_array values =
            is_double ? tn::test::random_array<double>(whole) : tn::test::random_array<float>(whole);
        const tn::any_tensor x = tn::untyped::placeholder(values.element(), whole);
        tn::any_tensor sum = some_part(x, sizes, random);
        for (std::int64_t k = upto(4); k > 0; --k) {
            std::vector<std::int64_t> own = sizes;
            if (random() % 3 == 0) own[random() % own.size()] = 1; // repeated
            tn::any_tensor more = some_part(x, own, random);
            if (rank > 1 && random() % 4 == 0 && own == sizes) { // axes exchanged, and back by another copy
                tn::index_list order;
                for (int d = 0; d < rank; ++d) order.push_back(d);
                std::swap(order.values[0], order.values[rank - 1]);
                more = tn::untyped::transpose(tn::untyped::transpose(more, order), order);
            }
            sum = tn::detail::add_instruction(random() % 2 ? tn::opcode::add : tn::opcode::multiply, {sum, more});
        }
        std::vector<tn::any_tensor> fetches{sum};
        if (random() % 2) fetches.push_back(tn::gradients(tn::untyped::sum(sum), {x})[0]);
        tn::session fused, plain({.fuse = false});
        const auto a = fused.run_untyped(tn::test::fed(x, values), fetches),
                   b = plain.run_untyped(tn::test::fed(x, values), fetches);
        for (std::size_t f = 0; f < a.size(); ++f)
            if (f == 0) CHECK(same_bits(a[f], b[f]));
            else
                for (std::int64_t i = 0; i < a[f].elements(); ++i)
                    CHECK((is_double ? tn::test::element<double>(a[f], i) : tn::test::element<float>(a[f], i)) ==
                          doctest::Approx(is_double ? tn::test::element<double>(b[f], i)
                                                    : tn::test::element<float>(b[f], i))
                              .epsilon(1e-4));
    }
}

TEST_CASE_FIXTURE(in_graph, "what is needed densely by somebody else is made, and read as it is") {
    const auto x = tn::placeholder<float, tn::shape<10, 8>>("x");
    const auto part = tn::slice<tn::range{2, 6}>(x);
    const auto y = exp(part);
    tn::session s;
    const tn::any_array values = tn::test::random_array<float>(tn::extents(10, 8));
    const auto a = s.run_untyped(tn::test::fed(x, values), {part, y});
    for (std::int64_t k = 0; k < 32; ++k) {
        CHECK(tn::test::element<float>(a[0], k) == tn::test::element<float>(values, k + 16));
        CHECK(tn::test::element<float>(a[1], k) == doctest::Approx(std::exp(tn::test::element<float>(values, k + 16))));
    }
}

TEST_CASE_FIXTURE(in_graph, "a part of a variable that the step updates is of the value before") {
    const auto v = tn::variable<float, tn::shape<6>>("v", tn::ones());
    const auto differences = tn::slice<tn::range{1, tn::unbounded}>(v) - tn::slice<tn::range{tn::unbounded, -1}>(v);
    const auto update = v.assign(tn::constant({1.0f, 2.0f, 4.0f, 8.0f, 16.0f, 32.0f}));
    initialized_session s;
    CHECK(std::get<0>(s.run(differences, update)) == tn::array<float, tn::shape<5>>{0, 0, 0, 0, 0});
    CHECK(s.run(differences) == tn::array<float, tn::shape<5>>{1, 2, 4, 8, 16});
}
