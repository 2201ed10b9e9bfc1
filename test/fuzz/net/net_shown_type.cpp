// Reads a tensor's type from any bytes, as a server tells it: what is none is an error. And any type is read as what it is from its own
// text.
// covers: net/client/shown_type

#include <net/client/shown_type.hpp>
#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

namespace tn = tenon;

namespace {

void require(bool holds, const std::string& text) {
    if (holds) return;
    std::fprintf(stderr, "a type is not read as what it is: %s\n", text.c_str());
    std::abort();
}

// A type made of the bytes: its element type, then a size of each.
tn::tensor_type type_of(const std::uint8_t* data, std::size_t size) {
    tn::tensor_type t;
    t.element = static_cast<tn::element_type>(1 + data[0] % static_cast<int>(tn::element_type::string));
    for (std::size_t i = 1; i < size && t.extents.rank() < tn::max_rank; ++i) t.extents.push_back(data[i] / 4);
    return t;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        require(tn::to_string(tn::net::type_of_text(text)) == text, text);
    } catch (const tn::data_loss_error&) {
    } catch (const tn::invalid_argument_error&) { // too many elements
    }
    if (size > 0) {
        const tn::tensor_type t = type_of(data, size);
        require(tn::net::type_of_text(tn::to_string(t)) == t, tn::to_string(t));
    }
    return 0;
}
