// links: tenon::net
// A server in this program, and a session on it: what the graph computes is computed there.
//
//     Hello distributed Tenon!
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>
#include <string>

namespace tn = tenon;

int main() {
    const auto hello = tn::constant(std::string("Hello distributed Tenon!"));
    const auto server = tn::server::create_local_server();
    tn::session sess(server.target());
    std::printf("%s\n", sess.run(hello).item().c_str());
    return 0;
}
