#pragma once

#include <string>

#include <tenon/core/fault.hpp>

namespace tenon::net {

/// The type whose text this is, as to_string makes it of one whose sizes are numbers: "float[784, 300]". data_loss_error for other text;
/// invalid_argument_error where there are more elements than fit into memory.
tensor_type type_of_text(const std::string& text);

} // namespace tenon::net
