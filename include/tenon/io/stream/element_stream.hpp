#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/error.hpp>

/// Elements, one after another: what a data set gives while it is gone through. An element is a tuple of arrays.

namespace tenon {

/// What a stream needs to be told to go on later from where it was: values, in the order in which they are read again.
class state_writer {
public:
    void number(std::uint64_t value);
    void text(std::string_view value);
    void array(const any_array& value);
    void element(const std::vector<any_array>& value);
    /// What another state_writer has written.
    void append(std::string_view written) { bytes_.append(written); }
    std::string take() && { return std::move(bytes_); }

private:
    std::string bytes_;
};

/// What a state_writer wrote. data_loss_error, naming `name`, for what it did not.
class state_reader {
public:
    explicit state_reader(std::string_view bytes, std::string name = "the state of a data set") :
        rest_(bytes), name_(std::move(name)) {}
    std::uint64_t number();
    std::string text();
    /// All that has not been read.
    std::string rest() { return std::string(take(rest_.size())); }
    any_array array();
    std::vector<any_array> element();
    /// One of these types.
    std::vector<any_array> element(const std::vector<tensor_type>& types);
    /// A number that can only be one of first .. last.
    std::uint64_t number(std::uint64_t first, std::uint64_t last);
    /// Of what is being read: older ones are read too.
    int version() const noexcept { return version_; }
    void set_version(int version) noexcept { version_ = version; }
    const std::string& name() const noexcept { return name_; }
    /// What was written has been read: data_loss_error where more is there.
    void require_end() const {
        if (!rest_.empty()) damaged("it is too long");
    }
    [[noreturn]] void damaged(const char* what, error_reason reason = error_reason::none) const;

private:
    std::string_view take(std::size_t bytes);
    std::string_view rest_;
    std::string name_;
    int version_ = 2;
};

/// For one thread at a time.
class element_stream {
public:
    using item = std::vector<any_array>;

    element_stream() = default;
    element_stream(element_stream&&) = delete;
    virtual ~element_stream() = default;

    /// The next element, in place of what is in `element`; false at the end, and then again. Arrays may be shared with others:
    /// who writes to one copies it unless is_unique(). After an exception the stream goes on with the element behind, where
    /// there is one.
    virtual bool next(std::vector<any_array>& element) = 0;
    /// Whether next() would have its answer at once; where nobody knows, false. Any thread.
    virtual bool is_ready() const { return false; }
    /// What has been measured of it, for people.
    virtual std::string report() const { return {}; }
    /// Writes what restore() needs so that the elements that have not been taken come again, in the same order.
    virtual void save(state_writer& to) = 0;
    /// Of a stream that was just opened, and of the same data set.
    virtual void restore(state_reader& from) = 0;
};

/// What can be gone through, any number of times. Thread-safe.
class element_source {
public:
    element_source() = default;
    element_source(element_source&&) = delete;
    virtual ~element_source() = default;

    /// Of each element; sizes that are no numbers may differ from element to element.
    virtual const std::vector<tensor_type>& components() const = 0;
    /// From the beginning. The stream may outlive the source.
    virtual std::unique_ptr<element_stream> open() const = 0;
    /// Whether next() may wait: for a file, another thread, or a function of the user.
    virtual bool may_wait() const = 0;
};

/// Where a graph finds a source that a program made: by a number, in the same process. The source lives as long as the
/// program holds it.
std::uint64_t source_number(const std::shared_ptr<const element_source>& source);
/// nullptr where there is none of this number (any more).
std::shared_ptr<const element_source> numbered_source(std::uint64_t number);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/stream/element_stream.ipp>
#endif
