#include "op_table/table.hpp"

#include <tenon/ops/state/row_cache.hpp>

// Caches of rows: what they give depends on what was looked up before.

namespace op_table {
namespace {

const std::string elsewhere = "ops/state/row_cache.cpp";

entry of_row_cache(const char* op) {
    return {
        .op = op, .no_gradient = "none flows through what is known of a cache", .cpu_only = true, .apart = elsewhere};
}

const add_entries caches{of_row_cache("row_cache"),
                         of_row_cache("row_cache_find"),
                         {.op = "row_cache_complete", .elements = numeric, .cpu_only = true, .apart = elsewhere},
                         {.op = "row_cache_change", .elements = floating, .cpu_only = true, .apart = elsewhere},
                         of_row_cache("row_cache_counts"),
                         of_row_cache("row_cache_clear")};

} // namespace
} // namespace op_table
