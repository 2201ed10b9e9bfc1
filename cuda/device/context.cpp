#include <cuda/device/context.hpp>

#include <cuda/device/error.hpp>

namespace tenon {

namespace {
int attribute(cudaDeviceAttr which, int card) {
    int value = 0;
    cuda::check(cudaDeviceGetAttribute(&value, which, card), "cudaDeviceGetAttribute");
    return value;
}
std::string name_of_card(int card) {
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, card), "cudaGetDeviceProperties");
    return properties.name;
}
} // namespace

gpu_context::gpu_context(int number) :
    card(number),
    name(name_of_card(number)),
    capability(attribute(cudaDevAttrComputeCapabilityMajor, number) * 10 +
               attribute(cudaDevAttrComputeCapabilityMinor, number)),
    multiprocessors(attribute(cudaDevAttrMultiProcessorCount, number)) {}

gpu_context::~gpu_context() { (void)cudaSetDevice(card); }

void gpu_context::use() const { cuda::check(cudaSetDevice(card), "cudaSetDevice"); }

} // namespace tenon
