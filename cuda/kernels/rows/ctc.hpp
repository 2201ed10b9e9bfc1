#pragma once

#include <cstdint>

#include <cuda/kernels/shape/indices.hpp>
#include <tenon/core/element_type.hpp>

/// The CTC loss of sequences and its gradient (tenon/ops/rows/ctc.hpp), all in double; a block a sequence.

namespace tenon::cuda {

struct ctc_sizes {
    std::int64_t batch, time, classes, most, blank;
    constexpr std::int64_t states() const { return 2 * most + 1; }
    /// Doubles of working memory of a sequence: what begins, the probabilities of steps, two rows of what follows and one of the states.
    constexpr std::int64_t doubles() const { return time * (states() + classes) + 3 * states(); }
};

/// What is wrong with the first sequence that cannot be read, where there is one: 1: its times, 2: its length, 3: label number `label`.
struct ctc_fault {
    std::int64_t sequence, what, value, label;
};

/// refused[s] = whether sequence s cannot be read; *first (memory of the host that the device reaches) says why not of the first.
void check_sequences(const ctc_sizes& s, const index_list& labels, const index_list& times, const index_list& lengths,
                     std::int32_t* refused, ctc_fault* first, void* stream);
/// loss [batch] and dx [batch, time, classes], of which either may be null; NaN of a sequence that is refused.
void ctc_loss(tenon::element_type e, const ctc_sizes& s, const void* logits, const index_list& labels,
              const index_list& times, const index_list& lengths, const std::int32_t* refused, void* loss, void* dx,
              double* scratch, void* stream);

} // namespace tenon::cuda
