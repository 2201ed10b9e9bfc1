#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/resources/accumulator.hpp>
#include <tenon/resources/step_number.hpp>
#include <tenon/simd/ordered_sum.hpp>

namespace tenon {

namespace detail {

// As gradients of rows are kept: their indices as int64.
inline any_array wide_indices(const any_array& indices) {
    any_array wide(element_type::int64, indices.extents());
    auto* const to = wide.data<std::int64_t>();
    if (indices.element() == element_type::int64)
        std::copy_n(indices.data<std::int64_t>(), static_cast<std::size_t>(indices.elements()), to);
    else std::copy_n(indices.data<std::int32_t>(), static_cast<std::size_t>(indices.elements()), to);
    return wide;
}

// Indices of any sizes and their rows as [n] and [n, ...]; what does not fit stays as it is.
inline void flatten_rows(std::vector<any_array>& g) {
    if (g.size() != 2 || g[0].rank() == 1 || g[1].rank() < g[0].rank()) return;
    extents sizes = g[1].extents();
    for (int d = 0; d < g[0].rank(); ++d) {
        if (sizes[0] != g[0].extents()[d]) return;
        sizes.erase(0);
    }
    sizes.insert(0, extent(g[0].elements()));
    g[1] = g[1].reshape(sizes);
    g[0] = g[0].reshape(extents(g[0].elements()));
}

// Sums times `factor` of dense gradients, or of rows: those of one index together, by index. Equal indices are added in the order of
// the gradients, and in that of their rows.
inline std::vector<any_array> scaled_sum(const accumulator_description& d,
                                         const std::vector<const std::vector<any_array>*>& gradients, double factor) {
    std::vector<any_array> sum;
    sum.reserve(2); // it is referred to
    std::vector<const void*> from;
    std::vector<double> factors;
    if (!d.rows) {
        for (const auto* g : gradients) from.push_back((*g)[0].data());
        factors.assign(from.size(), factor);
        any_array& to = sum.emplace_back(d.type.element, d.type.extents);
        ordered_sum(d.type.element, from, factors, to.data(), to.elements());
        return sum;
    }
    struct named_row {
        std::int64_t index;
        const any_array* rows;
        std::int64_t row;
    };
    std::vector<named_row> places;
    for (const auto* g : gradients)
        for (std::int64_t r = 0; r < (*g)[0].elements(); ++r)
            places.push_back({(*g)[0].data<std::int64_t>()[r], &(*g)[1], r});
    std::stable_sort(places.begin(), places.end(),
                     [](const named_row& a, const named_row& b) { return a.index < b.index; });
    std::int64_t count = 0;
    for (std::size_t i = 0; i < places.size(); ++i) count += i == 0 || places[i].index != places[i - 1].index;
    extents sizes = d.type.extents;
    sizes[0] = extent(count);
    any_array& indices = sum.emplace_back(element_type::int64, extents(count));
    any_array& rows = sum.emplace_back(d.type.element, sizes);
    const std::int64_t row = count > 0 ? rows.elements() / count : 0;
    const std::size_t bytes = static_cast<std::size_t>(row) * size_of(d.type.element);
    std::int64_t to = 0;
    for (std::size_t i = 0, end = 0; i < places.size(); i = end, ++to) {
        from.clear();
        for (end = i; end < places.size() && places[end].index == places[i].index; ++end)
            from.push_back(static_cast<const char*>(places[end].rows->data()) +
                           static_cast<std::size_t>(places[end].row) * bytes);
        factors.assign(from.size(), factor);
        indices.data<std::int64_t>()[to] = places[i].index;
        ordered_sum(d.type.element, from, factors,
                    static_cast<char*>(rows.data()) + static_cast<std::size_t>(to) * bytes, row);
    }
    return sum;
}

} // namespace detail

struct accumulator_resource::parts {
    struct deposited {
        std::int64_t ticket = 0, step = 0;
        std::vector<any_array> gradient;
    };
    mutable std::mutex guard;                 // of what follows
    std::vector<std::vector<any_array>> sums; // what apply() added: one, or of rows several
    std::int64_t rows = 0, sum_rows = 0;      // of all of them, and when they were last added
    standing is;
    std::vector<accumulator_take*> waiting; // first come, first served
    std::map<std::int64_t, deposited> by_replica;
    std::exception_ptr failed;

