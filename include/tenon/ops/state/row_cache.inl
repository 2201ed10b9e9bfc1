#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/ops/shape/row_indices.hpp>
#include <tenon/graph/resource_use.hpp>
#include <tenon/resources/cached_rows.hpp>

/// The kernels of ops/state/row_cache.hpp.

namespace tenon::detail {

// The cache that a node stands for, on the device that `s` is for: the session's own.
inline std::shared_ptr<cached_rows> cache_of(const node& n, const kernel_setup& s) {
    require_made_by<row_cache_op>(n, s, "row cache");
    const auto a = decode<row_cache_op::attributes>(n.attributes);
    const resource_identity id(n, "", s);
    return s.resources->find_or_make<cached_rows>(id.container, id.name, [&] {
        return std::make_shared<cached_rows>(
            id.name, cached_rows_description{a.table[0], a.capacity, a.staleness, a.write_through});
    });
}

inline std::vector<std::int64_t> list_of_indices(const row_indices& i, const void* from) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(i.count));
    for (std::int64_t k = 0; k < i.count; ++k) all[static_cast<std::size_t>(k)] = i.at(from, k);
    return all;
}

struct row_cache_kernel final : kernel {
    explicit row_cache_kernel(const kernel_setup& s) : of(cache_of(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) *r.output<std::int64_t>(0) = of->description().capacity;
    }
    double cost() const override { return 2; }
    std::shared_ptr<cached_rows> of;
};

class row_cache_find_wait final : public wait {
public:
    row_cache_find_wait(std::shared_ptr<cached_rows> of, std::string node) :
        of_(std::move(of)), node_(std::move(node)) {}
    // What is missing is known at once; the gather that reads it is the plan's to wait for.
    void start(const step& in, completion& then) override {
        const cached_rows_description& d = of_->description();
        const row_indices indices(values[1].type());
        const std::int64_t rows = d.table.extents[0].size;
        if (const std::int64_t i = indices.first_outside(values[1].data(), rows); i >= 0)
            throw invalid_argument_error("row_cache (" + node_ + "): index " + indices.shown(values[1].data(), i) +
                                         " is out of range for the " + std::to_string(rows) + " rows of the table");
        extents sizes = values[1].extents();
        for (int k = 1; k < d.table.extents.rank(); ++k) sizes.push_back(d.table.extents[k]);
        any_array known = any_array::zeros(d.table.element, sizes);
        any_array from(element_type::int64, values[1].extents()), when(element_type::int64, extents{2});
        const cached_rows::found f =
            of_->find(in.id(), list_of_indices(indices, values[1].data()), static_cast<std::byte*>(known.data()));
        any_array missing(element_type::int64, extents{static_cast<std::int64_t>(f.missing.size())});
        std::copy(f.missing.begin(), f.missing.end(), missing.data<std::int64_t>());
        std::copy(f.from.begin(), f.from.end(), from.data<std::int64_t>());
        when.data<std::int64_t>()[0] = f.time;
        when.data<std::int64_t>()[1] = f.changes;
        values.clear();
        values.push_back(std::move(missing));
        values.push_back(std::move(known));
        values.push_back(std::move(from));
        values.push_back(std::move(when));
        then.completed(nullptr);
    }
    bool stop() noexcept override { return false; }
    std::string awaited() const override { return "its own values"; }

private:
    const std::shared_ptr<cached_rows> of_;
    const std::string node_;
};

class row_cache_find_kernel final : public waiting_kernel {
public:
    explicit row_cache_find_kernel(const kernel_setup& s) :
        of_(cache_of(*s.node.inputs[0].node, s)), node_(s.node.name) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<row_cache_find_wait>(of_, node_); }
    bool uses_values() const override { return false; }

private:
    const std::shared_ptr<cached_rows> of_;
    const std::string node_;
};

