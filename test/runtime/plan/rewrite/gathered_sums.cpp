#include "ops/untyped_run.hpp"
#include "tests.hpp"
#include "ops/random/random_arrays.hpp"

// Sums and means of gathered rows, which are added where they lie: beside the same made apart, and beside sums in double.

namespace {

struct bags {
    tn::extents rows, indices;
    tn::index_list axes; // of what is gathered
    bool keepdims, mean;
};

struct step {
    tn::any_array value;
    bool is_one_pass;
};

step run(const bags& of, tn::element_type e, const tn::any_array& rows, const tn::any_array& indices, bool fuse) {
    const own_graph g;
    const auto x = tn::untyped::placeholder(e, of.rows), i = tn::untyped::placeholder(indices.element(), of.indices);
    const auto gathered = tn::untyped::gather(x, i);
    const auto y =
        of.mean ? tn::untyped::mean(gathered, of.axes, of.keepdims) : tn::untyped::sum(gathered, of.axes, of.keepdims);
    tn::session s(g, {.fuse = fuse});
    const auto fed = [&] { return tn::test::fed(x, rows, i, indices); };
    std::string order;
    for (const std::string& line : s.report_untyped(fed(), {y}).order) order += line + "\n";
    return {std::move(s.run_untyped(fed(), {y})[0]), contains(order, "(gather_sum)")};
}

double at(const tn::any_array& a, std::int64_t k) {
    return a.element() == tn::element_type::float64 ? static_cast<const double*>(a.data())[k]
                                                    : static_cast<double>(static_cast<const float*>(a.data())[k]);
}

} // namespace

TEST_CASE_TEMPLATE("sums of gathered rows along the last axes of their indices are one pass", T, float, double) {
    const auto e = tn::element_type_of<T>;
    std::uint64_t seed = 1;
    for (const tn::extents& rows : {tn::extents(10, 8), tn::extents(7, 300), tn::extents(5, 3, 9)})
        for (const tn::extents& indices : {tn::extents(4, 3), tn::extents(2, 3, 5), tn::extents(6), tn::extents(1, 1)})
            for (int kind = 0; kind < 8; ++kind) {
                bags of{rows, indices, {}, (kind & 1) != 0, (kind & 2) != 0};
                const int first = (kind & 4) != 0 ? 0 : indices.rank() - 1;
                for (int a = first; a < indices.rank(); ++a) of.axes.push_back(a);
                const tn::any_array x = tn::test::random_array<T>(rows, ++seed);
                tn::any_array i(tn::element_type::int32, indices);
                for (std::int64_t k = 0; k < indices.elements(); ++k)
                    static_cast<std::int32_t*>(i.data())[k] = static_cast<std::int32_t>((k * 7 + k / 3) % rows[0].size);
                const step joined = run(of, e, x, i, true), apart = run(of, e, x, i, false);
                INFO(to_string(rows), " ", to_string(indices), " ", kind);
                CHECK(joined.is_one_pass);
                CHECK(!apart.is_one_pass);
                REQUIRE(joined.value.extents() == apart.value.extents());
                std::int64_t inner = 1, together = 1;
                for (int d = 1; d < rows.rank(); ++d) inner *= rows[d].size;
                for (int a = first; a < indices.rank(); ++a) together *= indices[a].size;
                const double close = e == tn::element_type::float64 ? 1e-14 : 3e-5;
                for (std::int64_t k = 0; k < joined.value.extents().elements(); ++k) {
                    double sum = 0;
                    for (std::int64_t r = 0; r < together; ++r)
                        sum += at(x, static_cast<const std::int32_t*>(i.data())[k / inner * together + r] * inner +
                                         k % inner);
                    if (of.mean) sum /= static_cast<double>(together);
                    CHECK(std::abs(at(joined.value, k) - sum) <= close);
                    CHECK(std::abs(at(apart.value, k) - sum) <= close);
                }
            }
}

TEST_CASE("many rows are added some at a time, in order") {
    const bags of{{9, 20}, {2, 300}, {1}, false, false};
    const tn::any_array x = tn::test::random_array<float>(of.rows, 4);
    tn::any_array i(tn::element_type::int64, of.indices);
    for (std::int64_t k = 0; k < 600; ++k) static_cast<std::int64_t*>(i.data())[k] = k * 5 % 9;
    const step joined = run(of, tn::element_type::float32, x, i, true);
    CHECK(joined.is_one_pass);
    for (std::int64_t k = 0; k < 40; ++k) {
        float sum = 0;
        for (std::int64_t r = 0; r < 300; ++r)
            sum += static_cast<float>(at(x, (k / 20 * 300 + r) * 5 % 9 * 20 + k % 20));
        CHECK(static_cast<float>(at(joined.value, k)) == sum);
    }
}

TEST_CASE("rows of 16 bits are gathered first") {
    const bags of{{9, 40}, {3, 6}, {1}, false, true};
    const tn::any_array x = tn::test::random_array<tn::bfloat16>(of.rows, 4),
                        i = tn::any_array::zeros(tn::element_type::int64, of.indices);
    CHECK(!run(of, tn::element_type::bfloat16, x, i, true).is_one_pass);
}

TEST_CASE_FIXTURE(in_graph, "what else reads the rows, other axes, and an index out of range stay as they are") {
    const auto x = tn::placeholder<float, tn::shape<10, 8>>("x");
    const auto i = tn::placeholder<int, tn::shape<4, 3>>("i");
    const auto rows = tn::gather(x, i);
    tn::session s(g);
    const auto ones = [] {
        tn::array<float, tn::shape<10, 8>> a;
        for (float& v : a) v = 1;
        return a;
    };
    const auto all = [](int index) {
        tn::array<int, tn::shape<4, 3>> a;
        for (int& v : a) v = index;
        return a;
    };
    const auto order = [&](const auto&... fetched) {
        std::string text;
        for (const std::string& line : s.report(tn::feed(x, ones()), tn::feed(i, all(2)), fetched...).order)
            text += line + "\n";
        return text;
    };
    CHECK(contains(order(tn::sum<1>(rows)), "(gather_sum)"));
    CHECK(!contains(order(tn::sum<1>(rows), rows), "(gather_sum)"));
    CHECK(!contains(order(tn::sum<0>(rows)), "(gather_sum)"));
    CHECK(!contains(order(tn::sum<2>(rows)), "(gather_sum)"));
    CHECK(!contains(order(tn::sum<1, 2>(rows)), "(gather_sum)"));
    CHECK(!contains(order(tn::max<1>(rows)), "(gather_sum)"));
    CHECK_ERROR(tn::invalid_argument_error, "10", s.run(tn::feed(x, ones()), tn::feed(i, all(10)), tn::sum<1>(rows)));
}