    // Rows that many gradients have are kept once.
    void add(const accumulator_description& d, std::vector<any_array> gradient) {
        if (!d.rows && !sums.empty()) {
            any_array& sum = sums[0][0];
            ordered_sum(d.type.element, {sum.data(), gradient[0].data()}, {}, sum.data(), sum.elements());
            return;
        }
        constexpr std::int64_t few = 1024;
        rows += d.rows ? gradient[0].elements() : 0;
        sums.push_back(std::move(gradient));
        if (!d.rows || rows <= 2 * sum_rows + few) return;
        std::vector<std::vector<any_array>> sum;
        sum.push_back(summed(d, 1));
        sums = std::move(sum);
        rows = sum_rows = sums[0][0].elements();
    }
    // The first who waits, where there is enough; its take is no more among those that wait.
    accumulator_take* serve() noexcept {
        if (waiting.empty() || is.count < waiting.front()->least_) return nullptr;
        accumulator_take* const t = waiting.front();
        waiting.erase(waiting.begin());
        t->waits_ = false;
        t->sums_ = std::exchange(sums, {});
        t->count_ = std::exchange(is.count, 0);
        rows = sum_rows = 0;
        ++is.step;
        return t;
    }
    std::vector<any_array> summed(const accumulator_description& d, double factor) const {
        std::vector<const std::vector<any_array>*> all;
        for (const auto& s : sums) all.push_back(&s);
        return detail::scaled_sum(d, all, factor);
    }
};

TENON_INLINE std::string to_string(const accumulator_description& d) {
    return std::string("accumulator of ") + (d.rows ? "rows of " : "") + to_string(d.type);
}

TENON_INLINE accumulator_resource::accumulator_resource(std::string name, accumulator_description d) :
    name_(std::move(name)), description_(std::move(d)), parts_(std::make_unique<parts>()) {
    const tensor_type& t = description_.type;
    const auto require = [&](bool good, const char* wrong) {
        if (!good)
            throw invalid_argument_error("accumulator \"" + name_ + "\": it is of " + to_string(t) + "; " + wrong);
    };
    require(is_floating(t.element), "an average is of floating numbers");
    require(t.extents.is_static(), "its sizes must be numbers");
    require(!description_.rows || t.extents.rank() > 0, "a scalar has no rows");
    (void)checked_elements(t.element, t.extents);
}
TENON_INLINE accumulator_resource::~accumulator_resource() = default;

TENON_INLINE void accumulator_resource::check(const std::vector<any_array>& g) const {
    const auto refuse = [&](const std::string& why) {
        throw invalid_argument_error("accumulator \"" + name_ + "\" is of " + to_string(description_.type) + ": " +
                                     why);
    };
    if (!description_.rows) {
        if (g.size() != 1 || g[0].type() != description_.type)
            refuse("a gradient of " + (g.empty() ? std::string("nothing") : to_string(g[0].type())) +
                   " is no part of it");
        return;
    }
    if (g.size() != 2) refuse("a gradient of rows is indices and rows");
    const element_type index = g[0].element();
    if ((index != element_type::int32 && index != element_type::int64) || g[0].rank() != 1)
        refuse("indices of rows are int32[n] or int64[n], not " + to_string(g[0].type()));
    tensor_type rows = description_.type;
    rows.extents[0] = extent(g[0].elements());
    if (g[1].type() != rows)
        refuse("the rows of " + to_string(g[0].type()) + " are " + to_string(rows) + ", not " + to_string(g[1].type()));
    const std::int64_t limit = description_.type.extents[0].size;
    for (std::int64_t i = 0; i < g[0].elements(); ++i) {
        const std::int64_t at =
            index == element_type::int64 ? g[0].data<std::int64_t>()[i] : g[0].data<std::int32_t>()[i];
        if (at < 0 || at >= limit)
            refuse("index " + std::to_string(at) + " at " + std::to_string(i) + " is not below " +
                   std::to_string(limit));
    }
}

TENON_INLINE bool accumulator_resource::apply(std::vector<any_array> gradient, std::int64_t local_step) {
    if (description_.rows) detail::flatten_rows(gradient);
    check(gradient);
    if (description_.rows) gradient[0] = detail::wide_indices(gradient[0]);
    accumulator_take* served = nullptr;
    {
        const std::lock_guard lock(parts_->guard);
        if (parts_->failed) std::rethrow_exception(parts_->failed);
        if (local_step < parts_->is.step) {
            ++parts_->is.dropped;
            return false;
        }
        parts_->add(description_, std::move(gradient));
        ++parts_->is.count;
        served = parts_->serve();
    }
    end(served);
    return true;
}

TENON_INLINE void accumulator_resource::take(accumulator_take& t, std::int64_t least) {
    if (least < 1)
        throw invalid_argument_error("accumulator \"" + name_ + "\": the average of " + std::to_string(least) +
                                     " gradients cannot be taken; give 1 or more");
    accumulator_take* served = nullptr;
    {
        const std::lock_guard lock(parts_->guard);
        if (parts_->failed) std::rethrow_exception(parts_->failed);
        t.average.clear();
        t.least_ = least;
        parts_->waiting.push_back(&t);
        t.waits_ = true;
        served = parts_->serve();
    }
    end(served);
}

// Computes what was taken, outside of the lock, and tells.
TENON_INLINE void accumulator_resource::end(accumulator_take* t, std::exception_ptr failure) noexcept {
    if (!t) return;
    if (!failure) try {
            std::vector<const std::vector<any_array>*> all;
            for (const auto& s : t->sums_) all.push_back(&s);
            t->average = detail::scaled_sum(description_, all, 1 / static_cast<double>(t->count_));
        } catch (...) { // no memory
            failure = std::current_exception();
        }
    if (failure) give_back(*t);
    else if (!t->keeps) let_go(*t);
    t->completed(std::move(failure));
}

TENON_INLINE bool accumulator_resource::stop(accumulator_take& t) noexcept {
    accumulator_take* served = nullptr;
    bool waited = false;
    {
        const std::lock_guard lock(parts_->guard);
        waited = std::exchange(t.waits_, false);
        if (!waited) return false;
        std::erase(parts_->waiting, &t);
        served = parts_->serve(); // who comes after may want fewer
    }
    end(served);
    return true;
}

TENON_INLINE void accumulator_resource::give_back(accumulator_take& t) noexcept {
    accumulator_take* served = nullptr;
    {
        const std::lock_guard lock(parts_->guard);
        if (t.count_ == 0) return;
        try {
            for (auto& s : t.sums_) parts_->add(description_, std::move(s));
            parts_->is.count += t.count_;
            --parts_->is.step;
        } catch (...) { // no memory for sums of rows: they are lost, as those of a replica that has ended
            parts_->is.dropped += t.count_;
        }
        t.count_ = 0;
        t.sums_.clear();
        served = parts_->serve();
    }
    end(served);
}
TENON_INLINE void accumulator_resource::let_go(accumulator_take& t) noexcept {
    t.count_ = 0;
    t.sums_.clear();
}

TENON_INLINE accumulator_resource::standing accumulator_resource::state() const {
    const std::lock_guard lock(parts_->guard);
    return parts_->is;
}
TENON_INLINE void accumulator_resource::set_step(std::int64_t step) {
    require_step("accumulator \"" + name_ + "\"", step);
    const std::lock_guard lock(parts_->guard);
    parts_->is.step = step;
}

TENON_INLINE void accumulator_resource::deposit(std::int64_t replica, std::int64_t ticket, std::int64_t step,
                                                std::vector<any_array> gradient) {
    if (description_.rows) detail::flatten_rows(gradient);
    check(gradient);
    if (description_.rows) gradient[0] = detail::wide_indices(gradient[0]);
    const std::lock_guard lock(parts_->guard);
    if (parts_->failed) std::rethrow_exception(parts_->failed);
    parts::deposited& at = parts_->by_replica[replica];
    if (ticket > at.ticket) at = {ticket, step, std::move(gradient)};
    else ++parts_->is.dropped;
}

TENON_INLINE std::vector<any_array> accumulator_resource::average_of(const std::int64_t* tickets, std::int64_t count,
                                                                     std::int64_t step) {
    if (count < 1)
        throw invalid_argument_error("accumulator \"" + name_ + "\": the average of no gradients is asked for");
    std::vector<std::vector<any_array>> shared; // a replica may deposit its next meanwhile
    {
        const std::lock_guard lock(parts_->guard);
        if (parts_->failed) std::rethrow_exception(parts_->failed);
        std::erase_if(parts_->by_replica, [&](const auto& d) { return d.second.step < step; });
        for (std::int64_t i = 0; i < count; ++i) {
            const auto at = std::find_if(parts_->by_replica.begin(), parts_->by_replica.end(),
                                         [&](const auto& d) { return d.second.ticket == tickets[i]; });
            if (at == parts_->by_replica.end())
                throw aborted_error("accumulator \"" + name_ + "\": gradient " + std::to_string(i + 1) + " of the " +
                                    std::to_string(count) + " of step " + std::to_string(step) +
                                    " is not here: they were deposited before this task began, or the step is over");
            std::vector<any_array>& gradient = shared.emplace_back();
            for (const any_array& a : at->second.gradient) gradient.push_back(a.share());
        }
    }
    std::vector<const std::vector<any_array>*> all;
    for (const auto& g : shared) all.push_back(&g);
    return detail::scaled_sum(description_, all, 1 / static_cast<double>(count));
}

TENON_INLINE std::string accumulator_resource::awaited(std::int64_t least) const {
    return "accumulator \"" + name_ + "\" to have " + std::to_string(least) +
           (least == 1 ? " gradient" : " gradients") + "; it has " + std::to_string(state().count);
}

TENON_INLINE void accumulator_resource::forgotten() noexcept {
    const std::exception_ptr why =
        failure_of([&] { return aborted_error("accumulator \"" + name_ + "\": its container was reset."); });
    std::vector<accumulator_take*> waiting;
    {
        const std::lock_guard lock(parts_->guard);
        parts_->failed = why;
        waiting.swap(parts_->waiting);
        for (accumulator_take* t : waiting) t->waits_ = false;
        parts_->by_replica.clear();
    }
    for (accumulator_take* t : waiting) t->completed(why);
}

TENON_INLINE void accumulator_resource::describe(resource_info& to) const {
    const std::lock_guard lock(parts_->guard);
    std::size_t bytes = 0;
    const auto add = [&](const std::vector<any_array>& gradient) {
        for (const any_array& a : gradient) bytes += a.bytes();
    };
    for (const auto& sum : parts_->sums) add(sum);
    for (const auto& d : parts_->by_replica) add(d.second.gradient);
    const auto kept = parts_->is.count + static_cast<std::int64_t>(parts_->by_replica.size());
    to.description =
        std::to_string(kept) + " gradients, " + std::to_string(bytes) + " bytes, " + to_string(description_);
}

} // namespace tenon
