// A user's program that starts a server and opens a session on it, by its address alone.
#include <tenon/net/server.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>

int main() {
    const auto server = tenon::server::create_local_server();
    const auto x = tenon::placeholder<float, tenon::shape<2>>("x");
    const auto y = x + 1.0f;

    tenon::session sess(server.target());
    const auto value = sess.run(tenon::feed(x, {1.0f, 2.0f}), y);
    std::printf("%s gives %g and %g\n", server.target().c_str(), static_cast<double>(value(0)),
                static_cast<double>(value(1)));
    return value(0) == 2.0f && value(1) == 3.0f ? 0 : 1;
}
