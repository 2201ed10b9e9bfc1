#include "machine.hpp"

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
machine::~machine() { renew(); }

bool machine::is_emulated() { return true; }
void machine::draw_from(std::uint64_t seed) { emulator::seed(seed); }
std::vector<std::string> machine::violations() { return emulator::violations(); }
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
