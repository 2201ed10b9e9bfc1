#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <tenon/core/config.hpp>

/// Names of sizes that come from outside the program, as those of a graph that is read.

namespace tenon {

/// A name for a size (extent::named): the text, up to a zero byte. Equal ones give the same pointer while any of its holders is there. A graph holds
/// the names of its nodes' sizes; who keeps such extents beyond the graph keeps their names too.
std::shared_ptr<const char> share_size_name(const std::string& text);

namespace detail {
/// A further holder of a name that share_size_name gave; nullptr for any other text, which lives for ever.
std::shared_ptr<const char> holder_of_size_name(const char* name);
/// Different names that are held at present.
std::size_t shared_size_names();
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/sizes/size_name.ipp>
#endif
