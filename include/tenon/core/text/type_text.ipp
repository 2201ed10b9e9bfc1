#pragma once

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include <tenon/core/text/type_text.hpp>

namespace tenon::detail {

TENON_INLINE std::string type_text(const std::type_info& type) {
    int failed = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed),
                                                           &std::free);
    return text ? text.get() : type.name();
}

} // namespace tenon::detail
