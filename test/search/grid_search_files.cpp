#include <csignal>
#include <sys/resource.h>

#include "grids.hpp"

// Files of results: a search goes on where another ended, and what happens to damaged, removed and full ones.

using namespace grid_search_test;

TEST_CASE("a search that goes on with its file trains what has not ended, whatever the last line was cut off at") {
    const temporary_folder folder;
    const std::string file = folder / "rates.jsonl", whole_file = folder / "whole.jsonl";
    const auto with = [&](const std::string& path) { return quiet({.file = path, .smaller_is_better = true}); };
    const auto devices = tn::devices_of(tn::task());
    tn::grid_search whole(rates(), devices, with(whole_file));
    whole.run(train_dense);
    const auto expected = whole.results();
    const std::string text = read_bytes(whole_file);
    std::vector<std::size_t> ends; // of lines
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        ends.push_back(at + 1);
    REQUIRE(ends.size() == 9);
    int runs = 0;
    for (std::size_t bytes = 0; bytes <= text.size(); bytes += bytes < ends[1] ? 13 : 97) {
        write_bytes(file, text.substr(0, bytes));
        const auto lines_there =
            static_cast<int>(std::count_if(ends.begin(), ends.end(), [&](std::size_t e) { return e <= bytes; }));
        const int ended = std::max(lines_there - 1, 0);
        tn::grid_search search(rates(), devices, with(file));
        REQUIRE(static_cast<int>(search.results().size()) == ended);
        if (++runs % 8) continue; // opening cuts off what is torn; some are trained to their end, too
        int trained = 0;
        search.run([&](const settings& s, tn::trial& t) {
            ++trained;
            train_dense(s, t);
        });
        CHECK(trained == 8 - ended);
        same_results(search.results(), expected);
        CHECK(search.best(1)[0].point == whole.best(1)[0].point);
    }
    CHECK(runs > 16);
    // The last line's end is there, but not all of it, as a machine that lost its power may leave it.
    write_bytes(file, text.substr(0, ends[3]) + std::string(20, '\0') + "\n");
    CHECK(tn::grid_search(rates(), devices, with(file)).results().size() == 3);
}

TEST_CASE_FIXTURE(in_folder, "a file of another grid is refused by name, a damaged one by its line, and one in use") {
    const std::string file = folder / "grid.jsonl";
    const auto devices = tn::devices_of(tn::task());
    const auto train = [](const number& n, tn::trial& t) { (void)t.report(1, n.v); };
    const auto open = [&](const tn::grid<number>& g, tn::grid_search_options o) {
        o.file = file;
        return tn::grid_search(g, devices, quiet(std::move(o)));
    };
    {
        auto search = open(numbers({1, 2, 3}), {.name = "three"});
        search.run([&](const number& n, tn::trial& t) {
            if (n.v == 2) { // others see what has ended, and write nothing
                auto other = open(numbers({1, 2, 3}), {.name = "three"});
                CHECK(other.results().size() == 1);
                CHECK_ERROR(tn::aborted_error, "another search writes to '", other.run(train));
            }
            train(n, t);
        });
    }
    CHECK(open(numbers({1, 2, 3}), {.name = "three"}).is_complete());
    CHECK_ERROR(tn::invalid_argument_error,
                "the results of grid \"three\" of 3 points (v: 1, 2, 3), seed 1, where larger "
                "is better, and this is grid \"two\" of 2 points (v: 1, 2), seed 1",
                open(numbers({1, 2}), {.name = "two"}));
    CHECK_THROWS_AS((void)open(numbers({1, 2, 4}), {.name = "three"}), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)open(numbers({1, 2, 3}), {.name = "three", .seed = 2}), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)open(numbers({1, 2, 3}), {.name = "three", .smaller_is_better = true}),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS(
        (void)open(numbers({1, 2, 3, 4}).where([](const number& n) { return n.v != 4; }), {.name = "three"}),
        tn::invalid_argument_error);
    const std::string good = read_bytes(file);
    const std::size_t second = good.find('\n') + 1;
    write_bytes(file, good.substr(0, second) + "{\"point\": 7}\n" + good.substr(second));
    CHECK_ERROR(tn::data_loss_error, "damaged in line 2", open(numbers({1, 2, 3}), {.name = "three"}));
    write_bytes(file, "rate\n");
    CHECK_ERROR(tn::data_loss_error, "damaged in line 1: its text: it is no JSON",
                open(numbers({1, 2, 3}), {.name = "three"}));
    for (const char* other : {"rate,score\n0.1,0.5\n", "some text", "{\"format\": \"tenon checkpoint\"}\n"}) {
        write_bytes(file, other);
        CHECK_THROWS_AS((void)open(numbers({1, 2, 3}), {.name = "three"}), tn::data_loss_error);
        CHECK(read_bytes(file) == other); // it is somebody's
    }
    CHECK_THROWS_AS(tn::grid_search(numbers({1}), devices, quiet({.file = folder / "no/grid.jsonl"})).run(train),
                    tn::not_found_error);
}

