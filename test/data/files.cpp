#include <chrono>

#include <tenon/data/csv.hpp>
#include <tenon/input.hpp>

#include "child_program.hpp"
#include "tests.hpp"
#include "data/silent_pipe.hpp"

// What data sets do with files: those that change, pipes that give nothing, batches of more rows than there are.

TEST_CASE(
    "a state is refused where the file that it goes on in has changed: its size, its time, what had been read of it") {
    const temporary_folder folder;
    const std::string path = folder / "a.csv";
    const auto set = tn::data::csv<std::int64_t, std::string>(path);
    const std::string text = "1,one\n2,two\n3,three\n";
    const auto saved = [&](const auto& s, int taken) {
        auto it = s.iterate();
        for (int i = 0; i < taken; ++i) (void)it.next();
        return it.save();
    };
    const auto said = [](const auto& s, const std::string& state) {
        auto it = s.iterate();
        return message_of<tn::data_loss_error>([&] { it.restore(state); });
    };
    write_bytes(path, text);
    const auto time = std::filesystem::last_write_time(path);
    const std::string state = saved(set, 1), state_of_none = saved(set, 0);
    const auto lines = tn::data::text_lines(path);
    const std::string state_of_line = saved(lines, 2);
    const auto rewrite = [&](const std::string& with, bool same_time) {
        write_bytes(path, with);
        std::filesystem::last_write_time(path, same_time ? time : time + std::chrono::seconds(3));
    };
    rewrite(text, true);
    CHECK(said(set, state) == "nothing was thrown");
    rewrite(text + "4,four\n", true);
    CHECK(contains(said(set, state), "is not the file that it was: it has 27 bytes, and had 20"));
    CHECK(contains(said(lines, state_of_line), "is not the file that it was"));
    rewrite("7,one\n2,two\n3,three\n", true); // what was read, of the same size and time
    CHECK(contains(said(set, state), "what had been read of it was something else"));
    CHECK(contains(said(lines, state_of_line), "what had been read of it was something else"));
    rewrite(text, false);
    CHECK(contains(said(set, state), "it was written to since"));
    // Of a copy the time does not count.
    auto copy = set.with_options({.copied_files = true}).iterate();
    copy.restore(state);
    CHECK(std::get<1>(*copy.next()) == "two");
    // Where nothing had been read, there is nothing to hold it against.
    auto fresh = set.iterate();
    fresh.restore(state_of_none);
    CHECK(std::get<1>(*fresh.next()) == "one");
}

TEST_CASE("a state of rows of NumPy and IDX files is refused where the file has changed, below other steps too") {
    const temporary_folder folder;
    // Numbers first, first + 1, ... in a file whose time is some seconds after a moment.
    const auto moment = std::filesystem::file_time_type::clock::now();
    const auto write = [&](const std::string& path, float first, std::int64_t n, int seconds = 0) {
        tn::array<float> a(tn::extents{n});
        for (std::int64_t i = 0; i < n; ++i) a(i) = first + static_cast<float>(i);
        if (path.ends_with(".idx")) tn::write_idx(path, a);
        else tn::write_npy(path, a);
        std::filesystem::last_write_time(path, moment + std::chrono::seconds(seconds));
    };
    const auto check = [&](const std::string& path, const auto& make, int taken) {
        write(path, 0, 6);
        auto before = make().iterate();
        for (int i = 0; i < taken; ++i) (void)before.next();
        const std::string state = before.save();
        const auto said = [&] {
            auto it = make().iterate();
            return message_of<tn::data_loss_error>([&] { it.restore(state); });
        };
        write(path, 0, 6);
        CHECK(said() == "nothing was thrown");
        write(path, 100, 6); // of the same size and time
        CHECK(contains(said(), path + "' is not the file that it was: what had been read of it was something else"));
        write(path, 0, 3);
        CHECK(contains(said(), "is not the file that it was: it has "));
        write(path, 0, 6, 3);
        CHECK(contains(said(), "is not the file that it was: it was written to since"));
        // Of a copy the time does not count.
        auto copy = make().with_options({.copied_files = true}).iterate();
        copy.restore(state);
        CHECK(copy.next() == before.next());
    };
    const std::string npy = folder / "a.npy", idx = folder / "a.idx", other = folder / "b.npy";
    const auto rows = [&] { return tn::data::npy<float>(npy); };
    write(other, 50, 6);
    check(npy, rows, 2);
    check(
        idx, [&] { return tn::data::idx<float>(idx); }, 2);
    check(
        npy, [&] { return rows().shuffle(3, {.seed = 1}); }, 2);
    check(
        npy, [&] { return rows().repeat(); }, 8);
    check(
        npy, [&] { return rows().repeat(2).shuffle(4, {.seed = 1}); }, 9);
    check(
        npy, [&] { return rows().repeat(2).shuffle(12, {.seed = 1}); }, 2); // its input has ended
    check(
        npy, [&] { return rows().batch(2).prefetch(2); }, 1);
    check(
        npy, [&] { return rows().map_host([](float x) { return 2 * x; }, {.parallelism = 2}).prefetch(2); }, 2);
    check(
        npy, [&] { return rows().skip(1).take(4).shard(2, 1); }, 1);
    check(
        npy, [&] { return tn::data::zip(tn::data::npy<float>(other), rows()); }, 2);
    check(
        npy, [&] { return tn::data::zip(tn::data::range(6), rows()); }, 2);
    check(
        npy, [&] { return tn::data::range(3).interleave([&](std::int64_t) { return rows(); }); }, 4);
    // The same elements, but of other sizes, are other ones.
    using pair = tn::shape<tn::dyn>;
    tn::write_npy(npy, tn::array<float>{{1, 2}, {3, 4}, {5, 6}});
    std::filesystem::last_write_time(npy, moment);
    auto wide = tn::data::npy<float, pair>(npy).iterate();
    (void)wide.next();
    tn::write_npy(npy, tn::array<float>{{1, 2, 3}, {4, 5, 6}});
    std::filesystem::last_write_time(npy, moment);
    auto wider = tn::data::npy<float, pair>(npy).iterate();
    CHECK_ERROR(tn::data_loss_error, "something else", wider.restore(wide.save()));
    // Where nothing had been taken, there is nothing to hold it against.
    write(npy, 0, 6);
    const std::string state_of_none = rows().iterate().save();
    write(npy, 100, 4, 3);
    auto fresh = rows().iterate();
    fresh.restore(state_of_none);
    CHECK(*fresh.next() == 100);
}

