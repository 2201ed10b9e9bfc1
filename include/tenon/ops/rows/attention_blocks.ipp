#pragma once

#include <algorithm>
#include <atomic>

#include <tenon/dense/strided_copy.hpp>
#include <tenon/ops/rows/attention_blocks.hpp>
#include <tenon/ops/reduce/row_packs.hpp>

namespace tenon::detail {

/// Queries and keys of a block: what they make of each other stays in the first-level cache.
inline constexpr std::int64_t attention_queries = 64, attention_keys = 48;

/// Pointers to what a block of queries needs of one head: its queries and results, all keys and values.
template <class T> struct attention_block {
    const T *q, *k, *v;
    T *out, *logs, *scratch;
    std::int64_t first, rows, width; ///< queries: the number of the first; how many; in lanes
    std::int64_t keys;               ///< that any of them sees
    const T* mask;                   ///< of the first query and key
    std::int64_t mask_row, mask_key;
};
template <class T> struct attention_gradients {
    const T *out, *logs, *dout;
    T *dq, *dk, *dv; ///< of the block's queries, of all keys and of all values: added to; nullptr: not wanted
    T* dmask;        ///< of its queries: written
    std::int64_t dmask_row;
};

} // namespace tenon::detail

#define TENON_SIMD_FILE <tenon/ops/rows/attention_blocks.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

/// The queries of a block in lanes: whole packs of every instruction set.
inline std::int64_t attention_width(const attention_sizes& s) {
    return std::min(attention_queries, (s.queries + 15) / 16 * 16);
}
/// Elements of scratch memory that a thread needs.
inline std::int64_t attention_room(const attention_sizes& s) {
    return attention_width(s) * (s.size + s.value_size + (s.masked ? 2 : 1) * attention_keys + 3);
}
inline std::int64_t attention_backward_room(const attention_sizes& s) {
    return attention_width(s) * (s.size + s.value_size + (s.masked ? 3 : 2) * attention_keys + 2);
}
template <class T> std::size_t attention_scratch(const attention_sizes& s, int threads) {
    return static_cast<std::size_t>(attention_room(s) * threads) * sizeof(T);
}
template <class T> std::size_t attention_backward_scratch(const attention_sizes& s, int threads) {
    return static_cast<std::size_t>(attention_backward_room(s) * threads) * sizeof(T);
}

/// Calls f(item, slot) once for each item, on up to `slots` threads of which each has a slot of its own.
template <class F> void for_items(thread_pool* pool, std::int64_t items, int slots, const F& f) {
    if (!pool || slots < 2 || items < 2) {
        for (std::int64_t i = 0; i < items; ++i) f(i, 0);
        return;
    }
    std::atomic<std::int64_t> next{0};
    const std::int64_t some = 16 * slots; // so that a step which is to stop does so soon
    for (std::int64_t begin = 0; begin < items; begin += some) {
        const std::int64_t end = std::min(items, begin + some);
        next = begin;
        pool->parallel_for(slots, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t slot = first; slot < last; ++slot)
                for (std::int64_t i = next++; i < end; i = next++) f(i, slot);
        });
    }
}

/// The problem cut into blocks of queries.
template <class T> struct attention_blocks_of {
    const attention_sizes& s;
    const attention_operands<T>& in;
    std::int64_t blocks = (s.queries + attention_queries - 1) / attention_queries; ///< of a head

    std::int64_t keys(std::int64_t batch) const { return in.lengths ? (*in.lengths)[batch] : s.keys; }
    // Heads are counted through all batches: where query `first` of one lies, and the keys that it reads.
    std::int64_t of_queries(const attention_steps& t, std::int64_t head, std::int64_t first) const {
        return head / s.heads * t.batch + head % s.heads * t.head + first * t.row;
    }
    std::int64_t of_keys(const attention_steps& t, std::int64_t head) const {
        return head / s.heads * t.batch + head % s.heads / (s.heads / s.key_heads) * t.head;
    }
    std::int64_t of_scores(const score_places& t, std::int64_t head, std::int64_t first) const {
        return t.begin(head / s.heads) + head % s.heads * t.head + first * t.row;
    }
    attention_block<T> block(std::int64_t head, std::int64_t number, T* scratch) const {
        const std::int64_t first = number * attention_queries;
        attention_block<T> b{};
        b.q = in.q + of_queries(s.q, head, first);
        b.k = in.k + of_keys(s.k, head);
        b.v = in.v + of_keys(s.v, head);
        b.scratch = scratch;
        b.first = first;
        b.rows = std::min(attention_queries, s.queries - first);
        b.width = attention_width(s);
        b.keys = keys(head / s.heads);
        if (s.causal) b.keys = std::min(b.keys, first + b.rows);
        if (!s.masked) return b;
        b.mask = in.mask + of_scores(*in.mask_at, head, first);
        b.mask_row = in.mask_at->row;
        b.mask_key = in.mask_at->key;
        return b;
    }
};

