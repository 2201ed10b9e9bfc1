#pragma once

// A part of run/plan.ipp: how a step gives streams what they run.

#include <algorithm>

#include <tenon/ops/state/control.hpp>

namespace tenon::runtime {

// The first operation that can be given to its stream, or -1.
TENON_INLINE int plan::executor::next_to_give() noexcept {
    const auto is_given = [&](const operation& op) { return op.place < given_[static_cast<std::size_t>(op.line)]; };
    for (; next_ < p_.on_streams_.size(); ++next_) { // which nearly always is the next
        const auto s = static_cast<std::size_t>(p_.on_streams_[next_]);
        if (is_given(p_.operations_[s])) continue;
        if (left_[s] == 0) return static_cast<int>(s);
        break;
    }
    int first = -1;
    for (std::size_t l = 0; l < given_.size(); ++l) {
        const std::vector<int>& all = p_.streams_[l].operations;
        if (given_[l] == all.size()) continue;
        const int s = all[given_[l]];
        if (left_[static_cast<std::size_t>(s)] == 0 && (first < 0 || s < first)) first = s;
    }
    return first;
}

TENON_INLINE bool plan::executor::may_give() noexcept {
    return at_once_ ? before_streams_ == 0 && !all_given_ : next_to_give() >= 0;
}

// Gives streams what they can be given: one thread at a time, so that each gets it in the plan's order.
TENON_INLINE void plan::executor::give(locked& lock) {
    giving_ = true;
    if (at_once_) give_all(lock);
    else give_some(lock);
    if (owner_) // nobody works for the streams meanwhile
        for (const line& l : p_.streams_) streams_of(l).flush();
    lock.lock();
    giving_ = false;
}

// These two let go of the lock.
TENON_INLINE void plan::executor::give_some(locked& lock) {
    batch_.clear();
    for (int s = next_to_give(); s >= 0 && !stopped(); s = next_to_give()) {
        batch_.push_back(s);
        const operation& op = p_.operations_[static_cast<std::size_t>(s)];
        ++given_[static_cast<std::size_t>(op.line)];
        release(op.given_first);
    }
    lock.unlock();
    for (const int s : batch_) {
        if (!may_be_given(s)) break;
        give_operation(static_cast<std::size_t>(s));
    }
    end_streams();
}

// The host waits for nothing but the end of it, and is told by every stream that is used.
TENON_INLINE void plan::executor::give_all(locked& lock) {
    const bool now = may_give() && !stopped();
    all_given_ = all_given_ || now;
    lock.unlock();
    if (!now) return;
    if (!may_be_given(p_.on_streams_.front()) || give_recorded()) return;
    for (const int s : p_.on_streams_) {
        if (!may_be_given(s)) break;
        give_operation(static_cast<std::size_t>(s));
    }
    has_told_ = true;
    // Counted before the first is told, which would be taken for the last.
    const auto used = std::count(used_.begin(), used_.end(), 1);
    untold_.fetch_add(static_cast<int>(used), std::memory_order_relaxed);
    for (std::size_t l = 0; l < used_.size(); ++l) {
        if (!used_[l]) continue;
        closed_[l] = 1;
        const line& of = p_.streams_[l];
        streams_of(of).record(stream_of(of), *f_.ends[l], &end_report_);
    }
}

// False where it was not recorded, or cannot be given again: nothing was given, and it never is recorded again.
TENON_INLINE bool plan::executor::give_recorded() noexcept {
    recorded_work* const work = p_.recording_of(f_, *e_.in);
    if (!work) return false;
    const line& kernels = *std::find_if(p_.streams_.begin(), p_.streams_.end(),
                                        [](const line& l) { return l.by.stream == device_streams::compute; });
    try {
        p_.stage_in(f_, e_.pool());
        for (const int s : p_.at_once_->told)
            p_.operations_[static_cast<std::size_t>(s)].kernel->tell(f_.told[static_cast<std::size_t>(s)].get());
        has_told_ = true;
        staged_ = true;
        for (const int s : p_.on_streams_)
            if (!may_be_given(s)) return true;
        streams_of(kernels).replay(*work, *e_.in, *this);
    } catch (...) {
        staged_ = false;
        p_.records_.store(false, std::memory_order_relaxed);
        return false;
    }
    record(kernels, *f_.ends[static_cast<std::size_t>(&kernels - p_.streams_.data())], &end_report_);
    return true;
}

TENON_INLINE void plan::executor::give_operation(std::size_t s) noexcept {
    const operation& op = p_.operations_[s];
    const int number = static_cast<int>(s);
    const line& l = p_.streams_[static_cast<std::size_t>(op.line)];
    device_streams& to = streams_of(l);
    used_[static_cast<std::size_t>(op.line)] = 1;
    try {
        for (const int w : op.waits) to.wait(stream_of(l), *f_.events[static_cast<std::size_t>(w)]);
        if (p_.program_.item(p_.schedule_.order[s]).op == &transfer_definition)
            to.copy(stream_of(l), f_.out[p_.out_begin_[s]], f_.in[p_.in_begin_[s]], op.bytes, *this, number);
        else {
            f_.runs[s].step = e_.in;
            if (f_.told[s] && !has_told_) op.kernel->tell(f_.told[s].get());
            to.launch(*op.kernel, f_.runs[s], *this, number);
        }
    } catch (...) {
        failed(number, std::current_exception());
    }
    if (op.awaited) record(l, *f_.events[s], op.told && !at_once_ ? &reports_[s] : nullptr);
}

// Who is told will be, or the step could not end: what there is no memory for ends the program.
TENON_INLINE void plan::executor::record(const line& l, device_event& e, report* told) noexcept {
    if (told) untold_.fetch_add(1, std::memory_order_relaxed);
    try {
        streams_of(l).record(stream_of(l), e, told);
    } catch (...) { // of one that nobody is told of
        failed(nowhere, std::current_exception());
    }
}

// After the last operation of a stream, if nothing else tells its end, or after the last that was given before a stop.
TENON_INLINE void plan::executor::end_streams() noexcept {
    for (std::size_t l = 0; l < given_.size(); ++l) {
        const line& of = p_.streams_[l];
        if (!used_[l] || closed_[l] || !(stopped() || (of.told && given_[l] == of.operations.size()))) continue;
        closed_[l] = 1;
        record(of, *f_.ends[l], &end_report_);
    }
}

} // namespace tenon::runtime
