// Rows of which many are one key's, such as a padding token's: no thread sums many of them, and each run gives the same bits.

#include "tests.hpp"
#include "emulator/control.hpp"
#include "emulator/device.hpp"

#include <cuda/kernels/shape/row_places.hpp>

#include "../gpu_run.hpp"

using namespace tenon;
using test::array_of, test::difference, test::drawn_seed, test::number_at, test::run_on_gpu, test::same_bits;

namespace {

// One key in most places, ten in others, and any in the rest.
template <class I> any_array skewed_indices(std::int64_t keys, std::int64_t count, std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) { return static_cast<double>(random() % static_cast<std::uint64_t>(n)); };
    return array_of<I>(extents(count), [&](std::int64_t) {
        const std::uint64_t kind = random() % 10;
        return kind < 6 ? 7 : kind < 9 ? below(10) : below(keys);
    });
}

std::size_t launches() { return emulator::count_calls("cudaLaunchKernel"); }

} // namespace

TEST_CASE("a key's rows are cut into runs that a thread sums: all of them, each once, and few at a time") {
    std::mt19937_64 random(drawn_seed());
    std::int64_t longest = 0;
    for (const std::int64_t count : {1, 128, 129, 256, 257, 3000, 40000, 1000000}) {
        for (const std::uint64_t distinct : {1U, 10U, 700U}) {
            std::vector<std::uint32_t> keys(static_cast<std::size_t>(count));
            for (auto& k : keys) k = static_cast<std::uint32_t>(random() % 3 ? 0 : random() % distinct);
            std::sort(keys.begin(), keys.end());
            std::vector<std::int64_t> rows(keys.size(), 1),
                found(distinct); // how many rows each row of a level is the sum of
            std::int64_t all_sums = 0;
            cuda::key_runs<std::uint32_t> level{keys.data(), count, 1};
            for (;;) {
                std::vector<std::int64_t> sums(static_cast<std::size_t>(level.next_rows()));
                for (std::int64_t i = 0; i < level.n; ++i) {
                    const cuda::key_run run = level.at(i);
                    longest = std::max(longest, run.end - run.begin);
                    std::int64_t sum = 0;
                    for (std::int64_t k = run.begin; k < run.end; ++k) {
                        REQUIRE(level.key(k) == level.key(i));
                        sum += rows[static_cast<std::size_t>(k)];
                    }
                    if (run.is_whole) found[level.key(i)] += sum;
                    else if (sum > 0) sums.at(static_cast<std::size_t>(i / cuda::run_rows)) = sum;
                }
                all_sums += level.next_rows();
                if (level.is_last()) break;
                level = level.next();
                rows = sums;
            }
            for (std::uint64_t k = 0; k < distinct; ++k)
                CHECK(found[k] == std::count(keys.begin(), keys.end(), static_cast<std::uint32_t>(k)));
            CHECK(all_sums == cuda::rows_of_sums(count));
        }
    }
    MESSAGE("the most rows that a thread sums: ", longest);
    CHECK(longest > cuda::run_rows);
    CHECK(longest <= 2 * cuda::run_rows);
}

TEST_CASE_TEMPLATE("what is gathered very often gets the sum of its gradients, the same in every run", T, float, double,
                   tenon::half, bfloat16, std::int32_t) {
    std::mt19937_64 random(drawn_seed());
    for (const std::int64_t count : {900, 40000}) {
        const std::int64_t outer = 1 + static_cast<std::int64_t>(random() % 2),
                           inner = 1 + static_cast<std::int64_t>(random() % 5), keys = 400;
        const any_array indices = skewed_indices<std::int32_t>(keys, count, random);
        const any_array x = array_of<T>(extents(outer, keys, inner), [](std::int64_t) { return 0; });
        const any_array g = array_of<T>(extents(outer, count, inner), [&](std::int64_t) {
            return std::is_integral_v<T> ? static_cast<double>(random() % 100)
                                         : static_cast<double>(random() % 4096) / 4096.0;
        });
        std::vector<double> sums(static_cast<std::size_t>(outer * keys * inner));
        for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t c = 0; c < inner; ++c)
                    sums[static_cast<std::size_t>((o * keys + indices.data<std::int32_t>()[i]) * inner + c)] +=
                        number_at(g, (o * count + i) * inner + c);
        const auto run = [&] {
            return std::move(run_on_gpu({&g, &indices, &x}, [&](const auto& in) {
                return std::vector{add<gather_gradient_op>({1}, {in[0], in[1], in[2]})};
            })[0]);
        };
        const any_array out = run();
        const double unit = sizeof(T) == 8 ? 0x1p-52 : std::is_integral_v<T> ? 0 : 0x1p-23;
        CHECK(difference(out, sums, [&](std::int64_t i) {
                  return (8 * unit + 0.51 * test::spacing(out.element())) * sums[static_cast<std::size_t>(i)];
              }) == "");
        CHECK(same_bits(out, run()));
    }
}

