// A worker that asks the parameter server, which `tenon serve` runs, for each op of the library: a graph that one process makes
// another must be able to run.
//
//   ops FOLDER     where files may be, of both
#include <cstdio>
#include <fstream>
#include <string>

#include <net/client/client.hpp>
#include <net/rpc/asking.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/input.hpp>
#include <tenon/net/net.hpp>

#include "own_graph.hpp"

namespace tn = tenon;
namespace net = tenon::net;

namespace {

// What the server says to a graph of one node, which is of this op and has nothing that an op needs.
std::string said_of(net::peer& to, const net::time_point& until, std::uint64_t session, const std::string& op) {
    net::value_writer nodes;
    nodes.number(std::uint8_t{1}); // docs/protocol.md, "Nodes of a graph"
    nodes.number(std::int64_t{0});
    nodes.number(std::uint64_t{0});
    nodes.number(std::uint32_t{1});
    nodes.text("x");
    nodes.text(op);
    for (int i = 0; i < 64; ++i) nodes.number(std::uint8_t{0}); // no attributes, inputs, outputs, ..
    net::extend_graph c{.session = session, .nodes = nodes.take_packed()};
    try {
        (void)net::ask(to, c, until);
        return "taken";
    } catch (const tn::error& e) {
        return e.what();
    }
}

int check_names(const std::string& address) {
    net::dialed_server s = net::dial_as_client(address);
    const auto to = net::peer::make(*s.over, std::move(s.to));
    const net::time_point until = s.over->now() + std::chrono::seconds(60);
    net::open_session c;
    c.settings.device_filters = {tn::device_name("/job:ps")};
    const std::uint64_t session = net::ask(*to, c, until).session;
    int unknown = 0;
    const auto is_known = [&](const std::string& op) {
        return said_of(*to, until, session, op).find("op \"" + op + "\" is not known") == std::string::npos;
    };
    const auto all = tn::all_ops();
    for (const tn::op_definition* op : all)
        if (!is_known(op->name)) std::printf("tenon serve does not know the op %s\n", op->name), ++unknown;
    if (is_known("an op that there is not")) std::printf("who knows all names is not asked right\n"), ++unknown;
    to->close();
    std::printf("asked for %zu ops\n", all.size());
    return unknown;
}

// Ops of input as they are used.
template <class F> int check(const char* what, F f) {
    try {
        const own_graph g;
        if (f(g)) return 0;
        std::printf("%s: another value\n", what);
    } catch (const tn::error& e) {
        std::printf("%s: %s: %s\n", what, tn::name_of(e.code()), e.what());
    }
    return 1;
}

} // namespace

int main(int, char** argv) {
    const tn::net::cluster_source place = tn::net::resolve_cluster({});
    const std::string address = place.tasks.address("ps", 0);
    const auto open = [&](const tn::graph& g) {
        return tn::session("tenon://" + address, g, {.operation_timeout = 20, .device_filters = {"/job:ps"}});
    };
    int wrong = check_names(address);
    wrong += check("decode_csv", [&](const tn::graph& g) {
        const auto [a, b] = tn::decode_csv(tn::constant("1.,44"), 5.0f, 7);
        tn::session s = open(g);
        const auto [x, y] = s.run(a, b);
        return x() == 1.0f && y() == 44;
    });
    const std::string lines = std::string(argv[1]) + "/lines.txt";
    std::ofstream(lines) << "one\ntwo\n";
    wrong += check("text_line_reader", [&](const tn::graph& g) {
        const tn::fifo_queue<std::string> names(4, {.shared_name = "names"});
        const tn::text_line_reader reader;
        const auto [key, value] = reader.read(names);
        tn::session s = open(g);
        s.run(names.enqueue(lines));
        return s.run(value)() == "one";
    });
    return wrong != 0;
}
