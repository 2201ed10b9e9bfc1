#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <net/wire/bytes.hpp>
#include <tenon/core/array/any_array.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/sizes/extents.hpp>
#include <tenon/op/attributes.hpp>

/// What graphs, programs and calls are made of, as bytes: types, arrays, attributes, devices, errors. Arrays of more than
/// `inline_bytes` stand beside the body, in the order in which they are read; strings are packed into arrays of bytes.
/// What is read is checked: data_loss_error where bytes are missing or mean nothing, invalid_argument_error where they mean
/// what cannot be.

namespace tenon {
struct tape;
}

namespace tenon::net {

/// Arrays of so many bytes at most stand in the body.
inline constexpr std::size_t inline_bytes = 256;
/// The longest name of a node, an op, an attribute, a container or a collection, in bytes; and of a size.
inline constexpr std::size_t most_name_bytes = 4096;
inline constexpr std::size_t most_size_name_bytes = 255;
/// What an error says is cut off there.
inline constexpr std::size_t most_error_bytes = std::size_t{64} << 10;

/// Part of a message: bytes of its body, and arrays beside it.
struct packed {
    bytes body;
    std::vector<any_array> arrays;

    std::size_t size() const noexcept {
        std::size_t sum = body.size();
        for (const any_array& a : arrays) sum += a.bytes();
        return sum;
    }
    /// Shares the arrays.
    packed share() const {
        packed p{body, {}};
        for (const any_array& a : arrays) p.arrays.push_back(a.share());
        return p;
    }
};

/// Holds names of sizes that were read: types that have such must not outlive it, but where a graph has taken the names over.
struct size_names {
    std::vector<std::shared_ptr<const char>> held;
};

class value_writer : public byte_writer {
public:
    std::vector<any_array> arrays; ///< beside the body
    packed take_packed() { return {take(), std::move(arrays)}; }
};

/// Reads from a body that outlives it; arrays are moved out of theirs.
class value_reader : public byte_reader {
public:
    value_reader(std::span<const std::byte> body, std::span<any_array> arrays, const char* what) :
        byte_reader(body, what), arrays_(arrays) {}

    /// The next of those beside the body.
    any_array next_array();
    std::size_t arrays_left() const noexcept { return arrays_.size(); }
    /// A text of at most most_name_bytes.
    std::string name();
    /// All bytes and all arrays have been read.
    void end() const;

    extent named(const std::string& text); ///< whose name is held by names()
    size_names& names() noexcept { return names_; }

private:
    std::span<any_array> arrays_;
    size_names names_;
};

void put(value_writer& to, const extents& sizes);
void put(value_writer& to, const tensor_type& type);
void put(value_writer& to, const std::vector<tensor_type>& types);
void put(value_writer& to, const any_array& a); ///< shares it where it is large; it may hold nothing
void put(value_writer& to, const device_name& name);
void put(value_writer& to, const tape& t);
void put(value_writer& to, const attributes& all);

extents take_extents(value_reader& from);
tensor_type take_type(value_reader& from);
std::vector<tensor_type> take_types(value_reader& from);
any_array take_array(value_reader& from);
/// Reads past an array; whether one beside the body is it, as it lies (1), or has its strings (2).
int pass_array(value_reader& from);
device_name take_device(value_reader& from);
std::shared_ptr<const tape> take_tape(value_reader& from);
attributes take_attributes(value_reader& from);

/// An error on its way to another task.
struct failure {
    error_code code = error_code::unknown;
    std::string message;
    error_reason reason = error_reason::none;

    /// Of the library's own errors; what else is thrown is `internal`, or where there is no memory `resource_exhausted`.
    static failure of(const std::exception_ptr& e);
    std::exception_ptr exception() const;
    [[noreturn]] void raise() const { throw_error(code, message, reason); }
};
/// unavailable_error or aborted_error, which is a lost_task_error.
[[noreturn]] inline void throw_lost_task(error_code code, const std::string& message) {
    throw_error(code, message, error_reason::lost_task);
}
void put(value_writer& to, const failure& f);
failure take_failure(value_reader& from);

} // namespace tenon::net
