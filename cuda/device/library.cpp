#include <cuda/device/library.hpp>

#include <dlfcn.h>

#include <tenon/core/error.hpp>

namespace tenon::cuda {

library::library(const char* what, std::initializer_list<const char*> files) : what_(what) {
    for (const char* file : files) {
        handle_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (handle_) {
            why_not_.clear();
            return;
        }
        if (const char* why = dlerror()) why_not_ += (why_not_.empty() ? "" : "; ") + std::string(why);
    }
}

void* library::find(const char* symbol) {
    if (void* linked = dlsym(RTLD_DEFAULT, symbol)) return linked;
    if (!handle_)
        throw unavailable_error(std::string(what_) + " could not be loaded: " + why_not_ +
                                "; install it, or name its folder in LD_LIBRARY_PATH");
    if (void* found = dlsym(handle_, symbol)) return found;
    throw unavailable_error(std::string(what_) + " has no function " + symbol + ": it is too old; install a newer one");
}

} // namespace tenon::cuda
