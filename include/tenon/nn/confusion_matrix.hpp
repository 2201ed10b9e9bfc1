#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/array/array.hpp>

namespace tenon::nn {

/// Counts, on the host, which class is taken for which.
class confusion_matrix {
public:
    /// Throws invalid_argument_error unless there is a class.
    explicit confusion_matrix(int classes);

    /// Counts labels and what was predicted for them: integers of any type in 0 .. classes-1, of the same sizes.
    /// Throws invalid_argument_error otherwise, and has then counted none of them.
    void add(const any_array& labels, const any_array& predictions);

    int classes() const noexcept { return classes_; }
    /// How often `predicted` was said of what is `label`. Throws out_of_range_error.
    std::int64_t count(int label, int predicted) const;
    std::int64_t total() const noexcept { return total_; }
    std::int64_t right() const noexcept;
    /// right() / total(); 0 when nothing was counted.
    double accuracy() const noexcept;
    /// Of what is of this class, the part that is called so; 0 when there is none.
    double recall(int label) const;
    /// Of what is called so, the part that is of this class; 0 when there is none.
    double precision(int label) const;

    /// A table: a row for each class, a column for each prediction, with the part that is right. `names` may be empty.
    std::string to_string(const std::vector<std::string>& names = {}) const;

private:
    int classes_;
    std::int64_t total_ = 0;
    std::vector<std::int64_t> counts_;
};

} // namespace tenon::nn

#if TENON_HEADER_ONLY
#include <tenon/nn/confusion_matrix.ipp>
#endif
