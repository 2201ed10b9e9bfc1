#include <stdexcept>

#include <tenon/input.hpp>

#include "tests.hpp"

using tn::dyn;
using numbers = std::vector<std::int64_t>;

namespace {

inline constexpr struct rows : tn::dim<"rows"> {} rows;

struct sample {
    tn::array<float, tn::shape<2>> image;
    std::int32_t label = 0;
    std::string name;
    static constexpr auto fields() {
        return tn::record_fields("image", &sample::image, "label", &sample::label, "name", &sample::name);
    }
};

struct pair_row {
    float x = 0;
    std::int32_t n = 0;
    static constexpr auto fields() { return tn::record_fields("x", &pair_row::x, "n", &pair_row::n); }
};

numbers all_of(const tn::data_set<std::int64_t>& s) {
    numbers found;
    for (const std::int64_t x : s) found.push_back(x);
    return found;
}
template <class S> numbers values(const tn::array<std::int64_t, S>& a) { return {a.begin(), a.end()}; }

tn::generator<std::int64_t> squares(int n) {
    for (int i = 0; i < n; ++i) co_yield std::int64_t{i} * i;
}
tn::generator<std::int64_t> fails_after(int n) {
    for (int i = 0; i < n; ++i) co_yield std::int64_t{i};
    throw std::runtime_error("the well is dry");
}

} // namespace

TEST_CASE("SEMANTICS 38: range, repeat and batch; the last batch may be smaller") {
    std::vector<numbers> batches;
    for (const auto& b : tn::data::range(10).repeat(3).batch(7)) batches.push_back(values(b));
    CHECK(batches ==
          std::vector<numbers>{
              {0, 1, 2, 3, 4, 5, 6}, {7, 8, 9, 0, 1, 2, 3}, {4, 5, 6, 7, 8, 9, 0}, {1, 2, 3, 4, 5, 6, 7}, {8, 9}});
    batches.clear();
    for (const tn::array<std::int64_t, tn::shape<4>>& b : tn::data::range(10).batch<4>()) batches.push_back(values(b));
    CHECK(batches == std::vector<numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("elements can be structs, and their components keep their types through the steps") {
    const auto set = tn::data::range(5).map_host([](std::int64_t i) {
        sample s;
        s.image(1) = static_cast<float>(i) / 2;
        s.label = static_cast<std::int32_t>(i);
        s.name = "n" + std::to_string(i);
        return s;
    });
    std::vector<std::string> names;
    for (const sample& s : set.shuffle(2, {.seed = 3}).filter_host([](const sample& s) { return s.label != 2; }))
        names.push_back(s.name + (s.image(1) == static_cast<float>(s.label) / 2 ? "" : " is torn"));
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"n0", "n1", "n3", "n4"});
    for (const auto& [image, label, name] : set.batch<rows>(5)) {
        static_assert(std::is_same_v<decltype(image), const tn::array<float, tn::shape<rows, 2>>>);
        CHECK(image(4, 1) == 2.0f);
        CHECK(label(3) == 3);
        CHECK(name(1) == "n1");
    }
    // In a graph its members are found by their names, too.
    const auto it = tn::make_one_shot_iterator(set);
    const auto element = it.get_next();
    tn::session sess;
    auto [l, n] = sess.run(tn::tensor_of<&sample::label>(element), tn::tensor_of<&sample::name>(element));
    CHECK(l.item() == 0);
    CHECK(n.item() == "n0");
}

TEST_CASE("rows in memory are shuffled, repeated and batched without a copy before the batch") {
    tn::array<float, tn::shape<dyn, 2>> x(100);
    tn::array<std::int32_t, tn::shape<dyn>> y(100);
    for (int i = 0; i < 100; ++i) {
        x(i, 0) = static_cast<float>(i);
        x(i, 1) = static_cast<float>(-i);
        y(i) = i;
    }
    const auto set = tn::data::slices(x, y).shuffle(100, {.seed = 5}).repeat(2).batch(32);
    numbers order;
    for (const auto& [a, b] : set)
        for (std::int64_t i = 0; i < b.size(); ++i) {
            CHECK(a(i, 0) == static_cast<float>(b(i)));
            CHECK(a(i, 1) == static_cast<float>(-b(i)));
            order.push_back(b(i));
        }
    REQUIRE(order.size() == 200);
    const numbers first(order.begin(), order.begin() + 100), second(order.begin() + 100, order.end());
    CHECK(std::set(first.begin(), first.end()).size() == 100);
    CHECK(std::set(second.begin(), second.end()).size() == 100);
    CHECK(first != second); // each epoch anew
    numbers again;
    for (const auto& [a, b] : set)
        for (const std::int32_t v : b) again.push_back(v);
    CHECK(again == order); // of one seed the same
    numbers same;
    for (const auto& [a, b] : tn::data::slices(x, y).shuffle(100, {.seed = 5, .reshuffle_each_epoch = false}).repeat(2))
        same.push_back(b);
    CHECK(numbers(same.begin(), same.begin() + 100) == numbers(same.begin() + 100, same.end()));
}

