#pragma once

#include <cstddef>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/ops/rows/attention_sizes.hpp>
#include <tenon/ops/rows/rows.hpp>

/// The CPU's attention, a block of queries with a block of keys at a time: no matrix of all scores is made. (T. Dao et al.,
/// FlashAttention, NeurIPS 2022; M. Milakov, N. Gimelshein, Online normalizer calculation for softmax, 2018.) Blocks lie with the
/// queries in lanes, so that what softmax needs of a row is found without sums across lanes. T is float or double. The bits of results
/// do not depend on the number of threads.

namespace tenon::detail {

/// Pointers to [batch, heads, queries, size], [batch, key_heads, keys, size], [batch, key_heads, keys, value_size] and so on, which lie
/// as attention_sizes says.
template <class T> struct attention_operands {
    const T *q, *k, *v;
    const label_list* lengths; ///< of [batch]: how many keys count, 0 .. keys; nullptr: all
};

/// Bytes of scratch memory for so many threads.
template <class T> std::size_t attention_scratch(const attention_sizes& s, int threads);
template <class T> std::size_t attention_backward_scratch(const attention_sizes& s, int threads);

/// out[.., i, .] = sum over j of p[i, j] v[j, .], logs[.., i] = ln(sum over j of e^x[i, j]), with x = scale q k^T and
/// p = e^(x - logs), over the keys that query i sees; where it sees none 0 and -inf. Either result may be null.
template <class T>
void attend(const attention_sizes& s, const attention_operands<T>& in, T* out, T* logs, std::byte* scratch, int threads,
            thread_pool* pool);
/// The gradients of q, k and v. Any may be null.
template <class T>
void attend_backward(const attention_sizes& s, const attention_operands<T>& in, const T* out, const T* logs,
                     const T* dout, T* dq, T* dk, T* dv, std::byte* scratch, int threads, thread_pool* pool);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/ops/rows/attention_blocks.ipp>
#endif
