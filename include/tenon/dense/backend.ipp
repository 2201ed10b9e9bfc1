#pragma once

#include <cerrno>
#include <cstdio>
#include <memory>

#include <sys/mman.h>

#include <tenon/dense/backend.hpp>
#include <tenon/dense/onednn_version.hpp>

namespace tenon::dense {

TENON_INLINE bool has_backend(backend which) noexcept {
    if (which == backend::onednn) return TENON_ONEDNN != 0;
    return which != backend::libxsmm || TENON_WITH_LIBXSMM != 0;
}

namespace detail {

TENON_INLINE bool may_run_written_code() noexcept {
    constexpr std::size_t page = 4096;
    void* const p = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return true; // what wants memory says so
    const bool refused = ::mprotect(p, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 && errno != ENOMEM;
    (void)::munmap(p, page);
    return !refused;
}

TENON_INLINE bool is_executable(const void* at) noexcept {
    struct closing {
        void operator()(std::FILE* f) const noexcept { std::fclose(f); }
    };
    const std::unique_ptr<std::FILE, closing> maps(std::fopen("/proc/self/maps", "re"));
    if (!maps) return true; // no such system, or no descriptor
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    char part[512];
    for (bool begins = true; std::fgets(part, sizeof part, maps.get());) { // a line, or more of one
        unsigned long long first = 0, last = 0;
        char may[5] = "";
        if (begins && std::sscanf(part, "%llx-%llx %4s", &first, &last, may) == 3 && address >= first && address < last)
            return may[2] == 'x';
        begins = false;
        for (const char* c = part; *c; ++c) begins = *c == '\n';
    }
    return false;
}

} // namespace detail

} // namespace tenon::dense
