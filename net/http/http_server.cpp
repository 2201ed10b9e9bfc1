#include <net/http/http_server.hpp>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

// Of who asks no certificate is wanted, whatever the cluster's tasks show each other: a browser has none, and there is the token.
std::shared_ptr<tls_context> tls_of(const http_options& o) {
    if (o.tls.certificate_chain.empty()) return nullptr;
    return make_tls_context({o.tls.certificate_chain, o.tls.private_key, {}});
}

} // namespace

http_server::http_server(http_facts& of, const http_options& o, const request_limits& limits) :
    address_(http_address(o)),
    scheme_(o.tls.certificate_chain.empty() ? "http://" : "https://"),
    waker_(request_loop::make_waker()),
    site_(of, {o.token, !o.tls.certificate_chain.empty()}, [w = waker_] { w->wake_all(); }) {
    try {
        loop_.emplace(address_, tls_of(o), limits, waker_,
                      [this](received_request& r, bool is_last) { return site_.answer(r.head, is_last); });
    } catch (const unavailable_error& e) {
        throw unavailable_error(o.said_by + "=\"" + o.where + "\": " + e.what() +
                                "; port 0 is any that is free, of which the log tells");
    }
}

} // namespace tenon::net
