#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/resources/collective/process_sums.hpp>

namespace tenon {

namespace detail {

struct kept_values {
    std::mutex guard;
    std::map<std::pair<std::uint64_t, std::int64_t>, std::weak_ptr<kept_value>> all; // by step and place
    static kept_values& get() {
        static auto& k = *new kept_values;
        return k;
    }
};

struct registered_process_sums {
    std::mutex guard;
    std::shared_ptr<const process_sums> library;
    static registered_process_sums& get() {
        static auto& r = *new registered_process_sums;
        return r;
    }
};

// A collective beside all steps, which a thread waits for.
class awaited_collective final : public collective {
public:
    any_array get(collective_group& g, double seconds) {
        g.begin(*this, {});
        std::unique_lock lock(guard_);
        const auto is_done = [&] { return done_; };
        if (!changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_done)) {
            lock.unlock();
            const std::string whom = g.awaited(*this);
            if (g.stop(*this))
                throw deadline_exceeded_error("not all processes came within " + text_of_number(seconds) +
                                              " s: " + whom);
            lock.lock();
            changed_.wait(lock, is_done);
        }
        if (failure_) std::rethrow_exception(failure_);
        return std::move(value);
    }

private:
    void completed(std::exception_ptr failure) noexcept override {
        const std::lock_guard lock(guard_);
        failure_ = std::move(failure);
        done_ = true;
        changed_.notify_all(); // under the lock: who waits may end this then
    }
    std::mutex guard_;
    std::condition_variable changed_;
    bool done_ = false;
    std::exception_ptr failure_;
};

template <std::size_t N> std::string text_in(const char (&bytes)[N]) {
    const std::string_view all(bytes, N);
    return std::string(all.substr(0, all.find('\0')));
}

// Of all processes, by rank.
inline std::vector<process_offer> exchange_offers(collective_group& g, const process_offer& own, double seconds) {
    const extents row(1, static_cast<std::int64_t>(sizeof own));
    awaited_collective c;
    c.what = {collective_kind::gather, "devices", {element_type::uint8, row}};
    c.what.type.extents[0] = extent(0);
    c.value = any_array(element_type::uint8, row);
    std::memcpy(c.value.data(), &own, sizeof own);
    const any_array all = c.get(g, seconds);
    std::vector<process_offer> offers(static_cast<std::size_t>(g.size()));
    std::memcpy(offers.data(), all.data(), sizeof own * offers.size());
    return offers;
}

// Why values go by way of the host; "": they need not.
inline std::string why_by_host(const collective_group& g, const std::vector<process_offer>& offers) {
    for (std::size_t r = 0; r < offers.size(); ++r)
        if (const std::string why = text_in(offers[r].why_not); !why.empty())
            return g.member(static_cast<int>(r)) + ": " + why;
    for (std::size_t r = 0; r < offers.size(); ++r)
        for (std::size_t s = 0; s < r; ++s)
            if (std::memcmp(offers[r].card, offers[s].card, sizeof offers[r].card) == 0)
                return g.member(static_cast<int>(s)) + " and " + g.member(static_cast<int>(r)) +
                       " have the same card; give each process one of its own";
    return {};
}

} // namespace detail

TENON_INLINE void keep_value(const step* in, std::int64_t place, const std::shared_ptr<kept_value>& v) {
    detail::kept_values& k = detail::kept_values::get();
    const std::lock_guard lock(k.guard);
    std::erase_if(k.all, [](const auto& e) { return e.second.expired(); });
    k.all[{in->id(), place}] = v;
}
TENON_INLINE std::shared_ptr<kept_value> value_kept(const step* in, std::int64_t place) {
    detail::kept_values& k = detail::kept_values::get();
    const std::lock_guard lock(k.guard);
    const auto at = in ? k.all.find({in->id(), place}) : k.all.end();
    std::shared_ptr<kept_value> v = at == k.all.end() ? nullptr : at->second.lock();
    if (!v) throw internal_error("a step reads a sum over processes that it has not begun in this process");
    return v;
}

TENON_INLINE void register_process_sums(std::shared_ptr<const process_sums> s) {
    auto& r = detail::registered_process_sums::get();
    const std::lock_guard lock(r.guard);
    r.library = std::move(s);
}

TENON_INLINE chosen_process_sums choose_process_sums(const std::shared_ptr<collective_group>& g, const device_name& d,
                                                     double seconds) {
    std::shared_ptr<const process_sums> library;
    {
        auto& r = detail::registered_process_sums::get();
        const std::lock_guard lock(r.guard);
        library = r.library;
    }
    process_offer own;
    const bool is_gpu = d.type == "GPU";
    if (is_gpu && library) own = library->offer(*g, d);
    else
        (to_string(d) + (is_gpu ? ": tenon::cuda is not linked" : " is no GPU"))
            .copy(own.why_not, sizeof own.why_not - 1);
    const std::vector<process_offer> offers = detail::exchange_offers(*g, own, seconds);
    chosen_process_sums chosen;
    if (const std::string why = detail::why_by_host(*g, offers); why.empty()) {
        static std::atomic<std::uint64_t> last{0};
        chosen.name = g->name() + "/" + std::to_string(++last);
        chosen.by = library->join(g, chosen.name, offers[0].id);
        chosen.explained = "gradients on GPUs by NCCL";
    } else if (is_gpu) chosen.explained = "gradients on GPUs by way of the host, as " + why;
    return chosen;
}

} // namespace tenon
