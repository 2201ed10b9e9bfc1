#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <net/rpc/asking.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/simulated/simulated.hpp>
#include <tenon/concurrency/thread_pool.hpp>

namespace net_test {

/// A cluster of tasks on hosts of their own, and a client; all of it runs on this thread, under simulated time.
struct simulated_cluster {
    /// `with_test`: the test is a task of it too (played_task).
    explicit simulated_cluster(int tasks = 1, const std::function<void(tenon::net::server_settings&)>& more = {},
                               bool with_test = false) :
        settings(more) {
        std::vector<std::string> at;
        for (int i = 0; i < tasks; ++i) at.push_back("host" + std::to_string(i) + ":1000");
        described =
            with_test ? tenon::cluster({{"worker", at}, {"test", {"client:1000"}}}) : tenon::cluster({{"worker", at}});
        for (int i = 0; i < tasks; ++i) {
            servers.emplace_back();
            start(i);
        }
    }
    void start(int task) {
        tenon::net::server_settings s{.tasks = described, .job = "worker", .task = task, .pool = &pool};
        if (settings) settings(s);
        servers[static_cast<std::size_t>(task)] =
            std::make_unique<tenon::net::server_core>(network.start("host" + std::to_string(task)), std::move(s));
    }
    tenon::net::peer_options dial(int task = 0) {
        tenon::net::peer_options o{.address = "host" + std::to_string(task) + ":1000"};
        o.self.incarnation = client.random_number();
        tenon::net::speak_calls(o);
        return o;
    }
    tenon::net::time_point in(tenon::net::duration d) const { return network.now() + d; }

    const std::function<void(tenon::net::server_settings&)> settings;
    tenon::cluster described;
    tenon::thread_pool pool{1};
    tenon::net::simulated_network network{1};
    tenon::net::transport& client = network.start("client");
    std::vector<std::unique_ptr<tenon::net::server_core>> servers;
};

/// The client as the task /job:test/task:0, which its address answers for: it may call what tasks do.
class played_task final : private tenon::net::service_handler {
public:
    explicit played_task(simulated_cluster& of) : of_(of) {
        tenon::net::service_options o;
        o.self.job = "test";
        o.self.incarnation = of.client.random_number();
        self_ = o.self;
        service_ = tenon::net::service::make(of.client, std::move(o), *this);
        (void)service_->listen("client:1000");
    }
    tenon::net::peer_options dial(int task = 0) const {
        tenon::net::peer_options o = of_.dial(task);
        o.self = self_;
        return o;
    }

private:
    void called(tenon::net::link_number, std::uint8_t, tenon::net::bytes, std::vector<tenon::any_array>,
                tenon::net::time_point, tenon::net::replier&&) override {}

    simulated_cluster& of_;
    tenon::net::identity self_;
    std::unique_ptr<tenon::net::service> service_;
};

} // namespace net_test
