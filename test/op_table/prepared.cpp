#include <malloc.h>

#include <tenon/core/array/memory_payer.hpp>
#include <tenon/resources/resources.hpp>

#include "tests.hpp"
#include "replaced_new.hpp"
#include "running.hpp"

// What kernels hold from when they are prepared grows with sizes only where it was asked for. This program's operator new counts.

namespace {

thread_local bool counting = false;
std::atomic<std::int64_t> held{0}; // by what counting threads took, and any gave back

} // namespace

void* replaced_new::take(std::size_t bytes, std::size_t alignment) noexcept {
    void* const memory = alignment <= alignof(std::max_align_t)
                             ? std::malloc(bytes ? bytes : 1)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory && counting) held += static_cast<std::int64_t>(malloc_usable_size(memory));
    return memory;
}
[[gnu::noinline]] void replaced_new::give(void* memory) noexcept {
    if (memory && counting) held -= static_cast<std::int64_t>(malloc_usable_size(memory));
    std::free(memory);
}

using namespace op_table;

namespace {

class limited_payer final : public memory_payer {
public:
    void take(std::size_t bytes) override {
        constexpr std::size_t limit = std::size_t{64} << 20;
        if (bytes > limit || bytes_ > limit - bytes) throw resource_exhausted_error("too many bytes");
        bytes_ += bytes;
    }
    void give(std::size_t bytes) noexcept override { bytes_ -= bytes; }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    std::size_t bytes_ = 0;
};

struct holding {
    bool is_there = false;      ///< the sizes are possible, and their kernel was made or refused
    std::int64_t uncounted = 0; ///< bytes that nobody was asked for
    std::size_t counted = 0;
};

// What is held when the kernel of a node has been prepared, or refused for want of memory.
holding prepare(const entry& e, const sample& s, const setting& at) {
    holding h;
    try {
        const built b = build(e, s, at);
        const tenon::node& n = *b.node;
        if (!n.op->cpu) return h;
        std::vector<tensor_type> inputs;
        for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) inputs.push_back(n.input_type(i));
        const auto list = [](const std::vector<tensor_type>& t) {
            return type_list(t.data(), static_cast<int>(t.size()));
        };
        resource_manager resources(nullptr);
        limited_payer payer;
        const kernel_setup setup{.node = n,
                                 .attrs = n.attributes,
                                 .inputs = list(inputs),
                                 .outputs = list(n.outputs),
                                 .threads = 4,
                                 .resources = &resources,
                                 .session_container = "session",
                                 .memory = &payer};
        (void)n.op->cpu(setup); // libraries keep what they make once
        const std::int64_t before = held;
        kernel_pointer made;
        counting = true;
        try {
            made = n.op->cpu(setup);
        } catch (const resource_exhausted_error&) {
        }
        counting = false;
        h.is_there = true;
        h.counted = payer.bytes();
        h.uncounted = held - before - static_cast<std::int64_t>(h.counted);
        made.reset();
        CHECK(payer.bytes() == 0);
    } catch (const error&) { // sizes that are not possible
        counting = false;
    }
    return h;
}

} // namespace

TEST_CASE("what kernels hold from when they are prepared is asked for where it grows with sizes") {
    constexpr std::int64_t larger = 3000, little = 4096;
    std::size_t most = 0;
    for_each_sample([&](const entry& e, const sample& s, element_type t) {
        const setting usual = setting_of(s, t);
        const holding small = prepare(e, s, usual);
        if (!small.is_there) return;
        for (const auto& sized : usual.sizes) {
            const auto& name = sized.first;
            const auto size = sized.second;
            INFO(name_of(e, s, t), "; ", name, " = ", size * larger);
            setting at = usual;
            at.sizes[name] = size * larger;
            const holding large = prepare(e, s, at);
            if (!large.is_there) continue;
            CHECK(large.uncounted <= small.uncounted + little);
            most = std::max(most, large.counted);
        }
    });
    CHECK(most > 10'000); // there are tables
}
