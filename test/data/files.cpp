#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <tuple>

#include <sys/stat.h>

#include <tenon/data/csv.hpp>
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

#include <messages.hpp>

#include "data/silent_pipe.hpp"
#include "temporary_folder.hpp"

// What data sets do with files: those that change, pipes that give nothing, batches of more rows than there are.

namespace tn = tenon;

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

TEST_CASE("a batch of far more rows than there are takes memory for those that come") {
    const temporary_folder folder;
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
    tn::graph g;
    const tn::graph_scope here(g);
    const auto next = tn::make_one_shot_iterator(tn::data::text_lines(p.path())).get_next();
    tn::session s(g);
    const auto step = s.callable(tn::feeds(), tn::fetches(next));
    CHECK(std::get<0>(step()).item() == "one");
    CHECK(std::get<0>(step()).item() == "two");
    const auto waiting = step.start();
    s.close();
    CHECK_THROWS_AS((void)waiting.get(), tn::error);
}