TEST_CASE("a shuffle draws each element from its buffer") {
    const numbers x = all_of(tn::data::range(1000).shuffle(10, {.seed = 1}));
    REQUIRE(std::set(x.begin(), x.end()).size() == 1000);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] < static_cast<std::int64_t>(i) + 10);
    // All orders are equally likely: the first of three is each a third of the time.
    int count[3] = {};
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        for (const std::int64_t v : tn::data::range(3).shuffle(3, {.seed = seed}).take(1)) ++count[v];
    }
    for (const int c : count) CHECK(std::abs(c - 1000) < 130); // five standard deviations
}

TEST_CASE("SEMANTICS 38: shards of workers are disjoint, and together all elements") {
    for (const std::int64_t workers : {1, 2, 3, 7}) {
        numbers all;
        for (std::int64_t w = 0; w < workers; ++w) {
            const numbers mine = all_of(tn::data::range(20).shuffle(20, {.seed = 9}).shard(workers, w));
            all.insert(all.end(), mine.begin(), mine.end());
        }
        std::sort(all.begin(), all.end());
        CHECK(all == all_of(tn::data::range(20)));
    }
}

TEST_CASE("the order and what is drawn do not depend on the threads") {
    const auto set = [](int parallelism) {
        return tn::data::range(200)
            .shuffle(50, {.seed = 2})
            .map([](auto x) { return tn::cast<double>(x) + tn::random_uniform<double, tn::shape<>>(0, 1, 7); },
                 {.parallelism = parallelism})
            .repeat(2)
            .prefetch();
    };
    std::vector<double> alone, four, tuned;
    for (const double x : set(1)) alone.push_back(x);
    for (const double x : set(4)) four.push_back(x);
    for (const double x : set(tn::autotune)) tuned.push_back(x);
    CHECK(alone == four);
    CHECK(alone == tuned);
    // What is drawn is another for each element, also in the second epoch.
    std::set<double> fractions;
    for (const double x : alone) fractions.insert(x - std::floor(x));
    CHECK(fractions.size() == 400);
}

TEST_CASE("SEMANTICS 34: padded batches are as large as their largest elements") {
    const auto set = tn::data::range(1, 5).map_host([](std::int64_t n) {
        tn::array<std::int32_t, tn::shape<dyn>> a(n);
        a.fill(static_cast<std::int32_t>(n));
        return a;
    });
    std::vector<std::vector<std::int32_t>> found;
    for (const tn::array<std::int32_t, tn::shape<dyn, dyn>>& b : set.padded_batch(3)) {
        CHECK(b.extents()[1].size == (found.empty() ? 3 : 4));
        found.emplace_back(b.begin(), b.end());
    }
    CHECK(found == std::vector<std::vector<std::int32_t>>{{1, 0, 0, 2, 2, 0, 3, 3, 3}, {4, 4, 4, 4}});
    for (const auto& b : set.padded_batch(4, {}, -1)) CHECK(b(0, 3) == -1);
    CHECK_THROWS_WITH_AS(
        (void)*set.batch(2).begin(),
        "batch(2): elements with component 0 as int32[1] and int32[2] make no batch; use padded_batch, or "
        "make them one size",
        tn::invalid_argument_error);
}

TEST_CASE("buckets hold elements of about one length") {
    const auto set = tn::data::range(20).map_host([](std::int64_t i) {
        return tn::array<float, tn::shape<dyn>>(i * 7 % 10); // 0 7 4 1 8 5 2 9 6 3, twice
    });
    std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
    for (const auto& b :
         set.bucket_by_length([](const tn::array<float, tn::shape<dyn>>& a) { return a.size(); }, {3, 6}, {4, 3, 2}))
        sizes.emplace_back(b.extents()[0].size, b.extents()[1].size);
    // Of lengths below 3 four together, below 6 three, longer ones two; at the end what is left.
    std::int64_t elements = 0;
    for (const auto& [n, longest] : sizes) {
        elements += n;
        CHECK(n <= (longest < 3 ? 4 : longest < 6 ? 3 : 2));
    }
    CHECK(elements == 20);
    CHECK_THROWS_AS((void)set.bucket_by_length([](const auto& a) { return a.size(); }, {6, 3}, {1, 1, 1}),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.bucket_by_length([](const auto& a) { return a.size(); }, {3, 3}, {1, 1, 1}),
                    tn::invalid_argument_error);
}

