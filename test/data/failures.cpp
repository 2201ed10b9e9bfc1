#include <tenon/input.hpp>

#include "tests.hpp"

using tn::dyn;
using numbers = std::vector<std::int64_t>;

// Functions and sources that throw, files that are not what they were: which element is the error, and what comes before and behind it.

TEST_CASE("what a function that makes a graph throws names the step that it was given to") {
    const auto thrown_by = [](auto f) { (void)tn::data::range(3).map(f); };
    CHECK_THROWS_WITH_AS(thrown_by([](auto x) { return throw tn::end_of_data_error("all of it"), x; }),
                         "map: all of it", tn::out_of_range_error);
    try {
        thrown_by([](auto x) { return throw 3, x; });
        FAIL("nothing was thrown");
    } catch (const tn::error& e) {
        CHECK(std::string(e.what()) == "map: the int 3 was thrown");
        CHECK(e.code() == tn::error_code::unknown);
    }
}

TEST_CASE("SEMANTICS 28: what a function throws is never taken for the end of the data") {
    auto it = tn::data::range(3)
                  .map_host([](std::int64_t x) {
                      if (x == 1) throw tn::end_of_data_error("the function's own source has ended");
                      return x;
                  })
                  .iterate();
    CHECK(it.next() == 0);
    try {
        (void)it.next();
        FAIL("an element came that could not be made");
    } catch (const tn::out_of_range_error& e) {
        CHECK(e.reason() == tn::error_reason::none);
        CHECK(std::string(e.what()) == "map_host: element 1: the function's own source has ended");
    }
    CHECK(it.next() == 2);
}

TEST_CASE("a function that throws: the element's place and the cause, and what is before and behind it comes") {
    for (const int parallelism : {1, 3}) {
        CAPTURE(parallelism);
        auto it = tn::data::range(6)
                      .map_host(
                          [](std::int64_t x) {
                              if (x == 3) throw tn::data_loss_error("three is odd");
                              return x;
                          },
                          {.parallelism = parallelism})
                      .iterate();
        numbers found;
        for (int i = 0; i < 3; ++i) found.push_back(it.next().value());
        CHECK_THROWS_WITH_AS(it.next(), "map_host: element 3: three is odd", tn::data_loss_error);
        while (const auto x = it.next()) found.push_back(*x);
        CHECK(found == numbers{0, 1, 2, 4, 5});
    }
    // Of a graph: the node is named.
    const tn::array<std::string, tn::shape<3>> texts{"1", "one", "3"};
    auto it = tn::data::slices(texts).map([](auto x) { return tn::to_number<float>(x); }).iterate();
    CHECK(it.next() == 1.0f);
    CHECK_THROWS_AS(it.next(), tn::invalid_argument_error);
    CHECK(it.next() == 3.0f);
}

