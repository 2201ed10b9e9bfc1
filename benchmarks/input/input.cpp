// Data sets from end to end, each beside what a careful user would write by hand for the same elements (the targets of input):
// images shuffled and batched beside copying them in random order; CSV rows beside std::from_chars over the mapped file;
// TFRecords beside reading the bytes and their CRC; what trivial elements take; a training step fed by a data set beside one fed
// from memory. Data sets are opened and gone through from the beginning in every iteration. Files are in the page cache.

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>
#include <tenon/input.hpp>
#include <tenon/io/files/file.hpp>

#include "baseline/images.hpp"
#include "files.hpp"
#include "models.hpp"
#include "pictures.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

// What there is to take is taken, and counted, lest it be left out.
template <class Set> std::int64_t drain(const Set& set) {
    std::int64_t count = 0;
    auto it = set.iterate();
    while (auto x = it.next()) {
        benchmark::DoNotOptimize(*x);
        ++count;
    }
    return count;
}
void require(benchmark::State& state, std::int64_t count, std::int64_t expected) {
    if (count != expected) state.SkipWithError("it gave another number of elements");
}

// ---- images in memory

constexpr std::int64_t images = 60'000, batch = 50, pixels = 28 * 28;

const auto& all_pictures() {
    static const pictures<images> p;
    return p;
}
auto shuffled(std::uint64_t seed) {
    return tn::data::slices(all_pictures().x, all_pictures().y).shuffle(images, {.seed = seed});
}

void our_batches(benchmark::State& state) {
    const auto set = shuffled(1).batch<batch>();
    for (auto _ : state) require(state, drain(set), images / batch);
}
void our_float_batches(benchmark::State& state) {
    const auto set =
        shuffled(1).batch<batch>().map([](auto x, auto y) { return std::tuple(tn::cast<float>(x) / 255.0f, y); });
    for (auto _ : state) require(state, drain(set), images / batch);
}
// The order is there already, and so is the memory of a batch.
template <class To, class F> void batches_by_hand(benchmark::State& state, F put) {
    const pictures<images>& p = all_pictures();
    std::vector<std::int64_t> order(images);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    std::vector<To> x(batch * pixels);
    std::vector<std::int32_t> y(batch);
    for (auto _ : state)
        for (std::int64_t b = 0; b < images; b += batch) {
            for (std::int64_t i = 0; i < batch; ++i) {
                const std::int64_t at = order[static_cast<std::size_t>(b + i)];
                put(x.data() + i * pixels, p.x.data() + at * pixels);
                y[static_cast<std::size_t>(i)] = p.y.data()[at];
            }
            benchmark::DoNotOptimize(x.data());
            benchmark::DoNotOptimize(y.data());
            benchmark::ClobberMemory();
        }
}
void copied_batches(benchmark::State& state) {
    batches_by_hand<std::uint8_t>(state,
                                  [](std::uint8_t* to, const std::uint8_t* from) { std::memcpy(to, from, pixels); });
}
void copied_float_batches(benchmark::State& state) {
    batches_by_hand<float>(state,
                           [](float* to, const std::uint8_t* from) { baseline::scaled_pixels(to, from, pixels); });
}

// ---- files

constexpr std::int64_t rows = 100'000, columns = 10, records = 50'000;

struct files {
    input_files::folder folder;
    std::string table = folder / "all.csv", half = folder / "half.csv", tfrecords = folder / "a.tfrecord";
    files() {
        input_files::write_table(table, rows, columns, 1000);
        input_files::write_table(half, rows / 2, columns, 1000);
        input_files::write_records(tfrecords, records);
    }
};
const files& there() {
    static const files f;
    return f;
}

constexpr std::int64_t csv_batch = 256;
using ten = tn::component<float, tn::shape<columns>>;
constexpr std::int64_t batches_of(std::int64_t n) { return (n + csv_batch - 1) / csv_batch; }

