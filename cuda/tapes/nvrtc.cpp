#include <cuda/tapes/nvrtc.hpp>

#include <algorithm>
#include <memory>

#include <tenon/core/error.hpp>

namespace tenon::cuda::tapes {

const std::vector<std::string>& nvrtc::options() {
    static const std::vector<std::string> all{"--std=c++20",     "--fmad=false",     "--ftz=false",
                                              "--prec-div=true", "--prec-sqrt=true", "--disable-warnings"};
    return all;
}

#if defined(TENON_WITH_NVRTC)

nvrtc::nvrtc(const std::function<void*(const char*)>& find) {
    const auto take = [&]<class F>(F& to, const char* name) { to = reinterpret_cast<F>(find(name)); };
    take(error_string_, "nvrtcGetErrorString");
    take(create_, "nvrtcCreateProgram");
    take(destroy_, "nvrtcDestroyProgram");
    take(compile_, "nvrtcCompileProgram");
    take(log_size_, "nvrtcGetProgramLogSize");
    take(log_, "nvrtcGetProgramLog");
    take(cubin_size_, "nvrtcGetCUBINSize");
    take(cubin_, "nvrtcGetCUBIN");
    take(ptx_size_, "nvrtcGetPTXSize");
    take(ptx_, "nvrtcGetPTX");
    decltype(&nvrtcVersion) ask_version = nullptr;
    decltype(&nvrtcGetNumSupportedArchs) count = nullptr;
    decltype(&nvrtcGetSupportedArchs) list = nullptr;
    take(ask_version, "nvrtcVersion");
    take(count, "nvrtcGetNumSupportedArchs");
    take(list, "nvrtcGetSupportedArchs");
    int major = 0, minor = 0, architectures = 0;
    nvrtcResult answer = ask_version(&major, &minor);
    if (answer == NVRTC_SUCCESS) answer = count(&architectures);
    architectures_.resize(static_cast<std::size_t>(std::max(architectures, 0)));
    if (answer == NVRTC_SUCCESS && architectures > 0) answer = list(architectures_.data());
    if (answer != NVRTC_SUCCESS || architectures <= 0)
        throw unavailable_error("NVRTC does not say for which GPUs it compiles: " + text_of(answer));
    std::sort(architectures_.begin(), architectures_.end());
    version_ = major * 1000 + minor * 10;
}

std::string nvrtc::text_of(nvrtcResult answer) const { return error_string_(answer); }

std::string nvrtc::target(int capability) const {
    const auto after = std::upper_bound(architectures_.begin(), architectures_.end(), capability);
    if (after == architectures_.begin())
        throw unavailable_error("NVRTC " + std::to_string(version_ / 1000) + "." +
                                std::to_string(version_ % 1000 / 10) + " compiles for GPUs of compute capability " +
                                std::to_string(architectures_.front()) + " and newer, not for " +
                                std::to_string(capability));
    const int best = after[-1];
    return (best == capability ? "sm_" : "compute_") + std::to_string(best);
}

void nvrtc::prepare() const noexcept {
    try {
        (void)compile("extern \"C\" __global__ void nothing() {}\n", target(architectures_.front()));
    } catch (...) { // who asks for a kernel is told
    }
}

std::string nvrtc::compile(const std::string& source, const std::string& target, const std::string& file,
                           const std::vector<std::string>& how) const {
    const auto check = [&](nvrtcResult answer, const char* call, const std::string& log) {
        if (answer == NVRTC_SUCCESS) return;
        const std::string text =
            std::string(call) + ", for " + target + ": " + text_of(answer) + (log.empty() ? "" : ":\n" + log);
        if (answer == NVRTC_ERROR_OUT_OF_MEMORY) throw resource_exhausted_error(text);
        throw internal_error(text);
    };
    nvrtcProgram made = nullptr;
    check(create_(&made, source.c_str(), file.c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram", {});
    const auto destroy = [this](nvrtcProgram p) { (void)destroy_(&p); };
    const std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, decltype(destroy)> program(made, destroy);

    std::vector<const char*> said;
    const std::string architecture = "--gpu-architecture=" + target;
    said.push_back(architecture.c_str());
    for (const std::string& o : how) said.push_back(o.c_str());
    const nvrtcResult answer = compile_(program.get(), static_cast<int>(said.size()), said.data());
    std::string log;
    if (answer != NVRTC_SUCCESS) {
        std::size_t bytes = 0;
        if (log_size_(program.get(), &bytes) == NVRTC_SUCCESS && bytes > 1) {
            log.resize(bytes);
            if (log_(program.get(), log.data()) != NVRTC_SUCCESS) log.clear();
            while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
        }
    }
    check(answer, "nvrtcCompileProgram", log);

    const bool machine_code = target.starts_with("sm_");
    std::size_t bytes = 0;
    check((machine_code ? cubin_size_ : ptx_size_)(program.get(), &bytes), "nvrtcGetCUBINSize", {});
    std::string image(bytes, '\0');
    check((machine_code ? cubin_ : ptx_)(program.get(), image.data()), "nvrtcGetCUBIN", {});
    return image;
}

#else

nvrtc::nvrtc(const std::function<void*(const char*)>&) {
    throw unavailable_error("this build has no NVRTC: configure it where nvrtc.h can be found");
}
std::string nvrtc::target(int) const { return {}; }
void nvrtc::prepare() const noexcept {}
std::string nvrtc::compile(const std::string&, const std::string&, const std::string&,
                           const std::vector<std::string>&) const {
    return {};
}

#endif

} // namespace tenon::cuda::tapes
