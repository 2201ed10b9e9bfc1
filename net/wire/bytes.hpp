#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tenon/core/error.hpp>

/// Bytes of messages: little-endian numbers, texts and lists with their lengths before them. What is read is checked: a length is
/// compared with what is left before anything is allocated.

namespace tenon::net {

using bytes = std::vector<std::byte>;

class byte_writer {
public:
    template <class T>
        requires(std::is_integral_v<T> || std::is_floating_point_v<T> || std::is_enum_v<T>)
    void number(T value) {
        raw(&value, sizeof value); // hosts are little-endian, as bytes are
    }
    void text(std::string_view s) {
        number(static_cast<std::uint32_t>(s.size()));
        raw(s.data(), s.size());
    }
    void raw(const void* from, std::size_t count) {
        const auto* first = static_cast<const std::byte*>(from);
        written_.insert(written_.end(), first, first + count);
    }
    bytes take() noexcept { return std::move(written_); }
    std::size_t size() const noexcept { return written_.size(); }

private:
    bytes written_;
};

/// Reads from memory that outlives it. What is not there is a data_loss_error that names `what`.
class byte_reader {
public:
    byte_reader(std::span<const std::byte> from, const char* what) : left_(from), what_(what) {}

    template <class T>
        requires((std::is_integral_v<T> && !std::is_same_v<T, bool>) || std::is_floating_point_v<T>)
    T number() {
        T value;
        std::memcpy(&value, raw(sizeof value).data(), sizeof value);
        return value;
    }
    bool boolean() {
        const auto value = number<std::uint8_t>();
        if (value > 1) fail("a yes or no is " + std::to_string(value));
        return value == 1;
    }
    /// An enumeration whose values are 0 .. count-1.
    template <class E> E one_of(std::size_t count) {
        const auto value = number<std::underlying_type_t<E>>();
        if (static_cast<std::size_t>(value) >= count) fail("there is no kind " + std::to_string(value));
        return static_cast<E>(value);
    }
    std::string text() {
        const auto from = raw(number<std::uint32_t>());
        return std::string(reinterpret_cast<const char*>(from.data()), from.size());
    }
    /// The number of a list's entries, of which each takes so many bytes at least.
    std::size_t count(std::size_t least_bytes) {
        const auto n = number<std::uint32_t>();
        if (n > left_.size() / (least_bytes ? least_bytes : 1)) fail("a list of " + std::to_string(n) + " is cut short");
        return n;
    }
    std::span<const std::byte> raw(std::size_t count) {
        if (count > left_.size())
            fail(std::to_string(count) + " bytes are asked for where " + std::to_string(left_.size()) + " are left");
        const auto found = left_.first(count);
        left_ = left_.subspan(count);
        return found;
    }
    std::size_t left() const noexcept { return left_.size(); }
    /// All has been read.
    void end() const {
        if (!left_.empty()) fail(std::to_string(left_.size()) + " bytes follow its end");
    }
    [[noreturn]] void fail(const std::string& why) const { throw data_loss_error(std::string(what_) + ": " + why); }

private:
    std::span<const std::byte> left_;
    const char* what_;
};

} // namespace tenon::net
