#include <net/http/respond.hpp>
#include <tenon/core/error.hpp>

// In place of respond.cpp where there is no cpp-httplib.

namespace tenon::net {

std::unique_ptr<responder> responder::make(handler) {
    throw unimplemented_error("this tenon::net was built without cpp-httplib, by which it serves HTTP: install it "
                              "(Debian: libcpp-httplib-dev) and build "
                              "again, or do without http (server_options::http, TENON_HTTP, tenon serve --http)");
}

} // namespace tenon::net
