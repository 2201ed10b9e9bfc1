#include "machine.hpp"

#include <doctest/doctest.h>

#include "emulator/control.hpp"
#include "emulator/libraries/cublaslt.hpp"
#if defined(TENON_WITH_CUFFT)
#include "emulator/libraries/cufft.hpp"
#endif
#if defined(TENON_WITH_CUSOLVER)
#include "emulator/libraries/cusolver.hpp"
#endif
#if defined(TENON_WITH_NCCL)
#include "emulator/libraries/nccl.hpp"
#endif

namespace tenon::test {

namespace {
void renew() {
    emulator::reset();
    emulator::cublaslt::reset();
#if defined(TENON_WITH_CUFFT)
    emulator::cufft::reset();
#endif
#if defined(TENON_WITH_CUSOLVER)
    emulator::cusolver::reset();
#endif
#if defined(TENON_WITH_NCCL)
    emulator::nccl::reset();
#endif
}
} // namespace

machine::machine(int cards) {
    renew();
    emulator::cards(std::vector<emulator::card>(static_cast<std::size_t>(cards)));
}
machine::~machine() {
    for (const std::string& wrong : violations()) FAIL_CHECK(wrong);
    renew();
}

bool machine::is_emulated() { return true; }
void machine::draw_from(std::uint64_t seed) { emulator::seed(seed); }
std::vector<std::string> machine::violations() {
    std::vector<std::string> all = emulator::violations();
    if (const cudaError_t left = cudaPeekAtLastError(); all.empty() && left != cudaSuccess)
        all.push_back(std::string("an error is left to who asks next: ") + cudaGetErrorName(left));
    return all;
}
std::uint64_t machine::replays() { return emulator::count_calls("cudaGraphLaunch"); }
std::optional<std::uint64_t> machine::launches() { return emulator::count_calls("cudaLaunchKernel"); }
std::optional<std::uint64_t> machine::products_by_cublaslt() { return emulator::cublaslt::count().products; }
std::optional<std::uint64_t> machine::sums_by_nccl() {
#if defined(TENON_WITH_NCCL)
    return emulator::nccl::count().sums;
#else
    return std::nullopt;
#endif
}

} // namespace tenon::test
