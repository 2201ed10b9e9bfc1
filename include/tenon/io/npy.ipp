#pragma once

#include <bit>
#include <cstring>
#include <string_view>

#include <tenon/core/with_element.hpp>
#include <tenon/io/elements.hpp>
#include <tenon/io/npy.hpp>

namespace tenon {

namespace detail {

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
    bool swapped = false; // the other byte order than the host's
    bool fortran = false;
};

// A Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class npy_header_parser {
public:
    npy_header_parser(std::string_view text, const std::string& name) : rest_(text), name_(name), size_(text.size()) {}

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
        return header_;
    }

private:
    [[noreturn]] void damaged(const std::string& what) const {
        throw invalid_argument_error("'" + name_ + "': the header of the .npy file is damaged at its character " +
                                     std::to_string(size_ - rest_.size()) + ": " + what);
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
        throw unimplemented_error("'" + name_ + "' holds elements of NumPy's type " + which +
                                  "; bools, integers and floating-point numbers of 2, 4 and 8 bytes can be read");
    }
    bool element() {
        if (peek() == '[') other_elements("record (with fields)");
        const std::string_view descr = text();
        const char order = descr.empty() ? '\0' : descr[0];
        const bool ordered = order == '<' || order == '>' || order == '|' || order == '=';
        for (const npy_element& e : npy_elements)
            if (descr.substr(ordered) == e.code) header_.type.element = e.element;
        if (header_.type.element == element_type::none) other_elements("'" + std::string(descr.substr(0, 40)) + "'");
        header_.swapped = order == (std::endian::native == std::endian::little ? '>' : '<');
        return true;
    }
    bool order() {
        (void)peek();
        header_.fortran = rest_.starts_with("True");
        if (!header_.fortran && !rest_.starts_with("False")) damaged("True or False is needed");
        rest_.remove_prefix(header_.fortran ? 4 : 5);
        return true;
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
            if (header_.type.extents.rank() == max_rank)
                throw invalid_argument_error("'" + name_ + "': an array of more than " + std::to_string(max_rank) +
                                             " dimensions");
            header_.type.extents.push_back(size);
            if (!take(',')) {
                expect(')');
                break;
            }
        }
        return true;
    }

    std::string_view rest_;
    const std::string& name_;
    std::size_t size_;
    npy_header header_;
};

// From by columns to by rows.
inline any_array transposed(const any_array& a, const extents& sizes) {
    any_array result(a.element(), sizes);
    const int rank = sizes.rank();
    std::int64_t step[max_rank] = {}, at[max_rank] = {};
    for (std::int64_t i = 0, n = 1; i < rank; n *= sizes[static_cast<int>(i++)].size) step[i] = n;
    with_element(a.element(), [&]<class T>(const T&) {
        const T* const from = static_cast<const T*>(a.data());
        T* const to = static_cast<T*>(result.data());
        std::int64_t source = 0;
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            to[i] = from[source];
            for (int d = rank - 1; d >= 0; --d) {
                source += step[d];
                if (++at[d] < sizes[d].size) break;
                source -= step[d] * at[d];
                at[d] = 0;
            }
        }
    });
    return result;
}

