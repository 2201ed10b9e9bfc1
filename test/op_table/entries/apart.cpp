#include "op_table/table.hpp"

#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/ops/collective/collective.hpp>
#include <tenon/ops/collective/device_collective.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/ops/image/decode_image.hpp>
#include <tenon/ops/input/decode.hpp>
#include <tenon/ops/input/files.hpp>
#include <tenon/ops/input/iterator.hpp>
#include <tenon/ops/input/parse_example.hpp>
#include <tenon/ops/input/reader.hpp>
#include <tenon/ops/queue/queue.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/shape/selection.hpp>
#include <tenon/ops/state/accumulator.hpp>
#include <tenon/ops/state/lease.hpp>
#include <tenon/ops/state/row_cache.hpp>
#include <tenon/ops/state/step_ledger.hpp>
#include <tenon/ops/text/strings.hpp>

// Ops without samples: what they give is no function of numbers that are fed, or its sizes are none of the operands'. Where they are tested.

namespace op_table {
namespace {

struct tested_in {
    /// `no_gradient` "": one flows.
    tested_in(const std::string& where, const std::string& no_gradient, std::initializer_list<const char*> ops,
              element_types elements = fixed_size_elements, bool cpu_only = true) {
        for (const char* op : ops)
            const add_entries one{entry{
                .op = op, .elements = elements, .no_gradient = no_gradient, .cpu_only = cpu_only, .apart = where}};
    }
};

const std::string of_plans = "made of graphs that are differentiated already";
const std::string selection = "ops/shape/selection.cpp, ops/shape/selection_steps.cpp";
const element_types strings = element_types{}.with(element_type::string),
                    whole = element_types{}.with(element_type::int32).with(element_type::int64);

const tested_in all[]{
    // Between tasks, processes and devices.
    {"runtime/session/tasks.cpp", of_plans, {"send", "receive"}},
    {"net/worker/values.cpp", of_plans, {"convert"}, floating},
    {"net/collective/training.cpp", of_plans, {"collective"}},
    {"cuda/processes.cpp", of_plans, {"device_collective"}, floating},
    {"cuda/processes.cpp", of_plans, {"device_collective_start", "device_collective_done"}, floating, false},
    {"train/replicated/all_reduce.cpp",
     "they sum gradients",
     {"all_reduce", "all_reduced"},
     fixed_size_elements,
     false},
    // What steps before have put there, or a program, a file or a clock.
    {"ops/queue/queue.cpp",
     "none flows through a queue",
     {"queue", "enqueue", "enqueue_many", "dequeue", "dequeue_many", "dequeue_up_to", "dequeue_some", "queue_size",
      "queue_is_closed", "queue_close"}},
    {"ops/state/accumulator.cpp",
     "none flows through an accumulator",
     {"accumulator", "accumulator_apply", "accumulator_take", "accumulator_state", "accumulator_set_step",
      "accumulator_deposit", "accumulator_average"}},
    {"ops/state/lease.cpp", "none flows through a lease", {"lease", "claim_lease"}},
    {"ops/state/row_cache.cpp",
     "none flows through what is known of a cache",
     {"row_cache", "row_cache_find", "row_cache_counts", "row_cache_clear"}},
    {"ops/state/row_cache.cpp", "", {"row_cache_complete"}, numeric},
    {"ops/state/row_cache.cpp", "", {"row_cache_change"}, floating},
    {"train/replicated/sync_replicas.cpp",
     "none flows through a ledger",
     {"step_ledger", "ledger_begin", "ledger_join", "ledger_commit", "ledger_await", "ledger_apply", "ledger_advance",
      "ledger_leave", "ledger_discard", "ledger_pause", "ledger_state", "ledger_attend"}},
    {"data/iterator.cpp",
     "none flows through a data set",
     {"iterator", "iterator_initialize", "iterator_get_next", "iterator_next_of", "iterator_handle", "iterator_save",
      "iterator_restore", "iterator_report"}},
    {"ops/input/reader.cpp",
     "none flows through a reader",
     {"reader", "reader_read", "reader_read_up_to", "reader_reset", "reader_count"}},
    {"ops/input/files.cpp",
     "none flows through a file",
     {"read_file", "write_file", "remove_files", "list_files", "claim_file", "save_shard", "restore_shard"}},
    // Texts, and what they hold.
    {"ops/input/parse_example.cpp", "none flows through a text", {"parse_example"}},
    {"ops/image/decode_image.cpp", "none flows through a text", {"decode_image", "encode_png", "encode_jpeg"}},
    {"ops/input/decode.cpp", "of texts", {"decode_csv", "decode_json"}, all_elements},
    {"ops/input/decode.cpp", "of texts", {"decode_raw"}},
    {"ops/text/strings.cpp",
     "of texts",
     {"string_strip", "string_lower", "string_upper", "string_length", "substr", "regex_replace", "to_hash_bucket",
      "string_equal", "string_where", "string_join", "string_split"},
     strings},
    {"ops/text/strings.cpp", "of texts", {"to_number"}},
    // Rows that go to parts of a variable, and elements that their values choose.
    {"ops/shape/partition.cpp", "indices", {"route_indices"}},
    {"ops/shape/partition.cpp", "", {"route_rows", "join_rows"}, all_elements},
    {selection, "", {"boolean_mask"}, all_elements},
    {selection + ", cuda/ops/shape/selection.cpp", "", {"boolean_mask_gradient"}, numeric, false},
    {selection, "indices", {"nonzero"}},
    {selection, "indices", {"arange_to"}, whole},
    {selection, "indices, and elements of which others may be equal", {"unique"}, all_elements},
};

} // namespace
} // namespace op_table