class row_cache_complete_kernel final : public kernel {
public:
    explicit row_cache_complete_kernel(const kernel_setup& s) :
        of_(cache_of(*s.node.inputs[0].node, s)),
        missing_(s.inputs[1].extents.elements()),
        count_(s.inputs[3].extents.elements()),
        row_bytes_(count_ == 0 ? 0 : static_cast<std::size_t>(bytes_of(s.inputs[2]) / count_)),
        name_(s.node.name) {
        if (s.inputs[4].extents.elements() != 2)
            throw invalid_argument_error(name_ + ": when a row was looked up is two numbers");
    }
    bool may_share(int i, int) const override { return i == 2; }
    double cost() const override { return 100 + 50 * static_cast<double>(missing_) + 4 * static_cast<double>(count_); }
    void run(const kernel_run& r) override {
        const std::size_t all = row_bytes_ * static_cast<std::size_t>(count_);
        if (r.out[0] != r.in[2] && all > 0) std::memcpy(r.out[0], r.in[2], all);
        const std::int64_t* const from = r.input<std::int64_t>(3);
        const std::byte* const rows = r.input<std::byte>(5);
        for (std::int64_t i = 0; i < count_; ++i) {
            if (from[i] < 0) continue;
            if (from[i] >= missing_)
                throw invalid_argument_error(name_ + ": no row was asked for at " + std::to_string(from[i]));
            if (row_bytes_ > 0)
                std::memcpy(r.output<std::byte>(0) + static_cast<std::size_t>(i) * row_bytes_,
                            rows + static_cast<std::size_t>(from[i]) * row_bytes_, row_bytes_);
        }
        const std::int64_t* const when = r.input<std::int64_t>(4);
        of_->keep(r.input<std::int64_t>(1), missing_, when[0], when[1], rows);
    }

private:
    const std::shared_ptr<cached_rows> of_;
    const std::int64_t missing_, count_;
    const std::size_t row_bytes_;
    const std::string name_;
};

class row_cache_change_kernel final : public kernel {
public:
    explicit row_cache_change_kernel(const kernel_setup& s) :
        of_(cache_of(*s.node.inputs[0].node, s)), indices_(s.inputs[1]), gradient_(s.inputs[2]) {
        const tensor_type& table = of_->description().table;
        extents sizes = s.inputs[1].extents;
        for (int d = 1; d < table.extents.rank(); ++d) sizes.push_back(table.extents[d]);
        if (table.element != gradient_.element || sizes != gradient_.extents)
            throw invalid_argument_error(s.node.name + ": a gradient of rows of " + to_string(table) + " is " +
                                         to_string(gradient_));
    }
    bool may_share(int i, int) const override { return i == 2; }
    double cost() const override { return 100 + 50 * static_cast<double>(indices_.count); }
    void run(const kernel_run& r) override {
        const auto bytes = static_cast<std::size_t>(bytes_of(gradient_));
        if (r.out[0] && r.out[0] != r.in[2] && bytes > 0) std::memcpy(r.out[0], r.in[2], bytes);
        of_->change(list_of_indices(indices_, r.in[1]), r.in[2]);
    }

private:
    const std::shared_ptr<cached_rows> of_;
    const row_indices indices_;
    const tensor_type gradient_;
};

struct row_cache_counts_kernel final : kernel {
    explicit row_cache_counts_kernel(const kernel_setup& s) : of(cache_of(*s.node.inputs[0].node, s)) {}
    void run(const kernel_run& r) override {
        const cached_rows_counts c = of->counts();
        const std::int64_t all[] = {c.hits, c.misses, c.stale, c.evicted, c.held, c.saved};
        for (int i = 0; i < 6; ++i)
            if (r.out[i]) *r.output<std::int64_t>(i) = all[i];
    }
    double cost() const override { return 2; }
    std::shared_ptr<cached_rows> of;
};

struct row_cache_clear_kernel final : kernel {
    explicit row_cache_clear_kernel(const kernel_setup& s) : of(cache_of(*s.node.inputs[0].node, s)) {}
    void run(const kernel_run&) override { of->clear(); }
    std::shared_ptr<cached_rows> of;
};

} // namespace tenon::detail
