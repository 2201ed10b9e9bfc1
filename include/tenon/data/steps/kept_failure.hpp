#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

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

/// Throws what a function of the user's threw, which is being handled, with the place before its words: an error of the same code, of
/// code unknown where it has none. Whatever it was, it is neither the end of the data nor a lost task: it has no reason.
[[noreturn]] void throw_at(const std::string& place);
/// What is being handled in words, whatever its type is.
std::string words_of_thrown();
/// "map: element 3"
std::string place_of_element(const std::string& step, std::uint64_t number);

/// Without the elements that could not be made: what is thrown is counted (data_step_report::left_out), and the next one is taken.
data_node::pointer without_failures(data_node::pointer from);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/kept_failure.ipp>
#endif
