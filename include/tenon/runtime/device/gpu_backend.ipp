#pragma once

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/gpu_backend.hpp>

namespace tenon {

namespace detail {

struct registered_gpus {
    std::mutex guard;
    std::shared_ptr<const gpu_backend> backend;
    static registered_gpus& get() {
        static auto& r = *new registered_gpus;
        return r;
    }
};

inline std::string list_cards(const std::vector<device_attributes>& cards) {
    if (cards.empty()) return "there are none";
    std::string text = "there are:";
    for (const device_attributes& c : cards) text += "\n  " + std::to_string(c.name.index) + ": " + c.description;
    return text;
}

inline std::string shown_capability(int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// Once in the process, however many sessions leave a card out.
inline void tell_once(const std::string& line) {
    static std::mutex guard;
    static auto& told = *new std::set<std::string>;
    const std::lock_guard lock(guard);
    if (told.insert(line).second) std::fprintf(stderr, "%s\n", line.c_str());
}

} // namespace detail

TENON_INLINE std::shared_ptr<const gpu_backend> linked_gpu_backend() {
    auto& r = detail::registered_gpus::get();
    const std::lock_guard lock(r.guard);
    return r.backend;
}

TENON_INLINE void register_gpu_backend(std::shared_ptr<const gpu_backend> b) {
    auto& r = detail::registered_gpus::get();
    const std::lock_guard lock(r.guard);
    r.backend = std::move(b);
}

TENON_INLINE std::vector<device_attributes> list_physical_devices() {
    std::vector<device_attributes> all{make_cpu_device()->attributes()};
    if (const auto gpus = linked_gpu_backend())
        for (const device_attributes& a : gpus->physical()) all.push_back(a);
    return all;
}

TENON_INLINE gpu_backend::selected gpu_backend::select(const gpu_setup& s,
                                                       const std::vector<device_attributes>& cards) const {
    std::vector<int> numbers(cards.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    if (s.selection.visible) numbers = *s.selection.visible;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] < 0 || static_cast<std::size_t>(numbers[i]) >= cards.size()) {
            const std::string why = cards.empty() ? why_none() : "";
            throw invalid_argument_error("gpu_selection::visible has card " + std::to_string(numbers[i]) + "; " +
                                         detail::list_cards(cards) + (why.empty() ? "" : ": " + why));
        }
        if (std::find(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(i), numbers[i]) !=
            numbers.begin() + static_cast<std::ptrdiff_t>(i))
            throw invalid_argument_error("gpu_selection::visible has card " + std::to_string(numbers[i]) +
                                         " twice; make several devices of one by gpu_selection::logical; " +
                                         detail::list_cards(cards));
    }
    if (s.selection.logical.size() > numbers.size())
        throw invalid_argument_error("gpu_selection::logical is for " + std::to_string(s.selection.logical.size()) +
                                     " cards, of which " + std::to_string(numbers.size()) + " are visible; " +
                                     detail::list_cards(cards));
    selected all;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const device_attributes& card = cards[static_cast<std::size_t>(numbers[i])];
        std::string why = why_not(numbers[i]);
        if (why.empty() && !card.simulated && card.capability < s.selection.least_capability)
            why = "its compute capability is " + detail::shown_capability(card.capability) + ", and " +
                  detail::shown_capability(s.selection.least_capability) + " is asked for";
        if (!why.empty()) {
            const std::string line =
                "GPU " + std::to_string(numbers[i]) + " is left out: " + why + " (" + card.description + ")";
            if (s.log) s.log(line);
            else detail::tell_once(line);
            continue;
        }
        const std::string name = card.simulated ? "a simulated GPU" : "GPU " + std::to_string(numbers[i]);
        const auto bytes = static_cast<std::size_t>(card.memory);
        require_valid(s.memory, bytes, name);
        selected::value_type one{numbers[i], {}};
        if (i < s.selection.logical.size()) one.second = s.selection.logical[i];
        std::size_t left = usable_bytes(s.memory, bytes);
        for (const std::size_t limit : one.second) {
            if (limit == 0 || limit > left)
                throw invalid_argument_error(
                    "gpu_selection::logical has a device of " + std::to_string(limit) + " bytes of " + name +
                    ", of whose " + std::to_string(usable_bytes(s.memory, bytes)) + " that may be used " +
                    std::to_string(left) + " are left; give each device a part, and all together no more than that");
            left -= limit;
        }
        all.push_back(std::move(one));
    }
    return all;
}

TENON_INLINE std::shared_ptr<const void> gpu_backend::use(const selected& cards) const {
    static std::mutex guard; // of all backends: a task is seldom made
    const std::lock_guard lock(guard);
    if (const auto earlier = in_use_.lock()) {
        if (*earlier == cards) return earlier;
        const auto say = [](const selected& which) {
            std::string text;
            for (const auto& [card, limits] : which) {
                text += (text.empty() ? "" : ", ") + std::to_string(card);
                if (!limits.empty()) text += " in " + std::to_string(limits.size()) + " parts";
            }
            return text;
        };
        throw failed_precondition_error(
            "the GPUs are in use as they are: another session or task of this process has cards " + say(*earlier) +
            ", and this one asks for cards " + say(cards) + "; choose the same in all, or end the others first");
    }
    auto now = std::make_shared<const selected>(cards);
    in_use_ = now;
    return now;
}

TENON_INLINE std::vector<std::unique_ptr<device>> gpu_backend::make(const gpu_setup& s) const {
    if (s.selection.visible && s.selection.visible->empty() && s.selection.logical.empty()) return {};
    const std::vector<device_attributes> cards = physical();
    const selected chosen = select(s, cards);
    if (chosen.empty()) return {};
    const std::shared_ptr<const void> in_use = use(chosen);
    std::vector<wanted> all;
    for (const auto& [card, limits] : chosen) {
        const auto add = [&, number = card](const memory_policy& memory) {
            wanted w{cards[static_cast<std::size_t>(number)], number, memory, in_use};
            w.attributes.name.index = static_cast<int>(all.size());
            all.push_back(std::move(w));
        };
        if (limits.empty()) add(s.memory);
        for (const std::size_t limit : limits) {
            add({.fraction = 1, .growth = s.memory.growth, .limit = limit});
            all.back().attributes.memory = static_cast<std::int64_t>(limit);
        }
    }
    return make(std::move(all), s);
}

} // namespace tenon
