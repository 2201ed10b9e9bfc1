// What another process traced, from any bytes: refused as what is no trace, or shown as JSON and as text.
// covers: net/wire/calls net/wire/values runtime/trace/trace runtime/trace/trace_record runtime/trace/trace_clocks runtime/trace/packed_rows

#include "net_packed.hpp"

#include <net/wire/calls.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/runtime/trace/trace.hpp>

void try_input(const fuzz::input& in) {
    using namespace tenon::net;
    packed input = fuzz::packed_of(in.bytes());
    message m{.body = std::move(input.body)};
    (void)fuzz::is_taken([&] {
        const run_part::reply r = read_reply<run_part>(m);
        tenon::trace t({.most_events = 1000, .most_text_bytes = 10'000});
        std::int64_t at = 0;
        for (const tenon::detail::trace_record& one : r.traces) t.add(one, "there", 1, at, at + 1000), at += 1000;
        (void)tenon::detail::parse_json(t.to_json(), "a trace");
        (void)t.to_text();
        tenon::trace again; // as a master passes it on
        again.add(t.record(0, at), "a master", 2, 0, at);
        if (again.size() != t.size()) fuzz::stop("a trace that is passed on is another one");
    });
}
