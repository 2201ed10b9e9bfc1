// What is asked of cuFFT, and what is done where it refuses.

#include <doctest/doctest.h>

#if defined(TENON_WITH_CUFFT)

#include <tenon/core/error.hpp>
#include <tenon/tenon.hpp>

#include "../both_devices.hpp"
#include "emulator/control.hpp"
#include "emulator/libraries/cufft.hpp"
#include "messages.hpp"

using namespace tenon;
using test::machine, test::run_on_gpu;
namespace cufft = tenon::emulator::cufft;

namespace {
std::vector<any_array> transformed() {
    any_array x(element_type::float32, extents(2, 3));
    for (int i = 0; i < 6; ++i) x.data<float>()[i] = static_cast<float>(i);
    return run_on_gpu({&x}, [](const auto& in) { return std::vector{untyped::rfft(in[0])}; });
}
} // namespace

TEST_CASE_FIXTURE(machine, "cuFFT makes transforms in memory of the plan, and its plans end with ours") {
    const std::size_t before = cufft::plans();
    const any_array y = std::move(transformed()[0]);
    CHECK(cufft::transforms() == 1);
    CHECK(cufft::plans() == before);
    CHECK(y.data<float>()[0] == 3);
    CHECK(y.data<float>()[2] == doctest::Approx(-1.5));
}

TEST_CASE("what cuFFT has no plan for our own kernels make") {
    for (const cufftResult answer : {CUFFT_INVALID_SIZE, CUFFT_NOT_SUPPORTED}) {
        const machine m;
        cufft::fail("cufftMakePlanMany64", answer);
        const any_array y = std::move(transformed()[0]);
        CHECK(cufft::transforms() == 0);
        CHECK(y.data<float>()[2] == doctest::Approx(-1.5));
    }
}

TEST_CASE("other failures of cuFFT are errors that say which transform, which call, and what it answered") {
    for (const char* call : {"cufftCreate", "cufftSetAutoAllocation", "cufftMakePlanMany64", "cufftSetStream",
                             "cufftSetWorkArea", "cufftExecR2C"}) {
        INFO(call);
        const machine m;
        cufft::fail(call, CUFFT_INTERNAL_ERROR);
        const std::string said = message_of<internal_error>(transformed);
        CHECK_MESSAGE(said.find("Fourier transforms of 2 rows of 3 numbers of float: " + std::string(call) +
                                " answered 5 (cufftResult)") != std::string::npos,
                      said);
    }
    const machine m;
    cufft::fail("cufftMakePlanMany64", CUFFT_ALLOC_FAILED);
    CHECK(message_of<resource_exhausted_error>(transformed).find("memory is short") != std::string::npos);
}

#endif
