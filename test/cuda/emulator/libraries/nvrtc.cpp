#include "nvrtc.hpp"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <regex>

#include <unistd.h>

#include "emulator/control.hpp"

namespace fs = std::filesystem;

struct _nvrtcProgram {
    std::string source, file, log, image;
};

namespace {

struct state {
    std::mutex guard;
    std::condition_variable changed;
    std::size_t programs = 0;
    nvrtcResult failure = NVRTC_SUCCESS;
    int failures = 0, pauses = 0;
};
state& shared() {
    static auto& s = *new state;
    return s;
}

// Tests leave nothing behind in the user's cache, nor find what others left there.
const int no_cache = setenv("TENON_CACHE_DIR", "/dev/null/none", 1);

constexpr int architectures[] = {75, 80, 86, 89, 90, 100, 120};

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A folder that goes away again.
struct folder {
    fs::path path;
    folder() {
        std::string name = (fs::temp_directory_path() / "nvrtc.XXXXXX").string();
        if (mkdtemp(name.data())) path = name;
    }
    ~folder() {
        std::error_code ignored;
        if (!path.empty()) fs::remove_all(path, ignored);
    }
};

// How the host's compiler is called. A library with unique symbols is never unloaded: the next one of its name would be taken for it.
const std::string& compiler() {
    static const std::string& command = *new std::string(
        std::string(TENON_EMULATOR_CXX) +
        " -std=c++20 -O1 -fPIC -fno-gnu-unique -ffp-contract=off -w -fsanitize=alignment "
        "-fsanitize-undefined-trap-on-error -isystem " +
        TENON_EMULATOR_CUDA_HEADERS + " -I " + TENON_EMULATOR_DIR + "/include -I " + TENON_EMULATOR_DIR + " ");
    return command;
}

const folder& header_folder() {
    static const folder in;
    return in;
}

// The emulator's header, compiled once for all programs where the compiler can do that.
const fs::path& header() {
    static const fs::path& file = *new fs::path([] {
        const folder& in = header_folder();
        const fs::path real = fs::path(TENON_EMULATOR_DIR) / "device.hpp";
        if (in.path.empty()) return real;
        const fs::path here = in.path / "device.hpp";
        std::ofstream(here) << "#include \"" << real.string() << "\"\n";
        const std::string command =
            compiler() + "-x c++-header -o " + here.string() + ".gch " + here.string() + " >/dev/null 2>&1";
        return std::system(command.c_str()) == 0 ? here : real;
    }());
    return file;
}

nvrtcResult compile(_nvrtcProgram& p) {
    const folder in;
    if (in.path.empty()) return NVRTC_ERROR_INTERNAL_ERROR;
    {
        std::ofstream source(in.path / "tape.cpp");
        source << "#define __CUDACC_RTC__ 1\n#line 1 \"" << p.file << "\"\n" << p.source;
        const std::regex kernel(R"(extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\()");
        for (std::sregex_iterator at(p.source.begin(), p.source.end(), kernel), end; at != end; ++at)
            source << "TENON_EMULATED_KERNEL(" << (*at)[1] << ")\n";
    }
    const std::string command = compiler() + "-shared -include " + header().string() + " -o " +
                                (in.path / "tape.so").string() + " " + (in.path / "tape.cpp").string() + " >" +
                                (in.path / "log").string() + " 2>&1";
    if (std::system(command.c_str()) != 0) {
        p.log = read(in.path / "log");
        return NVRTC_ERROR_COMPILATION;
    }
    const std::string code = read(in.path / "tape.so");
    tenon::emulator::kernel_image image{.bytes = code.size()};
    p.image.assign(reinterpret_cast<const char*>(&image), sizeof image);
    p.image += code;
    return NVRTC_SUCCESS;
}

nvrtcResult give(const std::string& text, std::size_t more, char* to) {
    std::memcpy(to, text.c_str(), text.size() + more);
    return NVRTC_SUCCESS;
}

// What is compiled here is no GPU's: the user's cache must not get it, and what lies there is none of this.
[[maybe_unused]] const bool has_no_cache = setenv("TENON_CACHE_DIR", "/dev/null/none", 0) == 0;

} // namespace

namespace tenon::emulator {

std::size_t nvrtc_programs() {
    const std::lock_guard lock(shared().guard);
    return shared().programs;
}
void fail_nvrtc(nvrtcResult answer, int times) {
    const std::lock_guard lock(shared().guard);
    shared().failure = answer;
    shared().failures = times;
}
nvrtc_pause::nvrtc_pause() {
    const std::lock_guard lock(shared().guard);
    ++shared().pauses;
}
nvrtc_pause::~nvrtc_pause() {
    const std::lock_guard lock(shared().guard);
    --shared().pauses;
    shared().changed.notify_all();
}

} // namespace tenon::emulator

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) {
    switch (result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}
nvrtcResult nvrtcVersion(int* major, int* minor) {
    (void)header_folder(); // outlives who asks, and goes away when the process ends
    *major = 99;           // what it makes is never taken for NVRTC's
    *minor = 1;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
    *count = static_cast<int>(std::size(architectures));
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* to) {
    std::copy(std::begin(architectures), std::end(architectures), to);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* to, const char* source, const char* file, int, const char* const*,
                               const char* const*) {
    *to = new _nvrtcProgram{source, file, {}, {}};
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* p) {
    delete *p;
    *p = nullptr;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int, const char* const*) {
    if (p->source.find("void nothing()") != std::string::npos) return NVRTC_SUCCESS; // takes no time
    {
        std::unique_lock lock(shared().guard);
        ++shared().programs;
        shared().changed.wait(lock, [] { return shared().pauses == 0; });
        if (shared().failures > 0) {
            --shared().failures;
            p->log = "it was told to fail";
            return shared().failure;
        }
    }
    return compile(*p);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, std::size_t* bytes) {
    *bytes = p->log.size() + 1;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char* to) { return give(p->log, 1, to); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, std::size_t* bytes) {
    *bytes = p->image.size();
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char* to) { return give(p->image, 0, to); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, std::size_t* bytes) { return nvrtcGetCUBINSize(p, bytes); }
nvrtcResult nvrtcGetPTX(nvrtcProgram p, char* to) { return nvrtcGetCUBIN(p, to); }

} // extern "C"
