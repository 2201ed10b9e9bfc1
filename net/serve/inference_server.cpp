#include <net/http/place.hpp>
#include <net/http/request_loop.hpp>
#include <net/serve/inference_site.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/net/serving.hpp>

namespace tenon::net {

namespace {

http_options place_of(const inference_options& o) {
    return {.where = o.where,
            .said_by = "inference_options::where",
            .token = o.token,
            .tls = {o.tls.certificate_chain, o.tls.private_key, {}},
            .insecure = o.insecure};
}

request_limits limits_of(const inference_options& o) {
    if (!(o.request_timeout > 0 && o.request_timeout <= 1e6))
        throw invalid_argument_error("inference_options::request_timeout is " +
                                     tenon::detail::text_of_number(o.request_timeout) + "; give seconds, up to 1e6");
    if (o.connections == 0 || o.body_bytes == 0)
        throw invalid_argument_error("inference_options: connections and body_bytes must not be 0");
    request_limits l;
    l.connections = o.connections;
    l.body_bytes = o.body_bytes;
    l.all_body_bytes = std::max(o.body_bytes, o.all_body_bytes);
    // The model says that a request is late; this is for one that does not even say so.
    l.to_answer = std::chrono::milliseconds(static_cast<std::int64_t>(o.request_timeout * 1e3) + 5000);
    return l;
}

} // namespace

struct inference_server::state {
    explicit state(const inference_options& o) :
        scheme(o.tls.certificate_chain.empty() ? "http://" : "https://"),
        waker(request_loop::make_waker()),
        site(models, {o.token, o.request_timeout}, [w = waker](std::uint64_t request) { w->wake(request); }) {
        const http_options place = place_of(o);
        try {
            loop.emplace(http_address(place), o.tls.certificate_chain.empty() ? nullptr : make_tls_context(place.tls),
                         limits_of(o), waker,
                         [this](received_request& r, bool is_last) { return site.answer(r, is_last); });
        } catch (const unavailable_error& e) {
            throw unavailable_error("inference_options::where=\"" + o.where + "\": " + e.what() +
                                    "; port 0 is any that is free");
        }
    }

    model_table models;
    const std::string scheme;
    const std::shared_ptr<request_loop::waker> waker;
    inference_site site;
    std::optional<request_loop> loop;
};

inference_server::inference_server(const inference_options& o) : state_(std::make_unique<state>(o)) {}
inference_server::~inference_server() = default;
inference_server::inference_server(inference_server&&) noexcept = default;
inference_server& inference_server::operator=(inference_server&&) noexcept = default;

void inference_server::add(const any_served_model& m) {
    if (m) check_path_name(m);
    state_->models.add(m);
}
void inference_server::remove(const std::string& model) { state_->models.remove(model); }
std::string inference_server::url() const { return state_->scheme + address(); }
const std::string& inference_server::address() const { return state_->loop->address(); }

} // namespace tenon::net
