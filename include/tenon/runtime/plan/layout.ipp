#pragma once

#include <algorithm>

#include <tenon/runtime/plan/arena_slots.hpp>
#include <tenon/runtime/plan/layout.hpp>

namespace tenon::runtime {

namespace detail {

class layout_maker {
public:
    layout_maker(const program& p, const plan_options& o, const std::vector<int>& order, const timing& t) :
        p_(p), o_(o), order_(order), t_(t) {}

    memory_layout run() {
        made_.locations.resize(p_.values.size());
        made_.scratch.resize(order_.size());
        made_.devices.resize(o_.devices.size());
        if (p_.prepared) made_.devices[0].prepared_bytes = p_.prepared->bytes();
        find_uses();
        place_residents();
        make_blocks();
        place_blocks();
        for (std::size_t v = 0; v < p_.values.size(); ++v)
            if (block_of_[v] >= 0) made_.locations[v].offset = blocks_[static_cast<std::size_t>(block_of_[v])].offset;
        for (const block& b : blocks_)
            if (b.value < 0) made_.scratch[static_cast<std::size_t>(b.position)] = b.offset;
        for (std::size_t v = 0; v < p_.values.size(); ++v)
            if (p_.values[v].view_of >= 0)
                made_.locations[v] = made_.locations[static_cast<std::size_t>(p_.root(static_cast<int>(v)))];
        report();
        return std::move(made_);
    }

private:
    struct block {
        int value;    // that lies in it at last, or -1 for the scratch of a position
        int position; // that writes the value; what used the block before ends there
        int device;
        std::size_t bytes, offset = 0;
        int first, last;
        position_sets::set later{}; // positions that come after all users, whichever way the threads go
    };
    using slot = arena_slots::slot;

    int positions() const { return static_cast<int>(order_.size()); }
    const program_item& at(int position) const { return p_.item(order_[static_cast<std::size_t>(position)]); }
    // The last position that begins before this one ends.
    int until(int position) const { return t_.until.empty() ? position : t_.until[static_cast<std::size_t>(position)]; }

    void find_uses() {
        last_.assign(p_.values.size(), -1);
        readers_begin_.assign(p_.values.size() + 2, 0);
        const auto uses = [&](int value, int position) {
            int& end = last_[static_cast<std::size_t>(value)];
            end = std::max(end, until(position));
        };
        const auto each_read = [&](auto visit) {
            for (int n = 0; n < positions(); ++n) {
                const program_item& it = at(n);
                for (std::size_t k = 0; k < it.inputs.size(); ++k)
                    if (it.read[k]) visit(p_.root(it.inputs[k]), n);
            }
        };
        each_read([&](int root, int n) {
            uses(root, n);
            ++readers_begin_[static_cast<std::size_t>(root) + 2];
        });
        for (int n = 0; n < positions(); ++n)
            for (const int o : at(n).outputs) uses(o, n);
        for (std::size_t v = 2; v < readers_begin_.size(); ++v) readers_begin_[v] += readers_begin_[v - 1];
        readers_.resize(readers_begin_.back());
        each_read([&](int root, int n) { readers_[readers_begin_[static_cast<std::size_t>(root) + 1]++] = n; });
    }
    std::span<const int> readers_of(std::size_t value) const {
        return {readers_.data() + readers_begin_[value], readers_.data() + readers_begin_[value + 1]};
    }

    // Feeds and constants lie where they lie, and variables where each step finds them.
    void place_residents() {
        for (std::size_t v = 0; v < p_.values.size(); ++v) {
            const program_value& value = p_.values[v];
            location& place = made_.locations[v];
            if (value.view_of >= 0) continue;
            if (value.feed >= 0) place = {location::kind::feed, 0, nullptr, value.feed};
            else if (value.constant) place = location_of_constant(value);
            else if (value.variable) place = {location::kind::variable, 0, nullptr, -1};
            else if (value.fetch >= 0) {
                place = {location::kind::fetch, 0, nullptr, value.fetch};
                made_.devices[static_cast<std::size_t>(o_.home)].fetched_bytes +=
                    static_cast<std::size_t>(bytes_of(value.type));
            }
        }
    }

    // A device that does not read the host's memory keeps a copy, as long as the plan lives.
    location location_of_constant(const program_value& value) {
        if (!o_.device(value.device).streams()) return {location::kind::resident, 0, value.constant->data(), -1};
        std::size_t& kept = made_.devices[static_cast<std::size_t>(value.device)].constant_bytes;
        const location place{location::kind::uploaded, kept, nullptr, -1};
        kept += arena_bytes_of(value.constant->bytes());
        return place;
    }