TEST_CASE("sampling follows the weights until one has ended") {
    const auto ones = tn::data::tensors(std::int64_t{1}).repeat(3000),
               twos = tn::data::tensors(std::int64_t{2}).repeat();
    const numbers x = all_of(tn::data::sample<std::int64_t>({ones, twos}, {1, 3}, 4).take(8000));
    CHECK(x.size() == 8000);
    const auto count = std::count(x.begin(), x.begin() + 4000, 1);
    CHECK(std::abs(count - 1000) < 140); // five standard deviations
    CHECK(all_of(tn::data::sample<std::int64_t>({ones, twos}, {1, 3}, 4).take(8000)) == x);
    CHECK(all_of(tn::data::sample<std::int64_t>({ones, ones}, {}, 4)).size() == 6000);
    CHECK_THROWS_AS((void)tn::data::sample<std::int64_t>({ones, twos}, {1}), tn::invalid_argument_error);
}

TEST_CASE("generators: coroutines, functions, and their failures in their places") {
    CHECK(all_of(tn::data::generator([] { return squares(4); }).repeat(2)) == numbers{0, 1, 4, 9, 0, 1, 4, 9});
    const auto counted = tn::data::generator(
        [] { return [i = std::int64_t{0}]() mutable { return i < 3 ? std::optional(i++) : std::nullopt; }; });
    CHECK(all_of(counted) == numbers{0, 1, 2});
    auto it = tn::data::generator([] { return fails_after(2); }).prefetch(1).iterate();
    CHECK(it.next() == 0);
    CHECK(it.next() == 1);
    CHECK_THROWS_WITH_AS(it.next(), "generator: element 2: the well is dry", tn::error);
    CHECK(!it.next());

    // Of one that cannot begin there is nothing, each time that it is gone through.
    auto none = tn::data::generator([]() -> tn::generator<std::int64_t> { throw 5; }).repeat(2).iterate();
    CHECK_THROWS_WITH_AS(none.next(), "generator: element 0: the int 5 was thrown", tn::error);
    CHECK_THROWS_WITH_AS(none.next(), "generator: element 0: the int 5 was thrown", tn::error);
    CHECK(!none.next());
}

