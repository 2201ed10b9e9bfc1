#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <map>
#include <mutex>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/data/steps/measured.hpp>
#include <tenon/data/steps/pipeline.hpp>
#include <tenon/runtime/trace/trace.hpp>

namespace tenon {

namespace detail {

TENON_INLINE std::int64_t now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

TENON_INLINE std::size_t bytes_of(const data_element& x) noexcept {
    std::size_t bytes = 0;
    for (const any_array& a : x) bytes += a.bytes();
    return bytes;
}

struct pipeline::state {
    std::mutex guard;                                // of `epochs`; the meters' list does not change
    std::vector<std::unique_ptr<step_meter>> meters; // the last step first
    std::map<const data_node*, step_meter*> by_node;
    std::map<const data_node*, std::uint64_t> epochs;
    std::vector<std::vector<step_meter*>> inputs; // of each meter

    step_meter* add(const data_node& n, int depth) {
        if (const auto found = by_node.find(&n); found != by_node.end()) return found->second;
        step_meter* const made = meters.emplace_back(std::make_unique<step_meter>()).get();
        made->step = n.step();
        made->node = &n;
        made->depth = depth;
        by_node[&n] = made;
        const std::size_t at = inputs.size();
        inputs.emplace_back();
        for (const data_node::pointer& i : n.inputs()) {
            step_meter* const below = add(*i, depth + 1);
            inputs[at].push_back(below);
        }
        return made;
    }
};

TENON_INLINE pipeline::pipeline(const data_node& root, const data_options& o, std::uint64_t epoch) :
    options_(o), threads_(o.threads), first_epoch_(epoch), state_(std::make_unique<state>()) {
    if (o.threads < 0)
        throw invalid_argument_error("data_options::threads is " + std::to_string(o.threads) +
                                     "; give how many a step may have, or 0 for as many as there are cores");
    if (threads_ == 0) threads_ = thread_pool::shared().size();
    state_->add(root, 0);
}
TENON_INLINE pipeline::~pipeline() = default;

TENON_INLINE step_meter& pipeline::meter(const data_node& of) {
    const std::lock_guard lock(state_->guard); // what a function of the user made is met while it runs
    return *state_->add(of, 1);
}

TENON_INLINE std::uint64_t pipeline::next_epoch(const data_node& of) {
    const std::lock_guard lock(state_->guard);
    return state_->epochs.try_emplace(&of, first_epoch_).first->second++;
}

TENON_INLINE std::uint64_t pipeline::epoch(const data_node& of) const {
    const std::lock_guard lock(state_->guard);
    const auto found = state_->epochs.find(&of);
    return found == state_->epochs.end() ? first_epoch_ : found->second;
}

TENON_INLINE void save_epochs(state_writer& to, const data_node& n, const pipeline& p) {
    to.number(p.epoch(n));
    for (const data_node::pointer& i : n.inputs()) save_epochs(to, *i, p);
}

TENON_INLINE void restore_epochs(state_reader& from, const data_node& n, pipeline& p) {
    p.set_epoch(n, from.number());
    for (const data_node::pointer& i : n.inputs()) restore_epochs(from, *i, p);
}

TENON_INLINE void pipeline::set_epoch(const data_node& of, std::uint64_t next) {
    const std::lock_guard lock(state_->guard);
    state_->epochs[&of] = next;
}

TENON_INLINE bool pipeline::take_memory(std::size_t bytes) noexcept {
    if (held_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= options_.memory) return true;
    give_memory(bytes);
    return false;
}

TENON_INLINE void pipeline::note(const step_meter& m, std::int64_t begin, std::int64_t end) {
    if (options_.trace) options_.trace->add(m.step, "data set", "input: " + m.step, begin, end);
}

TENON_INLINE data_report pipeline::report() const {
    data_report r;
    const std::lock_guard lock(state_->guard);
    const auto relaxed = std::memory_order_relaxed;
    for (std::size_t i = 0; i < state_->meters.size(); ++i) {
        const step_meter& m = *state_->meters[i];
        data_step_report s;
        s.step = m.step;
        s.depth = m.depth;
        s.elements = m.elements.load(relaxed);
        s.parallelism = m.parallelism.load(relaxed);
        s.buffer = m.buffer.load(relaxed);
        s.left_out = m.left_out.load(relaxed);
        const double count = s.elements > 0 ? static_cast<double>(s.elements) : 1;
        const std::int64_t all = m.inclusive.load(relaxed);
        if (m.is_parallel.load(relaxed)) {
            const std::uint64_t worked = m.worked.load(relaxed);
            s.work = worked > 0 ? static_cast<double>(m.work.load(relaxed)) / static_cast<double>(worked) * 1e-9 : 0;
            s.waited = static_cast<double>(all) * 1e-9 / count;
        } else {
            std::int64_t own = all;
            for (const step_meter* below : state_->inputs[i]) own -= below->inclusive.load(relaxed);
            s.work = static_cast<double>(std::max<std::int64_t>(own, 0)) * 1e-9 / count;
        }
        const std::uint64_t samples = m.fill_samples.load(relaxed), room = m.capacity_sum.load(relaxed);
        if (samples > 0 && room > 0)
            s.fullness = static_cast<double>(m.fill_sum.load(relaxed)) / static_cast<double>(room);
        r.steps.push_back(std::move(s));
    }
    const step_meter& root = *state_->meters.front();
    r.waited = static_cast<double>(root.inclusive.load(relaxed)) * 1e-9;
    r.elsewhere = static_cast<double>(elsewhere_.load(relaxed)) * 1e-9;
    return r;
}

class metered_stream final : public element_stream {
public:
    metered_stream(std::unique_ptr<element_stream> of, step_meter& m, pipeline& p) :
        of_(std::move(of)), meter_(m), pipeline_(p) {}
    ~metered_stream() override { meter_.elements.fetch_add(uncounted_, std::memory_order_relaxed); }

