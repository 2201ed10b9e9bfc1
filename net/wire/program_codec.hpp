#pragma once

#include <cstdint>
#include <vector>

#include <net/wire/rows.hpp>
#include <net/wire/values.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/runtime/plan/program.hpp>

/// The part of a step's program that one task runs, on its way there.

namespace tenon::net {

/// A part that was read. What its program points to lives in it: it outlives every plan that is made of the program.
struct program_part {
    graph nodes;                       ///< those that items and values refer to
    std::vector<std::int64_t> numbers; ///< of each of them: its number in the graph that the program is of
    size_names names;
    runtime::program program;
    std::vector<std::int64_t> sends, receives; ///< numbers of edges, from 0, each once; sorted

    std::int64_t number_of(const node& n) const { return numbers[static_cast<std::size_t>(n.number)]; }
};

/// Of a part as cut_by_task gives it: placed, and not yet cut into segments or rewritten. Equal parts give equal bytes. What was
/// bound or rewritten already is an internal_error.
packed encode_program(const runtime::program& p);

/// The reverse, for a task that has so many devices. Everything is checked: numbers, that what is computed comes before what
/// needs it, the rules of the nodes' and of the items' ops, the types that they give. data_loss_error for bytes that mean
/// nothing, invalid_argument_error, naming the node, for all else. Takes the arrays out of p.
program_part decode_program(packed& p, int devices);

/// SHA-256 of it, arrays included.
program_hash hash_of(const packed& p);

} // namespace tenon::net
