#pragma once

#include <algorithm>
#include <cstdio>

#include <tenon/core/error.hpp>
#include <tenon/nn/confusion_matrix.hpp>

namespace tenon::nn {

TENON_INLINE confusion_matrix::confusion_matrix(int classes) : classes_(classes) {
    if (classes < 1)
        throw invalid_argument_error("confusion_matrix: " + std::to_string(classes) +
                                     " classes; at least one is needed");
    counts_.resize(static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes));
}

namespace detail_of_confusion {

inline std::vector<std::int64_t> read_classes(const any_array& a, int classes, const char* role) {
    std::vector<std::int64_t> read(static_cast<std::size_t>(a.elements()));
    const auto copy = [&]<class T>(const T* from) {
        for (std::size_t i = 0; i < read.size(); ++i) read[i] = static_cast<std::int64_t>(from[i]);
    };
    switch (a.element()) {
    case element_type::int8: copy(a.data<std::int8_t>()); break;
    case element_type::int16: copy(a.data<std::int16_t>()); break;
    case element_type::int32: copy(a.data<std::int32_t>()); break;
    case element_type::int64: copy(a.data<std::int64_t>()); break;
    case element_type::uint8: copy(a.data<std::uint8_t>()); break;
    case element_type::uint16: copy(a.data<std::uint16_t>()); break;
    case element_type::uint32: copy(a.data<std::uint32_t>()); break;
    case element_type::uint64: copy(a.data<std::uint64_t>()); break;
    default:
        throw invalid_argument_error(std::string("confusion_matrix: the ") + role + " are " +
                                     tenon::to_string(a.type()) + "; integers are needed");
    }
    for (std::size_t i = 0; i < read.size(); ++i)
        if (read[i] < 0 || read[i] >= classes)
            throw invalid_argument_error(std::string("confusion_matrix: the ") + role + " have " +
                                         std::to_string(read[i]) + " at " + std::to_string(i) + "; classes are 0 to " +
                                         std::to_string(classes - 1));
    return read;
}

} // namespace detail_of_confusion

TENON_INLINE void confusion_matrix::add(const any_array& labels, const any_array& predictions) {
    if (!(labels.extents() == predictions.extents()))
        throw invalid_argument_error("confusion_matrix: the labels are " + tenon::to_string(labels.type()) +
                                     ", the predictions " + tenon::to_string(predictions.type()) +
                                     "; they must have the same sizes");
    const auto y = detail_of_confusion::read_classes(labels, classes_, "labels");
    const auto p = detail_of_confusion::read_classes(predictions, classes_, "predictions");
    for (std::size_t i = 0; i < y.size(); ++i) ++counts_[static_cast<std::size_t>(y[i] * classes_ + p[i])];
    total_ += static_cast<std::int64_t>(y.size());
}

TENON_INLINE std::int64_t confusion_matrix::count(int label, int predicted) const {
    if (label < 0 || label >= classes_ || predicted < 0 || predicted >= classes_)
        throw out_of_range_error("confusion_matrix: no count of label " + std::to_string(label) + ", prediction " +
                                 std::to_string(predicted) + " among " + std::to_string(classes_) + " classes");
    return counts_[static_cast<std::size_t>(label) * static_cast<std::size_t>(classes_) +
                   static_cast<std::size_t>(predicted)];
}

TENON_INLINE std::int64_t confusion_matrix::right() const noexcept {
    std::int64_t n = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(classes_); ++c)
        n += counts_[c * static_cast<std::size_t>(classes_) + c];
    return n;
}

TENON_INLINE double confusion_matrix::accuracy() const noexcept {
    return total_ == 0 ? 0 : static_cast<double>(right()) / static_cast<double>(total_);
}

TENON_INLINE double confusion_matrix::recall(int label) const {
    std::int64_t all = 0;
    for (int p = 0; p < classes_; ++p) all += count(label, p);
    return all == 0 ? 0 : static_cast<double>(count(label, label)) / static_cast<double>(all);
}

TENON_INLINE double confusion_matrix::precision(int label) const {
    std::int64_t all = 0;
    for (int y = 0; y < classes_; ++y) all += count(y, label);
    return all == 0 ? 0 : static_cast<double>(count(label, label)) / static_cast<double>(all);
}

TENON_INLINE std::string confusion_matrix::to_string(const std::vector<std::string>& names) const {
    if (!names.empty() && names.size() != static_cast<std::size_t>(classes_))
        throw invalid_argument_error("confusion_matrix: " + std::to_string(names.size()) + " names for " +
                                     std::to_string(classes_) + " classes");
    std::size_t name_width = std::to_string(classes_ - 1).size(), width = name_width;
    for (const std::string& n : names) name_width = std::max(name_width, n.size());
    for (const std::int64_t n : counts_) width = std::max(width, std::to_string(n).size());
    const auto padded = [](const std::string& text, std::size_t to) {
        return std::string(text.size() < to ? to - text.size() : 0, ' ') + text;
    };
    std::string table(name_width, ' ');
    for (int p = 0; p < classes_; ++p) table += "  " + padded(std::to_string(p), width);
    table += "    recall\n";
    for (int y = 0; y < classes_; ++y) {
        table += padded(names.empty() ? std::to_string(y) : names[static_cast<std::size_t>(y)], name_width);
        for (int p = 0; p < classes_; ++p) {
            const std::int64_t n = count(y, p);
            table += "  " + padded(n == 0 ? "." : std::to_string(n), width);
        }
        char part[16];
        std::snprintf(part, sizeof part, "%8.1f %%\n", 100 * recall(y));
        table += part;
    }
    return table;
}

} // namespace tenon::nn