TEST_CASE_FIXTURE(in_folder, "text lines of several files, one that vanished among them") {
    std::ofstream(folder / "a.txt") << "head\none\ntwo\n";
    std::ofstream(folder / "c.txt") << "head\nthree";
    const auto lines =
        tn::data::text_lines({folder / "a.txt", folder / "b.txt", folder / "c.txt"}, {.skip_header_lines = 1});
    auto it = lines.iterate();
    CHECK(it.next() == "one");
    CHECK(it.next() == "two");
    CHECK_THROWS_AS(it.next(), tn::not_found_error);
    const std::string state = it.save();
    CHECK(it.next() == "three");
    CHECK(!it.next());
    auto later = lines.iterate();
    later.restore(state);
    CHECK(later.next() == "three");
    auto fewer = tn::data::text_lines({folder / "a.txt", folder / "b.txt"}, {.skip_header_lines = 1}).iterate();
    CHECK_ERROR(tn::data_loss_error, "there are fewer files than there were", fewer.restore(it.save()));
    CHECK_THROWS_AS((void)*tn::data::text_lines(folder / "").begin(), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 36, TOUR 19: text lines without the first, decoded") {
    std::ofstream(folder / "a.csv") << "x1, x2 , target\n1.,    , 0\n4., 5. , 1\n7., 8. , 0\n";
    const auto set = tn::data::text_lines(folder / "a.csv").skip(1).map([](auto line) {
        auto [a, b, target] = tn::decode_csv(line, -1.f, -1.f, std::int32_t{-1});
        return std::tuple(tn::stack<0>(a, b), target);
    });
    std::vector<std::vector<float>> x;
    std::vector<int> targets;
    for (const auto& [features, target] : set) {
        x.emplace_back(features.begin(), features.end());
        targets.push_back(target);
    }
    CHECK(x == std::vector<std::vector<float>>{{1, -1}, {4, 5}, {7, 8}});
    CHECK(targets == std::vector<int>{0, 1, 0});
}

TEST_CASE("what was kept is not computed again") {
    std::atomic<int> calls{0};
    const auto set = tn::data::range(5).map_host([&](std::int64_t x) { return ++calls, x; }).cache();
    CHECK(all_of(set.take(3)) == numbers{0, 1, 2}); // not to its end
    CHECK(calls == 3);
    CHECK(all_of(set) == numbers{0, 1, 2, 3, 4});
    CHECK(calls == 8);
    CHECK(all_of(set.repeat(3)).size() == 15);
    CHECK(calls == 8);
}

TEST_CASE("what is kept in a file is there for the next program, once it was gone through to its end") {
    const temporary_folder folder;
    std::atomic<int> calls{0};
    const auto make = [&] {
        return tn::data::range(5)
            .map_host([&](std::int64_t x) { return std::tuple((++calls, x), "text " + std::to_string(x)); })
            .cache(folder / "kept");
    };
    const auto count = [](const auto& set) {
        numbers found;
        for (const auto& [x, text] : set)
            if (text == "text " + std::to_string(x)) found.push_back(x);
        return found;
    };
    CHECK(count(make().take(2)) == numbers{0, 1});
    CHECK(folder.file_count() == 0);
    CHECK(count(make()) == numbers{0, 1, 2, 3, 4});
    CHECK(calls == 7);
    CHECK(count(make()) == numbers{0, 1, 2, 3, 4});
    CHECK(calls == 7);
    auto first = make().iterate(), second = make().iterate();
    (void)first.next();
    second.restore(first.save());
    CHECK(std::get<0>(*second.next()) == 1);
    CHECK_THROWS_AS(all_of(tn::data::range(5).cache(folder / "kept")), tn::data_loss_error);
    // What was at its end stays there.
    auto third = make().iterate();
    while (third.next()) {
    }
    second.restore(third.save());
    CHECK(!second.next());
    CHECK(!second.next());
    // A file that was cut off between two elements, or has none, is not taken for a shorter data set.
    std::vector<std::string> records;
    for (const std::string& r : tn::data::tf_records(folder / "kept")) records.push_back(r);
    for (const std::size_t left : {records.size() - 1, std::size_t{3}, std::size_t{0}}) {
        tn::tfrecord_writer out(folder / "kept");
        for (std::size_t i = 0; i < left; ++i) out.write(records[i]);
        out.commit();
        CHECK_ERROR(tn::data_loss_error, "kept' is cut off behind " + std::to_string(left) + " elements; remove it",
                    count(make()));
        CHECK(all_of(make().ignore_errors().map_host([](std::int64_t x, const std::string&) { return x; })).size() ==
              left);
    }
}

TEST_CASE("numbers that make no sense are refused where the step is made") {
    const auto set = tn::data::range(3);
    CHECK_THROWS_AS((void)set.skip(-1), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.take(-1), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.repeat(-2), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.batch(0), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.shuffle(0), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.shard(2, 2), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.prefetch(0), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.window(0), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)tn::data::range(0, 5, 0), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.map_host([](std::int64_t x) { return x; }, {.parallelism = 0}),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS((void)set.with_options({.threads = -1}).begin(), tn::invalid_argument_error);
    CHECK(all_of(tn::data::range(5, 5)).empty());
    CHECK(all_of(tn::data::range(5, 0, -2)) == numbers{5, 3, 1});
    CHECK(all_of(set.repeat().take(0)).empty());
    CHECK(all_of(set.skip(3).repeat()).empty()); // nothing without end
}

TEST_CASE("SEMANTICS 38: records in batches; what was read before a damaged one stays, also in a saved state") {
    const temporary_folder folder;
    const std::string path = folder / "a.tfrecord";
    {
        tn::tfrecord_writer out(path);
        for (int i = 0; i < 10; ++i) out.write("record " + std::to_string(i));
        out.commit();
    }
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(5 * (12 + 8 + 4) + 12); // the first byte of record 5's data
        file.put('R');
    }
    using texts = std::vector<std::string>;
    const auto set = tn::data::tf_records({path}).batch(4);
    const auto values_of = [](const auto& batch) { return texts(batch->begin(), batch->end()); };
    auto it = set.iterate();
    const auto first = it.next();
    CHECK(values_of(first) == texts{"record 0", "record 1", "record 2", "record 3"});
    CHECK_THROWS_AS(it.next(), tn::data_loss_error);
    auto again = set.iterate();
    again.restore(it.save());
    for (auto* const one : {&it, &again}) {
        CHECK(values_of(one->next()) == texts{"record 4", "record 6", "record 7", "record 8"});
        CHECK(values_of(one->next()) == texts{"record 9"});
        CHECK(!one->next());
    }
    CHECK(values_of(first)[3] == "record 3"); // it was held meanwhile
    int count = 0;
    for (const auto& batch : tn::data::tf_records({path}, {.ignore_errors = true}).batch<4>())
        count += batch.begin()->size() == 8;
    CHECK(count == 2); // the ninth good one fills no batch
}

