#include <atomic>

#include <net/client/client.hpp>
#include <net/rpc/asking.hpp>
#include <net/wire/calls.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/net/serving.hpp>

namespace tenon::net {

namespace {

constexpr double open_seconds = 10, ready_seconds = 1;

// A request that was sent; whoever asked may have gone by the time it is answered. It is let go of by threads of the link, which must not
// be the last that hold that: it holds none.
class sent_request final : public tenon::detail::asked_request {
public:
    explicit sent_request(const std::shared_ptr<peer>& to) : to_(to) {}
    void set_call(std::uint64_t call) noexcept { call_ = call; }
    void stop() noexcept override {
        try {
            const std::shared_ptr<peer> to = to_.lock();
            if (const std::uint64_t call = call_; to && call) to->cancel(call, seconds_of(seconds_longer));
        } catch (...) { // no memory: it goes on
        }
    }

private:
    const std::weak_ptr<peer> to_;
    std::atomic<std::uint64_t> call_{0};
};

class remote_model_state final : public tenon::detail::served_model_state {
public:
    remote_model_state(transport& t, peer_options to, const std::string& model) :
        transport_(t), server_(peer::make(t, std::move(to))), held_(std::make_shared<size_names>()) {
        describe_model::reply r = described(model, open_seconds);
        if (r.input_names.size() != r.inputs.size() || r.output_names.size() != r.outputs.size())
            throw data_loss_error("model '" + model + "' of " + server_->name() + " is described wrongly");
        *held_ = std::move(r.names);
        *version_ = r.version;
        signature_.name = model;
        signature_.largest_batch = r.largest_batch;
        signature_.names = held_;
        for (std::size_t i = 0; i < r.inputs.size(); ++i) signature_.inputs.push_back({r.input_names[i], r.inputs[i]});
        for (std::size_t i = 0; i < r.outputs.size(); ++i)
            signature_.outputs.push_back({r.output_names[i], r.outputs[i]});
    }
    ~remote_model_state() override { server_->close(); }

    const model_signature& signature() const override { return signature_; }

    std::shared_ptr<tenon::detail::asked_request> ask(std::uint64_t client, std::vector<any_array> inputs,
                                                      double seconds, bool,
                                                      tenon::shared_function<void(model_answer&&)> then) override {
        if (!(seconds >= 0))
            throw invalid_argument_error("model '" + signature_.name + "': a request's time limit is " +
                                         tenon::detail::text_of_number(seconds) + " s; give 0 for none");
        (void)tenon::detail::rows_of_request(signature_, inputs); // what does not fit is not sent
        const auto sent = std::make_shared<sent_request>(server_);
        ask_model c{.client = client, .model = signature_.name, .timeout = seconds, .inputs = std::move(inputs)};
        const call_time until{seconds > 0 ? transport_.now() + seconds_of(seconds) : never, seconds_of(seconds_longer)};
        sent->set_call(call(*server_, c, until, [then, held = held_, last = version_](answer a) {
            model_answer given;
            given.failure = thrown_by([&] {
                ask_model::reply r = read_answer<ask_model>(std::move(a));
                given.version = r.version;
                last->store(r.version, std::memory_order_relaxed);
                given.outputs = std::move(r.outputs);
            });
            then(std::move(given));
        }));
        return sent;
    }

    // Nobody waits for another process here: the version is that of the last answer.
    serving_metrics metrics() const override { return {.version = version_->load(std::memory_order_relaxed)}; }
    std::string why_not_ready() const override {
        try {
            return described(signature_.name, ready_seconds).why_not_ready;
        } catch (const error& e) {
            return e.what();
        }
    }

private:
    describe_model::reply described(const std::string& model, double seconds) const {
        return net::ask(*server_, describe_model{model}, transport_.now() + seconds_of(seconds));
    }

    transport& transport_;
    const std::shared_ptr<peer> server_;
    const std::shared_ptr<size_names> held_;
    const std::shared_ptr<std::atomic<std::int64_t>> version_ = std::make_shared<std::atomic<std::int64_t>>(0);
    model_signature signature_;
};

} // namespace

any_served_model remote_model(const std::string& target, const std::string& model) {
    constexpr std::string_view scheme = "tenon://";
    if (!target.starts_with(scheme))
        throw invalid_argument_error("remote_model: '" + target + "' is no target; write tenon://host:port");
    dialed_server s = dial_as_client(target.substr(scheme.size()));
    return any_served_model(std::make_shared<remote_model_state>(*s.over, std::move(s.to), model));
}

} // namespace tenon::net