TEST_CASE("what could not be made is left out, and counted, where that is asked for") {
    const tn::array<std::string, tn::shape<5>> texts{"1", "one", "3", "", "5"};
    auto it = tn::data::slices(texts).map([](auto x) { return tn::to_number<float>(x); }).ignore_errors().iterate();
    std::vector<float> found;
    while (const auto x = it.next()) found.push_back(*x);
    CHECK(found == std::vector<float>{1, 3, 5});
    CHECK(it.report().steps[0].left_out == 2);

    // Records that are damaged: in the second the checksum is not that of its data.
    const temporary_folder folder;
    tn::tfrecord_writer out(folder / "a.tfrecord");
    for (const char* text : {"first", "second", "third"}) out.write(text);
    out.commit();
    std::fstream file(folder / "a.tfrecord", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(12 + 5 + 4 + 12);
    file.put('S');
    file.close();
    auto records = tn::data::tf_records({folder / "a.tfrecord"}, {.ignore_errors = true}).iterate();
    CHECK(records.next() == "first");
    CHECK(records.next() == "third");
    CHECK(!records.next());
    CHECK(records.report().steps[0].left_out == 1);
    auto strict = tn::data::tf_records({folder / "a.tfrecord"}).iterate();
    CHECK(strict.next() == "first");
    CHECK_THROWS_AS(strict.next(), tn::data_loss_error);
    CHECK(strict.next() == "third");
}

TEST_CASE_FIXTURE(in_folder, "a file that has become shorter is no end of the data: its place is refused") {
    std::ofstream(folder / "a.txt") << "one\ntwo\nthree\n";
    const auto lines = tn::data::text_lines(folder / "a.txt");
    auto it = lines.iterate();
    (void)it.next();
    (void)it.next();
    const std::string state = it.save();
    std::ofstream(folder / "a.txt") << "one\n";
    auto later = lines.iterate();
    CHECK_ERROR(tn::data_loss_error, "is not the file that it was", later.restore(state));
}

TEST_CASE("a window that cannot be made is left behind") {
    const auto set = tn::data::range(6)
                         .map_host([](std::int64_t i) { return tn::array<float, tn::shape<dyn>>(i == 2 ? 5 : 1); })
                         .window(2);
    auto it = set.iterate();
    CHECK(it.next());
    CHECK_THROWS_AS(it.next(), tn::invalid_argument_error);
    CHECK(it.next());
    CHECK(!it.next());
}

TEST_CASE("a source that fails takes no number from the elements behind it, whatever the threads") {
    for (const int parallelism : {1, 2}) {
        CAPTURE(parallelism);
        const tn::array<std::string, tn::shape<4>> texts{"0", "one", "2", "three"};
        auto it = tn::data::slices(texts)
                      .map([](auto x) { return tn::to_number<float>(x); })
                      .map_host(
                          [](float x) {
                              if (x == 2) throw tn::data_loss_error("two");
                              return x;
                          },
                          {.parallelism = parallelism})
                      .iterate();
        CHECK(it.next() == 0.0f);
        CHECK_THROWS_AS(it.next(), tn::invalid_argument_error);
        CHECK_THROWS_WITH_AS(it.next(), "map_host: element 1: two", tn::data_loss_error);
        CHECK_THROWS_AS(it.next(), tn::invalid_argument_error);
        CHECK(!it.next());
    }
}

TEST_CASE("what a function whose types are not checked by the compiler gives is checked by the step") {
    auto set = tn::data::range(3).untyped().map_host({{tn::element_type::float32, {2}}},
                                                     [](std::vector<tn::any_array>& x) { x[0] = x[0].copy(); });
    tn::data_run run(set);
    std::vector<tn::any_array> element;
    CHECK_ERROR(tn::invalid_argument_error, "component 0 of what the function gives", run.next(element));
}

TEST_CASE("of two data sets beside each other that fail at one place the first one's failure is told") {
    const auto failing = [](const char* why) {
        return tn::data::range(2).map_host([why](std::int64_t x) { return throw tn::data_loss_error(why), x; });
    };
    auto it = tn::data::zip(failing("left"), failing("right")).iterate();
    CHECK_THROWS_WITH_AS(it.next(), "map_host: element 0: left", tn::data_loss_error);
}

TEST_CASE(
    "data sets that follow one another have the sizes that are those of both, and are refused where they do not fit") {
    const auto set = [](const tn::extents& sizes) {
        return tn::data::range(1).untyped().map_host(
            {{tn::element_type::float32, sizes}},
            [sizes](std::vector<tn::any_array>& x) { x[0] = tn::any_array::zeros(tn::element_type::float32, sizes); });
    };
    const auto both = set({2, 3}).concatenate(set({4, 3}));
    CHECK(both.components()[0] == tn::tensor_type{tn::element_type::float32, {tn::dynamic_extent, 3}});
    CHECK_ERROR(tn::invalid_argument_error, "make no data set", set({2, 3}).concatenate(set({2})));
}
