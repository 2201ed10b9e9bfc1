#include <tenon/resources/accumulator.hpp>

#include "tests.hpp"

namespace {

struct taken final : tn::accumulator_take {
    void completed(std::exception_ptr failure) noexcept override {
        ++ended;
        why = std::move(failure);
    }
    bool well() const { return ended == 1 && !why; }
    std::vector<double> values(std::size_t part = 0) const {
        const tn::any_array& a = average.at(part);
        return {a.data<double>(), a.data<double>() + a.elements()};
    }
    std::vector<std::int64_t> indices() const {
        return {average.at(0).data<std::int64_t>(), average.at(0).data<std::int64_t>() + average.at(0).elements()};
    }
    int ended = 0;
    std::exception_ptr why;
};

std::vector<tn::any_array> dense(const std::vector<double>& values) {
    std::vector<tn::any_array> g;
    g.emplace_back(tn::element_type::float64, tn::extents(static_cast<std::int64_t>(values.size())));
    std::copy(values.begin(), values.end(), g[0].data<double>());
    return g;
}
// Rows of two.
template <class I = std::int64_t>
std::vector<tn::any_array> rows(const std::vector<I>& indices, const std::vector<double>& values) {
    std::vector<tn::any_array> g;
    const auto n = static_cast<std::int64_t>(indices.size());
    g.emplace_back(tn::element_type_of<I>, tn::extents(n));
    g.emplace_back(tn::element_type::float64, tn::extents(n, 2));
    std::copy(indices.begin(), indices.end(), g[0].template data<I>());
    std::copy(values.begin(), values.end(), g[1].template data<double>());
    return g;
}

const tn::accumulator_description of_two{{tn::element_type::float64, {2}}, false};
const tn::accumulator_description of_rows{{tn::element_type::float64, {5, 2}}, true};

} // namespace

TEST_CASE("S41: an accumulator gives the average of what it was given, and begins anew in the next step") {
    tn::accumulator_resource a("sum", of_two);
    CHECK(a.state().step == 0);
    CHECK(a.apply(dense({1, 2}), 0));
    CHECK(a.apply(dense({3, 8}), 0));
    CHECK(a.apply(dense({5, 2}), 0));
    CHECK(a.state().count == 3);
    taken t;
    a.take(t, 2); // all that are there
    REQUIRE(t.well());
    CHECK(t.values() == std::vector<double>{3, 4});
    CHECK(a.state().count == 0);
    CHECK(a.state().step == 1);
    CHECK(a.apply(dense({7, 7}), 1));
    taken next;
    a.take(next, 1);
    CHECK(next.values() == std::vector<double>{7, 7});
}

TEST_CASE(
    "S41: a gradient of an earlier step than the accumulator's is dropped, and counted; one of a later step counts") {
    tn::accumulator_resource a("sum", of_two);
    a.set_step(5);
    CHECK_FALSE(a.apply(dense({1, 1}), 4));
    CHECK(a.apply(dense({2, 2}), 5));
    CHECK(a.apply(dense({4, 4}), 9));
    CHECK(a.state().dropped == 1);
    taken t;
    a.take(t, 2);
    CHECK(t.values() == std::vector<double>{3, 3});
    CHECK(a.state().step == 6);
    CHECK_FALSE(a.apply(dense({2, 2}), 5));
    a.set_step(2); // as after a restore
    CHECK(a.apply(dense({2, 2}), 5));
    CHECK(a.state().dropped == 2);
}

TEST_CASE("S41: a step that cannot be counted on is refused") {
    tn::accumulator_resource a("sum", of_two);
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t bad : {largest, tn::largest_step + 1, std::int64_t{-1}})
        CHECK(message_of<tn::invalid_argument_error>([&] { a.set_step(bad); }) ==
              "accumulator \"sum\": there is no step " + std::to_string(bad) +
                  "; they are numbered from 0 to 4611686018427387903");
    a.set_step(tn::largest_step);
    CHECK(a.apply(dense({1, 2}), largest));
    taken t;
    a.take(t, 1);
    CHECK(t.well());
    CHECK(a.state().step == tn::largest_step + 1);
}

