#include <doctest/doctest.h>

#include <deque>
#include <random>

#include "run_on_gpu.hpp"

using namespace tape_test;

namespace {

struct trial {
    tape code;
    std::vector<std::int64_t> constants;
    std::vector<tensor_type> types;
    std::vector<buffer> inputs;
    std::unique_ptr<gpu_tape> on_gpu;
};

void give_inputs(trial& t, const std::vector<extents>& sizes, std::mt19937& random) {
    for (int i = 0; i < t.code.input_count; ++i) {
        t.types.push_back({t.code.inputs[i], sizes[static_cast<std::size_t>(i)]});
        t.inputs.push_back(random_buffer(t.code.inputs[i], sizes[static_cast<std::size_t>(i)], random));
    }
}

trial random_trial(std::mt19937& random) {
    trial t;
    t.code = random_tape(random, t.constants, is_exact);
    give_inputs(t, random_sizes(random, t.code.input_count, 3000), random);
    return t;
}

// Of a random tape the tape of its gradients, on random sizes.
trial random_gradient(std::mt19937& random) {
    for (;;) {
        trial t;
        const tape forward = random_tape(random, t.constants, is_exact);
        const gradient_tape g = vjp(forward);
        if (g.code.overfull || g.code.output_count == 0 || tape_defect(g.code)) continue;
        std::vector<extents> sizes = random_sizes(random, forward.input_count, 3000);
        extents shape;
        for (const extents& s : sizes) shape = broadcast(shape, s).extents;
        const auto size_of_output = [&](int o) {
            const int like = forward.outputs[o].like;
            return like < 0 ? shape : sizes[static_cast<std::size_t>(like)];
        };
        std::vector<extents> all = sizes;
        for (int o = 0; o < forward.output_count; ++o)
            if (g.reads(o)) all.push_back(size_of_output(o));
        for (int o = 0; o < forward.output_count; ++o) all.push_back(size_of_output(o));
        t.code = g.code;
        give_inputs(t, all, random);
        return t;
    }
}

void check(const trial& t, gpu_tape::how how) {
    const expected want = run_naively(t.code, t.constants, t.inputs, simd::best_isa());
    const auto got = t.on_gpu->run(t.inputs, how);
    for (std::size_t o = 0; o < got.size(); ++o) {
        if ((how.unwanted >> o & 1U) != 0) continue;
        INFO("output ", o, " in place ", how.in_place, " off by ", how.elements_off, ": ", shown(t.code, t.types));
        REQUIRE(matches(got[o], want, o));
    }
}

gpu_tape::how random_how(std::mt19937& random, const trial& t) {
    gpu_tape::how h{.in_place = random() % 2 != 0, .elements_off = random() % 4 == 0 ? 1 + random() % 3 : 0};
    if (t.code.output_count > 1 && random() % 3 == 0)
        h.unwanted = 1U << random() % static_cast<unsigned>(t.code.output_count);
    return h;
}

} // namespace

TEST_CASE("random tapes and their gradients over random shapes give what the CPU gives one element at a time, "
          "interpreted at first and compiled then") {
    const auto seed = std::random_device{}();
    INFO("seed ", seed);
    std::mt19937 random(seed);
    gpu_context gpu(0);
    std::deque<trial> trials; // their tapes stay where they are
    for (int k = 0; k < 96; ++k) {
        trials.push_back(k % 3 == 0 ? random_gradient(random) : random_trial(random));
        trial& t = trials.back();
        INFO(shown(t.code, t.types));
        t.on_gpu = std::make_unique<gpu_tape>(gpu, t.code, t.constants, t.types);
    }
    for (const trial& t : trials) check(t, random_how(random, t));
    for (const trial& t : trials) {
        t.on_gpu->settle(t.inputs);
        check(t, random_how(random, t));
        check(t, random_how(random, t));
    }
}

TEST_CASE("random tapes are interpreted where that is asked for") {
    const auto seed = std::random_device{}();
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const environment interpreted("TENON_CUDA_TAPES", "interpreted");
    gpu_context gpu(0);
    for (int k = 0; k < 300; ++k) {
        trial t = random_trial(random);
        t.on_gpu = std::make_unique<gpu_tape>(gpu, t.code, t.constants, t.types);
        CHECK(t.on_gpu->kernel().may_be_recorded());
        check(t, random_how(random, t));
    }
}

TEST_CASE(
    "an interpreted tape with more values at a time than shared memory has room for keeps them in the step's memory") {
    const auto seed = std::random_device{}();
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const environment interpreted("TENON_CUDA_TAPES", "interpreted");
    gpu_context gpu(0);
    for (const bool sums : {false, true}) {
        trial t;
        std::vector<int> in, later;
        for (int i = 0; i < max_tape_inputs; ++i)
            in.push_back(t.code.emit_input(t.code.add_input(element_type::float32)));
        for (std::size_t i = 0; i < in.size(); ++i)
            later.push_back(t.code.emit(opcode::add, element_type::float32, in[i], in[(i + 7) % in.size()]));
        int last = later.back();
        for (std::size_t i = in.size(); i-- > 0;)
            last = t.code.emit(i % 2 ? opcode::maximum : opcode::minimum, element_type::float32, last,
                               t.code.emit(opcode::subtract, element_type::float32, later[i], in[i]));
        t.code.add_output(last, element_type::float32, sums ? 0 : -1);
        REQUIRE_FALSE(tape_defect(t.code));
        std::vector<extents> sizes(in.size(), extents(31, 40));
        if (sums) sizes[0] = extents(1, 40);
        give_inputs(t, sizes, random);
        t.on_gpu = std::make_unique<gpu_tape>(gpu, t.code, t.constants, t.types);
        CHECK(t.on_gpu->kernel().scratch_bytes() >= std::size_t{256} * 24 * sizeof(double));
        check(t, {});
    }
}