TEST_CASE_TEMPLATE("very many rows of equal indices are summed, where they lie or elsewhere, the same in every run", T,
                   float, double, tenon::half, bfloat16) {
    std::mt19937_64 random(drawn_seed());
    for (const std::int64_t count : {900, 40000}) {
        const std::int64_t inner = 1 + static_cast<std::int64_t>(random() % 5);
        const any_array indices = skewed_indices<std::int64_t>(400, count, random);
        const any_array rows = array_of<T>(extents(count, inner),
                                           [&](std::int64_t) { return static_cast<double>(random() % 256) / 256.0; });
        std::vector<std::vector<double>> sums(400);
        std::vector<std::int64_t> first(400, -1);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto key = static_cast<std::size_t>(indices.data<std::int64_t>()[i]);
            sums[key].resize(static_cast<std::size_t>(inner));
            if (first[key] < 0) first[key] = i;
            for (std::int64_t c = 0; c < inner; ++c)
                sums[key][static_cast<std::size_t>(c)] += number_at(rows, i * inner + c);
        }
        const auto run = [&] {
            return run_on_gpu({&rows, &indices}, [&](const auto& in) {
                std::vector<any_tensor> out;
                for (const bool once : {false, true}) {
                    out.push_back(add<sum_equal_rows_op>({once}, {in[0], in[1]}));
                    out.push_back(add<sum_equal_rows_op>({once}, {untyped::multiply(in[0], 1), in[1]}));
                }
                return out;
            });
        };
        const std::vector<any_array> out = run(), again = run();
        for (std::size_t k = 0; k < out.size(); ++k) {
            std::vector<double> wanted;
            for (std::int64_t i = 0; i < count; ++i) {
                const auto key = static_cast<std::size_t>(indices.data<std::int64_t>()[i]);
                for (const double s : sums[key]) wanted.push_back(k < 2 || first[key] == i ? s : 0);
            }
            const double unit = sizeof(T) == 8 ? 0x1p-52 : 0x1p-23;
            CHECK(difference(out[k], wanted, [&](std::int64_t i) {
                      return (8 * unit + 0.51 * test::spacing(out[k].element())) * wanted[static_cast<std::size_t>(i)];
                  }) == "");
            CHECK(same_bits(out[k], again[k]));
        }
    }
}

TEST_CASE("how often a gather's gradient launches follows from how many rows there are, whatever they name") {
    std::mt19937_64 random(drawn_seed());
    const auto launched = [&](std::int64_t count) {
        const any_array g = array_of<float>(extents(count, 1), [](std::int64_t) { return 1; });
        const any_array x = array_of<float>(extents(400, 1), [](std::int64_t) { return 0; });
        const auto of = [&](const any_array& indices) {
            const auto before = launches();
            (void)run_on_gpu({&g, &indices, &x}, [](const auto& in) {
                return std::vector{add<gather_gradient_op>({0}, {in[0], in[1], in[2]})};
            });
            return launches() - before;
        };
        const auto skewed = of(skewed_indices<std::int32_t>(400, count, random));
        CHECK(of(test::array_of<std::int32_t>(extents(count),
                                              [](std::int64_t i) { return static_cast<double>(i % 400); })) == skewed);
        return skewed;
    };
    const auto few = launched(256);
    CHECK(launched(257) == few + 1);
    CHECK(launched(40000) == few + 2);
}
