// Fourier transforms on a GPU beside the host, of each form and of lengths with small, large and no factors.

#include "tests.hpp"
#include "../../environment.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::drawn_seed, test::environment, test::run_on_gpu;

TEST_CASE(
    "transforms on a GPU are those of the host in double, by cuFFT where it is there and by Tenon's own kernels") {
    std::mt19937_64 random(drawn_seed());
    const auto value = [&](std::int64_t) { return static_cast<double>(random() % 2001) / 1000 - 1; };
    for (const char* how : {"", "own"})
        for (const element_type e : {element_type::float32, element_type::float64})
            for (const std::int64_t n : {1, 2, 3, 4, 16, 21, 37, 60, 101, 128}) {
                INFO(std::string(how), " ", std::string(name_of(e)), ", n ", n);
                const environment by("TENON_CUDA_TRANSFORMS", how);
                const std::int64_t rows = n == 128 ? 3 : 2;
                const any_array x = test::array_of(e, extents(rows, n, 2), value),
                                real = test::array_of(e, extents(rows, n), value);
                const test::build_function build = [&](const auto& in) {
                    const any_tensor halved = untyped::rfft(in[1]);
                    return std::vector{untyped::fft(in[0]), untyped::ifft(in[0]), halved, untyped::irfft(halved, 1, n)};
                };
                const auto got = run_on_gpu({&x, &real}, build);
                const auto wanted = test::on_host_in_double({&x, &real}, build);
                for (std::size_t o = 0; o < 4; ++o)
                    CHECK(test::difference(got[o], wanted[o], [&](std::int64_t) {
                              return 20 * test::spacing(e) * static_cast<double>(n);
                          }) == "");
            }
}

TEST_CASE("what was transformed on a GPU there and back, over two dimensions, is what it was") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = test::numbers<double>(extents(2, 6, 9), random);
    for (const char* how : {"own", ""}) {
        const environment by("TENON_CUDA_TRANSFORMS", how);
        const auto got =
            run_on_gpu({&x}, [](const auto& in) { return std::vector{untyped::irfft(untyped::rfft(in[0], 2), 2, 9)}; });
        for (std::int64_t i = 0; i < x.elements(); ++i)
            CHECK(got[0].data<double>()[i] == doctest::Approx(x.data<double>()[i]));
    }
}

TEST_CASE("rows of a loop's slices begin where complex numbers may not, and are transformed there all the same") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : {element_type::float32, element_type::float64})
        for (const char* how : {"own", ""}) {
            INFO(std::string(how), " ", std::string(name_of(e)));
            const environment by("TENON_CUDA_TRANSFORMS", how);
            const any_array x = test::numbers(e, extents(4, 5), random), none = test::numbers(e, extents(), random);
            using tensors = std::vector<any_tensor>;
            const test::build_function build = [](const tensors& in) {
                return untyped::scan(
                    [](const tensors& carried, const tensors& slices) {
                        const any_tensor half = untyped::rfft(slices[0]);
                        return detail::carried_and_given{{carried[0]}, {half, untyped::irfft(half, 1, 5)}};
                    },
                    {in[1]}, {in[0]});
            };
            const auto got = run_on_gpu({&x, &none}, build);
            const auto wanted = test::on_host_in_double({&x, &none}, build);
            for (std::size_t o = 0; o < 3; ++o)
                CHECK(test::difference(got[o], wanted[o], [&](std::int64_t) { return 1000 * test::spacing(e); }) == "");
        }
}
