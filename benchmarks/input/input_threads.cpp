// Data sets gone through by two threads, each beside the same by one, from opening it to its end: reading files that are interleaved,
// elements that are taken ahead, functions of small elements. Who goes through takes the elements and does nothing else, so that
// taking ahead has nothing to win: it must not lose. Files are in the page cache.

#include <string>
#include <vector>

#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>
#include <tenon/input.hpp>

#include "files.hpp"
#include "models.hpp"
#include "pictures.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr std::int64_t rows = 50'000, columns = 10, records = 25'000; // of each of two files
constexpr std::int64_t small_files = 2'000, of_small_file = 5;
constexpr std::int64_t images = 60'000, trivial = 100'000;

struct files {
    input_files::folder folder;
    std::vector<std::string> tables, tfrecords, small;

    files() {
        for (int f = 0; f < 2; ++f) {
            input_files::write_table(tables.emplace_back(folder / (std::to_string(f) + ".csv")), rows, columns);
            input_files::write_records(tfrecords.emplace_back(folder / (std::to_string(f) + ".tfrecord")), records);
        }
        for (std::int64_t f = 0; f < small_files; ++f)
            input_files::write_records(small.emplace_back(folder / ("small" + std::to_string(f))), of_small_file);
    }
};
const files& there() {
    static const files f;
    return f;
}

template <class Set> void drain(benchmark::State& state, const Set& set, std::int64_t expected) {
    for (auto _ : state) {
        std::int64_t count = 0;
        auto it = set.iterate();
        while (auto x = it.next()) {
            benchmark::DoNotOptimize(*x);
            ++count;
        }
        if (count != expected) state.SkipWithError("it gave another number of elements");
    }
}

// Of files, as many as there are threads and at least two of them at a time.
template <class F> auto interleaved(const std::vector<std::string>& names, int threads, F of_file) {
    return tn::data::range(static_cast<std::int64_t>(names.size()))
        .interleave([&names, of_file](std::int64_t i) { return of_file(names[static_cast<std::size_t>(i)]); },
                    {.cycle_length = 2, .parallelism = threads});
}
auto table(const std::string& name) { return tn::data::csv<tn::component<float, tn::shape<columns>>>(name); }
auto record_file(const std::string& name) { return tn::data::tf_records({name}); }

template <int Threads> void csv_batches(benchmark::State& state) {
    drain(state, interleaved(there().tables, Threads, [](const std::string& n) { return table(n).batch(250); }),
          2 * rows / 250);
}
template <int Threads> void csv_elements(benchmark::State& state) {
    drain(state, interleaved(there().tables, Threads, table), 2 * rows);
}
template <int Threads> void tfrecord_batches(benchmark::State& state) {
    drain(state, interleaved(there().tfrecords, Threads, [](const std::string& n) { return record_file(n).batch(50); }),
          2 * records / 50);
}
template <int Threads> void tfrecord_elements(benchmark::State& state) {
    drain(state, interleaved(there().tfrecords, Threads, record_file), 2 * records);
}
template <int Threads> void many_small_files(benchmark::State& state) {
    drain(state, interleaved(there().small, Threads, record_file), small_files * of_small_file);
}

template <int Threads, class Set> Set ahead(const Set& set) { return Threads > 1 ? set.prefetch() : set; }

template <int Threads> void tfrecords_ahead(benchmark::State& state) {
    drain(state, ahead<Threads>(record_file(there().tfrecords[0]).batch(50)), records / 50);
}
template <int Threads> void tfrecord_elements_ahead(benchmark::State& state) {
    drain(state, Threads > 1 ? record_file(there().tfrecords[0]).prefetch(64) : record_file(there().tfrecords[0]),
          records);
}

template <int Threads> void float_images(benchmark::State& state) {
    static const pictures<images> p;
    drain(state,
          ahead<Threads>(tn::data::slices(p.x, p.y)
                             .shuffle(images, {.seed = 1})
                             .batch<50>()
                             .map([](auto x, auto y) { return std::tuple(tn::cast<float>(x) / 255.0f, y); },
                                  {.parallelism = Threads})),
          images / 50);
}
template <int Threads> void graph_map(benchmark::State& state) {
    drain(state, tn::data::range(trivial).map([](auto x) { return x + std::int64_t{1}; }, {.parallelism = Threads}),
          trivial);
}
template <int Threads> void host_map(benchmark::State& state) {
    drain(state, tn::data::range(trivial).map_host([](std::int64_t x) { return x + 1; }, {.parallelism = Threads}),
          trivial);
}
// A function that takes some microseconds.
template <int Threads> void slower_map(benchmark::State& state) {
    drain(state,
          tn::data::range(trivial / 50)
              .map_host(
                  [](std::int64_t x) {
                      auto v = static_cast<std::uint64_t>(x);
                      for (int i = 0; i < 5000; ++i) v = v * 6364136223846793005 + 1442695040888963407;
                      return static_cast<std::int64_t>(v);
                  },
                  {.parallelism = Threads}),
          trivial / 50);
}
template <int Threads> void get_next(benchmark::State& state) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto next = tn::make_one_shot_iterator(ahead<Threads>(tn::data::range(std::int64_t{1} << 40))).get_next();
    tn::session s(g, models::with_threads(Threads));
    const auto step = s.callable(tn::feeds(), tn::fetches(next));
    for (auto _ : state) benchmark::DoNotOptimize(step());
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows_of_both;
    const auto add = [&](const char* title, void (*one)(benchmark::State&), void (*two)(benchmark::State&),
                         double target, std::int64_t per) {
        const std::string name = title;
        benchmark::RegisterBenchmark((name + ", two threads").c_str(), two)->UseRealTime();
        benchmark::RegisterBenchmark((name + ", one").c_str(), one)->UseRealTime();
        rows_of_both.push_back({name, name + ", two threads", name + ", one", target,
                                static_cast<double>(std::max<std::int64_t>(per, 1))});
    };
    add("CSV row, two files interleaved, batches", csv_batches<1>, csv_batches<2>, 1.7, 2 * rows);
    add("CSV row, two files interleaved, row by row", csv_elements<1>, csv_elements<2>, 1.7, 2 * rows);
    add("TFRecord, two files interleaved, batches", tfrecord_batches<1>, tfrecord_batches<2>, 1.7, 2 * records);
    add("TFRecord, two files interleaved, one by one", tfrecord_elements<1>, tfrecord_elements<2>, 1.7, 2 * records);
    add("file of five TFRecords, two interleaved", many_small_files<1>, many_small_files<2>, 1, small_files);
    add("TFRecord in batches, prefetched", tfrecords_ahead<1>, tfrecords_ahead<2>, 1, records);
    add("TFRecord, prefetched", tfrecord_elements_ahead<1>, tfrecord_elements_ahead<2>, 1, records);
    add("image shuffled, batched, cast, prefetched", float_images<1>, float_images<2>, 1, images);
    add("trivial map of a graph function", graph_map<1>, graph_map<2>, 1, trivial);
    add("trivial map_host", host_map<1>, host_map<2>, 1, trivial);
    add("map_host of some microseconds", slower_map<1>, slower_map<2>, 1.7, trivial / 50);
    add("get_next in a step, prefetched", get_next<1>, get_next<2>, 1, 1);
    std::printf("Tenon: two threads; other: one\n");
    return ratio::run(argc, argv, rows_of_both);
}