TENON_INLINE any_array read_npy_from(readable_file& from, const std::string& name, std::int64_t there, bool exact) {
    std::string head(npy_magic.size() + 4, '\0');
    const auto need = [&](std::size_t bytes, const char* what) {
        head.resize(bytes);
        if (const std::size_t n = read_fully(from, head.data(), bytes); n < bytes)
            throw data_loss_error("'" + name + "': the file ends within its " + what);
    };
    std::size_t first = npy_magic.size() + 4;
    const std::size_t got = read_fully(from, head.data(), first);
    const std::size_t told = std::min(got, npy_magic.size());
    if (head.compare(0, told, npy_magic.substr(0, told)) != 0)
        throw invalid_argument_error("'" + name + "': no .npy file: it does not begin with \"\\x93NUMPY\"");
    if (got < first) throw data_loss_error("'" + name + "': the file ends within its first 10 bytes");
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(head[i])); };
    const std::size_t version = byte(6);
    if (version < 1 || version > 3)
        throw unimplemented_error("'" + name + "': version " + std::to_string(version) +
                                  " of .npy is not known; versions 1 to 3 can be read");
    std::size_t header_bytes = byte(8) | byte(9) << 8;
    if (version > 1) {
        need(2, "header");
        header_bytes |= byte(0) << 16 | byte(1) << 24;
        first += 2;
    }
    if (header_bytes > longest_npy_header)
        throw invalid_argument_error("'" + name + "': a header of " + std::to_string(header_bytes) +
                                     " bytes is too long for an array of numbers");
    need(header_bytes, "header");
    const npy_header h = npy_header_parser(head, name).parse();
    any_array a = read_elements(from, h.type, name,
                                there < 0 ? -1 : there - static_cast<std::int64_t>(first + header_bytes), exact);
    if (h.swapped) swap_bytes(a);
    if (h.type.element == element_type::boolean) { // any other byte is no bool
        auto* const bytes = static_cast<unsigned char*>(a.data());
        for (std::size_t i = 0; i < a.bytes(); ++i) bytes[i] = bytes[i] != 0;
    }
    if (h.fortran && h.type.extents.rank() > 1) return transposed(a, h.type.extents);
    return std::move(a).reshape(h.type.extents);
}

inline any_array read_npy_file(const auto& open, const std::string& name) {
    try {
        std::unique_ptr<readable_file> file = open();
        const std::int64_t stored = file->size();
        if (!is_packed(file)) return read_npy_from(*file, name, stored, stored >= 0);
        const std::unique_ptr<readable_file> plain = unpacked(std::move(file), name);
        return read_npy_from(*plain, name, stored < 0 ? -1 : (stored + 1) * best_compression, false);
    } catch (const error& e) {
        throw_error(e.code(), std::string("read_npy: ") + e.what());
    }
}

TENON_INLINE void require_npy_element(const std::string& path, const any_array& a, element_type wanted) {
    if (a.element() != wanted)
        throw invalid_argument_error("read_npy: '" + path + "' holds " + to_string(a.type()) +
                                     ", not elements of type " + name_of(wanted));
}

} // namespace detail

TENON_INLINE any_array read_npy(const std::string& path) {
    return detail::read_npy_file([&] { return file_system_of(path).open(path); }, path);
}

TENON_INLINE any_array parse_npy(std::span<const std::byte> bytes, const std::string& name) {
    return detail::read_npy_file([&] { return detail::file_of_bytes(bytes.data(), bytes.size()); }, name);
}

TENON_INLINE void write_npy(const std::string& path, const any_array& a) {
    std::string_view code;
    for (const detail::npy_element& e : detail::npy_elements)
        if (e.element == a.element()) code = e.code;
    if (code.empty())
        throw unimplemented_error("write_npy: '" + path + "': " + to_string(a.type()) +
                                  " cannot be an .npy file, which holds bools, integers, halfs, floats and doubles");
    std::string header = std::string("{'descr': '") + (code[1] == '1' ? '|' : '<') + std::string(code) +
                         "', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < a.rank(); ++i) header += (i > 0 ? ", " : "") + std::to_string(a.extents()[i].size);
    header += a.rank() == 1 ? ",), }" : "), }";
    // So that the elements begin at a multiple of 64 bytes.
    const std::size_t before = detail::npy_magic.size() + 4;
    header.append(63 - (before + header.size()) % 64, ' ');
    header += '\n';
    std::string head = std::string(detail::npy_magic) + '\1' + '\0';
    head += static_cast<char>(header.size() & 0xFF);
    head += static_cast<char>(header.size() >> 8);
    head += header;
    try {
        const std::unique_ptr<writable_file> file = packed(file_system_of(path).create(path), path);
        file->write(head.data(), head.size());
        if constexpr (std::endian::native == std::endian::little) file->write(a.data(), a.bytes());
        else {
            any_array turned = a.copy();
            detail::swap_bytes(turned);
            file->write(turned.data(), turned.bytes());
        }
        file->commit();
    } catch (const error& e) {
        throw_error(e.code(), std::string("write_npy: ") + e.what());
    }
}

} // namespace tenon
