#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"

using namespace tenon::emulator;

namespace {

card_state& state_of(machine& m, int card) { return m.all[static_cast<std::size_t>(card)]; }

pool* find_pool(machine& m, cudaMemPool_t handle) {
    pool* const p = reinterpret_cast<pool*>(handle);
    return m.pools.count(p) ? p : nullptr;
}

char* allocate(machine& m, lock_type& lock, const char* name, int card, std::size_t bytes) {
    if (char* const at = m.allocate(card, bytes, name)) return at;
    m.wait(lock,
           [&] { return !m.has_work(card); }); // what is freed in the order of streams has been given back by then
    return m.allocate(card, bytes, name);
}

enum class side { device, pinned, pageable };
side side_of(machine& m, const void* at, std::size_t bytes) {
    return m.card_of(at) >= 0 ? side::device : m.is_pinned(at, bytes) ? side::pinned : side::pageable;
}

bool fits(cudaMemcpyKind kind, side to, side from) {
    const bool to_device = to == side::device, from_device = from == side::device;
    switch (kind) {
    case cudaMemcpyHostToHost: return !to_device && !from_device;
    case cudaMemcpyHostToDevice: return to_device && !from_device;
    case cudaMemcpyDeviceToHost: return !to_device && from_device;
    case cudaMemcpyDeviceToDevice: return to_device && from_device;
    default: return true;
    }
}

cudaError_t copy(machine& m, lock_type& lock, const char* name, void* to, const void* from, std::size_t bytes,
                 cudaMemcpyKind kind, cudaStream_t handle, bool waits) {
    const auto s = m.find_stream(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    if (const cudaError_t e = m.check_range(to, bytes, name)) return e;
    if (const cudaError_t e = m.check_range(from, bytes, name)) return e;
    const side to_side = side_of(m, to, bytes), from_side = side_of(m, from, bytes);
    if (!fits(kind, to_side, from_side)) return cudaErrorInvalidMemcpyDirection;
    if (waits)
        if (const cudaError_t e = refused_by_capture(m)) return e;
    if (s->recording && (to_side == side::pageable || from_side == side::pageable)) {
        s->recording->invalid = cudaErrorStreamCaptureInvalidated;
        return cudaErrorStreamCaptureUnsupported;
    }
    const auto reached = std::make_shared<marker>();
    std::shared_ptr<std::vector<char>> staged;
    if (from_side == side::pageable && to_side == side::device)
        staged =
            std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    machine* const machine_then = &m;
    m.put(*s, {name, work::copy, s->card, [=] {
                   {
                       const lock_type guard(machine_then->guard);
                       machine_then->open_memory(-1); // copies go by the driver, which reaches all
                   }
                   std::memmove(to, staged ? staged->data() : from, bytes);
                   reached->reached = true;
                   return true;
               }});
    if (!waits && to_side != side::pageable) return cudaSuccess;
    const int card = s->card;
    m.wait(lock, [&] { return reached->reached || state_of(m, card).lost != cudaSuccess; });
    return state_of(m, card).lost;
}

cudaError_t fill(machine& m, const char* name, void* at, int value, std::size_t bytes, cudaStream_t handle) {
    const auto s = m.find_stream(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    if (m.card_of(at) < 0) return cudaErrorInvalidValue;
    if (const cudaError_t e = m.check_range(at, bytes, name)) return e;
    m.put(*s, {name, work::fill, s->card, [=] {
                   std::memset(at, value, bytes);
                   return true;
               }});
    return cudaSuccess;
}

char* bytes_of(void* p) { return static_cast<char*>(p); }

} // namespace

extern "C" {

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
    return api("cudaMalloc", no_stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        *to = nullptr;
        if (const cudaError_t e = refused_by_capture(m)) return e;
        if (bytes == 0) return cudaSuccess;
        const int card = current_card;
        if (const cudaError_t e = refused_bytes(m, "cudaMalloc", state_of(m, card).used, bytes)) return e;
        *to = allocate(m, lock, "cudaMalloc", card, bytes);
        return *to ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}

cudaError_t cudaFree(void* at) {
    return api("cudaFree", [&](machine& m, lock_type& lock) {
        if (!at) return cudaSuccess;
        if (const cudaError_t e = refused_by_capture(m)) return e;
        const auto [first, a] = m.find(at);
        if (!a || first != at || a->freed) return cudaErrorInvalidValue;
        a->freed = true;
        m.wait(lock, [&] { return !m.has_work(m.card_of(at)); });
        m.release(first);
        return cudaSuccess;
    });
}

cudaError_t cudaMallocFromPoolAsync(void** to, std::size_t bytes, cudaMemPool_t from, cudaStream_t stream) {
    const char* const name = "cudaMallocFromPoolAsync";
    return api(name, stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        pool* const p = find_pool(m, from);
        if (!p) return cudaErrorInvalidValue;
        const auto s = m.find_stream(stream);
        if (!s) return cudaErrorInvalidResourceHandle;
        *to = nullptr;
        if (s->recording) return cudaErrorStreamCaptureUnsupported; // graphs of this library allocate nothing
        if (bytes == 0) return cudaSuccess;
        const int card = p->card;
        if (const cudaError_t e = refused_bytes(m, name, state_of(m, card).used, bytes)) return e;
        char* const at = allocate(m, lock, name, card, bytes);
        if (!at) return cudaErrorMemoryAllocation;
        *to = at;
        m.put(*s, {name, work::memory, s->card, [at, bytes] { // before it runs the memory is nobody's
                       std::memset(at, fresh_byte, std::min<std::size_t>(bytes, std::size_t{1} << 20));
                       return true;
                   }});
        return cudaSuccess;
    });
}

cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
    return api("cudaFreeAsync", stream, "", [&](machine& m, lock_type&) {
        if (!at) return cudaSuccess;
        const auto s = m.find_stream(stream);
        if (!s) return cudaErrorInvalidResourceHandle;
        if (s->recording) return cudaErrorStreamCaptureUnsupported;
        const auto [first, a] = m.find(at);
        if (!a || first != at || a->freed) return cudaErrorInvalidValue;
        a->freed = true;
        machine* const machine_then = &m;
        m.put(*s, {"cudaFreeAsync", work::memory, s->card, [machine_then, where = first] {
                       const lock_type lock(machine_then->guard);
                       machine_then->release(where);
                       return true;
                   }});
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* to, const cudaMemPoolProps* properties) {
    return api("cudaMemPoolCreate", [&](machine& m, lock_type&) {
        if (properties->allocType != cudaMemAllocationTypePinned ||
            properties->location.type != cudaMemLocationTypeDevice || properties->location.id < 0 ||
            properties->location.id >= m.cards)
            return cudaErrorInvalidValue;
        if (!state_of(m, properties->location.id).is.has_pools) return cudaErrorNotSupported;
        auto p = std::make_unique<pool>();
        p->card = properties->location.id;
        *to = reinterpret_cast<cudaMemPool_t>(p.get());
        m.pools[p.get()] = std::move(p);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
    return api("cudaMemPoolDestroy", [&](machine& m, lock_type& lock) {
        pool* const p = find_pool(m, handle);
        if (!p) return cudaErrorInvalidValue;
        m.wait(lock, [&] { return !m.has_work(p->card); });
        m.pools.erase(p);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* list, std::size_t n) {
    return api("cudaMemPoolSetAccess", [&](machine& m, lock_type&) {
        pool* const p = find_pool(m, handle);
        if (!p) return cudaErrorInvalidValue;
        for (std::size_t i = 0; i < n; ++i) {
            const int peer = list[i].location.id;
            if (list[i].location.type != cudaMemLocationTypeDevice || peer < 0 || peer >= m.cards)
                return cudaErrorInvalidValue;
            if (peer == p->card) continue;
            if (!state_of(m, peer).is.reaches_peers || !state_of(m, p->card).is.reaches_peers)
                return cudaErrorInvalidDevice;
            state_of(m, peer).reaches[static_cast<std::size_t>(p->card)] = list[i].flags != cudaMemAccessFlagsProtNone;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return api("cudaMemGetInfo", [&](machine& m, lock_type&) {
        const card_state& card = state_of(m, current_card);
        *total = card.is.memory;
        *free = card.is.memory - std::min(card.is.memory, card.used);
        return cudaSuccess;
    });
}

cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned) {
    return api("cudaHostAlloc", no_stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        *to = nullptr;
        if (const cudaError_t e = refused_by_capture(m)) return e;
        if (bytes == 0) return cudaSuccess;
        const int card = current_card;
        m.wait(lock, [&] { return !m.has_work(card); }); // what it may do: host functions must not need who called
        if (const cudaError_t e = refused_bytes(m, "cudaHostAlloc", 0, bytes)) return e;
        char* const at = static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
        if (!at) return cudaErrorMemoryAllocation;
        std::memset(at, fresh_byte, std::min<std::size_t>(bytes, std::size_t{1} << 20));
        m.host_allocations[at] = bytes;
        *to = at;
        return cudaSuccess;
    });
}

cudaError_t cudaFreeHost(void* at) {
    return api("cudaFreeHost", [&](machine& m, lock_type& lock) {
        if (!at) return cudaSuccess;
        if (const cudaError_t e = refused_by_capture(m)) return e;
        const auto found = m.host_allocations.find(bytes_of(at));
        if (found == m.host_allocations.end()) return cudaErrorInvalidValue;
        const int card = current_card;
        m.wait(lock, [&] { return !m.has_work(card); });
        m.host_allocations.erase(bytes_of(at));
        std::free(at);
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* to, const void* at) {
    return api("cudaPointerGetAttributes", [&](machine& m, lock_type&) {
        *to = {};
        to->device = -2;
        to->type = cudaMemoryTypeUnregistered;
        if (m.find(at).second) {
            to->type = cudaMemoryTypeDevice;
            to->device = m.card_of(at);
            to->devicePointer = const_cast<void*>(at);
        } else if (m.is_pinned(at, 1)) {
            to->type = cudaMemoryTypeHost;
            to->device = current_card;
            to->devicePointer = to->hostPointer = const_cast<void*>(at);
        } else {
            to->hostPointer = const_cast<void*>(at);
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return api("cudaMemcpy", nullptr, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        return copy(m, lock, "cudaMemcpy", to, from, bytes, kind, nullptr, true);
    });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return api("cudaMemcpyAsync", stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        return copy(m, lock, "cudaMemcpyAsync", to, from, bytes, kind, stream, false);
    });
}

cudaError_t cudaMemset(void* at, int value, std::size_t bytes) {
    return api("cudaMemset", nullptr, std::to_string(bytes),
               [&](machine& m, lock_type&) { return fill(m, "cudaMemset", at, value, bytes, nullptr); });
}

cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
    return api("cudaMemsetAsync", stream, std::to_string(bytes),
               [&](machine& m, lock_type&) { return fill(m, "cudaMemsetAsync", at, value, bytes, stream); });
}

} // extern "C"
