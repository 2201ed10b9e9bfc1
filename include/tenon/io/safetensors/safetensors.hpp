#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/function_ref.hpp>

/// The safetensors file format (https://github.com/huggingface/safetensors, "Format"): a little-endian 64-bit
/// header length, a JSON header of names, element types, sizes and places, and the elements, without holes.

namespace tenon {

/// An array and what it is called.
struct named_array {
    named_array(std::string called, const any_array& a) : name(std::move(called)), value(a.share()) {}
    named_array(const named_array& o) : name(o.name), value(o.value.share()) {}
    named_array(named_array&&) noexcept = default;
    named_array& operator=(named_array&&) noexcept = default;
    std::string name;
    any_array value; ///< another owner of the array's memory: lists of such outlive what they are made of
};

using safetensors_metadata = std::map<std::string, std::string>;

/// Writes arrays and texts to a file, whole or not at all. Larger elements come first, so that all are
/// aligned in the file. Throws invalid_argument_error for strings, a name given twice or one that the format
/// cannot hold, and not_found_error, permission_denied_error or resource_exhausted_error where the file
/// cannot be written.
void write_safetensors(const std::string& path, std::span<const named_array> arrays,
                       const safetensors_metadata& metadata = {});
/// Does all that write_safetensors does, and throws what it throws, but for putting the file in its place: what is there
/// stays, and nothing else is left behind.
void rehearse_safetensors(const std::string& path, std::span<const named_array> arrays,
                          const safetensors_metadata& metadata = {});
inline void write_safetensors(const std::string& path, std::initializer_list<named_array> arrays,
                              const safetensors_metadata& metadata = {}) {
    write_safetensors(path, std::span(arrays.begin(), arrays.size()), metadata);
}

namespace detail {
/// The bytes of such a file, in pieces, the first of them when all arguments were found good; `path` is for messages.
void write_safetensors_to(function_ref<void(const void* from, std::size_t bytes)> out, const std::string& path,
                          std::span<const named_array> arrays, const safetensors_metadata& metadata);
} // namespace detail

/// An open safetensors file: what is in it is checked when it is opened, the elements are read when they are
/// used.
class safetensors_file {
public:
    struct tensor {
        std::string name;
        tensor_type type;
        std::int64_t begin = 0, end = 0; ///< bytes from the end of the header
    };

    /// From the bytes of a file; `name` stands in messages. Throws invalid_argument_error when they are no
    /// safetensors file, data_loss_error when they are damaged, unimplemented_error for element types and
    /// ranks that Tenon lacks.
    safetensors_file(array<std::uint8_t> bytes, std::string name);

    /// What it is called in messages.
    const std::string& name() const noexcept { return name_; }
    /// By name.
    const std::vector<tensor>& tensors() const noexcept { return tensors_; }
    const safetensors_metadata& metadata() const noexcept { return metadata_; }
    /// Null where there is none of that name.
    const tensor* find(const std::string& name) const;

    /// The array of that name, in the file's own mapped memory, which it keeps alive; writing to it does not
    /// change the file. Whoever may see the file overwritten in place (a new file under the same name is
    /// none) takes a copy(): where it is cut short, what was behind ends the process that uses it (SIGBUS). Throws not_found_error that says what there is.
    any_array load(const std::string& name) const;
    /// The same; invalid_argument_error when its elements are not of type T.
    template <Element T> array<T> load(const std::string& name) const {
        return array<T>(load_as(name, element_type_of<T>));
    }

private:
    any_array load_as(const std::string& name, element_type element) const;

    array<std::uint8_t> bytes_;
    std::string name_;
    std::vector<tensor> tensors_;
    safetensors_metadata metadata_;
    std::int64_t data_begin_ = 0;
};

/// Opens a file without reading its elements. Throws not_found_error, ... where it cannot be opened, and as
/// safetensors_file.
safetensors_file read_safetensors(const std::string& path);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/safetensors/safetensors.ipp>
#endif
