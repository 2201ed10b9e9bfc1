#include <dlfcn.h>

#include <fstream>

#include <cuda/tapes/compiler.hpp>

#include "tests.hpp"
#include "each_thread.hpp"
#include "emulator/libraries/nvrtc.hpp"
#include "run_on_gpu.hpp"

using namespace tape_test;
using namespace tenon::cuda::tapes;
namespace fs = std::filesystem;

namespace {

std::shared_ptr<const nvrtc> stand_in() {
    return std::make_shared<nvrtc>([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
}

// A folder of this test's own.
struct folder {
    fs::path path;
    folder() {
        std::string name = (fs::temp_directory_path() / "tapes.XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~folder() { fs::remove_all(path); }
    std::vector<fs::path> files() const {
        std::vector<fs::path> all;
        for (const auto& f : fs::directory_iterator(path)) all.push_back(f.path());
        return all;
    }
};

// exp(x + n): another kernel for each n.
tape numbered_tape(int n) {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32));
    t.add_output(t.emit(opcode::add, element_type::float32, x, t.emit_literal(n, element_type::float32)),
                 element_type::float32);
    return t;
}
kernel_source numbered_source(int n) {
    const tape t = numbered_tape(n);
    const tensor_type in{element_type::float32, extents(100)};
    const auto passes = make_passes(t, type_list(&in, 1));
    return write_kernel(passes[0].code, passes[0].shape);
}

} // namespace

TEST_CASE("what several threads ask for is compiled once, and what waits is compiled together") {
    compiler c(stand_in(), disk_cache(""));
    const std::size_t before = emulator::nvrtc_programs();
    std::vector<std::shared_ptr<const compilation>> got(12);
    {
        const emulator::nvrtc_pause pause;
        const auto first = c.ask(numbered_source(0), 90);
        while (emulator::nvrtc_programs() == before) std::this_thread::yield();
        on_threads(got.size(), [&](std::size_t k) { got[k] = c.ask(numbered_source(static_cast<int>(k % 3)), 90); });
        CHECK_FALSE(first->is_done());
    }
    for (const auto& g : got) CHECK_FALSE(g->image()->empty());
    CHECK(got[0] == got[3]);
    CHECK(got[1]->image() == got[2]->image()); // one program
    CHECK(emulator::nvrtc_programs() == before + 2);
}

TEST_CASE("a compiler that is ended finishes what it compiles; what waits, or is asked for later, is cancelled") {
    compiler c(stand_in(), disk_cache(""));
    const std::size_t before = emulator::nvrtc_programs();
    std::shared_ptr<const compilation> first, waiting;
    std::thread ends;
    {
        const emulator::nvrtc_pause pause;
        first = c.ask(numbered_source(0), 90);
        while (emulator::nvrtc_programs() == before) std::this_thread::yield();
        waiting = c.ask(numbered_source(1), 90);
        ends = std::thread([&] { c.end(); });
        for (int n = 2; !c.ask(numbered_source(n), 90)->is_done(); ++n) std::this_thread::yield(); // until it is ending
        CHECK_FALSE(first->is_done());
    }
    ends.join();
    CHECK_FALSE(first->image()->empty());
    CHECK_THROWS_AS(waiting->image(), tenon::cancelled_error);
    CHECK_THROWS_AS(c.ask(numbered_source(1000000), 90)->image(), tenon::cancelled_error);
    CHECK(c.ask(numbered_source(0), 90) == first);
    CHECK(emulator::nvrtc_programs() == before + 1);
}

TEST_CASE("compiled kernels are found on disk by a later process, but for those of another GPU and damaged ones") {
    const folder cache;
    const auto asked = [&](int n, int capability) {
        compiler c(stand_in(), disk_cache(cache.path));
        const std::size_t before = emulator::nvrtc_programs();
        const std::string image = *c.ask(numbered_source(n), capability)->image();
        return std::pair(emulator::nvrtc_programs() - before, image);
    };
    const auto first = asked(1, 90);
    CHECK(first.first == 1);
    REQUIRE(cache.files().size() == 1);
    CHECK(asked(1, 90) == std::pair(std::size_t{0}, first.second));
    CHECK(asked(1, 80).first == 1);
    CHECK(asked(1, 80).first == 0);
    for (const bool cut : {false, true}) {
        for (const fs::path& f : cache.files()) {
            if (cut) {
                fs::resize_file(f, fs::file_size(f) / 2);
                continue;
            }
            std::fstream file(f, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(-10, std::ios::end);
            file.put('\x55');
        }
        CHECK(asked(1, 90).first == 1);
        CHECK(asked(1, 90).first == 0);
        CHECK(asked(1, 80).first == 1);
    }
    // A file of another kernel under this one's name.
    const auto files = cache.files();
    REQUIRE(files.size() == 2);
    fs::copy_file(files[0], files[1], fs::copy_options::overwrite_existing);
    CHECK(asked(1, 90).first + asked(1, 80).first == 1);
}

TEST_CASE("where nothing can be written there is no cache, and kernels are compiled all the same") {
    compiler c(stand_in(), disk_cache("/dev/null/folder"));
    CHECK_FALSE(c.ask(numbered_source(2), 90)->image()->empty());
}

TEST_CASE("the cache keeps what was used last within its size") {
    const folder cache;
    const disk_cache small(cache.path, 3500);
    const std::string image(1000, 'x');
    small.store({"a", "b"}, image); // one file
    CHECK(small.load("a") == image);
    CHECK(small.load("b") == image);
    CHECK_FALSE(small.load("c"));
    const auto back = fs::file_time_type::clock::now() - std::chrono::hours(1);
    small.store({"old"}, image);
    fs::last_write_time(cache.path / "old.tape", back);
    small.store({"new"}, image);
    small.store({"newer"}, image);
    CHECK_FALSE(small.load("old"));
    CHECK(small.load("newer") == image);
    // Those that use one file count it once.
    CHECK(small.load("a") == image);
}

TEST_CASE("a kernel that is not compiled yet is interpreted, is not recorded, and changes over when it is") {
    gpu_context gpu(0);
    const tape t = numbered_tape(77);
    const std::vector<tensor_type> types{{element_type::float32, extents(100)}};
    std::mt19937 random(1);
    std::vector<buffer> in;
    in.push_back(random_buffer(element_type::float32, extents(100), random));
    const expected want = run_naively(t, {}, in, simd::best_isa());
    std::unique_ptr<gpu_tape> on_gpu;
    {
        const emulator::nvrtc_pause pause;
        on_gpu = std::make_unique<gpu_tape>(gpu, t, std::vector<std::int64_t>{}, types);
        CHECK_FALSE(on_gpu->kernel().may_be_recorded());
        CHECK(matches(on_gpu->run(in, {})[0], want, 0));
        CHECK_FALSE(on_gpu->kernel().may_be_recorded());
    }
    on_gpu->settle(in);
    CHECK(matches(on_gpu->run(in, {})[0], want, 0));
}

TEST_CASE("where NVRTC runs out of memory the interpreter goes on; asked for compiled ones alone it is a "
          "resource_exhausted_error") {
    gpu_context gpu(0);
    const tape t = numbered_tape(78);
    const std::vector<tensor_type> types{{element_type::float32, extents(100)}};
    std::mt19937 random(1);
    std::vector<buffer> in;
    in.push_back(random_buffer(element_type::float32, extents(100), random));
    emulator::fail_nvrtc(NVRTC_ERROR_OUT_OF_MEMORY, 2);
    {
        const environment compiled("TENON_CUDA_TAPES", "compiled");
        CHECK_THROWS_AS(gpu_tape(gpu, t, {}, types), resource_exhausted_error);
    }
    gpu_tape on_gpu(gpu, t, {}, types);
    on_gpu.settle(in);
    CHECK(matches(on_gpu.run(in, {})[0], run_naively(t, {}, in, simd::best_isa()), 0));
    emulator::fail_nvrtc(NVRTC_SUCCESS, 0);
}

TEST_CASE(
    "what NVRTC does not compile is an internal_error that names the node, the GPU's kind and where the source lies") {
    gpu_context gpu(0);
    const tape t = numbered_tape(79);
    const std::vector<tensor_type> types{{element_type::float32, extents(100)}};
    emulator::fail_nvrtc(NVRTC_ERROR_COMPILATION, 1);
    const std::vector<buffer> in(1, buffer(element_type::float32, extents(100)));
    const std::string text = message_of<internal_error>([&] {
        gpu_tape on_gpu(gpu, t, {}, types);
        on_gpu.settle(in);
    });
    emulator::fail_nvrtc(NVRTC_SUCCESS, 0);
    for (const char* part : {"some_node", "sm_90", ".cu", "it was told to fail"}) {
        INFO(text);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("TENON_CUDA_TAPES is compiled or interpreted") {
    gpu_context gpu(0);
    const environment wrong("TENON_CUDA_TAPES", "fast");
    const tape t = numbered_tape(80);
    const std::vector<tensor_type> types{{element_type::float32, extents(100)}};
    CHECK_ERROR(invalid_argument_error, "TENON_CUDA_TAPES=fast", gpu_tape(gpu, t, {}, types));
}