    bool next(std::vector<any_array>& element) override {
        const std::int64_t weight = pipeline_.options().trace ? 1 : sampler_.weight();
        const std::int64_t begin = weight > 0 ? now_ns() : 0;
        const bool got = of_->next(element);
        if (got) ++uncounted_;
        if (weight > 0 || !got) meter_.elements.fetch_add(std::exchange(uncounted_, 0), std::memory_order_relaxed);
        if (weight > 0) {
            const std::int64_t end = now_ns();
            meter_.inclusive.fetch_add((end - begin) * weight, std::memory_order_relaxed);
            if (got && !meter_.is_parallel.load(std::memory_order_relaxed)) pipeline_.note(meter_, begin, end);
        }
        return got;
    }
    bool is_ready() const override { return of_->is_ready(); }
    void save(state_writer& to) override { of_->save(to); }
    void restore(state_reader& from) override { of_->restore(from); }

private:
    std::unique_ptr<element_stream> of_;
    step_meter& meter_;
    pipeline& pipeline_;
    call_sampler sampler_;
    std::uint64_t uncounted_ = 0; // elements
};

class metered_indices final : public index_stream {
public:
    metered_indices(std::unique_ptr<index_stream> of, step_meter& m) : of_(std::move(of)), meter_(m) {}
    ~metered_indices() override { tell(); }
    bool next(std::int64_t& index) override {
        if (!of_->next(index)) return false;
        if (++uncounted_ == 64) tell();
        return true;
    }
    void save(state_writer& to) override { of_->save(to); }
    void restore(state_reader& from) override { of_->restore(from); }

private:
    void tell() { meter_.elements.fetch_add(std::exchange(uncounted_, 0), std::memory_order_relaxed); }
    std::unique_ptr<index_stream> of_;
    step_meter& meter_;
    std::uint64_t uncounted_ = 0; // elements
};

// Elements as rows of arrays, where a step wants the elements themselves.
class rows_stream final : public element_stream {
public:
    rows_stream(const data_node& n, pipeline& p) :
        rows_(*n.rows()), places_(rows_, n.make_indices(p), p.options().copied_files) {}
    bool next(std::vector<any_array>& element) override {
        std::int64_t i = 0;
        if (!places_.next(i)) return false;
        take_row(rows_, i, element); // copies, since whoever takes an element may write to it
        return true;
    }
    void save(state_writer& to) override { places_.save(to); }
    void restore(state_reader& from) override { places_.restore(from); }

private:
    const data_rows& rows_;
    row_places places_;
};

TENON_INLINE void throw_no_element(std::int64_t i, std::int64_t size) {
    throw out_of_range_error("data_set: there is no element " + std::to_string(i) +
                             (size >= 0 ? " of " + std::to_string(size) : std::string()) +
                             (size > 0 ? "; they are numbered from 0 to " + std::to_string(size - 1) : std::string()));
}

TENON_INLINE std::string data_node::no_access() const { return step_ + " makes its elements one after another"; }

TENON_INLINE bool data_node::differs_by_epoch() const {
    return changes() ||
           std::any_of(inputs_.begin(), inputs_.end(), [](const pointer& i) { return i->differs_by_epoch(); });
}

TENON_INLINE bool data_node::has_rounds() const {
    return std::any_of(inputs_.begin(), inputs_.end(), [](const pointer& i) { return i->has_rounds(); });
}

TENON_INLINE void data_node::begin_with(std::uint64_t epoch, pipeline& p) const {
    p.set_epoch(*this, epoch);
    for (const pointer& i : inputs_) i->begin_with(epoch, p);
}

TENON_INLINE data_node::row_count data_node::count_rows() const {
    const auto first = [](const tensor_type& t) { return t.extents.rank() > 0 ? t.extents[0] : extent{}; };
    const extent rows = first(types_[0]);
    for (const tensor_type& t : types_)
        if (!first(t).is_number() || !(first(t) == rows) || rows.size == 0) return {};
    const std::int64_t n = size();
    return {rows.size, n < 0                                                      ? n
                       : n > std::numeric_limits<std::int64_t>::max() / rows.size ? size_unknown
                                                                                  : n * rows.size};
}

TENON_INLINE void data_node::at(std::int64_t, std::uint64_t, data_element&) const {
    throw internal_error("data set: " + no_access() + ", and was asked for one");
}

TENON_INLINE std::unique_ptr<index_stream> open_indices(const data_node& n, pipeline& p) {
    return std::make_unique<metered_indices>(n.make_indices(p), p.meter(n));
}

TENON_INLINE std::unique_ptr<element_stream> open_step(const data_node& n, pipeline& p) {
    auto made = n.rows() ? std::make_unique<rows_stream>(n, p) : n.make(p);
    return std::make_unique<metered_stream>(std::move(made), p.meter(n), p);
}

TENON_INLINE std::unique_ptr<element_stream> open_step(const data_node& n, pipeline& p, stop_source& with) {
    const stop_scope stopped_with(with);
    return open_step(n, p);
}

// "batch(2) of map of range": what a state is of.
inline std::string all_steps(const data_node& n) {
    std::string all = n.step();
    for (std::size_t i = 0; i < n.inputs().size(); ++i) all += (i ? " and " : " of ") + all_steps(n.input(i));
    return all;
}

// The same of all shards: "shard(1 of 3)" without its 1.
inline std::string without_shards(std::string steps) {
    static constexpr char begin[] = "shard(";
    for (std::size_t at = 0; (at = steps.find(begin, at)) != std::string::npos;) {
        at += sizeof begin - 1;
        steps.erase(at, std::min(steps.find_first_not_of("0123456789", at), steps.size()) - at);
    }
    return steps;
}

// All of one going through: what a data set's open() gives.
class opened_data_set final : public element_stream {
public:
    opened_data_set(data_node::pointer root, std::shared_ptr<pipeline> p) :
        root_(std::move(root)), pipeline_(std::move(p)), last_(open_step(*root_, *pipeline_)) {}