    void make_blocks() {
        block_of_.assign(p_.values.size(), -1);
        for (int n = 0; n < positions(); ++n) {
            const program_item& it = at(n);
            if (const std::size_t scratch = it.kernel->scratch_bytes())
                blocks_.push_back({-1, n, it.device, arena_bytes_of(scratch), 0, n, until(n)});
            for (std::size_t o = 0; o < it.outputs.size(); ++o) {
                const auto v = static_cast<std::size_t>(it.outputs[o]);
                location& place = made_.locations[v];
                if (place.where != location::kind::none) continue;
                // One of several outputs that nobody reads is not written at all.
                if (it.outputs.size() > 1 && readers_of(v).empty()) continue;
                place.where = location::kind::arena;
                const std::size_t bytes = arena_bytes_of(static_cast<std::size_t>(bytes_of(p_.values[v].type)));
                block_of_[v] = block_that_ends(it, static_cast<int>(o), n, bytes);
                if (block_of_[v] < 0) {
                    block_of_[v] = static_cast<int>(blocks_.size());
                    blocks_.push_back({it.outputs[o], n, it.device, bytes, 0, n, last_[v]});
                }
                block& b = blocks_[static_cast<std::size_t>(block_of_[v])];
                b.value = it.outputs[o];
                b.position = n;
                b.last = std::max(b.last, last_[v]);
            }
        }
        if (!t_.later.empty())
            for (block& b : blocks_) b.later = t_.later.common(b.position, readers_of(b));
    }

    std::span<const int> readers_of(const block& b) const {
        return b.value < 0 ? std::span<const int>() : readers_of(static_cast<std::size_t>(b.value));
    }

    // The block of an input that ends at this position and whose place output o may take, or -1. It may be that of several inputs.
    int block_that_ends(const program_item& it, int o, int position, std::size_t bytes) const {
        const auto block_of = [&](std::size_t k) {
            return it.read[k] ? block_of_[static_cast<std::size_t>(p_.root(it.inputs[k]))] : -1;
        };
        const auto may_take = [&](int b) {
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (block_of(k) == b && !it.kernel->may_share(static_cast<int>(k), o)) return false;
            return true;
        };
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (const int b = block_of(k); b >= 0 && ends_at(blocks_[static_cast<std::size_t>(b)], position) &&
                                           blocks_[static_cast<std::size_t>(b)].bytes == bytes && may_take(b))
                return b;
        return -1;
    }

    // True when a position that uses a block is its last user: in order, or whichever way the threads go.
    bool ends_at(const block& b, int position) const {
        const auto ended = [&](int u) {
            return u == position || (t_.later.empty() ? until(u) < position : t_.later.has(u, position));
        };
        const std::span<const int> readers = readers_of(b);
        return ended(b.position) && std::all_of(readers.begin(), readers.end(), ended);
    }
    bool never_together(const block& a, const block& b) const {
        return position_sets::has(a.later, b.first) || position_sets::has(b.later, a.first);
    }
    bool is_free(const slot& s, const block& b) const {
        const std::vector<const block*>& blocks = placed_[static_cast<std::size_t>(s.blocks)];
        if (!t_.later.empty())
            return std::all_of(blocks.begin(), blocks.end(), [&](const block* o) { return never_together(*o, b); });
        if (s.life.last() < b.first) return true;
        if (s.life.first() <= b.last) return false;
        const auto next = after(blocks, b); // there is one
        return b.last < (*next)->first && (next == blocks.begin() || next[-1]->last < b.first);
    }
    static std::vector<const block*>::const_iterator after(const std::vector<const block*>& blocks, const block& b) {
        return std::upper_bound(blocks.begin(), blocks.end(), &b,
                                [](const block* x, const block* y) { return x->first < y->first; });
    }

    // Largest first, each at the lowest place that is free during its life.
    void place_blocks() {
        std::vector<int> by_size(blocks_.size());
        for (std::size_t b = 0; b < blocks_.size(); ++b) by_size[b] = static_cast<int>(b);
        std::stable_sort(
            by_size.begin(), by_size.end(), [&](int x, int y) { // they are in the order in which they begin
                return blocks_[static_cast<std::size_t>(x)].bytes > blocks_[static_cast<std::size_t>(y)].bytes;
            });
        std::vector<arena_slots> slots_of(made_.devices.size());
        const int part = lifetime::length_for(positions());
        for (const int n : by_size) {
            block& b = blocks_[static_cast<std::size_t>(n)];
            arena_slots& slots = slots_of[static_cast<std::size_t>(b.device)];
            // Where nodes run side by side, lifetimes are no intervals.
            const lifetime life = t_.later.empty() ? lifetime(b.first, b.last, part) : lifetime();
            b.offset = slots.find(b.bytes, life, [&](const slot& s) { return is_free(s, b); });
            const std::size_t end = b.offset + b.bytes;
            std::size_t& arena = made_.devices[static_cast<std::size_t>(b.device)].arena_bytes;
            arena = std::max(arena, end);
            slot& s = slots.enter(b.offset, end, life);
            if (s.blocks < 0) {
                s.blocks = static_cast<int>(placed_.size());
                placed_.emplace_back();
            }
            std::vector<const block*>& blocks = placed_[static_cast<std::size_t>(s.blocks)];
            blocks.insert(after(blocks, b), &b);
        }
    }

