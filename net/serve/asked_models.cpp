#include <net/serve/asked_models.hpp>

#include <vector>

#include <net/rpc/answer.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

describe_model::reply described(const any_served_model& m) {
    const model_signature& s = m.signature();
    describe_model::reply r;
    for (const model_tensor& t : s.inputs) {
        r.input_names.push_back(t.name);
        r.inputs.push_back(t.type);
    }
    for (const model_tensor& t : s.outputs) {
        r.output_names.push_back(t.name);
        r.outputs.push_back(t.type);
    }
    r.largest_batch = s.largest_batch;
    r.version = m.metrics().version;
    r.why_not_ready = m.why_not_ready();
    return r;
}

// Clients of several links are several clients, whatever they call themselves; none is one of this process.
std::uint64_t number_of(link_number link, std::uint64_t client) {
    return (std::uint64_t{1} << 63) | ((link * 0x9e3779b97f4a7c15u) ^ client);
}

} // namespace

void asked_models::handle(dispatcher& calls) {
    calls.on<describe_model>([this](const call_context&, describe_model&& c) { return described(find(c.model)); });
    calls.on<ask_model>([this](const call_context& in, ask_model&& c, replier& to) { ask(in.link, std::move(c), to); });
}

any_served_model asked_models::find(const std::string& name) const {
    any_served_model found = models_.find(name);
    if (!found) throw not_found_error("no model '" + name + "' is served here; " + models_.named());
    return found;
}

void asked_models::ask(link_number client, ask_model&& c, replier& answer) {
    const any_served_model m = find(c.model);
    const std::pair key(client, answer.request());
    const auto to = std::make_shared<replier>(std::move(answer));
    {
        const std::lock_guard lock(requests_->guard);
        requests_->all.emplace(key, nullptr);
    }
    const auto then = [to, key, requests = requests_](model_answer&& a) {
        asked over; // ends after the lock
        {
            const std::lock_guard lock(requests->guard);
            if (const auto at = requests->all.find(key); at != requests->all.end()) {
                over = std::move(at->second);
                requests->all.erase(at);
            }
        }
        if (a.failure) fail(*to, a.failure);
        else {
            try {
                reply<ask_model>(*to, {a.version, std::move(a.outputs)});
            } catch (...) {
                fail(*to, std::current_exception());
            }
        }
    };
    try {
        asked r = m.state()->ask(number_of(client, c.client), std::move(c.inputs), c.timeout, false, then);
        const std::lock_guard lock(requests_->guard);
        const auto at = requests_->all.find(key);
        if (at != requests_->all.end()) at->second = std::move(r); // else it has been answered
    } catch (...) {
        {
            const std::lock_guard lock(requests_->guard);
            requests_->all.erase(key);
        }
        fail(*to, std::current_exception());
    }
}

void asked_models::cancelled(link_number client, std::uint64_t request) {
    asked r;
    {
        const std::lock_guard lock(requests_->guard);
        if (const auto at = requests_->all.find({client, request}); at != requests_->all.end()) r = at->second;
    }
    if (r) r->stop();
}

void asked_models::peer_lost(link_number client) {
    std::vector<asked> all;
    {
        const std::lock_guard lock(requests_->guard);
        for (auto at = requests_->all.lower_bound({client, 0}); at != requests_->all.end() && at->first.first == client;
             ++at)
            if (at->second) all.push_back(at->second);
    }
    for (const asked& r : all) r->stop();
}

} // namespace tenon::net
