#pragma once

#include <string>
#include <vector>

#include <tenon/runtime/session/session.hpp>

#include "table.hpp"

/// Running what the table says, and comparing what comes out.

namespace op_table {

/// A name for messages: "sum, of columns, kept; float".
std::string name_of(const entry& e, const sample& s, element_type t);

/// What ops print to standard error is dropped while this lives.
class silence {
public:
    silence();
    silence(silence&&) = delete;
    ~silence();

private:
    int kept_;
};

/// The node's results, or what else is fetched. A source, which has no value of its own, is fed.
std::vector<any_array> run(const built& b, const std::vector<any_array>& values, const session_options& o = {});
std::vector<any_array> fetch(const built& b, const std::vector<any_array>& values,
                             const std::vector<any_tensor>& fetched, const session_options& o = {});

/// Empty where two arrays have the same type and the same bits (a NaN is as another), else what is not.
std::string difference(const std::vector<any_array>& got, const std::vector<any_array>& want);
/// Empty where arrays are those numbers, but for what rounding in the element types leaves, `tolerance` times as much.
std::string difference(const std::vector<any_array>& got, const arguments& want, double tolerance);

/// An element type for which an op is shown where the others make no difference: double where it takes it.
element_type usual_element(const entry& e);

/// Calls f(entry, sample, element type) for each sample, in the usual type.
template <class F> void for_each_sample(F&& f) {
    for (const entry& e : entries())
        for (const sample& s : e.samples) f(e, s, usual_element(e));
}

} // namespace op_table
