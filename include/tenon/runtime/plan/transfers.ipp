#pragma once

#include <map>

#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/plan/transfers.hpp>

namespace tenon::runtime {

namespace detail {

class crossings {
public:
    crossings(program& p, int home) : p_(p), home_(home) {}

    void insert() {
        const int items = static_cast<int>(p_.items.size());
        for (int n = 0; n < items; ++n) {
            if (p_.item(n).removed) continue;
            const int device = p_.item(n).device;
            for (std::size_t k = 0; k < p_.item(n).inputs.size(); ++k) {
                const int v = p_.item(n).inputs[k];
                if (!p_.reads(p_.item(n), static_cast<int>(k)) || p_.value(p_.root(v)).device == device) continue;
                const int here = there(v, device); // which may move the items
                p_.item(n).inputs[k] = here;
            }
        }
        // What is fetched crosses to where it is wanted with what is read there; a view alone crosses in its own sizes, and constants are
        // copied from the host's memory where it is there.
        for (int& f : p_.fetches) {
            const int root = p_.root(f);
            const bool copied_later = p_.value(root).constant && home_ == 0;
            if (p_.value(root).device == home_ || copied_later) continue;
            if (f == root || p_.value(root).constant || crossed_.contains({root, home_})) f = there(f, home_);
        }
    }

private:
    // The same value in a device's memory.
    int there(int value, int device) {
        const int root = p_.root(value);
        const int crossing = root_there(root, device);
        if (value == root) return crossing;
        const auto [at, isnew] = views_.try_emplace({value, crossing}, static_cast<int>(p_.values.size()));
        if (isnew) {
            p_.values.push_back({.origin = p_.value(value).origin, .type = p_.value(value).type, .view_of = crossing});
        }
        return at->second;
    }
    int root_there(int root, int device) {
        const auto [at, isnew] = crossed_.try_emplace({root, device}, static_cast<int>(p_.values.size()));
        if (!isnew) return at->second;
        program_value made{.origin = p_.value(root).origin, .type = p_.value(root).type, .device = device};
        if (p_.value(root).constant) made.constant = p_.value(root).constant;
        else {
            program_item i;
            i.origin = made.origin.node;
            i.op = &transfer_definition;
            i.inputs = {root};
            i.outputs = {at->second};
            i.device = device;
            made.producer = p_.add(std::move(i));
        }
        p_.values.push_back(std::move(made));
        return at->second;
    }

    program& p_;
    const int home_;                             // where what is fetched is wanted
    std::map<std::pair<int, int>, int> crossed_; // value, device: the value there
    std::map<std::pair<int, int>, int> views_;   // view, what its root became: the view there
};

} // namespace detail

TENON_INLINE void insert_transfers(program& p, const plan_options& o) {
    if (o.devices.size() > 1) detail::crossings(p, o.home).insert();
}

} // namespace tenon::runtime
