#include "machine.hpp"

#include <cuda_runtime_api.h>

namespace tenon::test {

machine::machine(int) {}
machine::~machine() = default;

bool machine::is_emulated() { return false; }
void machine::draw_from(std::uint64_t) {}
std::vector<std::string> machine::violations() {
    const cudaError_t said = cudaDeviceSynchronize();
    if (said == cudaSuccess) return {};
    return {cudaGetErrorString(said)};
}
std::optional<std::uint64_t> machine::launches() { return std::nullopt; }
std::optional<std::uint64_t> machine::products_by_cublaslt() { return std::nullopt; }
std::optional<std::uint64_t> machine::sums_by_nccl() { return std::nullopt; }

} // namespace tenon::test
