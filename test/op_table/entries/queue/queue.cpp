#include "op_table/table.hpp"

#include <tenon/ops/queue/queue.hpp>

// Queues: what they give is what other steps put in, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_queue(const char* op) {
    return {.op = op, .no_gradient = "none flows through a queue", .cpu_only = true, .apart = "ops/queue/queue.cpp"};
}

const add_entries queues{of_queue("queue"),        of_queue("enqueue"),      of_queue("enqueue_many"),
                         of_queue("dequeue"),      of_queue("dequeue_many"), of_queue("dequeue_up_to"),
                         of_queue("dequeue_some"), of_queue("queue_size"),   of_queue("queue_is_closed"),
                         of_queue("queue_close")};

} // namespace
} // namespace op_table