TEST_CASE("S41: takes wait for enough gradients, first come, first served") {
    tn::accumulator_resource a("sum", of_two);
    taken first, second, third;
    a.take(first, 2);
    a.take(second, 1);
    a.take(third, 1);
    CHECK(a.awaited(2) == "accumulator \"sum\" to have 2 gradients; it has 0");
    CHECK(a.apply(dense({1, 1}), 0));
    CHECK(first.ended + second.ended == 0); // nobody overtakes
    CHECK(a.apply(dense({2, 2}), 0));
    CHECK(first.well());
    CHECK(second.ended == 0);
    CHECK(a.apply(dense({5, 5}), 1));
    CHECK(second.well());
    CHECK(a.stop(third));
    CHECK_FALSE(a.stop(third));
    CHECK(a.apply(dense({5, 5}), 2));
    CHECK(third.ended == 0);
    CHECK(a.state().count == 1);
}

TEST_CASE("S41: who is stopped leaves the line to those behind who want fewer") {
    tn::accumulator_resource a("sum", of_two);
    taken many, one;
    a.take(many, 9);
    a.take(one, 1);
    CHECK(a.apply(dense({1, 3}), 0));
    CHECK(one.ended == 0);
    CHECK(a.stop(many));
    CHECK(one.well());
    CHECK(one.values() == std::vector<double>{1, 3});
}

TEST_CASE("S17: what was taken and is given back is there again, beside what came since") {
    tn::accumulator_resource a("sum", of_two);
    taken t;
    t.keeps = true;
    CHECK(a.apply(dense({1, 1}), 0));
    CHECK(a.apply(dense({3, 5}), 0));
    a.take(t, 2);
    CHECK(a.apply(dense({8, 0}), 1));
    a.give_back(t);
    CHECK(a.state().step == 0);
    CHECK(a.state().count == 3);
    taken again;
    a.take(again, 3);
    CHECK(again.values() == std::vector<double>{4, 2});
    taken kept;
    kept.keeps = true;
    CHECK(a.apply(dense({8, 0}), 1));
    a.take(kept, 1);
    a.let_go(kept);
    a.give_back(kept); // nobody's any more
    CHECK(a.state().count == 0);
}

TEST_CASE(
    "S41: rows are averaged over all gradients, as the dense ones that they stand for; equal ones are one, by index") {
    tn::accumulator_resource a("table", of_rows);
    CHECK(a.apply(rows({3, 0}, {1, 2, 3, 4}), 0));
    CHECK(a.apply(rows<std::int32_t>({3, 3, 1}, {10, 20, 30, 40, 50, 60}), 0));
    CHECK(a.apply(rows({}, {}), 0)); // which still counts
    CHECK(a.apply(rows({1}, {2, 2}), 0));
    taken t;
    a.take(t, 4);
    REQUIRE(t.well());
    CHECK(t.indices() == std::vector<std::int64_t>{0, 1, 3});
    CHECK(t.values(1) == std::vector<double>{0.75, 1, 13, 15.5, 10.25, 15.5});
    CHECK(a.apply(rows({}, {}), 1));
    taken none;
    a.take(none, 1);
    CHECK(none.indices().empty());
    CHECK(none.average[1].extents() == tn::extents(0, 2));
}

TEST_CASE("S41: rows of many gradients are kept once, and give what a map of sums gives") {
    std::mt19937 random(7);
    tn::accumulator_resource a("table", {{tn::element_type::float64, {50, 2}}, true});
    std::map<std::int64_t, std::vector<double>> sums;
    constexpr int gradients = 256;
    for (int g = 0; g < gradients; ++g) {
        std::vector<std::int64_t> indices;
        std::vector<double> values;
        for (int r = 0; r < 20; ++r) {
            indices.push_back(static_cast<std::int64_t>(random() % 50));
            for (int c = 0; c < 2; ++c) values.push_back(static_cast<double>(random() % 64)); // sums are exact
            auto& sum = sums[indices.back()];
            sum.resize(2);
            sum[0] += values[values.size() - 2];
            sum[1] += values.back();
        }
        CHECK(a.apply(rows(indices, values), 0));
    }
    tn::resource_info is;
    a.describe(is);
    CHECK(is.description.starts_with("256 gradients, "));
    const std::string bytes = is.description.substr(15);
    CHECK(std::stoll(bytes) < 3 * 1024 * 24); // not 256 x 20 x 24
    taken t;
    a.take(t, 1);
    std::size_t i = 0;
    for (const auto& [index, sum] : sums) {
        CHECK(t.indices()[i] == index);
        CHECK(t.values(1)[2 * i] == sum[0] / gradients);
        CHECK(t.values(1)[2 * i + 1] == sum[1] / gradients);
        ++i;
    }
    CHECK(t.average[0].elements() == static_cast<std::int64_t>(sums.size()));
}

