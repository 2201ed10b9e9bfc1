#include <cstdio>

#include "machine.hpp"

using namespace tenon::emulator;

namespace {
bool is_card(const machine& m, int card) { return card >= 0 && card < m.cards; }

int attribute(const card& c, cudaDeviceAttr which, bool& known) {
    switch (which) {
    case cudaDevAttrComputeCapabilityMajor: return c.major;
    case cudaDevAttrComputeCapabilityMinor: return c.minor;
    case cudaDevAttrMultiProcessorCount: return c.multiprocessors;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return 2048;
    case cudaDevAttrMemoryPoolsSupported: return c.has_pools;
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
        *value = attribute(m.all[static_cast<std::size_t>(device)].is, which, known);
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
        to->major = c.major;
        to->minor = c.minor;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    return api("cudaDeviceGetPCIBusId", [&](machine& m, lock_type&) {
        if (!is_card(m, device)) return cudaErrorInvalidDevice;
        const int needed = std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", device + 1);
        return needed < length ? cudaSuccess : cudaErrorInvalidValue;
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
        NAME(cudaErrorCudartUnloading)
        NAME(cudaErrorInvalidConfiguration)
        NAME(cudaErrorInvalidMemcpyDirection)
        NAME(cudaErrorInsufficientDriver)
        NAME(cudaErrorDevicesUnavailable)
        NAME(cudaErrorInvalidDeviceFunction)
        NAME(cudaErrorNoDevice)
        NAME(cudaErrorInvalidDevice)
        NAME(cudaErrorInvalidKernelImage)
        NAME(cudaErrorPeerAccessUnsupported)
        NAME(cudaErrorInvalidResourceHandle)
        NAME(cudaErrorSymbolNotFound)
        NAME(cudaErrorNotReady)
        NAME(cudaErrorIllegalAddress)
        NAME(cudaErrorLaunchOutOfResources)
        NAME(cudaErrorLaunchTimeout)
        NAME(cudaErrorPeerAccessAlreadyEnabled)
        NAME(cudaErrorPeerAccessNotEnabled)
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
