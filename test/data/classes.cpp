#include <tenon/data/classes.hpp>
#include <tenon/data/from.hpp>
#include <tenon/data/take_while.hpp>

#include "tests.hpp"

TEST_CASE("a stratified split keeps the share of every class, and is all of them") {
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 1000; ++i) labels.push_back(i % 10 == 0 ? 7 : i % 3);
    const auto [first, second] = tn::data::stratified_split(labels, 0.8, 5);
    std::vector<std::int64_t> all(first);
    all.insert(all.end(), second.begin(), second.end());
    CHECK(std::is_sorted(first.begin(), first.end()));
    std::sort(all.begin(), all.end());
    for (std::int64_t i = 0; i < 1000; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
    for (const std::int32_t c : {0, 1, 2, 7}) {
        const auto members = std::count(labels.begin(), labels.end(), c);
        const auto chosen = std::count_if(first.begin(), first.end(),
                                          [&](std::int64_t i) { return labels[static_cast<std::size_t>(i)] == c; });
        CHECK(std::abs(static_cast<double>(chosen) - 0.8 * static_cast<double>(members)) <= 0.5);
    }
    CHECK(tn::data::stratified_split(labels, 0.8, 5).first == first);
    CHECK(tn::data::stratified_split(labels, 0.8, 6).first != first);
    CHECK(tn::data::stratified_split(labels, 1).second.empty());
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::data::stratified_split(labels, 1.5); }) ==
          "stratified_split: a share of 1.5; it is from 0 to 1");
}

TEST_CASE("by their weights all classes count alike") {
    const std::vector<std::int32_t> labels{0, 0, 0, 2, 0, 2};
    CHECK(tn::data::class_weights(labels, 3) == std::vector<double>{0.5, 0, 1});
    CHECK(tn::data::balanced_weights(labels, 3) == std::vector<double>{0.5, 0.5, 0.5, 1, 0.5, 1});
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::data::class_weights(labels, 2); }) ==
          "class_weights: label 3 is 2, none of 2 classes");
}

TEST_CASE("rows of an array at places") {
    const tn::array<float> a{{1, 2}, {3, 4}, {5, 6}};
    const std::vector<std::int64_t> places{2, 0, 2}, beyond{3};
    CHECK(tn::data::rows_at(a.untyped(), places) == tn::array<float>{{5, 6}, {1, 2}, {5, 6}}.untyped());
    const tn::array<std::string> texts{"a", "b", "c"};
    CHECK(tn::data::rows_at(texts.untyped(), places) == tn::array<std::string>{"c", "a", "c"}.untyped());
    const auto typed = tn::data::rows_at(a, places);
    static_assert(std::is_same_v<decltype(typed), const tn::array<float>>);
    CHECK(typed.untyped() == tn::data::rows_at(a.untyped(), places));
    tn::array<float, tn::shape<3, 2>> sized;
    static_assert(std::is_same_v<decltype(tn::data::rows_at(sized, places)), tn::array<float, tn::shape<tn::dyn, 2>>>);
    const tn::minibatches batches({.size = 2}, tn::data::rows_at(sized, places)); // a type that it takes
    CHECK(batches.size() == 2);
    CHECK(message_of<tn::out_of_range_error>([&] { tn::data::rows_at(a.untyped(), beyond); }) ==
          "rows_at: there is no row 3; there are 3");
}

TEST_CASE("elements are taken while a condition holds, and a going through goes on from its state") {
    std::vector<std::int64_t> seen;
    int asked = 0;
    const auto set = tn::data::take_while(tn::data::range(100), [&asked](std::int64_t i) {
        ++asked;
        return i % 10 != 7;
    });
    for (const std::int64_t i : set) seen.push_back(i);
    CHECK(seen == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
    CHECK(asked == 8); // and nothing behind it
    tn::data_run run(set.untyped());
    std::vector<tn::any_array> x;
    for (int i = 0; i < 5; ++i) run.next(x);
    const std::string state = run.save();
    tn::data_run other(set.untyped());
    other.restore(state);
    REQUIRE(other.next(x));
    CHECK(x[0].data<std::int64_t>()[0] == 5);
    CHECK(other.next(x));
    CHECK_FALSE(other.next(x));
    CHECK_FALSE(other.next(x));
    const std::string ended = other.save();
    tn::data_run third(set.untyped());
    third.restore(ended);
    CHECK_FALSE(third.next(x));
}
