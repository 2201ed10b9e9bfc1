#include <tenon/cuda/cuda_source.hpp>

#include "tests.hpp"
#include "emulator/control.hpp"

#include "environment.hpp"
#include "machine.hpp"
#include "own_ops.hpp"

// A GPU as a device: its memory and what happens where there is none left, and how a session ends whose GPU is lost.

namespace emulator = tenon::emulator;

namespace {

constexpr int n = 8;
using numbers = tn::array<float, tn::shape<n>>;

numbers filled(float with) {
    numbers r;
    for (int i = 0; i < n; ++i) r(i) = with;
    return r;
}

struct text_op {
    static constexpr const char* name = "test_text_of_device";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& k) {
        return tn::cuda_source("f", "extern \"C\" __global__ void f(const float* x, float* y) { *y = *x; }").prepare(k);
    }
};

} // namespace

TEST_CASE("a GPU's memory is taken as it is needed, counted, and given back to the card when the session ends") {
    emulator::reset();
    const std::size_t before = emulator::count().device_bytes;
    {
        const own_graph g;
        using large = tn::shape<1 << 18>;
        const auto x = tn::placeholder<float, large>("x");
        const auto y = tn::on("/gpu:0", [&] { return tn::add_n(x, tn::add_n(x, x)); });
        tn::session s(g);
        CHECK(emulator::count().device_bytes == before);
        const tn::array<float, large> value;
        (void)s.run(tn::feed(x, value), y);
        CHECK(s.memory_info("/gpu:0").in_use >=
              2 * sizeof(float) * static_cast<std::size_t>(value.extents().elements()));
        CHECK(emulator::count().device_bytes > before);
    }
    CHECK(emulator::count().device_bytes == before);
}

TEST_CASE_FIXTURE(tn::test::machine, "a variable of no elements has no memory, and kernels make something of it") {
    const own_graph g;
    const auto there = tn::on("/gpu:0");
    const auto w = tn::variable("w", tn::constant(tn::array<float, tn::shape<0, n>>()));
    const auto total = tn::sum<0>(w);
    initialized_session s(g);
    for (int i = 0; i < 3; ++i) {
        const auto got = s.run(total);
        for (int k = 0; k < n; ++k) CHECK(got(k) == 0);
    }
}

TEST_CASE("SEMANTICS 11: where memory runs out the error has the device, the bytes and who holds most, and the session "
          "goes on") {
    emulator::reset();
    emulator::cards({{.memory = 64 << 20}});
    const own_graph g;
    using large = tn::shape<4 << 20>; // 16 MB
    const auto x = tn::placeholder<float, large>("x");
    const auto y = tn::placeholder<float, tn::shape<n>>("y");
    const auto on_gpu = tn::on("/gpu:0");
    const auto doubled = tn::add_n(x, x);
    std::vector<tn::tensor<float, large>> all;
    for (int i = 0; i < 5; ++i) all.push_back(tn::transpose(tn::add_n(i ? all.back() : doubled, x)));
    const auto many = tn::add_n(tn::add_n(all[0], all[1]), tn::add_n(tn::add_n(all[2], all[3]), all[4]));
    const auto few = tn::add_n(y, y);
    tn::session s(g);
    const std::string text = message_of<tn::resource_exhausted_error>([&] {
        const tn::array<float, large> value;
        (void)s.run(tn::feed(x, value), many);
    });
    CHECK(contains(text, "/device:GPU:0"));
    CHECK(contains(text, "the largest tensors"));
    for (int i = 0; i < 3; ++i) CHECK(s.run(tn::feed(y, filled(2)), few)(0) == 4);
}

TEST_CASE("where the driver has no more memory the step says so, and the next one that fits runs") {
    emulator::reset();
    const own_graph g;
    const auto y = tn::placeholder<float, tn::shape<n>>("y");
    const auto few = tn::on("/gpu:0", [&] { return tn::add_n(y, y); });
    tn::session s(g);
    emulator::fail("cudaMallocFromPoolAsync", cudaErrorMemoryAllocation);
    CHECK_ERROR(tn::resource_exhausted_error, "/device:GPU:0", s.run(tn::feed(y, filled(1)), few));
    emulator::reset();
    CHECK(s.run(tn::feed(y, filled(2)), few)(0) == 4);
}