TEST_CASE("S26: a gradient of another type, other rows or no number of gradients is refused, and changes nothing") {
    using namespace std::string_literals;
    tn::accumulator_resource a("sum", of_two), table("table", of_rows);
    CHECK(message_of<tn::error>([&] {
              a.apply(dense({1, 2, 3}), 0);
          }) == "accumulator \"sum\" is of double[2]: a gradient of double[3] is no part of it");
    CHECK(message_of<tn::error>([&] { a.apply({}, 0); }) ==
          "accumulator \"sum\" is of double[2]: a gradient of nothing is no part of it");
    CHECK(contains(message_of<tn::error>([&] {
                       table.apply(dense({1, 2}), 0);
                   }),
                   "a gradient of rows is indices and rows"));
    CHECK(message_of<tn::error>([&] {
              table.apply(rows({5}, {1, 2}), 0);
          }) == "accumulator \"table\" is of double[5, 2]: index 5 at 0 is not below 5");
    CHECK(contains(message_of<tn::error>([&] { table.apply(rows({2, -1}, {1, 2, 3, 4}), 0); }), "index -1 at 1"));
    auto other = rows({1}, {1, 2});
    other[1] = std::move(rows({1, 2}, {1, 2, 3, 4})[1]);
    CHECK_ERROR(tn::error, "not double[2, 2]", table.apply(std::move(other), 0));
    taken t;
    CHECK_THROWS_AS(a.take(t, 0), tn::invalid_argument_error);
    CHECK(a.state().count == 0);
    CHECK(table.state().count == 0);
    const auto make = [](const tn::accumulator_description& d) {
        return message_of<tn::error>([&] { tn::accumulator_resource("x", d); });
    };
    CHECK(contains(make({{tn::element_type::int32, {2}}, false}), "an average is of floating numbers"));
    CHECK(contains(make({{tn::element_type::float32, {tn::extent()}}, false}), "sizes must be numbers"));
    CHECK(contains(make({{tn::element_type::float32, {}}, true}), "a scalar has no rows"));
}

TEST_CASE("S25: whose container is reset fails those that wait, and all that is asked of it later") {
    tn::accumulator_resource a("sum", of_two);
    taken t;
    a.take(t, 1);
    a.forgotten();
    CHECK(t.ended == 1);
    CHECK(t.why);
    CHECK(message_of<tn::error>([&] { a.apply(dense({1, 2}), 0); }) == "accumulator \"sum\": its container was reset.");
}

TEST_CASE("S41: of what replicas deposit, that under the named tickets is averaged, in their order; older tickets "
          "replace nothing") {
    tn::accumulator_resource a("sum", of_two);
    a.deposit(0, 10, 0, dense({1, 1}));
    a.deposit(1, 11, 0, dense({3, 5}));
    a.deposit(2, 12, 0, dense({100, 100}));
    a.deposit(1, 9, 0, dense({-9, -9})); // late, of a step that was given up
    const std::int64_t two[] = {10, 11};
    const auto average = a.average_of(two, 2, 0);
    CHECK(average[0].data<double>()[0] == 2);
    CHECK(average[0].data<double>()[1] == 3);
    CHECK(a.average_of(two, 2, 0)[0].data<double>()[1] == 3); // again, as who was lost before he had applied it
    a.deposit(0, 20, 1, dense({7, 7}));
    CHECK_THROWS_AS(a.average_of(two, 2, 0), tn::aborted_error);
    CHECK_THROWS_AS(a.average_of(two, 0, 0), tn::invalid_argument_error);
    const std::int64_t one[] = {20};
    CHECK(a.average_of(one, 1, 1)[0].data<double>()[0] == 7);
    tn::resource_info is;
    a.describe(is);
    CHECK(is.description.starts_with("1 gradients, 16 bytes")); // those of step 0 are gone
}

TEST_CASE("S41: threads that apply and take lose no gradient and use none twice") {
    constexpr int threads = 4, each = 500, all_of_them = threads * each;
    tn::accumulator_resource a("table", {{tn::element_type::float64, {all_of_them, 2}}, true});
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (std::int64_t i = t * each; i < (t + 1) * each; ++i) a.apply(rows({i}, {1, 1}), 1 << 30);
        });
    std::vector<int> seen(all_of_them);
    for (int found = 0; found < all_of_them;) {
        taken t;
        if (a.state().count == 0) {
            std::this_thread::yield();
            continue;
        }
        a.take(t, 1);
        REQUIRE(t.well());
        for (const std::int64_t i : t.indices()) {
            ++seen[static_cast<std::size_t>(i)];
            ++found;
        }
    }
    for (std::thread& t : all) t.join();
    CHECK(std::count(seen.begin(), seen.end(), 1) == all_of_them);
}
