#pragma once

#include <cstddef>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/sizes/extents.hpp>
#include <tenon/ops/rows/attention_sizes.hpp>
#include <tenon/ops/rows/rows.hpp>

/// The CPU's attention, a block of queries with a block of keys at a time: no matrix of all scores is made. (T. Dao et al.,
/// FlashAttention, NeurIPS 2022; M. Milakov, N. Gimelshein, Online normalizer calculation for softmax, 2018.) Blocks lie with the
/// queries in lanes, so that what softmax needs of a row is found without sums across lanes. T is float or double. The bits of results
/// do not depend on the number of threads.

namespace tenon::detail {

/// A tensor that is added to scores [batch, heads, queries, keys], or its gradient: from one head, query and key to the next, in elements; 0
/// along what it has one of. The batch may be several dimensions.
struct score_places {
    std::int64_t head = 0, row = 0, key = 0;
    extents batch;
    index_list steps; ///< of the dimensions of the batch

    /// Where the first element of a sequence lies.
    std::int64_t begin(std::int64_t sequence) const {
        std::int64_t at = 0;
        for (int d = batch.rank(); d-- > 0; sequence /= batch[d].size) at += sequence % batch[d].size * steps[d];
        return at;
    }
};

/// Pointers to [batch, heads, queries, size], [batch, key_heads, keys, size], [batch, key_heads, keys, value_size] and so on, which lie
/// as attention_sizes says.
template <class T> struct attention_operands {
    const T *q, *k, *v;
    const label_list* lengths; ///< of [batch]: how many keys count, 0 .. keys; nullptr: all
    const T* mask = nullptr;   ///< where attention_sizes says so, at these places
    const score_places* mask_at = nullptr;
};
template <class T> struct attention_results {
    T *dq, *dk, *dv, *dmask; ///< any may be null
    const score_places* dmask_at;
};

/// Bytes of scratch memory for so many threads.
template <class T> std::size_t attention_scratch(const attention_sizes& s, int threads);
template <class T> std::size_t attention_backward_scratch(const attention_sizes& s, int threads);

/// out[.., i, .] = sum over j of p[i, j] v[j, .], logs[.., i] = ln(sum over j of e^x[i, j]), with x = scale q k^T + mask and
/// p = e^(x - logs), over the keys that query i sees; where it sees none 0 and -inf. Either result may be null.
template <class T>
void attend(const attention_sizes& s, const attention_operands<T>& in, T* out, T* logs, std::byte* scratch, int threads,
            thread_pool* pool);
/// The gradients of q, k, v and, of the sizes of scores, the mask.
template <class T>
void attend_backward(const attention_sizes& s, const attention_operands<T>& in, const T* out, const T* logs,
                     const T* dout, const attention_results<T>& to, std::byte* scratch, int threads, thread_pool* pool);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/ops/rows/attention_blocks.ipp>
#endif
