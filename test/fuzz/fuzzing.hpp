#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

/// What a fuzz target is made with.

namespace fuzz {

/// The bytes that are tried, as who reads them wants them; `from`: behind so many of them, of which there are as many.
class input {
public:
    input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
    std::size_t size() const { return size_; }
    std::uint8_t operator[](std::size_t i) const { return data_[i]; }
    std::span<const std::uint8_t> raw() const { return {data_, size_}; }
    std::string_view view(std::size_t from = 0) const {
        return {reinterpret_cast<const char*>(data_) + from, size_ - from};
    }
    std::string text(std::size_t from = 0) const { return std::string(view(from)); }
    std::span<const std::byte> bytes(std::size_t from = 0) const {
        return std::as_bytes(std::span(data_, size_).subspan(from));
    }

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

/// Ends the program, which is what a fuzzer looks for.
[[noreturn]] inline void stop(const char* why) {
    std::fprintf(stderr, "%s\n", why);
    std::abort();
}
/// The same, where something does not hold.
inline void require(bool holds, const char* what = "what must hold does not") {
    if (!holds) stop(what);
}

/// Reads with f: false where it is refused with one of these errors. Any other ends the program.
template <class Refusal, class... Others, class F> bool is_read(F&& f) {
    try {
        if constexpr (sizeof...(Others) > 0) return is_read<Others...>(f);
        else {
            f();
            return true;
        }
    } catch (const Refusal&) {
        return false;
    }
}

/// That what is read is written and read again as the same.
inline void require_same(const std::string& read, const std::string& written) {
    if (read == written) return;
    std::fprintf(stderr, "what was read is not what was written:\n%s\n", written.c_str());
    std::abort();
}

} // namespace fuzz

/// What a target defines: it does with an input what must go well with any.
void try_input(const fuzz::input& in);
