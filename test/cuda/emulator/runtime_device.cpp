#include <cstdio>
#include <cstring>

#include <cuda_profiler_api.h>

#include "machine.hpp"

using namespace tenon::emulator;

namespace {
bool is_card(const machine& m, int card) { return card >= 0 && card < m.cards; }

std::string bus_id(int card) {
    char text[32];
    std::snprintf(text, sizeof text, "0000:%02X:00.0", card + 1);
    return text;
}

int attribute(const card& c, cudaDeviceAttr which, bool& known, int number) {
    switch (which) {
    case cudaDevAttrComputeCapabilityMajor: return c.major;
    case cudaDevAttrComputeCapabilityMinor: return c.minor;
    case cudaDevAttrMultiProcessorCount: return c.multiprocessors;
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 48 * 1024;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(c.shared_bytes);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(c.shared_bytes) + 1024;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return 2048;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: return 65536;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrClockRate: return 1500000;
    case cudaDevAttrL2CacheSize: return 4 << 20;
    case cudaDevAttrMemoryPoolsSupported: return c.has_pools;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCanMapHostMemory: return 1;
    case cudaDevAttrAsyncEngineCount: return 2;
    case cudaDevAttrPciBusId: return number + 1;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrIntegrated:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrComputeMode:
    case cudaDevAttrKernelExecTimeout: return 0;
    default: known = false; return 0;
    }
}
} // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    return api("cudaGetDeviceCount", [&](machine& m, lock_type&) {
        *count = m.cards;
        return m.cards ? cudaSuccess : cudaErrorNoDevice;
    });
}

