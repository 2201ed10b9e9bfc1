// Reads a tensor's type from any bytes, as a server tells it: what is none is an error. And any type is read as what it is from its own
// text.
// covers: net/client/shown_type

#include <net/client/shown_type.hpp>
#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

namespace tn = tenon;

namespace {

// A type made of the bytes: its element type, then a size of each.
tn::tensor_type type_of(const fuzz::input& in) {
    tn::tensor_type t{.element = static_cast<tn::element_type>(1 + in[0] % static_cast<int>(tn::element_type::string))};
    for (std::size_t i = 1; i < in.size() && t.extents.rank() < tn::max_rank; ++i) t.extents.push_back(in[i] / 4);
    return t;
}

} // namespace

void try_input(const fuzz::input& in) {
    fuzz::is_read<tn::data_loss_error, tn::invalid_argument_error>( // the latter of too many elements
        [&] { fuzz::require_same(tn::to_string(tn::net::type_of_text(in.text())), in.text()); });
    if (in.size() > 0) {
        const tn::tensor_type t = type_of(in);
        fuzz::require(tn::net::type_of_text(tn::to_string(t)) == t, "a type is not read as what it is");
    }
}
