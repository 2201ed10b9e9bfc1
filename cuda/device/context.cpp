#include <cuda/device/context.hpp>

#include <atomic>
#include <cstdio>

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

bool gpu_context::has_products_of(element_type e) const {
    if (e != element_type::bfloat16 || capability >= 80) return true;
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
        std::fprintf(stderr,
                     "tenon: %s, of compute capability %d.%d, has no products and convolutions of bfloat16, which come "
                     "with 8.0: Tenon's own "
                     "kernels make them, which are slower; of half it has them\n",
                     name.c_str(), capability / 10, capability % 10);
    return false;
}

void gpu_context::use() const { cuda::check(cudaSetDevice(card), "cudaSetDevice"); }

} // namespace tenon
