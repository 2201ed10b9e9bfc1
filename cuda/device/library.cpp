#include <cuda/device/library.hpp>

#include <dlfcn.h>

namespace tenon::cuda {

library::library(const char* what, std::initializer_list<const char*> files, const std::string& folder,
                 const char* companion) :
    what_(what) {
    for (const char* file : files) {
        if (open(file)) return;
        if (folder.empty()) continue;
        // What is open already, the loader finds by its name.
        if (companion) (void)dlopen((folder + "/" + companion).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (open(folder + "/" + file)) return;
    }
}

bool library::open(const std::string& file) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
        opened_ = file;
        return true;
    }
    const char* const told = dlerror();
    const std::string why = told ? told : "no reason was given";
    if (!why_not_.empty()) why_not_ += "; ";
    if (why.find(file) == std::string::npos) why_not_ += file + ": "; // of a library that this one needs
    why_not_ += why;
    return false;
}

void library::require_version(int major, int minor, int wanted, bool newer_will_do) const {
    if (major == wanted || (newer_will_do && major > wanted)) return;
    throw unavailable_error(std::string(what_) + " is of version " + std::to_string(major) + "." +
                            std::to_string(minor) +
                            (opened_.empty() ? ", which the program has linked" : ": " + opened_) +
                            "; install version " + std::to_string(wanted) + (newer_will_do ? " or newer" : ""));
}

void* library::find(const char* symbol) {
    if (void* linked = dlsym(RTLD_DEFAULT, symbol)) return linked;
    if (!handle_)
        throw unavailable_error(std::string(what_) + " could not be loaded: " + why_not_ +
                                "; install it, or name its folder in LD_LIBRARY_PATH");
    if (void* found = dlsym(handle_, symbol)) return found;
    throw unavailable_error(std::string(what_) + " has no function " + symbol + ": " + opened_ +
                            " is too old; install a newer one");
}

} // namespace tenon::cuda
