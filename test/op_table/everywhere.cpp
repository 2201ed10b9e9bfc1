#include "tests.hpp"
#include "running.hpp"

using namespace op_table;

// The same numbers from every instruction set and on every device.

namespace {

// The instruction set is put back when the test ends.
struct kept_isa {
    simd::isa was = simd::best_isa();
    ~kept_isa() { simd::set_isa_for_testing(was); }
};

} // namespace

TEST_CASE("every instruction set gives the right numbers") {
    const kept_isa restored;
    for (const simd::isa which : {simd::isa::baseline, simd::isa::avx2, simd::isa::avx512}) {
        if (!simd::has_isa(which)) continue;
        for (const entry& e : entries())
            for (const sample& s : e.samples)
                for (const element_type t :
                     {usual_element(e), element_type::float32, element_type::float16, element_type::int32}) {
                    if (!e.elements.has(t)) continue;
                    INFO(name_of(e, s, t), "; ", std::string(simd::name_of(which)));
                    const setting at = setting_of(s, t);
                    const std::vector<any_array> values = values_for(s, at);
                    const built b = build(e, s, at);
                    simd::set_isa_for_testing(restored.was);
                    arguments wanted;
                    for (const any_array& a : run(b, values))
                        wanted.push_back(t == element_type::string ? plain{} : to_plain(a));
                    simd::set_isa_for_testing(which);
                    const std::vector<any_array> got = run(b, values);
                    CHECK(difference(got, wanted, e.tolerance) == "");
                    if (!s.expected) continue;
                    arguments in;
                    for (const any_array& a : values) in.push_back(to_plain(a));
                    CHECK(difference(got, s.expected(at, in), e.tolerance) == "");
                }
    }
}

TEST_CASE("every device gives the same bits") {
    // Kernels that others wrote may add up in an order that depends on the threads; a simulated GPU has one.
    const session_options one{.intra_op_threads = 1, .use_per_session_threads = true};
    session_options cpus = one, gpus = one;
    cpus.cpu_devices = 2;
    gpus.gpus = simulated_gpu(1, std::size_t{64} << 20);
    for_each_sample([&](const entry& e, const sample& s, element_type t) {
        INFO(name_of(e, s, t));
        const setting at = setting_of(s, t);
        const std::vector<any_array> values = values_for(s, at);
        const std::vector<any_array> wanted = run(build(e, s, at), values, one);
        CHECK(difference(run(build(e, s, at, known::numbers, "/cpu:1"), values, cpus), wanted) == "");
        if (find_op(e.op)->gpu_types.empty()) {
            CHECK(e.cpu_only);
            return;
        }
        CHECK(!e.cpu_only);
        const bool has_kernel = find_op(e.op)->gpu_types.has(t);
        gpus.allow_soft_placement = !has_kernel;
        CHECK(difference(run(build(e, s, at, known::numbers, "/gpu:0"), values, gpus), wanted) == "");
    });
}

TEST_CASE("what is not fused or folded gives the right numbers too") {
    session_options plainly{.fold_constants = false, .fuse = false};
    for_each_sample([&](const entry& e, const sample& s, element_type t) {
        INFO(name_of(e, s, t));
        const setting at = setting_of(s, t);
        const std::vector<any_array> values = values_for(s, at);
        const built b = build(e, s, at);
        arguments wanted;
        for (const any_array& a : run(b, values)) wanted.push_back(to_plain(a));
        CHECK(difference(run(b, values, plainly), wanted, e.tolerance) == "");
    });
}
