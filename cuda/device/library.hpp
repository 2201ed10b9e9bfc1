#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include <tenon/core/error.hpp>

/// Libraries of CUDA that are opened when they are first needed, so that a program without them starts, and is told what is missing
/// where it asks for it.

namespace tenon::cuda {

/// Where libraries lay whose headers this one was built with; "": it is not known. What links the objects of this library says it.
struct library_folders {
    static const char *const cublaslt, *const nvrtc, *const cudnn, *const nccl, *const cufft, *const cusolver;
};

class library {
public:
    /// `what` names it in messages; `files` are tried in turn: "libcublasLt.so.13". Each is looked for where the dynamic loader looks
    /// for all libraries, then in `folder`, unless that is empty. What the program has linked itself comes first. `companion`: a file
    /// that the library opens itself, where the dynamic loader looks, and that lies beside it.
    library(const char* what, std::initializer_list<const char*> files, const std::string& folder = "",
            const char* companion = nullptr);
    library(library&&) = delete;

    /// The function, found once a call. Throws unavailable_error, which says which files were tried and why they could not be
    /// opened, or that the library, and which, is too old to have it.
    void* find(const char* symbol);
    template <class F> F* get(const char* symbol) { return reinterpret_cast<F*>(find(symbol)); }

    /// Throws unavailable_error where the library's version, major and minor, is not what this one was built for: `wanted`, or, where
    /// `newer_will_do`, what comes after.
    void require_version(int major, int minor, int wanted, bool newer_will_do) const;

private:
    bool open(const std::string& file);

    const char* what_;
    void* handle_ = nullptr;
    std::string opened_, why_not_;
};

/// Struct NAME of a library's functions, from a list of them: `#define LIST(F) F(cufftCreate) F(cufftDestroy)`.
#define TENON_LIBRARY_FUNCTIONS(NAME, LIST)                                                            \
    struct NAME {                                                                                      \
        explicit NAME(tenon::cuda::library& from){LIST(TENON_LIBRARY_FIND)} LIST(TENON_LIBRARY_MEMBER) \
    }
#define TENON_LIBRARY_MEMBER(name) decltype(&::name) name;
#define TENON_LIBRARY_FIND(name) name = from.get<std::remove_pointer_t<decltype(name)>>(#name);

/// The functions of a library of the toolkit, found when they are first asked for and kept for ever: what uses them ends with the process.
/// nullptr where there is none of major version `wanted`: `say` is told why, once. `version_of`: the library's version, major and minor.
/// Each library has a struct Functions of its own.
template <class Functions>
const Functions* toolkit_functions(const char* what, std::initializer_list<const char*> files, const char* folder,
                                   std::pair<int, int> (*version_of)(library&), int wanted,
                                   void (*say)(const std::string& why)) {
    static const Functions* const found = [&]() -> const Functions* {
        try {
            static library opened(what, files, folder);
            const auto [major, minor] = version_of(opened);
            opened.require_version(major, minor, wanted, false);
            return new Functions(opened);
        } catch (const unavailable_error& e) {
            say(e.what());
            return nullptr;
        }
    }();
    return found;
}
/// Where the function called `symbol` writes 12004 of 12.0.4.
template <class Version> std::pair<int, int> toolkit_version(library& of, const char* symbol) {
    int version = 0;
    (void)of.get<Version>(symbol)(&version);
    return {version / 1000, version / 100 % 10};
}

} // namespace tenon::cuda
