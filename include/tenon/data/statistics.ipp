#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/data/statistics.hpp>

namespace tenon::detail {

// Counts, means and sums of squared differences from them, of channels.
class moment_sums {
public:
    // rows * channels numbers, channels beside each other.
    template <class T> void add(const T* x, std::int64_t rows, std::size_t channels) {
        sums_.assign(channels, 0);
        squares_.assign(channels, 0);
        const double n = static_cast<double>(rows), before = static_cast<double>(count_), all = before + n;
        const T* const end = x + rows * static_cast<std::int64_t>(channels);
        for (const T* row = x; row != end; row += channels)
            for (std::size_t c = 0; c < channels; ++c) sums_[c] += static_cast<double>(row[c]);
        for (double& s : sums_) s /= n;
        if (rows > 1)
            for (const T* row = x; row != end; row += channels)
                for (std::size_t c = 0; c < channels; ++c) {
                    const double d = static_cast<double>(row[c]) - sums_[c];
                    squares_[c] += d * d;
                }
        for (std::size_t c = 0; c < channels; ++c) {
            const double d = sums_[c] - mean_[c];
            mean_[c] += d * (n / all);
            differences_[c] += squares_[c] + d * d * (before * n / all);
        }
        count_ += rows;
    }
    void begin(std::size_t channels) {
        mean_.assign(channels, 0);
        differences_.assign(channels, 0);
    }
    std::int64_t count() const { return count_; }
    any_moments result(const extents& sizes) const {
        any_moments r{any_array(element_type::float64, sizes), any_array(element_type::float64, sizes), count_};
        for (std::size_t c = 0; c < mean_.size(); ++c) {
            r.mean.data<double>()[c] = mean_[c];
            r.deviation.data<double>()[c] = std::sqrt(differences_[c] / static_cast<double>(count_));
        }
        return r;
    }

private:
    std::vector<double> mean_, differences_, sums_, squares_;
    std::int64_t count_ = 0;
};

TENON_INLINE any_moments moments_of(const untyped::data_set& set, std::size_t component) {
    const std::vector<tensor_type> types = set.components();
    if (component >= types.size())
        throw invalid_argument_error("moments: there is no component " + std::to_string(component) +
                                     " in elements of " + to_string(types));
    const std::string what = "moments: component " + std::to_string(component) + ", " + to_string(types[component]);
    if (types[component].element == element_type::string) throw invalid_argument_error(what + ": texts have no mean");

    moment_sums sums;
    extents sizes; // of the channels: none, or one
    bool begun = false;
    data_run run(set);
    for (std::vector<any_array> element; run.next(element);) {
        const any_array& x = element[component];
        const int rank = x.extents().rank();
        const std::int64_t channels = rank == 0 ? 1 : x.extents()[rank - 1].size;
        if (!begun) {
            begun = true;
            if (rank > 0) sizes.push_back(channels);
            sums.begin(static_cast<std::size_t>(channels));
        } else if (rank > 0 && channels != sizes[0].size)
            throw invalid_argument_error(
                what + ": the elements differ in how many channels they have, the last size: " + to_string(sizes[0]) +
                " before, then " + std::to_string(channels));
        if (x.elements() == 0) continue;
        with_element(x.element(), [&](auto of) {
            if constexpr (!std::is_same_v<decltype(of), std::string>)
                sums.add(x.data<decltype(of)>(), x.elements() / channels, static_cast<std::size_t>(channels));
        });
    }
    if (sums.count() == 0) throw invalid_argument_error(what + ": the data set holds no numbers");
    return sums.result(sizes);
}

} // namespace tenon::detail