TEST_CASE("rows of arrays in memory are held against nothing; states of files from before they were are taken") {
    const temporary_folder folder;
    const std::string path = folder / "a.npy";
    tn::write_npy(path, tn::array<float>{0, 1, 2, 3});
    const auto of_file = [&] { return tn::data::npy<float>(path).iterate(); };
    auto file = of_file();
    (void)file.next();
    const tn::array<float, tn::shape<4>> values{10, 11, 12, 13};
    auto memory = tn::data::slices(values).iterate();
    memory.restore(file.save());
    CHECK(*memory.next() == 11);
    file = of_file();
    file.restore(memory.save());
    CHECK(*file.next() == 2);
    tn::state_writer of;
    of.text("data set 3");
    of.text("slices");
    of.number(3);
    const std::string old = std::move(of).take();
    file = of_file();
    file.restore(old);
    const std::string anew = file.save(); // which says what the file is
    CHECK(*file.next() == 3);
    tn::write_npy(path, tn::array<float>{0, 1, 2, 4});
    auto changed = of_file();
    CHECK_THROWS_AS(changed.restore(anew), tn::data_loss_error);
}

TEST_CASE("a NumPy file in a graph: what has changed since a checkpoint was saved is not gone on with") {
    const temporary_folder folder;
    const std::string path = folder / "a.npy";
    const auto run = [&](bool restores) {
        own_graph g;
        const auto v = tn::variable("v", 0.0f);
        const auto x = tn::make_one_shot_iterator(tn::data::npy<float>(path)).get_next();
        initialized_session s(g);
        (void)s.run(x);
        if (restores) tn::saver(folder / "model").restore(s);
        else tn::saver(folder / "model").save(s, 1);
    };
    tn::write_npy(path, tn::array<float>{0, 1, 2, 3, 4, 5});
    run(false);
    run(true);
    tn::write_npy(path, tn::array<float>{100, 101, 102});
    CHECK_ERROR(tn::data_loss_error, "a.npy' is not the file that it was", run(true));
}

