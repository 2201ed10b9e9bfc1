#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include <tenon/models.hpp>

// Models whose batches run when a test lets them.

namespace serve_test {

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

using rows4 = tn::shape<batch, 4>;
using array4 = tn::array<float, rows4>;

/// Rows that no other request has.
inline array4 rows(std::int64_t count, float first) {
    array4 a(count);
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = first + static_cast<float>(i) / 8;
    return a;
}

/// A queue whose elements let a batch through each, and show it: 0 does, another number has its step fail.
struct gate {
    gate() :
        tokens(1000, {.name = "gate"}),
        token(tn::placeholder<std::int32_t, tn::shape<>>("token")),
        put(tokens.enqueue(token)) {}
    void open(tn::session& s, int batches = 1, std::int32_t with = 0) const {
        for (int i = 0; i < batches; ++i) s.run(tn::feed(token, with), put);
    }
    /// x, when the gate has opened.
    template <class X> auto after(const X& x) const { return x + tn::cast<float>(tokens.dequeue()) * 0.0f; }

    tn::fifo_queue<std::int32_t> tokens;
    tn::tensor<std::int32_t, tn::shape<>> token;
    tn::operation put;
};

/// Waits until something is so, as others change it; not for ever.
template <class F> bool comes(F&& is_so) {
    for (int i = 0; i < 20000; ++i) {
        if (is_so()) return true;
        std::mutex m;
        std::condition_variable never;
        std::unique_lock lock(m);
        never.wait_for(lock, std::chrono::milliseconds(1));
    }
    return false;
}

} // namespace serve_test
