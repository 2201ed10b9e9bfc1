#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"

using namespace tenon::emulator;

namespace {

card_state& state_of(machine& m, int card) { return m.all[static_cast<std::size_t>(card)]; }

pool* find_pool(machine& m, cudaMemPool_t handle) {
    pool* const p = reinterpret_cast<pool*>(handle);
    for (card_state& card : m.all)
        if (card.default_pool.get() == p) return p;
    return m.pools.count(p) ? p : nullptr;
}
cudaMemPool_t handle_of(pool* p) { return reinterpret_cast<cudaMemPool_t>(p); }

void give_back(machine& m, char* at) {
    if (pool* const p = state_of(m, m.card_of(at)).allocations.at(at).from) {
        const std::size_t bytes = state_of(m, m.card_of(at)).allocations.at(at).bytes;
        p->used -= bytes;
        p->kept = std::min<std::uint64_t>(p->kept + bytes, p->threshold > p->used ? p->threshold - p->used : 0);
    }
    m.release(at);
}

cudaError_t allocate_in_order(machine& m, lock_type& lock, const char* name, void** to, std::size_t bytes, pool* p,
                              cudaStream_t handle) {
    const auto s = m.find_stream(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    *to = nullptr;
    if (s->recording) return cudaErrorStreamCaptureUnsupported; // graphs of this library allocate nothing
    if (bytes == 0) return cudaSuccess;
    card_state& card = state_of(m, p->card);
    if (const cudaError_t e = refused_bytes(m, name, card.used, bytes)) return e;
    char* at = m.allocate(p->card, bytes, name, p);
    if (!at) { // memory that is freed in the order of streams has been given back by then
        m.wait(lock, [&] { return !m.has_work(p->card); });
        at = m.allocate(p->card, bytes, name, p);
    }
    if (!at) return cudaErrorMemoryAllocation;
    p->used += bytes;
    p->used_high = std::max(p->used_high, p->used);
    p->kept = p->kept > bytes ? p->kept - bytes : 0;
    p->reserved_high = std::max(p->reserved_high, p->used + p->kept);
    *to = at;
    m.put(*s, {name, work::memory, s->card, [at, bytes] { // before it runs the memory is nobody's
                   std::memset(at, fresh_byte, std::min<std::size_t>(bytes, std::size_t{1} << 20));
                   return true;
               }});
    return cudaSuccess;
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

/// Rows of `width` bytes, each `to_pitch` and `from_pitch` apart.
cudaError_t copy(machine& m, lock_type& lock, const char* name, char* to, std::size_t to_pitch, const char* from,
                 std::size_t from_pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                 cudaStream_t handle, bool waits) {
    const auto s = m.find_stream(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (width == 0 || height == 0) return cudaSuccess;
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    const std::size_t to_bytes = (height - 1) * to_pitch + width, from_bytes = (height - 1) * from_pitch + width;
    if (!to || !from) return cudaErrorInvalidValue;
    if (const cudaError_t e = m.check_range(to, to_bytes, name)) return e;
    if (const cudaError_t e = m.check_range(from, from_bytes, name)) return e;
    const side to_side = side_of(m, to, to_bytes), from_side = side_of(m, from, from_bytes);
    if (!fits(kind, to_side, from_side)) return cudaErrorInvalidMemcpyDirection;
    if (waits)
        if (const cudaError_t e = refused_by_capture(m)) return e;
    if (s->recording && (to_side == side::pageable || from_side == side::pageable)) {
        s->recording->invalid = cudaErrorStreamCaptureInvalidated;
        return cudaErrorStreamCaptureUnsupported;
    }
    const auto rows = [=](const char* source) {
        if (to_pitch == width && from_pitch == width) {
            std::memmove(to, source, width * height);
            return;
        }
        for (std::size_t r = 0; r < height; ++r) std::memmove(to + r * to_pitch, source + r * from_pitch, width);
    };
    const auto reached = std::make_shared<marker>();
    std::shared_ptr<std::vector<char>> staged;
    if (from_side == side::pageable && to_side == side::device)
        staged = std::make_shared<std::vector<char>>(from, from + from_bytes);
    machine* const machine_then = &m;
    m.put(*s, {name, work::copy, s->card, [=] {
                   {
                       const lock_type guard(machine_then->guard);
                       machine_then->open_memory(-1); // copies go by the driver, which reaches all
                   }
                   rows(staged ? staged->data() : from);
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
const char* bytes_of(const void* p) { return static_cast<const char*>(p); }

} // namespace

extern "C" {

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
    return api("cudaMalloc", no_stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        *to = nullptr;
        if (const cudaError_t e = refused_by_capture(m)) return e;
        if (bytes == 0) return cudaSuccess;
        const int card = current_card;
        if (const cudaError_t e = refused_bytes(m, "cudaMalloc", state_of(m, card).used, bytes)) return e;
        char* at = m.allocate(card, bytes, "cudaMalloc", nullptr);
        if (!at) {
            m.wait(lock, [&] { return !m.has_work(card); });
            at = m.allocate(card, bytes, "cudaMalloc", nullptr);
        }
        *to = at;
        return at ? cudaSuccess : cudaErrorMemoryAllocation;
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
        give_back(m, first);
        return cudaSuccess;
    });
}

cudaError_t cudaMallocAsync(void** to, std::size_t bytes, cudaStream_t stream) {
    return stream_api("cudaMallocAsync", stream, std::to_string(bytes),
                      [&](machine& m, lock_type& lock, const auto& s) {
                          return allocate_in_order(m, lock, "cudaMallocAsync", to, bytes,
                                                   state_of(m, s->card).default_pool.get(), stream);
                      });
}

cudaError_t cudaMallocFromPoolAsync(void** to, std::size_t bytes, cudaMemPool_t from, cudaStream_t stream) {
    return api("cudaMallocFromPoolAsync", stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        pool* const p = find_pool(m, from);
        if (!p) return cudaErrorInvalidValue;
        return allocate_in_order(m, lock, "cudaMallocFromPoolAsync", to, bytes, p, stream);
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
                       give_back(*machine_then, where);
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
        *to = handle_of(p.get());
        m.pools[p.get()] = std::move(p);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
    return api("cudaMemPoolDestroy", [&](machine& m, lock_type& lock) {
        pool* const p = find_pool(m, handle);
        if (!p || p->is_default) return cudaErrorInvalidValue;
        m.wait(lock, [&] { return !m.has_work(p->card); });
        for (auto& [at, a] : state_of(m, p->card).allocations)
            if (a.from == p) a.from = nullptr;
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

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr which, void* value) {
    return api("cudaMemPoolSetAttribute", [&](machine& m, lock_type&) {
        pool* const p = find_pool(m, handle);
        if (!p) return cudaErrorInvalidValue;
        switch (which) {
        case cudaMemPoolAttrReleaseThreshold: std::memcpy(&p->threshold, value, sizeof p->threshold); break;
        case cudaMemPoolAttrReservedMemHigh: p->reserved_high = 0; break;
        case cudaMemPoolAttrUsedMemHigh: p->used_high = 0; break;
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies: break;
        default: return cudaErrorInvalidValue;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr which, void* value) {
    return api("cudaMemPoolGetAttribute", [&](machine& m, lock_type&) {
        pool* const p = find_pool(m, handle);
        if (!p) return cudaErrorInvalidValue;
        std::uint64_t is = 0;
        switch (which) {
        case cudaMemPoolAttrReleaseThreshold: is = p->threshold; break;
        case cudaMemPoolAttrReservedMemCurrent: is = p->used + p->kept; break;
        case cudaMemPoolAttrReservedMemHigh: is = p->reserved_high; break;
        case cudaMemPoolAttrUsedMemCurrent: is = p->used; break;
        case cudaMemPoolAttrUsedMemHigh: is = p->used_high; break;
        default: return cudaErrorInvalidValue;
        }
        std::memcpy(value, &is, sizeof is);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, std::size_t keep) {
    return api("cudaMemPoolTrimTo", [&](machine& m, lock_type&) {
        pool* const p = find_pool(m, handle);
        if (!p) return cudaErrorInvalidValue;
        p->kept = std::min<std::uint64_t>(p->kept, keep > p->used ? keep - p->used : 0);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* to, int device) {
    return api("cudaDeviceGetDefaultMemPool", [&](machine& m, lock_type&) {
        if (device < 0 || device >= m.cards) return cudaErrorInvalidDevice;
        *to = handle_of(state_of(m, device).default_pool.get());
        return cudaSuccess;
    });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return api("cudaMemGetInfo", [&](machine& m, lock_type&) {
        const card_state& card = state_of(m, current_card);
        std::size_t kept = card.default_pool->kept;
        for (const auto& [p, owned] : m.pools)
            if (p->card == current_card) kept += p->kept;
        *total = card.is.memory;
        *free = card.is.memory - std::min(card.is.memory, card.used + kept);
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

cudaError_t cudaMallocHost(void** to, std::size_t bytes) { return cudaHostAlloc(to, bytes, cudaHostAllocDefault); }

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
        return copy(m, lock, "cudaMemcpy", bytes_of(to), bytes, bytes_of(from), bytes, bytes, 1, kind, nullptr, true);
    });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return api("cudaMemcpyAsync", stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        return copy(m, lock, "cudaMemcpyAsync", bytes_of(to), bytes, bytes_of(from), bytes, bytes, 1, kind, stream,
                    false);
    });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return api("cudaMemcpy2DAsync", stream, std::to_string(width * height), [&](machine& m, lock_type& lock) {
        return copy(m, lock, "cudaMemcpy2DAsync", bytes_of(to), to_pitch, bytes_of(from), from_pitch, width, height,
                    kind, stream, false);
    });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
    return api("cudaMemcpyPeerAsync", stream, std::to_string(bytes), [&](machine& m, lock_type& lock) {
        if (m.card_of(to) != to_device || m.card_of(from) != from_device) return cudaErrorInvalidValue;
        return copy(m, lock, "cudaMemcpyPeerAsync", bytes_of(to), bytes, bytes_of(from), bytes, bytes, 1,
                    cudaMemcpyDeviceToDevice, stream, false);
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
