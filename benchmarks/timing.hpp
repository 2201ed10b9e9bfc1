#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sys/resource.h>

/// What benchmarks of several threads measure by themselves.

namespace timing {

/// Of this process, of all its threads.
inline double core_seconds() {
    rusage u{};
    (void)::getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

inline double median(std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

} // namespace timing
