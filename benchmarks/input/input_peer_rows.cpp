// Tenon's side of the rows of input that benchmarks/peers/run.sh measures on tf.data and PyTorch's DataLoader too.
//     input_peer_rows --row input_csv --threads 2   prints {"row": "input_csv", "threads": 2, "value": 0.3, "unit": "us"}
//     input_peer_rows --list                        prints the rows' names
//
// A data set is opened and gone through to its end in each round. On two threads it has a parallel step or, where there is none,
// takes elements ahead.

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>
#include <tenon/data/minibatches.hpp>
#include <tenon/data/tables/json_lines.hpp>
#include <tenon/input.hpp>

#include "files.hpp"
#include "models.hpp"
#include "peer_row.hpp"
#include "pictures.hpp"

namespace tn = tenon;

namespace {

using namespace peer_row;

// As in peers/timing.py.
constexpr std::int64_t csv_rows = 40'000, columns = 10, csv_batch = 256, json_rows = 100'000, records = 40'000,
                       images = 60'000, batch = 50, mapped = 20'000;

template <class Set> measured an_element(const Set& set, std::int64_t count) {
    return {seconds([&] {
                auto it = set.iterate();
                while (auto x = it.next()) {
                }
            }) * 1e6 /
                static_cast<double>(count),
            "us"};
}
template <class Set> Set ahead(const Set& set, int threads) { return threads > 1 ? set.prefetch() : set; }

// A file for each thread, which `write` makes with its share of the rows and `table` reads.
template <class Write, class Table>
measured of_files(int threads, std::int64_t rows, const Write& write, const Table& table) {
    const input_files::folder there;
    std::vector<std::string> names;
    for (int i = 0; i < threads; ++i) write(names.emplace_back(there / std::to_string(i)), rows / threads);
    if (threads == 1) return an_element(table(names[0]), rows);
    return an_element(
        tn::data::range(threads).interleave([=](std::int64_t i) { return table(names[static_cast<std::size_t>(i)]); },
                                            {.cycle_length = threads, .parallelism = threads}),
        rows);
}

measured csv(int threads) {
    return of_files(
        threads, csv_rows,
        [](const std::string& name, std::int64_t rows) { input_files::write_table(name, rows, columns); },
        [](const std::string& name) {
            return tn::data::csv<tn::component<float, tn::shape<columns>>>(name).batch(csv_batch);
        });
}

measured json(int threads) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-1, 1);
    const auto write = [&](const std::string& name, std::int64_t rows) {
        std::ofstream file(name);
        for (std::int64_t r = 0; r < rows; ++r) {
            char line[160];
            std::snprintf(
                line, sizeof line,
                "{\"id\": %lld, \"x\": %.7g, \"y\": %.6g, \"count\": %u, \"town\": \"town%u\", \"good\": %s}\n",
                static_cast<long long>(r * 7), number(random) * 500, number(random),
                static_cast<unsigned>(random() % 100'000), static_cast<unsigned>(random() % 300),
                random() % 2 ? "true" : "false");
            file << line;
        }
    };
    return of_files(threads, json_rows, write, [](const std::string& name) {
        return tn::data::json_lines(name,
                                    tn::data::columns<std::int64_t, double, double, std::int64_t, std::string, bool>(
                                        "id", "x", "y", "count", "town", "good"))
            .batch(csv_batch);
    });
}

measured tf_records(int threads) {
    const input_files::folder there;
    const std::string name = there / "a.tfrecord";
    input_files::write_records(name, records);
    return an_element(ahead(tn::data::tf_records({name}).batch(batch), threads), records);
}

measured image(int threads) {
    const pictures<images> p;
    return an_element(ahead(tn::data::slices(p.x, p.y)
                                .shuffle(images, {.seed = 1})
                                .batch<batch>()
                                .map([](auto x, auto y) { return std::tuple(tn::cast<float>(x) / 255.0f, y); },
                                     {.parallelism = threads}),
                            threads),
                      images);
}

measured indexed_image(int) {
    const pictures<images> p;
    tn::minibatches all({.size = batch, .seed = 1}, tn::scaled<float>(p.x, 1 / 255.0f), p.y);
    return {seconds([&] {
                for (auto [x, y] : all) (void)x.data(), (void)y.data();
            }) * 1e6 /
                static_cast<double>(images),
            "us"};
}

measured map(int threads) {
    return an_element(tn::data::range(mapped).map([](auto x) { return x + std::int64_t{1}; }, {.parallelism = threads}),
                      mapped);
}

measured get_next(int threads) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto next = tn::make_one_shot_iterator(ahead(tn::data::range(std::int64_t{1} << 40), threads)).get_next();
    tn::session s(g, models::with_threads(threads));
    const auto step = s.callable(tn::feeds(), tn::fetches(next));
    return {seconds([&] { step(); }) * 1e6, "us"};
}

const std::map<std::string, peer_row::row> rows = {
    {"input_csv", csv},
    {"input_json", json},
    {"input_tfrecord", tf_records},
    {"input_image", image},
    {"input_indexed", indexed_image},
    {"input_map", map},
    {"input_get_next", get_next},
};

} // namespace

int main(int argc, char** argv) { return peer_row::run("input_peer_rows", argc, argv, rows); }
