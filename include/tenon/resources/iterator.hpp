#pragma once

#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/intrusive_list.hpp>
#include <tenon/io/stream/element_stream.hpp>
#include <tenon/resources/resources.hpp>

/// A place in a data set that steps share (SEMANTICS 38): what the ops of iterators are made of.

namespace tenon {

/// Where a session's iterators find data sets that are in no program of this process, but in the client's.
class element_sources : public resource {
public:
    static constexpr const char* kind = "data sets";
    /// The client's of this number, whose elements have these components.
    virtual std::shared_ptr<const element_source> find(std::uint64_t number,
                                                       const std::vector<tensor_type>& components) = 0;
};

namespace detail {
struct numbered_element {
    std::vector<any_array> element;
    std::uint64_t number = 0; // of all that were given since the iterator was begun, in their order
};
} // namespace detail

/// Something that is asked of an iterator: its caller's, who keeps it where it is until it is completed, or stopped.
class iterator_attempt {
public:
    /// The element; or of save() one array, a text.
    std::vector<any_array> values;
    /// Whether the element can be given back.
    bool keeps = false;

protected:
    iterator_attempt() = default;
    ~iterator_attempt() = default;
    iterator_attempt(iterator_attempt&&) = delete;

    /// Called once for each attempt that was not stopped, by the thread that asked or by the iterator's, and under no lock of the iterator.
    /// `failure`: why it was not done, or nullptr. The attempt may be asked anew, or end, in it.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

private:
    friend class iterator_resource;
    bool saves_ = false;
    std::uint64_t generation_ = 0; // of what the element is from
    // Of one that keeps it: the element, in what goes to the iterator when it is given back. No memory is needed then.
    std::list<detail::numbered_element> kept_;
    detail::list_links<iterator_attempt> links_; // of those that wait
};

/// Thread-safe. Who asks is served first come, first served. Elements are taken by who asks where that takes no waiting, and
/// otherwise by a thread of the iterator's own, so that asking never blocks.
class iterator_resource final : public resource {
public:
    static constexpr const char* kind = "iterator";

    /// `first`: what it goes through from the beginning; nullptr: nothing, until it is initialised.
    iterator_resource(std::string name, std::vector<tensor_type> components,
                      std::shared_ptr<const element_source> first);
    ~iterator_resource() override;
    iterator_resource(iterator_resource&&) = delete;

    const std::string& name() const noexcept { return name_; }
    const std::vector<tensor_type>& components() const noexcept { return components_; }

    /// From now on it goes through this one, from its beginning, or, where a state was restored before it was first initialised,
    /// from that. invalid_argument_error where its components are others.
    void initialize(std::shared_ptr<const element_source> source);
    /// The next element. Failures: failed_precondition_error before it is initialised, end_of_data_error at the end, cancelled_error
    /// once its container was cleared, what the data set throws.
    void get_next(iterator_attempt& a);
    /// What restore() needs; empty of one that was not initialised.
    void save(iterator_attempt& a);
    /// It goes on where it was when the state was saved. What the data set says of a state that is not its own; then nothing has changed.
    void restore(const std::string& state);
    /// Takes back what was asked, where it was not completed: an element that comes then is for the next who asks. False where it was
    /// completed, or is just being.
    bool stop(iterator_attempt& a) noexcept;
    /// Of one that keeps what it was given: that is where it was, unless the iterator was begun anew.
    void give_back(iterator_attempt& a) noexcept;
    /// It is used.
    void let_go(iterator_attempt& a) noexcept;
    std::string awaited() const;
    /// What its steps took; empty before it is initialised.
    std::string report() const;
    void describe(resource_info& to) const override;
    void forgotten() noexcept override;

private:
    struct state;
    void ask(iterator_attempt& a, bool saves);
    const std::string name_;
    const std::vector<tensor_type> components_;
    const std::shared_ptr<state> state_; // also its thread's, and who is being served by one that asks
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/iterator.ipp>
#endif
