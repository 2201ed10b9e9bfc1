#include <net/wire/message.hpp>

namespace tenon::net {

std::size_t bytes_on_wire(const any_array& a) noexcept {
    if (a.element() != element_type::string) return a.bytes();
    const auto* const strings = static_cast<const std::string*>(a.data());
    std::size_t sum = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i) sum += sizeof(std::uint64_t) + strings[i].size();
    return sum;
}

} // namespace tenon::net
