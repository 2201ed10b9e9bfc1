#include <filesystem>

#include <cuda/tapes/compiler.hpp>

#include "real_nvrtc.hpp"

// A program's own texts, by NVIDIA's compiler.

using namespace tenon::cuda::tapes;

TEST_CASE(
    "a program's own text is compiled once, with the toolkit's headers; one that is wrong is shown with its line") {
    const auto real = tape_test::real_nvrtc();
    if (!real) return;
    compiler c(real, disk_cache({}));
    const std::string good = "#include <cuda_fp16.h>\n"
                             "extern \"C\" __global__ void f(const __half* x, __half* y, long long n) {\n"
                             "    const long long i = blockIdx.x * 256LL + threadIdx.x;\n"
                             "    if (i < n) y[i] = __hadd(x[i], x[i]);\n"
                             "}\n";
    const auto image = c.compile("f", good, real->architectures().front());
    CHECK(image->starts_with("\x7f"
                             "ELF"));
    CHECK(c.compile("f", good, real->architectures().front()) == image);
    std::string wrong = good;
    wrong.replace(wrong.find("y[i] ="), 4, "z[i]");
    const std::string said =
        message_of<tenon::invalid_argument_error>([&] { (void)c.compile("f", wrong, real->architectures().front()); });
    CAPTURE(said);
    CHECK(contains(said, "f.cu(4)"));
    CHECK(contains(said, "\"z\" is undefined"));
    CHECK(contains(said, "if (i < n) z[i] = __hadd"));
    CHECK(c.compile("f", good, real->architectures().front()) == image);
    // What is kept is known by its text: a file of the program's would go unnoticed when it changes.
    const temporary_folder folder;
    write_bytes(folder / "own.h", "#define TWO 2\n");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string refused = message_of<tenon::invalid_argument_error>(
        [&] { (void)c.compile("f", "#include \"own.h\"\n" + good, real->architectures().front()); });
    std::filesystem::current_path(before);
    CAPTURE(refused);
    CHECK(contains(refused, "open source file \"own.h\""));
}
