#include "random_graphs/wire_session.hpp"

#include <algorithm>
#include <string>

#include <net/wire/graph_codec.hpp>
#include <net/wire/program_codec.hpp>
#include <tenon/runtime/body/plan_body.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/distributed/distributed_step.hpp>
#include <tenon/runtime/place/place.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/task_programs.hpp>
#include <tenon/runtime/session/task_state.hpp>

namespace tn = tenon;
namespace net = tenon::net;
namespace rt = tenon::runtime;

namespace random_graphs {

namespace {

void require(bool good, const char* what) {
    if (!good) throw tn::internal_error(what);
}

tn::graph sent(const tn::graph& g) {
    net::graph_mark none, all;
    net::packed p = net::encode_nodes(g, none, all);
    tn::graph copy;
    net::append_nodes(copy, p);
    require(tn::to_json(copy) == tn::to_json(g), "a graph that was read from bytes is not the one that was written");
    return copy;
}

// What was written is read; what is read is written as it was, but for numbers of nodes, which are its own.
net::program_part sent(const rt::program& p, std::size_t devices, std::size_t& bytes) {
    net::packed written = net::encode_program(p);
    bytes += written.size();
    require(net::hash_of(written) == net::hash_of(net::encode_program(p)), "a part is written in two ways");
    net::program_part part = net::decode_program(written, static_cast<int>(devices));
    net::packed again = net::encode_program(part.program);
    const net::program_hash hash = net::hash_of(again);
    const net::program_part once_more = net::decode_program(again, static_cast<int>(devices));
    require(net::hash_of(net::encode_program(once_more.program)) == hash, "a part that was read is written otherwise");
    return part;
}

} // namespace

struct wire_session::state {
    state(const tn::graph& g, const tn::session_options& o) : graph(sent(g)), options(o) {
        constexpr std::size_t plenty = std::size_t{64} << 20;
        const tn::task_options first{.intra_op_threads = 2, .job = "worker", .index = 0};
        const tn::task_options second{
            .intra_op_threads = 2, .gpus = tn::simulated_gpu(1, plenty), .job = "worker", .index = 1};
        for (const tn::task_options& t : {first, second}) {
            tasks.push_back(std::make_unique<tn::detail::task_state>(t, nullptr, "task_options"));
            rt::task_devices of;
            for (const auto& d : tasks.back()->devices) {
                of.devices.push_back(static_cast<int>(devices.size()));
                devices.push_back(d.get());
                descriptions.push_back(d->attributes());
            }
            devices_of.push_back(std::move(of));
        }
        placer = std::make_unique<rt::placer>(descriptions, o.allow_soft_placement,
                                              tn::shared_function<void(const std::string&)>(), devices[0]->full_name());
    }

    rt::plan_options planning() const {
        rt::plan_options o{.threads = tasks[0]->pool->size(), .plan_body = &rt::plan_body};
        o.side_by_side = o.threads;
        o.fold = options.fold_constants;
        o.fuse = options.fuse;
        o.graph_seed = graph.seed();
        o.session_container = "by_wire";
        o.set_devices(devices);
        return o;
    }

    tn::graph graph;
    tn::session_options options;
    std::vector<std::unique_ptr<tn::detail::task_state>> tasks;
    std::vector<tn::device*> devices;
    std::vector<tn::device_attributes> descriptions;
    std::vector<rt::task_devices> devices_of;
    std::unique_ptr<rt::placer> placer;
};

wire_session::wire_session(const tn::graph& g, const tn::session_options& o) : state_(new state(g, o)) {}
wire_session::~wire_session() = default;

std::vector<tn::any_array> wire_session::run_untyped(std::vector<tn::fed_value> feeds,
                                                     const std::vector<tn::any_tensor>& fetches,
                                                     const std::vector<tn::operation>& targets) {
    const state& s = *state_;
    rt::request r;
    std::vector<const tn::any_array*> fed;
    for (const tn::fed_value& f : feeds) {
        const std::string why = tn::misfit(f.value.type(), f.tensor.type());
        if (!why.empty()) throw tn::invalid_argument_error("feed of " + f.tensor.name() + ": " + why);
        const tn::node_output there{s.graph.at(f.tensor.node()->number), f.tensor.index()};
        if (std::find(r.feeds.begin(), r.feeds.end(), there) != r.feeds.end())
            throw tn::invalid_argument_error(f.tensor.name() + " is fed twice");
        r.feeds.push_back(there);
        r.feed_types.push_back(f.value.type());
        fed.push_back(&f.value);
    }
    for (const tn::any_tensor& t : fetches) r.fetches.push_back({s.graph.at(t.node()->number), t.index()});
    for (const tn::operation& o : targets) r.targets.push_back(s.graph.at(o.node()->number));

    const rt::plan_options o = s.planning();
    rt::program whole = rt::prune(r);
    rt::place(whole, o, *s.placer, nullptr);
    rt::task_programs cut = rt::cut_by_task(whole, s.devices_of, o);

    std::vector<net::program_part> parts; // outlive their plans
    std::unique_ptr<rt::subgraph> first;
    std::vector<std::unique_ptr<rt::task_subgraph>> plans;
    std::vector<std::unique_ptr<rt::task_run>> others;
    std::string changes; // what the first does
    for (std::size_t t = 0; t < s.tasks.size(); ++t) {
        if (t > 0 && cut.programs[t].items.empty()) continue;
        rt::plan_options own = o;
        std::vector<tn::device*> devices;
        for (const auto& d : s.tasks[t]->devices) devices.push_back(d.get());
        own.set_devices(devices);
        parts.push_back(sent(cut.programs[t], own.devices.size(), bytes_));
        if (t == 0) {
            changes = rt::task_changed_by(parts.back().program, own);
            first = std::make_unique<rt::subgraph>(std::move(parts.back().program), own, true);
            continue;
        }
        plans.push_back(rt::make_local_subgraph(std::move(parts.back().program), own, *s.tasks[t]->pool));
        others.push_back(plans.back()->make_step());
    }
    tn::step in;
    in.pool = s.tasks[0]->pool;
    const rt::run_environment e{&in, nullptr, nullptr};
    rt::steps_in_flight among;
    rt::distributed_step step(*first, std::move(others), rt::make_local_rendezvous(cut.edges.size()), changes);
    std::vector<tn::any_array> fetched(fetches.size() + 1);
    step.run(fed.data(), fetched.data(), e, among);
    fetched.pop_back();
    return fetched;
}

} // namespace random_graphs
