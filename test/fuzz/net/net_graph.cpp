// Appends any bytes to a graph that has a few nodes: what is refused leaves it as it was; what is appended is a graph, which is
// written and read again, and is the same.
// covers: net/wire/graph_codec net/wire/values graph/graph

#include "net_packed.hpp"

#include <net/wire/graph_codec.hpp>
#include <tenon/tenon.hpp>

void try_input(const fuzz::input& in) {
    using namespace tenon;
    using namespace tenon::net;
    net::packed input = fuzz::packed_of(in.bytes());
    const graph g;
    if (in.size() % 2) { // so that numbers of nodes that are there can be met
        const graph_scope scope(g);
        (void)placeholder<float, shape<2>>("there");
    }
    const std::int64_t before = g.size();
    graph_mark none, all;
    if (!fuzz::is_taken([&] { append_nodes(g, input, {.nodes = 1 << 16}); })) {
        if (g.size() != before || !g.collections().empty()) fuzz::stop("a graph was changed by what was refused");
        return;
    }
    const net::packed written = encode_nodes(g, none, all);
    net::packed copy = written.share();
    const graph again;
    append_nodes(again, copy);
    if (!fuzz::same(written, encode_nodes(again, none, all)))
        fuzz::stop("a graph that was read is not the one that was written");
}