void our_csv(benchmark::State& state) {
    const auto set = tn::data::csv<ten>(there().table).batch(csv_batch);
    for (auto _ : state) require(state, drain(set), batches_of(rows));
}
void our_csv_elements(benchmark::State& state) {
    const auto set = tn::data::csv<ten>(there().table);
    for (auto _ : state) require(state, drain(set), rows);
}
void our_csv_twice(benchmark::State& state) {
    const auto a = tn::data::csv<ten>(there().half).batch(csv_batch), b = a;
    for (auto _ : state) {
        std::int64_t others = 0;
        std::thread other([&] { others = drain(b); });
        const std::int64_t mine = drain(a);
        other.join();
        require(state, mine + others, 2 * batches_of(rows / 2));
    }
}
void csv_by_hand(benchmark::State& state) {
    const tn::detail::mapped_file file("benchmark", there().table);
    const char* const begin = reinterpret_cast<const char*>(file.data());
    std::vector<float> to(csv_batch * columns);
    for (auto _ : state) {
        const char *at = begin, *const end = begin + file.size();
        for (std::int64_t row = 0; at != end; row = (row + 1) % csv_batch) {
            float* const values = to.data() + row * columns;
            for (std::int64_t c = 0; c < columns; ++c) {
                const std::from_chars_result r = std::from_chars(at, end, values[c]);
                if (r.ec != std::errc() || r.ptr == end || *r.ptr != (c + 1 < columns ? ',' : '\n')) std::abort();
                at = r.ptr + 1;
            }
        }
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    }
}

void our_records(benchmark::State& state) {
    const auto set = tn::data::tf_records({there().tfrecords});
    for (auto _ : state) require(state, drain(set), records);
}
// As a step takes them: into an element whose memory is used again.
void our_records_kept(benchmark::State& state) {
    const auto set = tn::data::tf_records({there().tfrecords}).untyped();
    for (auto _ : state) {
        const auto stream = set.source()->open();
        std::vector<tn::any_array> element;
        std::int64_t count = 0;
        while (stream->next(element)) ++count;
        require(state, count, records);
    }
}
void records_by_hand(benchmark::State& state) { input_files::read_and_sum(state, there().tfrecords); }

// ---- trivial elements

constexpr std::int64_t trivial = 20'000;