TEST_CASE_FIXTURE(in_folder, "a batch of far more rows than there are takes memory for those that come") {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",text " + std::to_string(i) + "\n";
    write_bytes(folder / "a.csv", text);
    const auto rows = tn::data::csv<std::int64_t, std::string>(folder / "a.csv").batch(std::int64_t{1} << 40);
    auto it = rows.iterate();
    const auto all = it.next();
    REQUIRE(all);
    const auto& [numbers_of, texts] = *all;
    REQUIRE(numbers_of.size() == 1000);
    for (std::int64_t i = 0; i < 1000; ++i) CHECK((numbers_of(i) == i && texts(i) == "text " + std::to_string(i)));
    CHECK(!it.next());
    {
        tn::tfrecord_writer out(folder / "a.tfrecord");
        for (int i = 0; i < 200; ++i) out.write("record " + std::to_string(i));
        out.commit();
    }
    auto records = tn::data::tf_records({folder / "a.tfrecord"}).batch(std::int64_t{1} << 40).iterate();
    const auto read = records.next();
    REQUIRE(read->size() == 200);
    for (std::int64_t i = 0; i < 200; ++i) CHECK((*read)(i) == "record " + std::to_string(i));
    // A batch that a damaged row interrupts is saved and goes on with more rows than it had room for.
    write_bytes(folder / "b.csv", text + "none\n" + text);
    const auto parts = tn::data::csv<std::int64_t, std::string>(folder / "b.csv").batch(5000);
    auto first = parts.iterate();
    CHECK_THROWS_AS(first.next(), tn::invalid_argument_error);
    auto second = parts.iterate();
    second.restore(first.save());
    const auto both = second.next();
    REQUIRE(std::get<0>(*both).size() == 2000);
    for (std::int64_t i = 0; i < 2000; ++i) CHECK(std::get<1>(*both)(i) == "text " + std::to_string(i % 1000));
}

TEST_CASE("SEMANTICS 38: who leaves a loop does not wait for a pipe that gives nothing, whatever threads read it") {
    const temporary_folder folder;
    int pipes = 0;
    const auto leave = [&](auto make) {
        const silent_pipe p(folder / ("pipe" + std::to_string(pipes++)));
        const auto set = make(tn::data::text_lines(p.path()));
        for (const auto& line : set) {
            CHECK(line == "one");
            break;
        }
    };
    const auto same = [](const std::string& line) { return line; };
    leave([](const auto& s) { return s.prefetch(8); });
    leave([&](const auto& s) { return s.map_host(same, {.parallelism = 2}); });
    leave([&](const auto& s) { return s.prefetch(8).map_host(same, {.parallelism = 2}).ignore_errors().prefetch(3); });
    leave([](const auto& s) { return s.ignore_errors().prefetch(8); });
    leave([](const auto& s) {
        return tn::data::range(1).interleave([s](std::int64_t) { return s; }, {.cycle_length = 2, .parallelism = 2});
    });
    // Of one without a writer opening it waits, and is left too.
    REQUIRE(::mkfifo((folder / "nobody").c_str(), 0600) == 0);
    auto first = tn::data::text_lines(folder / "nobody").prefetch(2);
    const auto both =
        tn::data::range(1).map_host([](std::int64_t) { return std::string("one"); }).concatenate(first).prefetch(4);
    for (const auto& line : both) {
        CHECK(line == "one");
        break;
    }
    // And a session is closed while its iterator waits.
    const silent_pipe p(folder / "of_graph");
    own_graph g;
    const auto next = tn::make_one_shot_iterator(tn::data::text_lines(p.path())).get_next();
    tn::session s(g);
    const auto step = s.callable(tn::feeds(), tn::fetches(next));
    CHECK(std::get<0>(step()).item() == "one");
    CHECK(std::get<0>(step()).item() == "two");
    const auto waiting = step.start();
    s.close();
    CHECK_THROWS_AS((void)waiting.get(), tn::error);
}

namespace {
constexpr const char* cache_maker = "the program that makes a cache until it is killed";
auto squares(const std::string& path) {
    return tn::data::range(1000).map_host([](std::int64_t x) { return x * x; }).cache(path);
}
} // namespace

TEST_CASE("the program that makes a cache until it is killed" * doctest::skip()) {
    const char* const path = child_program::task();
    if (!path) return; // nobody asks for it
    auto it = squares(path).iterate();
    (void)it.next();
    child_program::tell(); // that it has begun
    while (it.next()) {
    }
    child_program::tell(); // that it has made it
    for (;;) ::pause();
}

TEST_CASE_FIXTURE(in_folder,
                  "a cache that two programs make at once is whole, whoever ends last, and is read meanwhile") {
    const std::string path = folder / "kept";
    const auto is_whole = [](auto& it) {
        std::int64_t n = 0;
        for (; const auto x = it.next(); ++n) CHECK(*x == n * n);
        CHECK(n == 1000);
    };
    auto mine = squares(path).iterate(); // begins before the other has one
    child_program other(cache_maker, path);
    REQUIRE(other.told());
    is_whole(mine);
    auto reads = squares(path).iterate(); // one of the two, whole
    REQUIRE(other.told());
    is_whole(reads);
    auto later = squares(path).iterate();
    is_whole(later);
    CHECK(folder.file_count() == 1);
}
