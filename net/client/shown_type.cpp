#include <net/client/shown_type.hpp>

#include <charconv>
#include <cstdint>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

tensor_type type_of_text(const std::string& text) {
    const auto refuse = [&] { throw data_loss_error("\"" + text + "\" is not a tensor's type with its sizes"); };
    tensor_type type;
    const std::size_t open = text.find('[');
    for (int e = 1; e <= static_cast<int>(element_type::string); ++e)
        if (text.substr(0, open) == name_of(static_cast<element_type>(e))) type.element = static_cast<element_type>(e);
    if (type.element == element_type::none) refuse();
    const char *const end = text.data() + text.size(), *at = open == std::string::npos ? end : text.data() + open + 1;
    while (at < end && *at != ']' && type.extents.rank() < max_rank) {
        std::int64_t size = -1;
        const auto read = std::from_chars(at, end, size);
        if (read.ec != std::errc() || size < 0) refuse();
        type.extents.push_back(size);
        at = read.ptr;
        while (at < end && (*at == ',' || *at == ' ')) ++at;
    }
    if (to_string(type) != text) refuse();
    (void)checked_elements(type.element, type.extents);
    return type;
}

} // namespace tenon::net