    void report() {
        // By device, what takes memory: blocks, then constants, then fetches, which have the numbers after the blocks.
        using sized = std::pair<std::size_t, std::ptrdiff_t>; // bytes, minus the number
        std::vector<std::vector<sized>> sizes(made_.devices.size());
        std::vector<std::string> others;
        const auto note = [&](int device, std::size_t bytes, std::size_t number) {
            sizes[static_cast<std::size_t>(device)].emplace_back(bytes, -static_cast<std::ptrdiff_t>(number));
        };
        for (std::size_t b = 0; b < blocks_.size(); ++b) note(blocks_[b].device, blocks_[b].bytes, b);
        const auto note_other = [&](int device, const tensor_type& t, const std::string& name, const char* what) {
            note(device, static_cast<std::size_t>(bytes_of(t)), blocks_.size() + others.size());
            others.push_back(name + " " + to_string(t) + what);
        };
        for (std::size_t v = 0; v < p_.values.size(); ++v)
            if (made_.locations[v].where == location::kind::uploaded && p_.values[v].view_of < 0)
                note_other(p_.values[v].device, p_.values[v].type, any_tensor(p_.values[v].origin).name(),
                           ", constant");
        for (std::size_t f = 0; f < p_.fetches.size(); ++f)
            note_other(o_.home, p_.value(p_.fetches[f]).type, any_tensor(p_.fetched[f]).name(), ", fetched");
        for (std::size_t d = 0; d < made_.devices.size(); ++d) {
            const auto shown = sizes[d].begin() + std::min<std::ptrdiff_t>(8, std::ssize(sizes[d]));
            std::partial_sort(sizes[d].begin(), shown, sizes[d].end(), std::greater<>());
            for (auto at = sizes[d].begin(); at != shown; ++at) {
                const auto number = static_cast<std::size_t>(-at->second);
                made_.devices[d].largest.emplace_back(
                    at->first, number < blocks_.size() ? name_of(blocks_[number]) : others[number - blocks_.size()]);
            }
        }
        find_lower_bounds();
    }
    std::string name_of(const block& b) const {
        if (b.value < 0) return "working memory of " + at(b.position).origin->name;
        return any_tensor(p_.value(b.value).origin).name() + " " + to_string(p_.value(b.value).type);
    }
    void find_lower_bounds() {
        std::vector<std::vector<std::ptrdiff_t>> change(made_.devices.size(),
                                                        std::vector<std::ptrdiff_t>(order_.size() + 1));
        for (const block& b : blocks_) {
            auto& on_device = change[static_cast<std::size_t>(b.device)];
            on_device[static_cast<std::size_t>(b.first)] += static_cast<std::ptrdiff_t>(b.bytes);
            on_device[static_cast<std::size_t>(b.last) + 1] -= static_cast<std::ptrdiff_t>(b.bytes);
        }
        for (std::size_t d = 0; d < change.size(); ++d) {
            std::ptrdiff_t live = 0;
            for (const std::ptrdiff_t c : change[d]) {
                live += c;
                made_.devices[d].lower_bound = std::max(made_.devices[d].lower_bound, static_cast<std::size_t>(live));
            }
        }
    }

    const program& p_;
    const plan_options& o_;
    const std::vector<int>& order_;
    const timing& t_;
    std::vector<int> last_;                  // by value: the last position that uses it
    std::vector<int> readers_;               // positions, value by value
    std::vector<std::size_t> readers_begin_; // by value
    std::vector<block> blocks_;
    std::vector<int> block_of_;                     // by value, or -1
    std::vector<std::vector<const block*>> placed_; // by slot: its blocks, by first position
    memory_layout made_;
};

} // namespace detail

TENON_INLINE memory_layout lay_out(const program& p, const plan_options& o, const std::vector<int>& order,
                                   const timing& t) {
    return detail::layout_maker(p, o, order, t).run();
}

} // namespace tenon::runtime
