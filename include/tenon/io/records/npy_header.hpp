#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/sizes/extents.hpp>

/// How an .npy file begins: "\x93NUMPY", a version, the length of a header, and that, a Python dictionary (numpy.lib.format).

namespace tenon::detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";
inline constexpr std::size_t longest_npy_header = 1 << 16; // of records with many fields; those are refused anyway

struct npy_element {
    std::string_view code; // behind the byte order
    element_type element;
};
inline constexpr npy_element npy_elements[] = {
    {"b1", element_type::boolean}, {"i1", element_type::int8},    {"i2", element_type::int16},
    {"i4", element_type::int32},   {"i8", element_type::int64},   {"u1", element_type::uint8},
    {"u2", element_type::uint16},  {"u4", element_type::uint32},  {"u8", element_type::uint64},
    {"f2", element_type::float16}, {"f4", element_type::float32}, {"f8", element_type::float64}};

struct npy_header {
    tensor_type type;
    std::int64_t text_units =
        0; // of each text, where the elements are texts: characters of 4 bytes where `wide`, else bytes
    bool wide = false;
    bool is_complex = false; // the last dimension is that of real and imaginary parts
    bool swapped = false;    // the other byte order than the host's
    bool fortran = false;
};

// A Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
template <class Say> class npy_header_parser {
public:
    npy_header_parser(std::string_view text, const Say& say) : rest_(text), say_(say), size_(text.size()) {}

    npy_header parse() {
        bool has_type = false, has_order = false, has_shape = false;
        expect('{');
        while (!take('}')) {
            const std::string_view key = text();
            expect(':');
            if (key == "descr" && !has_type) has_type = element();
            else if (key == "fortran_order" && !has_order) has_order = order();
            else if (key == "shape" && !has_shape) has_shape = shape();
            else damaged("it has no or only one '" + std::string(key.substr(0, 40)) + "'");
            if (!take(',')) {
                expect('}');
                break;
            }
        }
        if (peek() != '\0' || !rest_.empty()) damaged("something follows its '}'");
        if (!has_type || !has_order || !has_shape) damaged("it needs descr, fortran_order and shape");
        if (header_.is_complex) add_size(2);
        return header_;
    }

private:
    [[noreturn]] void damaged(const std::string& what) const {
        throw invalid_argument_error(say_("the header of the .npy file is damaged at its character " +
                                          std::to_string(size_ - rest_.size()) + ": " + what));
    }
    char peek() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
        return rest_.empty() ? '\0' : rest_[0];
    }
    bool take(char c) {
        if (rest_.empty() || peek() != c || rest_.empty()) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char c) {
        if (!take(c)) damaged(std::string("a '") + c + "' is needed");
    }
    std::string_view text() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') damaged("a text in quotes is needed");
        const std::size_t end = rest_.find(quote, 1);
        if (end == std::string_view::npos) damaged("a quote never ends");
        const std::string_view t = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return t;
    }
    [[noreturn]] void other_elements(const std::string& which) const {
        throw unimplemented_error(
            say_("it holds elements of NumPy's type " + which +
                 "; bools, integers, floating-point numbers of 2, 4 and 8 bytes, pairs of the last two as complex "
                 "numbers, and texts can be read"));
    }
    bool element() {
        if (peek() == '[') other_elements("record (with fields)");
        const std::string_view descr = text();
        const char order = descr.empty() ? '\0' : descr[0];
        const bool ordered = order == '<' || order == '>' || order == '|' || order == '=';
        for (const npy_element& e : npy_elements)
            if (descr.substr(ordered) == e.code) header_.type.element = e.element;
        if (const std::string_view code = descr.substr(ordered); code == "c8" || code == "c16") {
            header_.type.element = code == "c8" ? element_type::float32 : element_type::float64;
            header_.is_complex = true;
        }
        if (header_.type.element == element_type::none && !texts(descr.substr(ordered)))
            other_elements("'" + std::string(descr.substr(0, 40)) + "'");
        header_.swapped = order == (std::endian::native == std::endian::little ? '>' : '<');
        return true;
    }
    // "U12": texts of 12 characters, filled up with zeros; "S12": of 12 bytes.
    bool texts(std::string_view code) {
        if (code.size() < 2 || code.size() > 10 || (code[0] != 'U' && code[0] != 'S')) return false;
        for (const char c : code.substr(1)) {
            if (c < '0' || c > '9') return false;
            header_.text_units = 10 * header_.text_units + (c - '0');
        }
        header_.wide = code[0] == 'U';
        header_.type.element = element_type::string;
        return header_.text_units > 0;
    }
    bool order() {
        (void)peek();
        header_.fortran = rest_.starts_with("True");
        if (!header_.fortran && !rest_.starts_with("False")) damaged("True or False is needed");
        rest_.remove_prefix(header_.fortran ? 4 : 5);
        return true;
    }
    void add_size(std::int64_t size) {
        if (header_.type.extents.rank() == max_rank)
            throw invalid_argument_error(say_("an array of more than " + std::to_string(max_rank) + " dimensions"));
        header_.type.extents.push_back(size);
    }
    bool shape() {
        expect('(');
        while (!take(')')) {
            std::int64_t size = 0;
            if (peek() < '0' || peek() > '9') damaged("a size is needed");
            while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
                const std::int64_t digit = rest_[0] - '0';
                if (size > ((std::int64_t{1} << 62) - digit) / 10) damaged("a size is more than 2^62");
                size = size * 10 + digit;
                rest_.remove_prefix(1);
            }
            take('L'); // as Python 2 wrote it
            add_size(size);
            if (!take(',')) {
                expect(')');
                break;
            }
        }
        return true;
    }

    std::string_view rest_;
    const Say& say_;
    std::size_t size_;
    npy_header header_;
};

/// What the elements are, and where they begin; `read(to, bytes)` says how many bytes there were, `say(what)` makes a message that
/// names the file. data_loss_error where the file ends within its header, invalid_argument_error where it is no .npy file,
/// unimplemented_error for elements and versions that are not known.
npy_header read_npy_header(const auto& read, const auto& say, std::size_t& header_bytes) {
    std::string head(npy_magic.size() + 4, '\0');
    const auto need = [&](std::size_t bytes) {
        head.resize(bytes);
        if (read(head.data(), bytes) < bytes) throw data_loss_error(say("the file ends within its header"));
    };
    std::size_t first = head.size();
    const std::size_t got = read(head.data(), first);
    const std::size_t told = std::min(got, npy_magic.size());
    if (head.compare(0, told, npy_magic.substr(0, told)) != 0)
        throw invalid_argument_error(say("no .npy file: it does not begin with \"\\x93NUMPY\""));
    if (got < first) throw data_loss_error(say("the file ends within its first 10 bytes"));
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(head[i])); };
    const std::size_t version = byte(6);
    if (version < 1 || version > 3)
        throw unimplemented_error(
            say("version " + std::to_string(version) + " of .npy is not known; versions 1 to 3 can be read"));
    std::size_t size = byte(8) | byte(9) << 8;
    if (version > 1) {
        need(2);
        size |= byte(0) << 16 | byte(1) << 24;
        first += 2;
    }
    if (size > longest_npy_header)
        throw invalid_argument_error(
            say("a header of " + std::to_string(size) + " bytes is too long for an array of numbers"));
    need(size);
    header_bytes = first + size;
    return npy_header_parser(head, say).parse();
}

} // namespace tenon::detail
