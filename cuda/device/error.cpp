#include <cuda/device/error.hpp>

#include <tenon/core/error.hpp>

namespace tenon::cuda {

std::string text_of(cudaError_t answer, const char* call) {
    return std::string(call) + ": " + cudaGetErrorString(answer) + " (" + cudaGetErrorName(answer) + ")";
}

bool is_sticky(cudaError_t answer) noexcept {
    switch (answer) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown: return true;
    default: return false;
    }
}

void check(cudaError_t answer, const char* call) {
    if (answer == cudaSuccess) return;
    if (!is_sticky(answer)) (void)cudaGetLastError(); // so that nobody else is told of it
    const std::string text = text_of(answer, call);
    switch (answer) {
    case cudaErrorMemoryAllocation: throw resource_exhausted_error(text);
    case cudaErrorNoDevice:
        throw unavailable_error(text + "; no GPU can be seen: is CUDA_VISIBLE_DEVICES set to none?");
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDevicesUnavailable: throw unavailable_error(text + "; does nvidia-smi show the GPU?");
    case cudaErrorSystemNotReady:
        throw unavailable_error(text + "; does nvidia-fabricmanager run, which GPUs joined by NVSwitch need?");
    case cudaErrorInsufficientDriver:
        throw unavailable_error(text + "; install the NVIDIA driver, or a newer one: this program needs one for CUDA " +
                                std::to_string(CUDART_VERSION / 1000));
    default: break;
    }
    if (is_sticky(answer))
        throw internal_error(text +
                             "; this process can use the GPU no more: start it again. CUDA_LAUNCH_BLOCKING=1 has the "
                             "node named that did it");
    throw internal_error(text);
}

} // namespace tenon::cuda