TEST_CASE(
    "what has failed is not trained again, unless that is asked for; what is no number comes back from the file") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    const auto devices = tn::devices_of(tn::task());
    const double infinity = std::numeric_limits<double>::infinity();
    bool fails = true;
    int trained = 0;
    const auto train = [&](const number& n, tn::trial& t) {
        ++trained;
        if (n.v == 2 && fails) throw tn::internal_error("no luck");
        (void)t.report(1, n.v == 3 ? no_number : n.v == 4 ? -infinity : infinity);
    };
    tn::grid_search(numbers({1, 2, 3, 4}), devices, quiet({.file = file})).run(train);
    {
        fails = false;
        tn::grid_search failed(numbers({1, 2, 3, 4}), devices, quiet({.file = file}));
        failed.run(train);
        CHECK(failed.progress().failed == 1);
    }
    tn::grid_search again(numbers({1, 2, 3, 4}), devices, quiet({.file = file, .retry_failed = true}));
    CHECK(trained == 4);
    again.run(train);
    CHECK(trained == 5);
    CHECK(again.results()[0].score == infinity);
    CHECK(again.results()[1].end == tn::trial_end::done);
    CHECK(std::isnan(again.results()[2].history.at(0).score));
    CHECK(again.results()[3].score == -infinity);
}

TEST_CASE_FIXTURE(in_folder, "searches whose files differ in what follows the last dot have weights of their own") {
    const auto search = [&](const char* file, double first) {
        return tn::grid_search(numbers({first, first + 1, first + 2}), tn::devices_of(tn::task()),
                               quiet({.file = folder / file}));
    };
    auto one = search("widths.1", 1), two = search("widths.2", 100), three = search("widths", 1000);
    for (auto* each : {&one, &two, &three}) each->run(train_constant);
    for (auto* each : {&one, &two, &three})
        for (const auto& r : each->best(3)) CHECK(value_of(r) == r.score);
}

TEST_CASE("weights that were written with another file of results, or of other settings, are not taken, and are told") {
    const temporary_folder folder;
    const auto search = [&](const char* file, const lines& told) {
        return tn::grid_search(numbers({1, 2, 3}), tn::devices_of(tn::task()),
                               quiet({.file = folder / file, .log = told}));
    };
    search("a", {}).run(train_constant);
    search("b", {}).run(train_constant);
    const std::string of_other = folder / "a.point-0.safetensors", swapped = folder / "a.point-1.safetensors",
                      damaged = folder / "a.point-2.safetensors";
    std::filesystem::rename(swapped, of_other);
    std::filesystem::copy_file(folder / "b.point-1.safetensors", swapped);
    write_bytes(damaged, "no weights");
    for (const bool runs : {false, true}) {
        const lines told;
        auto again = search("a", told);
        if (runs) again.run(train_constant);
        REQUIRE(again.best(3).size() == 3);
        for (const auto& r : again.best(3)) CHECK_FALSE(r.weights);
        CHECK(told.has("grid: the weights of point 0 (v=1) are not taken: '" + of_other + "' is of other settings"));
        CHECK(told.has("grid: the weights of point 1 (v=2) are not taken: '" + swapped +
                       "' was written with another file"));
        CHECK(told.has("grid: the weights of point 2 (v=3) are not taken: "));
        CHECK(told.all->size() == 3);
        for (const std::string& kept : {of_other, swapped, damaged}) CHECK(std::filesystem::exists(kept));
    }
}

TEST_CASE("a file of results that is removed while a search writes to it ends the run, which says so") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    tn::grid_search search(numbers({1, 2, 3}), tn::devices_of(tn::task()), quiet({.file = file}));
    CHECK_ERROR(tn::not_found_error, "grid.jsonl' was removed, or replaced, while this search writes to it",
                search.run([&](const number& n, tn::trial& t) {
                    if (n.v == 2) std::filesystem::remove(file);
                    train_constant(n, t);
                }));
    CHECK(search.results().size() == 1);
    search.run(train_constant);
    CHECK(search.is_complete());
    CHECK(tn::grid_search(numbers({1, 2, 3}), tn::devices_of(tn::task()), quiet({.file = file})).is_complete());
    CHECK(folder.file_count() == 4);
}

TEST_CASE("a line that does not get onto a full disk ends the run, and none of it stays; the next run goes on") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    const auto before = std::signal(SIGXFSZ, SIG_IGN); // writing fails instead
    rlimit as_ever{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &as_ever) == 0);
    tn::grid_search search(numbers({1, 2, 3, 4}), tn::devices_of(tn::task()), quiet({.file = file, .keep = 0}));
    for (const rlim_t more : {rlim_t(0), rlim_t(1), rlim_t(100)}) {
        std::string whole;
        CHECK_ERROR(tn::error, "grid.jsonl'", search.run([&](const number& n, tn::trial& t) {
            train_constant(n, t);
            if (!whole.empty()) return;
            whole = read_bytes(file);
            const rlimit full{whole.size() + more, as_ever.rlim_max};
            REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
        }));
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &as_ever) == 0);
        CHECK(read_bytes(file) == whole);
        CHECK(search.progress().running == 0);
        CHECK(search.progress().left == 4);
    }
    std::signal(SIGXFSZ, before);
    search.run(train_constant);
    CHECK(search.is_complete());
}
