#pragma once

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// Which value of a variable each item reads: what was there before the step's updates, unless the item was made to run
/// after one, or after what runs after it (SEMANTICS 15, 20); then what the latest of those left. The current value that an
/// update is computed of is what the updates before it left. From here on it is the value that says so, not who reads it
/// when, so a rewrite may move a read to another item. The last part of prune.
void resolve_reads(program& p);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/rewrite/reads.ipp>
#endif
