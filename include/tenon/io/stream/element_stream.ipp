#pragma once

#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include <tenon/io/stream/element_stream.hpp>

namespace tenon {

TENON_INLINE void state_writer::number(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>(value >> (8 * byte)));
}

TENON_INLINE void state_writer::text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
}

TENON_INLINE void state_writer::array(const any_array& value) {
    number(static_cast<std::uint64_t>(value.element()));
    number(static_cast<std::uint64_t>(value.rank()));
    for (int d = 0; d < value.rank(); ++d) number(static_cast<std::uint64_t>(value.extents()[d].size));
    if (value.element() == element_type::string) {
        const std::string* const texts = value.data<std::string>();
        for (std::int64_t i = 0; i < value.elements(); ++i) text(texts[i]);
    } else if (value.bytes() > 0) bytes_.append(static_cast<const char*>(value.data()), value.bytes());
}

TENON_INLINE void state_writer::element(const std::vector<any_array>& value) {
    number(value.size());
    for (const any_array& a : value) array(a);
}

TENON_INLINE void state_reader::damaged(const char* what, error_reason reason) const {
    throw data_loss_error(name_ + " is damaged, or of another data set: " + what + "; save it anew", reason);
}

TENON_INLINE std::string_view state_reader::take(std::size_t bytes) {
    if (bytes > rest_.size()) damaged("it ends too early");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
}

TENON_INLINE std::uint64_t state_reader::number() {
    const std::string_view from = take(8);
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
        value |= std::uint64_t{static_cast<unsigned char>(from[byte])} << (8 * byte);
    return value;
}

TENON_INLINE std::string state_reader::text() { return std::string(take(static_cast<std::size_t>(number()))); }

TENON_INLINE any_array state_reader::array() {
    const std::uint64_t element = number(), rank = number();
    if (element == 0 || element > static_cast<std::uint64_t>(element_type::string) || rank > max_rank)
        damaged("an array has no such type");
    extents sizes;
    std::size_t elements = 1;
    bool empty = false;
    for (std::uint64_t d = 0; d < rank; ++d) {
        const std::uint64_t size = number();
        if (size > std::uint64_t{1} << 62) damaged("an array has no such sizes");
        sizes.push_back(static_cast<std::int64_t>(size));
        empty = empty || size == 0;
        if (!empty && size > rest_.size() / elements) damaged("an array is larger than what is there");
        elements *= empty ? 1 : static_cast<std::size_t>(size);
    }
    if (empty) elements = 0;
    const auto type = static_cast<element_type>(element);
    const std::size_t each = type == element_type::string ? 8 : size_of(type); // a text has its length at least
    if (elements > rest_.size() / each) damaged("an array is larger than what is there");
    any_array a(type, sizes);
    if (type == element_type::string) {
        std::string* const texts = a.data<std::string>();
        for (std::size_t i = 0; i < elements; ++i) texts[i] = text();
    } else if (a.bytes() > 0) {
        const std::string_view from = take(a.bytes());
        if (type == element_type::boolean && from.find_first_not_of(std::string_view("\0\1", 2)) != from.npos)
            damaged("what is neither true nor false stands for a bool");
        std::memcpy(a.data(), from.data(), a.bytes());
    }
    return a;
}

TENON_INLINE std::vector<any_array> state_reader::element() {
    const std::uint64_t count = number();
    if (count > rest_.size()) damaged("an element has too many components");
    std::vector<any_array> value;
    for (std::uint64_t i = 0; i < count; ++i) value.push_back(array());
    return value;
}

TENON_INLINE std::vector<any_array> state_reader::element(const std::vector<tensor_type>& types) {
    std::vector<any_array> value = element();
    bool fits = value.size() == types.size();
    for (std::size_t c = 0; fits && c < value.size(); ++c) fits = misfit(value[c].type(), types[c]).empty();
    if (!fits) damaged("its elements have other types");
    return value;
}

TENON_INLINE std::uint64_t state_reader::number(std::uint64_t first, std::uint64_t last) {
    const std::uint64_t value = number();
    if (value < first || value > last) damaged("a place or a count is none that there can be");
    return value;
}

namespace detail {
// Under its lock.
struct numbered_sources {
    std::mutex guard;
    std::uint64_t last = first(); // at random, so that another process has others
    std::map<std::uint64_t, std::weak_ptr<const element_source>> by_number;

    static std::uint64_t first() {
        std::random_device system;
        return (std::uint64_t{system()} << 32 | system()) >> 2;
    }
    static numbered_sources& all() {
        static auto* const those = new numbered_sources; // whoever holds a source may end late
        return *those;
    }
};
} // namespace detail

TENON_INLINE std::uint64_t source_number(const std::shared_ptr<const element_source>& source) {
    auto& all = detail::numbered_sources::all();
    const std::lock_guard lock(all.guard);
    for (auto at = all.by_number.begin(); at != all.by_number.end();) {
        const auto held = at->second.lock();
        if (held == source) return at->first;
        at = held ? std::next(at) : all.by_number.erase(at);
    }
    all.by_number[++all.last] = source;
    return all.last;
}

TENON_INLINE std::shared_ptr<const element_source> numbered_source(std::uint64_t number) {
    auto& all = detail::numbered_sources::all();
    const std::lock_guard lock(all.guard);
    const auto at = all.by_number.find(number);
    return at == all.by_number.end() ? nullptr : at->second.lock();
}

} // namespace tenon