template <class T>
void attend(const attention_sizes& s, const attention_operands<T>& in, T* out, T* logs, std::byte* scratch, int threads,
            thread_pool* pool) {
    if (s.heads == 0 || s.queries == 0) return;
    const auto f = TENON_SIMD_BEST(attend_block<T>);
    const attention_blocks_of<T> all{s, in};
    for_items(pool, s.batch * s.heads * all.blocks, threads, [&](std::int64_t item, std::int64_t slot) {
        const std::int64_t head = item / all.blocks,
                           number = all.blocks - 1 - item % all.blocks; // causal: the longest first
        attention_block<T> b = all.block(head, number, reinterpret_cast<T*>(scratch) + slot * attention_room(s));
        if (out) b.out = out + all.of_queries(s.y, head, b.first);
        if (logs) b.logs = logs + head * s.queries + b.first;
        f(s, b);
    });
}

template <class T>
void attend_backward(const attention_sizes& s, const attention_operands<T>& in, const T* out, const T* logs,
                     const T* dout, const attention_results<T>& to, std::byte* scratch, int threads,
                     thread_pool* pool) {
    T *const dq = to.dq, *const dk = to.dk, *const dv = to.dv, *const dmask = to.dmask;
    const std::int64_t heads = s.batch * s.heads, key_heads = s.batch * s.key_heads;
    const auto clear = [](T* gradient, std::int64_t n) {
        if (gradient) std::fill_n(gradient, n, T(0));
    };
    const auto f = TENON_SIMD_BEST(attend_block_backward<T>);
    const attention_blocks_of<T> all{s, in};
    // Block `number` of a head with the keys from `first` to `end`: their gradients, and those of its queries.
    const auto add = [&](std::int64_t head, std::int64_t number, std::int64_t first, std::int64_t end, T* to_q, T* to_k,
                         T* to_v, T* to_mask, std::int64_t slot) {
        attention_block<T> b =
            all.block(head, number, reinterpret_cast<T*>(scratch) + slot * attention_backward_room(s));
        b.keys = std::min(b.keys, end);
        if (b.keys <= first) return;
        f(s, b,
          {out + all.of_queries(s.y, head, b.first), logs + head * s.queries + b.first,
           dout + all.of_queries(s.dy, head, b.first), to_q ? to_q + all.of_queries(s.dq, head, b.first) : nullptr,
           to_k ? to_k + all.of_keys(s.dk, head) : nullptr, to_v ? to_v + all.of_keys(s.dv, head) : nullptr,
           to_mask ? to_mask + all.of_scores(*to.dmask_at, head, b.first) : nullptr, to_mask ? to.dmask_at->row : 0},
          first);
    };
    clear(dq, heads * s.queries * s.size);
    clear(dk, key_heads * s.keys * s.size);
    clear(dv, key_heads * s.keys * s.value_size);
    clear(dmask, heads * s.queries * s.keys);
    if (heads == 0 || s.queries == 0 || s.keys == 0) return;
    const std::int64_t group = s.heads / s.key_heads, used = pool ? std::min<std::int64_t>(threads, pool->size()) : 1;
    // A key's gradient is a sum over the queries of its heads, a query's one over keys, both in their order. A head of keys for each
    // thread computes scores once; where that leaves threads idle for long, they are computed once more for blocks of keys.
    if ((key_heads + used - 1) / used * used * 5 <= key_heads * 7) {
        for_items(pool, key_heads, threads, [&](std::int64_t of, std::int64_t slot) {
            for (std::int64_t head = of * group; head < (of + 1) * group; ++head)
                for (std::int64_t number = 0; number < all.blocks; ++number)
                    add(head, number, 0, s.keys, dq, dk, dv, dmask, slot);
        });
        return;
    }
    if (dq || dmask)
        for_items(pool, heads * all.blocks, threads, [&](std::int64_t item, std::int64_t slot) {
            add(item / all.blocks, item % all.blocks, 0, s.keys, dq, nullptr, nullptr, dmask, slot);
        });
    const std::int64_t key_blocks = (s.keys + attention_keys - 1) / attention_keys;
    if (dk || dv)
        for_items(pool, key_heads * key_blocks, threads, [&](std::int64_t item, std::int64_t slot) {
            const std::int64_t of = item / key_blocks, first = item % key_blocks * attention_keys;
            for (std::int64_t head = of * group; head < (of + 1) * group; ++head)
                for (std::int64_t number = 0; number < all.blocks; ++number)
                    add(head, number, first, first + attention_keys, nullptr, dk, dv, nullptr, slot);
        });
}

#if !TENON_HEADER_ONLY
#define TENON_ATTENTION_INSTANCES(T)                                                                           \
    template std::size_t attention_scratch<T>(const attention_sizes&, int);                                    \
    template std::size_t attention_backward_scratch<T>(const attention_sizes&, int);                           \
    template void attend<T>(const attention_sizes&, const attention_operands<T>&, T*, T*, std::byte*, int,     \
                            thread_pool*);                                                                     \
    template void attend_backward<T>(const attention_sizes&, const attention_operands<T>&, const T*, const T*, \
                                     const T*, const attention_results<T>&, std::byte*, int, thread_pool*);
TENON_ATTENTION_INSTANCES(float)
TENON_ATTENTION_INSTANCES(double)
#undef TENON_ATTENTION_INSTANCES
#endif

} // namespace tenon::detail
