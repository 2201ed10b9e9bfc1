// Appends any bytes to a graph that has a few nodes: what is refused leaves it as it was; what is appended is a graph, which is
// written and read again, and is the same.
// covers: net/wire/graph_codec net/wire/values graph/graph

#include "net_packed.hpp"

#include <net/wire/graph_codec.hpp>
#include <tenon/tenon.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tenon;
    using namespace tenon::net;
    net::packed input = fuzz::packed_of(data, size);
    const graph g;
    if (size % 2) { // so that numbers of nodes that are there can be met
        const graph_scope in(g);
        (void)placeholder<float, shape<2>>("there");
    }
    const std::int64_t before = g.size();
    graph_mark none, all;
    if (!fuzz::is_read([&] { append_nodes(g, input, {.nodes = 1 << 16}); })) {
        if (g.size() != before || !g.collections().empty()) fuzz::stop("a graph was changed by what was refused");
        return 0;
    }
    const net::packed written = encode_nodes(g, none, all);
    net::packed copy = written.share();
    const graph again;
    append_nodes(again, copy);
    if (!fuzz::same(written, encode_nodes(again, none, all)))
        fuzz::stop("a graph that was read is not the one that was written");
    return 0;
}