TEST_CASE(
    "a GPU that is lost in the middle of a step: its name in the error, the CPU's nodes go on, the session ends") {
    for (const bool recorded : {false, true})
        for (std::uint64_t commands = 0; commands < 12; ++commands) {
            CAPTURE(recorded);
            CAPTURE(commands);
            emulator::reset();
            const own_graph g;
            const auto x = tn::placeholder<float, tn::shape<n>>("x");
            const auto there = tn::on("/gpu:0", [&] {
                const auto w = tn::variable("w", tn::constant(numbers()));
                return tn::add_n(w.assign(tn::add_n(w, x)), x);
            });
            const auto here = tn::on("/cpu:0", [&] { return x + 1.0f; });
            {
                initialized_session s(g);
                for (int i = 0; recorded && i < 3; ++i) (void)s.run(tn::feed(x, filled(1)), there);
                emulator::lose_card(0, commands, cudaErrorLaunchFailure);
                std::string text = "nothing was thrown";
                for (int i = 0; i < 5 && text == "nothing was thrown"; ++i)
                    text = message_of<tn::internal_error>([&] { (void)s.run(tn::feed(x, filled(1)), there); });
                CHECK(contains(text, "cudaErrorLaunchFailure"));
                CHECK(contains(text, "GPU"));
                CHECK(contains(text, "this process can use the GPU no more"));
                CHECK(s.run(tn::feed(x, filled(1)), here)(n - 1) == 2);
                CHECK_THROWS_AS((void)s.run(tn::feed(x, filled(1)), there), tn::internal_error);
            }
        }
    emulator::reset();
}

TEST_CASE("a card that cannot be used is left out of sessions, which say so: those of the CPU run, those that ask for "
          "it are told why") {
    for (const bool is_lost : {false, true}) {
        CAPTURE(is_lost);
        emulator::reset();
        if (is_lost) emulator::lose_card(0, 0, cudaErrorLaunchFailure);
        else emulator::fail("cudaSetDevice", cudaErrorDevicesUnavailable); // another process has it to itself
        const std::string said = is_lost ? "cudaErrorLaunchFailure" : "cudaErrorDevicesUnavailable";
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const auto here = x + 1.0f;
        const auto there = tn::on("/gpu:0", [&] { return tn::add_n(x, x); });
        {
            if (is_lost) { // which this process finds out by using it
                tn::session s(g);
                CHECK_THROWS_AS((void)s.run(tn::feed(x, filled(1)), there), tn::internal_error);
            }
            std::vector<std::string> lines;
            tn::session_options o{.placement_log = [&](const std::string& line) { lines.push_back(line); }};
            tn::session s(g, o);
            CHECK(s.run(tn::feed(x, filled(1)), here)(n - 1) == 2);
            const std::string text =
                message_of<tn::invalid_argument_error>([&] { (void)s.run(tn::feed(x, filled(1)), there); });
            CHECK(contains(text, "This program has no GPUs: "));
            CHECK(contains(text, said));
            if (is_lost) continue; // every call says so then, also how many cards there are
            REQUIRE(!lines.empty());
            CHECK(contains(lines[0], "GPU 0 is left out: "));
            CHECK(contains(lines[0], said));
        }
    }
    emulator::reset();
}

TEST_CASE("an illegal address in a program's own kernel: where errors are hunted its node is named, else how that is "
          "done is said") {
    for (const int earlier : {-1, 0, 3}) {
        const bool hunted = earlier < 0;
        CAPTURE(earlier);
        emulator::reset();
        const tenon::test::environment blocking("CUDA_LAUNCH_BLOCKING", hunted ? "1" : "0");
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const auto y = tn::on("/gpu:0", [&] {
            const auto good = own::told(tn::add_n(x, x));
            const auto bad = own::stumble_over(good, "culprit");
            return tn::add_n(bad, bad);
        });
        {
            tn::session s(g);
            for (int i = 0; i < earlier; ++i)
                CHECK(s.run(tn::feed(x, filled(-50)), y)(0) == -200 + 2 * static_cast<float>(i));
            const std::string text = message_of<tn::internal_error>([&] { (void)s.run(tn::feed(x, filled(1)), y); });
            CHECK(contains(text, "illegal"));
            CHECK(contains(text, hunted ? "culprit (test_stumble)" : "CUDA_LAUNCH_BLOCKING=1 has the node named"));
            // What is planned after that is told of the card, and not that its own text is wrong.
            const auto of_text = tn::on("/gpu:0", [&] { return tn::add<text_op>({}, {x}); });
            CHECK_ERROR(tn::internal_error, "start it again", s.run(tn::feed(x, filled(1)), of_text));
        }
        CHECK_FALSE(emulator::violations().empty());
    }
    emulator::reset();
}