cudaError_t cudaSetDevice(int device) {
    return api("cudaSetDevice", [&](machine& m, lock_type&) {
        if (!is_card(m, device)) return cudaErrorInvalidDevice;
        current_card = device;
        m.all[static_cast<std::size_t>(device)].has_context = true;
        return m.all[static_cast<std::size_t>(device)].lost;
    });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
    return api("cudaInitDevice",
               [&](machine& m, lock_type&) { return is_card(m, device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDevice(int* device) {
    return api("cudaGetDevice", [&](machine&, lock_type&) {
        *device = current_card;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    return api("cudaDeviceGetAttribute", [&](machine& m, lock_type&) {
        if (!is_card(m, device)) return cudaErrorInvalidDevice;
        bool known = true;
        *value = attribute(m.all[static_cast<std::size_t>(device)].is, which, known, device);
        if (!known) std::fprintf(stderr, "emulated GPU: attribute %d is not known here\n", static_cast<int>(which));
        return known ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int device) {
    return api("cudaGetDeviceProperties", [&](machine& m, lock_type&) {
        if (!is_card(m, device)) return cudaErrorInvalidDevice;
        const card& c = m.all[static_cast<std::size_t>(device)].is;
        *to = {};
        std::snprintf(to->name, sizeof to->name, "%s", c.name.c_str());
        to->uuid.bytes[0] = static_cast<char>(device + 1);
        to->totalGlobalMem = c.memory;
        to->sharedMemPerBlock = 48 * 1024;
        to->sharedMemPerBlockOptin = c.shared_bytes;
        to->sharedMemPerMultiprocessor = c.shared_bytes + 1024;
        to->regsPerBlock = to->regsPerMultiprocessor = 65536;
        to->warpSize = 32;
        to->maxThreadsPerBlock = 1024;
        to->maxThreadsDim[0] = to->maxThreadsDim[1] = 1024;
        to->maxThreadsDim[2] = 64;
        to->maxGridSize[0] = 2147483647;
        to->maxGridSize[1] = to->maxGridSize[2] = 65535;
        to->totalConstMem = 65536;
        to->major = c.major;
        to->minor = c.minor;
        to->textureAlignment = 512;
        to->multiProcessorCount = c.multiprocessors;
        to->maxThreadsPerMultiProcessor = 2048;
        to->maxBlocksPerMultiProcessor = 32;
        to->canMapHostMemory = to->concurrentKernels = to->unifiedAddressing = to->streamPrioritiesSupported = 1;
        to->asyncEngineCount = 2;
        to->l2CacheSize = 4 << 20;
        to->memoryBusWidth = 256;
        to->pciBusID = device + 1;
        to->memoryPoolsSupported = c.has_pools;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    return api("cudaDeviceGetPCIBusId", [&](machine& m, lock_type&) {
        if (!is_card(m, device)) return cudaErrorInvalidDevice;
        const std::string id = bus_id(device);
        if (length <= static_cast<int>(id.size())) return cudaErrorInvalidValue;
        std::memcpy(text, id.c_str(), id.size() + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
    return api("cudaDeviceGetByPCIBusId", [&](machine& m, lock_type&) {
        for (int c = 0; c < m.cards; ++c)
            if (bus_id(c) == text) {
                *device = c;
                return cudaSuccess;
            }
        return cudaErrorInvalidDevice;
    });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return api("cudaDeviceGetStreamPriorityRange", [&](machine&, lock_type&) {
        if (least) *least = 0;
        if (greatest) *greatest = -5;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return api("cudaDeviceCanAccessPeer", [&](machine& m, lock_type&) {
        if (!is_card(m, device) || !is_card(m, peer)) return cudaErrorInvalidDevice;
        *can = device != peer && m.all[static_cast<std::size_t>(device)].is.reaches_peers &&
               m.all[static_cast<std::size_t>(peer)].is.reaches_peers;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return api("cudaDeviceEnablePeerAccess", [&](machine& m, lock_type&) {
        if (!is_card(m, peer) || peer == current_card) return cudaErrorInvalidDevice;
        card_state& card = m.all[static_cast<std::size_t>(current_card)];
        if (flags) return cudaErrorInvalidValue;
        if (!card.is.reaches_peers || !m.all[static_cast<std::size_t>(peer)].is.reaches_peers)
            return cudaErrorPeerAccessUnsupported;
        bool& reaches = card.reaches[static_cast<std::size_t>(peer)];
        if (reaches) return cudaErrorPeerAccessAlreadyEnabled;
        reaches = true;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return api("cudaDeviceDisablePeerAccess", [&](machine& m, lock_type&) {
        if (!is_card(m, peer)) return cudaErrorInvalidDevice;
        bool& reaches = m.all[static_cast<std::size_t>(current_card)].reaches[static_cast<std::size_t>(peer)];
        if (!reaches) return cudaErrorPeerAccessNotEnabled;
        reaches = false;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize() {
    return api("cudaDeviceSynchronize", [&](machine& m, lock_type& lock) {
        const int card = current_card;
        if (const cudaError_t e = refused_by_captures_of(m, card)) return e;
        m.wait(lock, [&] { return !m.has_work(card); });
        return m.all[static_cast<std::size_t>(card)].lost;
    });
}

cudaError_t cudaDriverGetVersion(int* version) {
    // Answers without a driver too: 0.
    *version = the_machine().driver == cudaSuccess ? CUDART_VERSION : 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaProfilerStart() {
    return api("cudaProfilerStart", [](machine&, lock_type&) { return cudaSuccess; });
}

cudaError_t cudaProfilerStop() {
    return api("cudaProfilerStop", [](machine&, lock_type&) { return cudaSuccess; });
}

cudaError_t cudaPeekAtLastError() {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    const cudaError_t lost = m.all[static_cast<std::size_t>(current_card)].lost;
    return lost != cudaSuccess ? lost : last_error;
}

cudaError_t cudaGetLastError() {
    const cudaError_t e = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return e;
}

const char* cudaGetErrorName(cudaError_t e) {
#define NAME(x) \
    case x: return #x;
    switch (e) {
        NAME(cudaSuccess)
        NAME(cudaErrorInvalidValue)
        NAME(cudaErrorMemoryAllocation)
        NAME(cudaErrorInitializationError)
        NAME(cudaErrorCudartUnloading)
        NAME(cudaErrorInvalidConfiguration)
        NAME(cudaErrorInvalidMemcpyDirection)
        NAME(cudaErrorInsufficientDriver)
        NAME(cudaErrorDevicesUnavailable)
        NAME(cudaErrorInvalidDeviceFunction)
        NAME(cudaErrorNoDevice)
        NAME(cudaErrorInvalidDevice)
        NAME(cudaErrorInvalidKernelImage)
        NAME(cudaErrorNoKernelImageForDevice)
        NAME(cudaErrorPeerAccessUnsupported)
        NAME(cudaErrorInvalidResourceHandle)
        NAME(cudaErrorSymbolNotFound)
        NAME(cudaErrorNotReady)
        NAME(cudaErrorIllegalAddress)
        NAME(cudaErrorLaunchOutOfResources)
        NAME(cudaErrorLaunchTimeout)
        NAME(cudaErrorPeerAccessAlreadyEnabled)
        NAME(cudaErrorPeerAccessNotEnabled)
        NAME(cudaErrorHostMemoryAlreadyRegistered)
        NAME(cudaErrorHostMemoryNotRegistered)
        NAME(cudaErrorLaunchFailure)
        NAME(cudaErrorMisalignedAddress)
        NAME(cudaErrorECCUncorrectable)
        NAME(cudaErrorNotPermitted)
        NAME(cudaErrorNotSupported)
        NAME(cudaErrorStreamCaptureUnsupported)
        NAME(cudaErrorStreamCaptureInvalidated)
        NAME(cudaErrorStreamCaptureMerge)
        NAME(cudaErrorStreamCaptureUnmatched)
        NAME(cudaErrorStreamCaptureUnjoined)
        NAME(cudaErrorStreamCaptureIsolation)
        NAME(cudaErrorStreamCaptureImplicit)
        NAME(cudaErrorCapturedEvent)
        NAME(cudaErrorStreamCaptureWrongThread)
        NAME(cudaErrorGraphExecUpdateFailure)
        NAME(cudaErrorUnknown)
    default: return "cudaErrorOfAnotherKind";
    }
#undef NAME
}

const char* cudaGetErrorString(cudaError_t e) {
    switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorNotPermitted: return "operation not permitted";
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorMisalignedAddress: return "misaligned address";
    default: return "an error that the emulated GPU has no words for";
    }
}

} // extern "C"
