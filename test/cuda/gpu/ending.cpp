// A program may end at any moment, also while NVRTC compiles for it in the background. Runs itself with moments at which it ends; needs
// NVRTC, and no GPU; ends with 77 where there is none.
//
//     cuda_ending [MICROSECONDS]      how long after the compiler was asked for a kernel; without: all

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>

#include <cuda/tapes/compiler.hpp>

namespace {

using namespace tenon::cuda::tapes;

void* open_nvrtc() {
    void* handle = nullptr;
    for (const char* file : {"libnvrtc.so.13", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so.13"})
        if (!handle) handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return handle;
}

void end_after(std::chrono::microseconds time) {
    void* const handle = open_nvrtc();
    static compiler of_program(std::make_shared<nvrtc>([handle](const char* name) { return dlsym(handle, name); }),
                               disk_cache(""));
    (void)of_program.ask({"some_kernel",
                          "extern \"C\" __global__ void __launch_bounds__(256) some_kernel(double* x) {\n"
                          "    *x = tenon::cuda::tapes::lgamma(*x) + tenon::cuda::tapes::tan(*x);\n}\n"},
                         90);
    std::this_thread::sleep_for(time);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        end_after(std::chrono::microseconds(std::atol(argv[1])));
        return 0;
    }
    if (!open_nvrtc()) {
        std::printf("no NVRTC: %s\n", dlerror());
        return 77;
    }
    int failed = 0;
    for (int time = 0; time < 200000; time += 4000) {
        const int answer = std::system((std::string(argv[0]) + " " + std::to_string(time)).c_str());
        if (answer == 0) continue;
        ++failed;
        std::printf("a program that ends %d microseconds after it asked for a kernel: %s %d\n", time,
                    WIFSIGNALED(answer) ? "signal" : "status",
                    WIFSIGNALED(answer) ? WTERMSIG(answer) : WEXITSTATUS(answer));
    }
    return failed == 0 ? 0 : 1;
}
