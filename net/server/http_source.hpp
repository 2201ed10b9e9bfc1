#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <net/http/status/facts.hpp>
#include <net/server/server_core.hpp>

namespace tenon::net {

/// What a server tells by HTTP.
class http_source final : public http_facts {
public:
    http_source(transport& t, server_core& of) : transport_(t), of_(of) {}

    task_row own() override { return of_.status(); }
    task_totals totals() override { return of_.totals(); }
    void ask_all(std::function<void(std::vector<task_row>)> then) override {
        of_.ask_all(true, transport_.now() + std::chrono::seconds(1), std::move(then));
    }
    std::string why_not_ready() override { return of_.why_not_ready(); }
    bool is_stopping() override { return of_.is_stopping(); }
    std::vector<std::pair<std::string, serving_metrics>> served() override {
        std::vector<std::pair<std::string, serving_metrics>> all;
        for (const any_served_model& m : of_.models().all()) all.emplace_back(m.signature().name, m.metrics());
        return all;
    }

private:
    transport& transport_;
    server_core& of_;
};

} // namespace tenon::net