void host_range(benchmark::State& state) {
    const auto set = tn::data::range(trivial);
    for (auto _ : state) {
        std::int64_t sum = 0;
        for (const std::int64_t x : set) sum += x;
        benchmark::DoNotOptimize(sum);
    }
}
void host_map(benchmark::State& state) {
    const auto set = tn::data::range(trivial).map_host([](std::int64_t x) { return x + 1; });
    for (auto _ : state) require(state, drain(set), trivial);
}
void graph_map(benchmark::State& state) {
    const auto set = tn::data::range(trivial).map([](auto x) { return x + std::int64_t{1}; });
    for (auto _ : state) require(state, drain(set), trivial);
}
void host_batches(benchmark::State& state) {
    const auto set = tn::data::range(trivial).batch<100>();
    for (auto _ : state) require(state, drain(set), trivial / 100);
}
template <class Set> void steps_that_take(benchmark::State& state, const Set& set) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto next = tn::make_one_shot_iterator(set).get_next();
    tn::session s(g, models::with_threads(1));
    const auto step = s.callable(tn::feeds(), tn::fetches(next));
    for (auto _ : state) benchmark::DoNotOptimize(step());
}
void step_of_range(benchmark::State& state) { steps_that_take(state, tn::data::range(1'000'000'000)); }
void step_of_prefetched(benchmark::State& state) {
    steps_that_take(state, tn::data::range(1'000'000'000).prefetch(64));
}
void step_of_graph_map(benchmark::State& state) {
    steps_that_take(state, tn::data::range(1'000'000'000).map([](auto x) { return x + std::int64_t{1}; }));
}

// ---- training

using floats = tn::array<float, tn::shape<batch, pixels>>;
using numbers = tn::array<std::int32_t, tn::shape<batch>>;

auto training_set() {
    return shuffled(1)
        .repeat()
        .batch<batch>()
        .map([](auto x, auto y) {
            return std::tuple(tn::reshape<tn::shape<batch, pixels>>(tn::cast<float>(x)) / 255.0f, y);
        })
        .prefetch();
}

void training_from_memory(benchmark::State& state) {
    models::mlp<batch> m(1);
    std::vector<std::pair<floats, numbers>> all; // more than a cache holds
    auto it = training_set().iterate();
    for (int i = 0; i < 200; ++i) {
        auto [x, y] = *it.next();
        all.emplace_back(std::move(x), std::move(y));
    }
    const auto step = m.step();
    std::size_t at = 0;
    for (auto _ : state) {
        step(all[at].first, all[at].second);
        at = (at + 1) % all.size();
    }
}
void training_from_data_set(benchmark::State& state) {
    models::mlp<batch> m(1);
    const auto step = m.step();
    auto it = training_set().iterate();
    for (auto _ : state) {
        const auto [x, y] = *it.next();
        step(x, y);
    }
}
// The step takes its batch itself, with get_next().
void training_in_graph(benchmark::State& state) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto [x, y] = tn::make_one_shot_iterator(training_set()).get_next();
    const auto loss = tn::nn::cross_entropy(models::mlp_network::layers()(x), y);
    const auto train = tn::gradient_descent(0.01).minimize(loss, {.advance_global_step = false});
    tn::session s(g, models::with_threads(1));
    s.run(tn::initialize_variables());
    const auto step = s.callable(tn::feeds(), tn::fetches(train, loss));
    for (auto _ : state) step();
}

} // namespace

int main(int argc, char** argv) {
    const auto add = [](const char* name, void (*f)(benchmark::State&)) {
        benchmark::RegisterBenchmark(name, f)->UseRealTime();
    };
    add("batches", our_batches);
    add("batches_by_hand", copied_batches);
    add("float_batches", our_float_batches);
    add("float_batches_by_hand", copied_float_batches);
    add("csv", our_csv);
    add("csv_elements", our_csv_elements);
    add("csv_two_threads", our_csv_twice);
    add("csv_by_hand", csv_by_hand);
    add("records", our_records);
    add("records_kept", our_records_kept);
    add("records_by_hand", records_by_hand);
    add("range", host_range);
    add("host_map", host_map);
    add("graph_map", graph_map);
    add("range_batches", host_batches);
    add("step_of_range", step_of_range);
    add("step_of_prefetched", step_of_prefetched);
    add("step_of_graph_map", step_of_graph_map);
    add("training_from_memory", training_from_memory);
    add("training_from_data_set", training_from_data_set);
    add("training_in_graph", training_in_graph);
    const auto n = static_cast<double>(images), r = static_cast<double>(rows), k = static_cast<double>(records),
               t = static_cast<double>(trivial);
    return ratio::run(argc, argv,
                      {{"image of 28x28, shuffled, batched / memcpy", "batches", "batches_by_hand", 0.8, n},
                       {"the same as float / by hand", "float_batches", "float_batches_by_hand", 0.8, n},
                       {"CSV row of ten floats / from_chars", "csv", "csv_by_hand", 0.9, r},
                       {"the same, row by row / from_chars", "csv_elements", "csv_by_hand", 0, r},
                       {"two data sets, a thread each / one", "csv_two_threads", "csv", 1.7, r},
                       {"TFRecord of 784 bytes, kept element / read, CRC", "records_kept", "records_by_hand", 0.9, k},
                       {"the same, taken as std::string / read, CRC", "records", "records_by_hand", 0, k},
                       {"element of range on the host (300 ns)", "range", "", 0, t},
                       {"element of map_host (300 ns)", "host_map", "", 0, t},
                       {"element of range in batches of 100 (300 ns)", "range_batches", "", 0, t},
                       {"element of map with a graph function (2200 ns)", "graph_map", "", 0, t},
                       {"get_next in a step, range (4600 ns)", "step_of_range", ""},
                       {"get_next in a step, prefetched (10000 ns)", "step_of_prefetched", ""},
                       {"get_next in a step, graph function (10000 ns)", "step_of_graph_map", ""},
                       {"training step, data set / memory", "training_from_data_set", "training_from_memory", 0.97},
                       {"training step, get_next / memory", "training_in_graph", "training_from_memory", 0.97}});
}
