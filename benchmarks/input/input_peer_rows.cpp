// Tenon's side of the rows of input that benchmarks/peers/run.sh measures on tf.data and PyTorch's DataLoader too.
//     input_peer_rows --row input_csv --threads 2   prints {"row": "input_csv", "threads": 2, "value": 0.3, "unit": "us"}
//     input_peer_rows --list                        prints the rows' names
//
// A data set is opened and gone through to its end in each round. On two threads it has a parallel step or, where there is none,
// takes elements ahead.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include <unistd.h>

#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>
#include <tenon/data/minibatches.hpp>
#include <tenon/data/tables/json_lines.hpp>
#include <tenon/io/records/record_writer.hpp>
#include <tenon/input.hpp>

#include "models.hpp"
#include "peer_row.hpp"
#include "pictures.hpp"

namespace tn = tenon;

namespace {

using peer_row::measured;
using peer_row::seconds;

// As in peers/timing.py.
constexpr std::int64_t csv_rows = 40'000, columns = 10, csv_batch = 256, json_rows = 100'000, records = 40'000,
                       images = 60'000, batch = 50, mapped = 20'000;
constexpr std::size_t record_bytes = 784;

class folder {
public:
    folder() { std::filesystem::create_directories(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const char* name) const { return path_ / name; }

private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("tenon-input-rows-" + std::to_string(::getpid()));
};

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

measured csv(int threads) {
    const folder there;
    std::vector<std::string> names; // a file for each thread
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-1, 1);
    for (int i = 0; i < threads; ++i) {
        names.push_back(there / (std::to_string(i) + ".csv").c_str());
        std::ofstream file(names.back());
        for (std::int64_t r = 0; r < csv_rows / threads; ++r)
            for (std::int64_t c = 0; c < columns; ++c) {
                char field[32];
                std::snprintf(field, sizeof field, "%.6g%c", number(random), c + 1 < columns ? ',' : '\n');
                file << field;
            }
    }
    const auto table = [](const std::string& name) {
        return tn::data::csv<tn::component<float, tn::shape<columns>>>(name).batch(csv_batch);
    };
    if (threads == 1) return an_element(table(names[0]), csv_rows);
    return an_element(
        tn::data::range(threads).interleave([=](std::int64_t i) { return table(names[static_cast<std::size_t>(i)]); },
                                            {.cycle_length = threads, .parallelism = threads}),
        csv_rows);
}

measured json(int threads) {
    const folder there;
    std::vector<std::string> names; // a file for each thread
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-1, 1);
    for (int i = 0; i < threads; ++i) {
        names.push_back(there / (std::to_string(i) + ".jsonl").c_str());
        std::ofstream file(names.back());
        for (std::int64_t r = 0; r < json_rows / threads; ++r) {
            char line[160];
            std::snprintf(
                line, sizeof line,
                "{\"id\": %lld, \"x\": %.7g, \"y\": %.6g, \"count\": %u, \"town\": \"town%u\", \"good\": %s}\n",
                static_cast<long long>(r * 7), number(random) * 500, number(random),
                static_cast<unsigned>(random() % 100'000), static_cast<unsigned>(random() % 300),
                random() % 2 ? "true" : "false");
            file << line;
        }
    }
    const auto table = [](const std::string& name) {
        return tn::data::json_lines(name,
                                    tn::data::columns<std::int64_t, double, double, std::int64_t, std::string, bool>(
                                        "id", "x", "y", "count", "town", "good"))
            .batch(csv_batch);
    };
    if (threads == 1) return an_element(table(names[0]), json_rows);
    return an_element(
        tn::data::range(threads).interleave([=](std::int64_t i) { return table(names[static_cast<std::size_t>(i)]); },
                                            {.cycle_length = threads, .parallelism = threads}),
        json_rows);
}

measured tf_records(int threads) {
    const folder there;
    const std::string name = there / "a.tfrecord";
    tn::tfrecord_writer file(name);
    std::mt19937 random(1);
    std::string record(record_bytes, '\0');
    for (std::int64_t i = 0; i < records; ++i) {
        for (char& c : record) c = static_cast<char>(random());
        file.write(record);
    }
    file.commit();
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