TEST_CASE("what is given to a loop or a function is its own: writing to it changes neither arrays nor what is kept") {
    tn::array<float, tn::shape<dyn, 2>> x(3);
    x.fill(1);
    const auto doubled = [](tn::array<float, tn::shape<2>> a) {
        a(0) *= 2;
        return a;
    };
    const auto all = tn::data::slices(x);
    const auto kept = all.map([](auto v) { return v * 3.0f; }).cache(), as_they_lie = all.cache();
    for (int epoch = 0; epoch < 3; ++epoch) {
        for (const auto& a : all.map_host(doubled)) CHECK(a(0) == 2);
        for (const auto& a : kept.map_host(doubled).prefetch(1)) CHECK(a(0) == 6);
        for (auto a : all.shuffle(3)) a(0) = 7;
        for (auto a : kept) a(0) = 7;
        for (const auto& a : as_they_lie.map_host(doubled).repeat(2)) CHECK(a(0) == 2);
        for (auto a : as_they_lie) a(0) = 7;
        for (auto a : tn::data::zip(all, kept).take(2)) std::get<0>(a)(1) = std::get<1>(a)(1) = 7;
        for (const auto& b : all.batch(2).unbatch().map_host(doubled)) CHECK(b(0) == 2);
    }
    for (const float v : x) CHECK(v == 1);
}

TEST_CASE_FIXTURE(in_folder, "a file whose first line does not fit is passed over, and who goes on gets the next one") {
    const auto file = [&](const char* name, const char* text) {
        return std::ofstream(folder / name) << text, folder / name;
    };
    const auto set = tn::data::csv<pair_row>({file("a.csv", "n,x\n1,0.5\n"), file("b.csv", "n,y\n2,3\n"),
                                              file("c.csv", ""), file("d.csv", "x,other,n\n1.5,?,3\n")});
    auto it = set.iterate();
    CHECK(it.next()->x == 0.5f);
    CHECK_ERROR(tn::invalid_argument_error, "there is no column called", it.next());
    const std::string state = it.save();
    CHECK(it.next()->n == 3);
    CHECK(!it.next());
    auto later = set.iterate();
    later.restore(state);
    CHECK(later.next()->x == 1.5f);
}

TEST_CASE_FIXTURE(in_folder, "a pipeline over a file of ten gigabytes holds its buffers and no more") {
    const std::string file = folder / "large";
    std::ofstream(file) << "begin";
    std::error_code failure;
    std::filesystem::resize_file(file, std::uintmax_t{10} << 30, failure); // a hole, which takes no space
    if (failure) return;
    const auto resident = [] {
        std::ifstream from("/proc/self/statm");
        std::int64_t all = 0, pages = 0;
        from >> all >> pages;
        return pages * 4096;
    };
    constexpr std::int64_t record = 1 << 16;
    auto it =
        tn::data::fixed_length_records({file}, record)
            .map_host([](const std::string& r) { return static_cast<std::int64_t>(r.size()); }, {.parallelism = 2})
            .iterate();
    auto whole = tn::data::fixed_length_records({file}, record).shuffle(8, {.seed = 1}).batch(8).prefetch(2).iterate();
    for (int i = 0; i < 16; ++i) CHECK((it.next() == record && whole.next()));
    const std::int64_t before = resident();
    for (int i = 0; i < 8'000; ++i) (void)it.next(); // half a gigabyte
    for (int i = 0; i < 500; ++i) (void)whole.next();
#if !defined(__SANITIZE_ADDRESS__) // which keeps what was freed for a while
    if (before > 0) CHECK(resident() - before < 64 << 20);
#else
    (void)before;
#endif
    CHECK(it.next() == record);
    CHECK(it.save().size() < 16 * record);
}
