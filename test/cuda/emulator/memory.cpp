#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tenon::emulator {

namespace {

constexpr std::size_t range_bytes = std::size_t{1} << 38, red_bytes = 256, granule = 256;
/// Of larger regions only so much at either end is filled: the rest may never be touched.
constexpr std::size_t most_filled = std::size_t{16} << 20;

/// Has the address sanitizer, where there is one, say which instruction reads or writes what is nobody's.
void forbid([[maybe_unused]] const char* at, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(at, bytes);
#endif
}
void allow([[maybe_unused]] const char* at, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(at, bytes);
#endif
}

std::size_t block_bytes(std::size_t bytes) { return red_bytes + (bytes + granule - 1) / granule * granule + red_bytes; }

void fill_region(char* at, std::size_t bytes, unsigned char with) {
    if (bytes <= 2 * most_filled) {
        std::memset(at, with, bytes);
        return;
    }
    std::memset(at, with, most_filled);
    std::memset(at + bytes - most_filled, with, most_filled);
}

/// Gives the pages of [from, to) back to the system.
void forget_pages(char* from, char* to) {
    constexpr std::uintptr_t page = 4096;
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(from) + page - 1) / page * page;
    const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(to) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void forget_region(char* at, std::size_t bytes) {
    if (bytes <= 2 * most_filled) return;
    forget_pages(at, at + bytes);
}

std::size_t reach_of(const card_state& card, const char* end) {
    constexpr std::size_t step = std::size_t{1} << 16;
    return (static_cast<std::size_t>(end - card.base) + step - 1) / step * step;
}

char* reserve() {
    void* const at = mmap(nullptr, range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) return static_cast<char*>(at);
    std::fprintf(stderr, "emulated GPU: no address space for device memory\n");
    std::abort();
}

void allow_access(card_state& card, std::size_t from, std::size_t to, bool open) {
    if (from < to) mprotect(card.base + from, to - from, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
void set_open(card_state& card, bool open) {
    allow_access(card, 0, card.reach, open);
    card.open = open;
}

/// Closing and opening takes time for each page that is in use: done less often where there are many.
bool is_worth_closing(card_state& card) { return ++card.closings % (1 + (card.used >> 20)) == 0; }

} // namespace

void machine::open_memory(int for_card) {
    for (std::size_t c = 0; c < all.size(); ++c) {
        card_state& card = all[c];
        if (!card.base) continue;
        bool open =
            for_card < 0 || static_cast<int>(c) == for_card || all[static_cast<std::size_t>(for_card)].reaches[c];
        if (!open && card.open && !is_worth_closing(card)) open = true;
        if (open == card.open) continue;
        set_open(card, open);
    }
}

void machine::close_memory() {
    if (!protects) return open_memory(-1);
    for (card_state& card : all) {
        if (!card.open || !is_worth_closing(card)) continue;
        set_open(card, false);
    }
}

int machine::card_of(const void* at) const {
    const char* const p = static_cast<const char*>(at);
    for (std::size_t c = 0; c < all.size(); ++c)
        if (all[c].base && p >= all[c].base && p < all[c].base + range_bytes) return static_cast<int>(c);
    return -1;
}

std::pair<char*, allocation*> machine::find(const void* at) {
    const int c = card_of(at);
    if (c < 0) return {};
    auto& live = all[static_cast<std::size_t>(c)].allocations;
    char* const p = static_cast<char*>(const_cast<void*>(at));
    auto i = live.upper_bound(p);
    if (i == live.begin()) return {};
    --i;
    if (p >= i->first + i->second.bytes && p != i->first) return {};
    return {i->first, &i->second};
}

char* machine::allocate(int c, std::size_t bytes, const std::string& call) {
    card_state& card = all[static_cast<std::size_t>(c)];
    if (!card.base) {
        card.base = reserve();
        card.holes[card.base] = range_bytes;
    }
    if (bytes > card.is.memory || card.used > card.is.memory - bytes) return nullptr;
    const std::size_t needed = block_bytes(bytes);
    const auto hole =
        std::find_if(card.holes.begin(), card.holes.end(), [&](const auto& h) { return h.second >= needed; });
    if (hole == card.holes.end()) return nullptr;
    char* const block = hole->first;
    const std::size_t left = hole->second - needed;
    card.holes.erase(hole);
    if (left) card.holes[block + needed] = left;
    const std::size_t reach = reach_of(card, block + needed);
    if (reach > card.reach) {
        allow_access(card, card.reach, reach, card.open);
        card.reach = reach;
    }
    char* const at = block + red_bytes;
    card.allocations[at] = {c, bytes, call};
    card.used += bytes;
    chores.push_back([at, block, bytes, needed] {
        std::memset(block, red_byte, red_bytes);
        fill_region(at, bytes, fresh_byte);
        std::memset(at + bytes, red_byte, needed - red_bytes - bytes);
        forbid(block, red_bytes);
        forbid(at + bytes, needed - red_bytes - bytes);
    });
    return at;
}

void machine::release(char* at) {
    card_state& card = all[static_cast<std::size_t>(card_of(at))];
    const auto found = card.allocations.find(at);
    const std::size_t bytes = found->second.bytes, needed = block_bytes(bytes);
    char* const block = at - red_bytes;
    card.used -= bytes;
    card.allocations.erase(found);
    chores.push_back([at, block, bytes, needed] {
        allow(block, needed);
        fill_region(at, bytes, freed_byte);
        forget_region(at, bytes);
    });
    auto hole = card.holes.emplace(block, needed).first;
    if (hole != card.holes.begin())
        if (const auto left = std::prev(hole); left->first + left->second == hole->first) {
            left->second += hole->second;
            card.holes.erase(hole);
            hole = left;
        }
    if (const auto right = std::next(hole); right != card.holes.end() && hole->first + hole->second == right->first) {
        hole->second += right->second;
        card.holes.erase(right);
    }
}

void machine::forget_tails(std::size_t least) {
    for (card_state& card : all) {
        if (card.holes.empty()) continue;
        const auto last = std::prev(card.holes.end());
        const std::size_t reach = reach_of(card, last->first);
        if (last->first + last->second != card.base + range_bytes || card.reach < reach + least) continue;
        forget_pages(card.base + reach, card.base + card.reach);
        allow_access(card, reach, card.reach, false);
        card.reach = reach;
    }
}

void machine::forget_free_memory() {
    do_chores();
    forget_tails(0);
    for (card_state& card : all)
        for (const auto& [at, bytes] : card.holes)
            if (at < card.base + card.reach) forget_pages(at, std::min(at + bytes, card.base + card.reach));
}

std::string machine::broken_red_zones() {
    static const std::vector<unsigned char> whole(2 * red_bytes, red_byte);
    for (card_state& card : all) {
        if (!card.open) continue;
        for (const auto& [at, a] : card.allocations) {
            const std::size_t behind = block_bytes(a.bytes) - red_bytes - a.bytes;
            allow(at - red_bytes, block_bytes(a.bytes));
            const char* side = nullptr;
            if (std::memcmp(at - red_bytes, whole.data(), red_bytes) != 0) side = "before";
            else if (std::memcmp(at + a.bytes, whole.data(), behind) != 0) side = "behind";
            if (side) {
                std::memset(at - red_bytes, red_byte, red_bytes);
                std::memset(at + a.bytes, red_byte, behind);
            }
            forbid(at - red_bytes, red_bytes);
            forbid(at + a.bytes, behind);
            if (!side) continue;
            return std::string("wrote ") + side + " an allocation of " + std::to_string(a.bytes) + " bytes (" + a.call +
                   ")";
        }
    }
    return "";
}

bool machine::is_pinned(const void* at, std::size_t bytes) const {
    char* const p = static_cast<char*>(const_cast<void*>(at));
    auto i = host_allocations.upper_bound(p);
    if (i == host_allocations.begin()) return false;
    --i;
    return p + bytes <= i->first + i->second;
}

cudaError_t machine::check_range(const void* at, std::size_t bytes, const char* name) {
    const int c = card_of(at);
    if (c < 0) return cudaSuccess;
    const auto [first, a] = find(at);
    if (a && !a->freed && static_cast<const char*>(at) + bytes <= first + a->bytes) return cudaSuccess;
    std::string why = std::string(name) + " of " + std::to_string(bytes) + " bytes ";
    if (!a) why += "at device memory that is not allocated";
    else if (a->freed) why += "at device memory that was freed";
    else
        why += "goes beyond an allocation of " + std::to_string(a->bytes) + " bytes (" + a->call + "), from byte " +
               std::to_string(static_cast<const char*>(at) - first);
    violations.push_back(why);
    std::fprintf(stderr, "emulated GPU: %s\n", why.c_str());
    return cudaErrorInvalidValue;
}

} // namespace tenon::emulator
