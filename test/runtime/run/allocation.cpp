#include <malloc.h>

#include "tests.hpp"
#include "replaced_new.hpp"
#include "runtime/counted_memory.hpp"

// A steady-state step takes no memory from the system but for what it hands out. This program's operator new counts.

namespace {
std::atomic<bool> counting{false};
std::atomic<int> taken{0};
std::atomic<std::size_t> least{0};      // smaller blocks do not count
std::atomic<std::int64_t> held{0};      // bytes that were taken and not given back
std::atomic<std::int64_t> all_taken{0}; // blocks, since the program began
std::atomic<std::int64_t> all_bytes{0}; // of these

void* counted(void* p) noexcept {
    const std::int64_t bytes = p ? static_cast<std::int64_t>(malloc_usable_size(p)) : 0;
    held.fetch_add(bytes, std::memory_order_relaxed);
    all_bytes.fetch_add(bytes, std::memory_order_relaxed);
    all_taken.fetch_add(1, std::memory_order_relaxed);
    return p;
}
} // namespace

void* replaced_new::take(std::size_t bytes, std::size_t alignment) noexcept {
    if (counting.load(std::memory_order_relaxed) && bytes >= least) taken.fetch_add(1, std::memory_order_relaxed);
    if (alignment <= alignof(std::max_align_t)) return counted(std::malloc(bytes ? bytes : 1));
    return counted(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
}
[[gnu::noinline]] void replaced_new::give(void* p) noexcept {
    if (p) held.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(p)), std::memory_order_relaxed);
    std::free(p);
}

std::int64_t counted_memory::held_bytes() { return held.load(std::memory_order_relaxed); }
std::int64_t counted_memory::taken_bytes() { return all_bytes.load(std::memory_order_relaxed); }
std::int64_t counted_memory::taken_blocks() { return all_taken.load(std::memory_order_relaxed); }

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

template <class F> int taken_by(F&& f, std::size_t at_least = 0) {
    taken = 0;
    least = at_least;
    counting = true;
    f();
    counting = false;
    return taken;
}
} // namespace

TEST_CASE("the counter counts") {
    CHECK(taken_by([] {}) == 0);
    CHECK(taken_by([] {
              int* volatile kept = new int(1); // volatile: else the compiler may take no memory for it
              delete kept;
          }) == 1);
    CHECK(taken_by([] { ::operator delete(::operator new(16)); }) == 1);
}

TEST_CASE_FIXTURE(in_graph, "a training step in steady state takes no memory from the system") {
    const auto x = tn::placeholder<float, tn::shape<batch, 32>>("x");
    const auto w = tn::variable<float, tn::shape<32>>("w", tn::constant_value(0.01));
    const auto b = tn::variable<float, tn::shape<>>("b", tn::zeros());
    const auto loss = mean(square(tanh(x * w + b)));
    const auto [dw, db] = gradients(loss, w, b);
    const tn::operation train = tn::group(w.assign_sub(dw * 0.1f), b.assign_sub(db * 0.1f));
    initialized_session s(tn::session_options{.intra_op_threads = 1, .use_per_session_threads = true});
    tn::array<float, tn::shape<batch, 32>> v(8);
    v.fill(1);
    const auto step = s.callable(tn::feeds(x), tn::fetches(train));
    const auto with_loss = s.callable(tn::feeds(x), tn::fetches(train, loss));
    for (int warm = 0; warm < 3; ++warm) {
        step(v);
        with_loss(v);
    }
    CHECK(taken_by([&] {
              for (int i = 0; i < 10; ++i) step(v);
          }) == 0);
    // The loss is the caller's: one block a step.
    CHECK(taken_by([&] {
              for (int i = 0; i < 10; ++i) with_loss(v);
          }) == 10);
}

TEST_CASE_FIXTURE(in_graph, "nodes side by side take no memory in steady state either") {
    const auto x = tn::placeholder<float, tn::shape<batch, 256>>("x");
    const auto w = tn::variable<float, tn::shape<256>>("w", tn::constant_value(0.01));
    const auto branch = [&](float k) { return sum(tanh(exp(sin(tanh(x * k) * w)))); };
    const auto loss = branch(1) + branch(2) + branch(3);
    const tn::operation train = tn::group(w.assign_sub(tn::zeros_like(w) + loss * 1e-9f));
    initialized_session s(
        tn::session_options{.intra_op_threads = 2, .inter_op_threads = 2, .use_per_session_threads = true});
    tn::array<float, tn::shape<batch, 256>> v(512);
    v.fill(1);
    const auto step = s.callable(tn::feeds(x), tn::fetches(train));
    for (int warm = 0; warm < 20; ++warm) step(v);
    CHECK(taken_by([&] {
              for (int i = 0; i < 20; ++i) step(v);
          }) == 0);
}

TEST_CASE_FIXTURE(in_graph, "products take no memory for tensors in steady state") {
    // oneDNN makes small lists of arguments for each call; nothing of a tensor's size.
    const auto x = tn::placeholder<float, tn::shape<batch, 320>>("x");
    const auto w1 = tn::variable<float, tn::shape<320, 160>>("w1", tn::constant_value(0.01));
    const auto b1 = tn::variable<float, tn::shape<160>>("b1", tn::zeros());
    const auto w2 = tn::variable<float, tn::shape<160, 40>>("w2", tn::constant_value(0.02));
    const auto loss = mean(square(matmul(relu(matmul(x, w1) + b1), w2)));
    const auto [d1, e1, d2] = gradients(loss, w1, b1, w2);
    const tn::operation train = tn::group(w1.assign_sub(d1 * 0.1f), b1.assign_sub(e1 * 0.1f), w2.assign_sub(d2 * 0.1f));
    initialized_session s(tn::session_options{.intra_op_threads = 1, .use_per_session_threads = true});
    tn::array<float, tn::shape<batch, 320>> v(64);
    v.fill(1);
    const auto step = s.callable(tn::feeds(x), tn::fetches(train));
    for (int warm = 0; warm < 3; ++warm) step(v);
    CHECK(taken_by(
              [&] {
                  for (int i = 0; i < 10; ++i) step(v);
              },
              2048) == 0);
}

TEST_CASE_FIXTURE(in_graph, "sizes that were planned before are not planned again") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto v = tn::variable<float, tn::shape<>>("v", tn::zeros());
    const tn::operation add = v.assign_add(sum(x)).operation();
    initialized_session s;
    const auto step = s.callable(tn::feeds(x), tn::fetches(add));
    const tn::array<float> a{1, 2, 3}, b{1, 2};
    step(a);
    const int first = taken_by([&] { step(b); });
    step(a);
    const int again = taken_by([&] { step(b); });
    CHECK(first > again);
    CHECK(again < 20); // the look-up of the plan
}
