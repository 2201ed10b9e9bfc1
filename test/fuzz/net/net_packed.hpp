#pragma once

#include <algorithm>
#include <cstring>

#include <net/wire/values.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

/// A body and arrays as an input of a fuzz target: the body's length in 4 bytes, the body, and of each array its type and bytes.

namespace fuzz {

using tenon::net::bytes;
using tenon::net::packed;

inline std::string text_of(const packed& p) {
    tenon::net::value_writer w;
    w.number(static_cast<std::uint32_t>(p.body.size()));
    w.raw(p.body.data(), p.body.size());
    for (const tenon::any_array& a : p.arrays) {
        put(w, a.type());
        w.raw(a.data(), a.bytes());
    }
    const bytes all = w.take();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
}

/// What is cut short is filled up with zeros: any input is something.
inline packed packed_of(std::span<const std::byte> all) {
    constexpr std::size_t most_arrays = 16;
    if (all.size() < 4) return {bytes(all.begin(), all.end()), {}};
    std::uint32_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    const auto body = all.subspan(4, std::min<std::size_t>(length, all.size() - 4));
    packed p{bytes(body.begin(), body.end()), {}};
    tenon::net::value_reader from(all.subspan(4 + body.size()), {}, "arrays");
    is_read<tenon::error>([&] {
        while (from.left() > 0 && p.arrays.size() < most_arrays) {
            const tenon::tensor_type type = take_type(from);
            if (!type.extents.is_static() || type.element == tenon::element_type::none ||
                type.element == tenon::element_type::string || tenon::bytes_of(type) > (1 << 20))
                break;
            tenon::any_array a = tenon::any_array::zeros(type.element, type.extents);
            const auto raw = from.raw(std::min(a.bytes(), from.left()));
            if (!raw.empty()) std::memcpy(a.data(), raw.data(), raw.size());
            p.arrays.push_back(std::move(a));
        }
    });
    return p;
}

inline bool same(const packed& a, const packed& b) {
    bool all = a.body == b.body && a.arrays.size() == b.arrays.size();
    for (std::size_t i = 0; all && i < a.arrays.size(); ++i)
        all =
            a.arrays[i].type() == b.arrays[i].type() &&
            (a.arrays[i].bytes() == 0 || std::memcmp(a.arrays[i].data(), b.arrays[i].data(), a.arrays[i].bytes()) == 0);
    return all;
}

/// Reads with f: false where it is refused, with one of the errors that what another process says may meet.
template <class F> bool is_taken(F&& f) {
    return is_read<tenon::data_loss_error, tenon::invalid_argument_error, tenon::resource_exhausted_error,
                   tenon::aborted_error>(f);
}

} // namespace fuzz
