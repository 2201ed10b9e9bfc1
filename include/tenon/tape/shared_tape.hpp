#pragma once

#include <cstddef>
#include <memory>

#include <tenon/core/config.hpp>
#include <tenon/tape/tape.hpp>

/// Tapes as nodes and plans hold them.

namespace tenon {

/// Equal tapes have equal hashes.
std::size_t hash_tape(const tape& t);

/// The tape, shared by all who ask for an equal one while any of them holds it: graphs have few different tapes, and
/// each takes as much memory as the longest.
std::shared_ptr<const tape> share_tape(const tape& t);

namespace detail {
/// Different tapes that are shared at present.
std::size_t shared_tapes();
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/tape/shared_tape.ipp>
#endif
