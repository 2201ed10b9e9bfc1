#include <cuda/tapes/function.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda/tapes/loaded.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/graph.hpp>

namespace tenon::cuda::tapes {

namespace {
void say_once(const char* what) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
        std::fprintf(stderr, "tenon: elementwise expressions are interpreted on GPUs, which is slow: %s\n", what);
}
} // namespace

way wanted_way() {
    const char* wish = std::getenv("TENON_CUDA_TAPES");
    if (!wish || !*wish) return way::both;
    if (std::strcmp(wish, "compiled") == 0) return way::compiled;
    if (std::strcmp(wish, "interpreted") == 0) return way::interpreted;
    throw invalid_argument_error("TENON_CUDA_TAPES=" + std::string(wish) + " is not one of compiled, interpreted");
}

function::function(function_ref<kernel_source()> write, const kernel_setup& s, way how) :
    node_(s.node.name), gpu_(*s.gpu) {
    if (how == way::interpreted) return;
    const kernel_source source = write();
    name_ = source.name;
    try {
        code_ = compiler::of_process().ask(source, gpu_.capability);
    } catch (const unavailable_error& e) {
        if (how == way::compiled) throw;
        say_once(e.what());
        return;
    }
    if (how == way::compiled || s.timed) (void)load(code_->image());
    else (void)find(); // it may be known, or on disk
}

const void* function::load(const std::shared_ptr<const std::string>& image) {
    const void* found = gpu_.state<loaded_kernels>().find(name_, image);
    found_ = found;
    return found;
}

const void* function::find() {
    if (const void* found = found_) return found;
    const std::lock_guard lock(guard_);
    if (const void* found = found_) return found;
    if (!code_ || !code_->is_done()) return nullptr;
    try {
        return load(code_->image());
    } catch (const resource_exhausted_error& e) {
        say_once(e.what());
        code_ = nullptr;
        return nullptr;
    } catch (const cancelled_error&) {
        return nullptr;
    } catch (const internal_error& e) {
        throw internal_error("node " + node_ + " on " + gpu_.name +
                             ": its expression could not be compiled: " + e.what());
    }
}

bool function::is_settled() {
    try {
        return find() || !is_compiled();
    } catch (const error&) {
        return false; // who runs it is told what it is
    }
}

bool function::is_compiled() const {
    const std::lock_guard lock(guard_);
    return code_ != nullptr;
}

} // namespace tenon::cuda::tapes