    bool next(std::vector<any_array>& element) override {
        const std::int64_t weight = sampler_.weight();
        if (weight > 0 || measure_gap_ > 0) {
            const std::int64_t now = now_ns();
            if (measure_gap_ > 0) pipeline_->note_elsewhere((now - ended_) * measure_gap_);
        }
        measure_gap_ = 0;
        const bool got = last_->next(element);
        if (weight > 0) {
            ended_ = now_ns();
            measure_gap_ = weight;
        }
        return got;
    }
    bool is_ready() const override { return last_->is_ready(); }
    std::string report() const override { return pipeline_->report().to_text(); }
    void save(state_writer& to) override {
        to.text("data set 4");
        to.text(all_steps(*root_));
        last_->save(to);
    }
    void restore(state_reader& from) override {
        // 1: without what holds files against what they were, and without the numbers of elements of buckets;
        // 2: with a prefetch in each data set that is interleaved ahead; 3: without the files that rows were read from
        const std::string begins = from.text();
        if (begins != "data set 1" && begins != "data set 2" && begins != "data set 3" && begins != "data set 4")
            from.damaged("it does not begin as one");
        from.set_version(begins.back() - '0');
        const std::string was = from.text(), is = all_steps(*root_);
        if (was != is)
            from.damaged(("it is of " + (was.size() > 1000 ? "other steps" : was) + ", not of " + is).c_str(),
                         without_shards(was) == without_shards(is) ? error_reason::other_shard : error_reason::none);
        last_->restore(from);
    }

private:
    const data_node::pointer root_;
    const std::shared_ptr<pipeline> pipeline_;
    std::unique_ptr<element_stream> last_;
    call_sampler sampler_;
    std::int64_t ended_ = 0,
                 measure_gap_ = 0; // when the last call that was measured ended, and what the gap stands for
};

TENON_INLINE std::unique_ptr<element_stream> data_node::open(const data_options& o, std::shared_ptr<pipeline>* kept,
                                                             std::uint64_t epoch) const {
    auto p = std::make_shared<pipeline>(*this, o, epoch);
    if (kept) *kept = p;
    return std::make_unique<opened_data_set>(shared_from_this(), std::move(p));
}

TENON_INLINE std::unique_ptr<element_stream>
data_node::open_epoch(const data_options& o, std::shared_ptr<pipeline>* kept, std::uint64_t number) const {
    *kept = std::make_shared<pipeline>(*this, o);
    if (number > 0) begin_with(has_rounds() ? number << 20 : number, **kept); // else all begin so
    return std::make_unique<opened_data_set>(shared_from_this(), *kept);
}

} // namespace detail

TENON_INLINE std::string data_report::holding_back() const {
    if (waited <= 0.05 * (waited + elsewhere)) return "";
    const data_step_report* slowest = nullptr;
    double most = 0;
    for (const data_step_report& s : steps) {
        const double takes = s.work * static_cast<double>(s.elements) / std::max(1, s.parallelism);
        if (takes > most) {
            most = takes;
            slowest = &s;
        }
    }
    return slowest ? slowest->step : "";
}

TENON_INLINE std::string data_report::to_text() const {
    std::string text = "step                              elements  us/element  threads  buffer  full\n";
    char line[200];
    for (const data_step_report& s : steps) {
        const std::string name = std::string(static_cast<std::size_t>(2 * s.depth), ' ') + s.step;
        std::snprintf(line, sizeof line, "%-32s %9llu  %10.2f  %7d  %6lld", name.c_str(),
                      static_cast<unsigned long long>(s.elements), s.work * 1e6, s.parallelism,
                      static_cast<long long>(s.buffer));
        text += line;
        if (s.fullness >= 0) {
            std::snprintf(line, sizeof line, "  %3.0f%%", s.fullness * 100);
            text += line;
        }
        if (s.left_out > 0) text += "  " + std::to_string(s.left_out) + " left out";
        text += '\n';
    }
    const std::string slowest = holding_back();
    std::snprintf(line, sizeof line, "%.3f s waiting for elements, %.3f s elsewhere: ", waited, elsewhere);
    return text + line + (slowest.empty() ? "elements are there in time\n" : slowest + " holds back\n");
}

} // namespace tenon
