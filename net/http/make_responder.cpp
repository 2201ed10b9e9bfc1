#include <utility>

#include <net/http/respond.hpp>
#include <tenon/core/error.hpp>

// Programs that are linked by hand need not link cpp-httplib: who links it says so by the symbol tenon_http_linked, as CMake and
// pkg-config do.

namespace tenon::net {

namespace {

std::unique_ptr<responder> (*make_it)(responder::handler) = nullptr;

} // namespace

void register_responder(std::unique_ptr<responder> (*make)(responder::handler)) noexcept { make_it = make; }

std::unique_ptr<responder> responder::make(handler h) {
    if (make_it) return make_it(std::move(h));
    throw unimplemented_error(
        "this program is without cpp-httplib, by which tenon::net serves HTTP: install it "
        "(Debian: libcpp-httplib-dev), build tenon::net with it, and link by CMake or pkg-config "
        "(-Wl,-u,tenon_http_linked), or do without http (server_options::http, TENON_HTTP, tenon serve --http)");
}

} // namespace tenon::net
