#pragma once

#include <string>
#include <typeinfo>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// "std::runtime_error", as a program writes the type, where the compiler's library can say it.
std::string type_text(const std::type_info& type);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/text/type_text.ipp>
#endif
