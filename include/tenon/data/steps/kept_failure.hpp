#pragma once

#include <exception>

#include <tenon/data/steps/pipeline.hpp>

namespace tenon::detail {

/// What a step has taken ahead: an element, or what was thrown in its place.
struct kept_element {
    data_element element;
    std::exception_ptr failure;
};
/// What was thrown is kept as an error of its code with its words.
void save_kept(state_writer& to, const kept_element& k);
kept_element restored_kept(state_reader& from, const std::vector<tensor_type>& types);

/// Throws what is being handled, as the same type of error, with the place before its words.
[[noreturn]] void throw_at(const std::string& place);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/kept_failure.ipp>
#endif
