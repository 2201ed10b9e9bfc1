#include <net/worker/worker_state.hpp>

#include <algorithm>
#include <optional>

#include <net/rpc/answer.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/runtime/session/planning.hpp>

/// The parts of programs that a worker keeps.

namespace tenon::net {

// What was registered, without its program.
std::shared_ptr<worker::part> worker::make_part(const session& s, const register_part& m) const {
    auto p = std::make_shared<part>();
    p->number = m.part;
    p->memory = s.memory;
    p->hash = m.hash;
    p->graph_seed = m.graph_seed;
    constexpr std::int64_t most_edges = std::int64_t{1} << 24;
    if (m.edges < 0 || m.edges > most_edges)
        throw invalid_argument_error("register_part: a step has " + std::to_string(m.edges) + " edges");
    p->edges = std::make_shared<step_edges>(static_cast<std::size_t>(m.edges));
    for (const edge_row& e : m.routes) {
        if (e.edge < 0 || e.edge >= m.edges || e.task < 0 || e.task >= static_cast<std::int32_t>(s.tasks->tasks.size()))
            throw invalid_argument_error("register_part: edge " + std::to_string(e.edge) + " leads to task " +
                                         std::to_string(e.task) + ", and there are " + std::to_string(m.edges) +
                                         " edges and " + std::to_string(s.tasks->tasks.size()) + " tasks");
        if (!e.sends) {
            p->edges->memory.plan(e.edge);
            ++p->edges->arriving;
        } else if (s.tasks->tasks[static_cast<std::size_t>(e.task)].at) {
            p->edges->to[static_cast<std::size_t>(e.edge)] = e.task;
            p->receivers.push_back(e.task);
        }
        p->partners.push_back(e.task);
    }
    for (std::vector<int>* all : {&p->partners, &p->receivers}) {
        std::sort(all->begin(), all->end());
        all->erase(std::unique(all->begin(), all->end()), all->end());
    }
    return p;
}

void worker::enter(register_part&& m, replier&& answer) {
    const auto s = find(m.session);
    if (!s)
        throw_lost_task(error_code::aborted,
                        self_.name + " does not know this session; it has ended, or the server was restarted");
    const bool is_sent = m.has_program;
    const auto program = is_sent ? std::make_shared<const packed>(std::move(m.program)) : programs_.find(m.hash);
    std::shared_ptr<part> p = make_part(*s, m);
    std::exception_ptr refused;
    {
        const std::lock_guard lock(s->guard);
        if (s->ended) throw_lost_task(error_code::aborted, self_.name + ": the session of this part has ended");
        const auto [at, isnew] = s->parts.try_emplace(m.part, p);
        p = at->second;
        const std::lock_guard own(p->guard);
        if (p->source) throw already_exists_error("register_part: there is a part " + std::to_string(m.part));
        const std::size_t size = program ? program->size() : 0;
        if (s->parts.size() > limits_.parts || size > limits_.program_bytes - s->program_bytes) {
            refused = std::make_exception_ptr(
                resource_exhausted_error(self_.name + " holds " + std::to_string(s->parts.size() - 1) + " parts of " +
                                         std::to_string(s->program_bytes) + " bytes of this session; this one of " +
                                         std::to_string(size) + " bytes is too much"));
            s->parts.erase(at);
        } else {
            s->program_bytes += size;
            p->source = program;
        }
        if (program) p->asked.push_back(std::move(answer));
    }
    if (refused) {
        if (answer) fail(answer, refused);
        drop(*p, refused);
    } else if (program)
        turns_.submit(s->number, program->size() > long_program,
                      [this, token = busy_.enter(), s, p, is_sent] { make_plan(s, p, is_sent); });
    else reply<register_part>(answer, {});
}

void worker::forget_one(const forget_part& m) {
    const auto s = find(m.session);
    if (!s) return;
    std::shared_ptr<part> dropped;
    {
        const std::lock_guard lock(s->guard);
        const auto at = s->parts.find(m.part);
        if (at == s->parts.end()) return;
        dropped = std::move(at->second);
        s->parts.erase(at);
        const std::lock_guard own(dropped->guard);
        if (dropped->source) s->program_bytes -= dropped->source->size();
    }
    drop(*dropped, std::make_exception_ptr(aborted_error(self_.name + " was told to forget this part")));
}

// One whose program will not come: what waits for that ends.
void worker::drop(part& p, const std::exception_ptr& why) {
    std::vector<std::shared_ptr<running_part>> waiting;
    std::vector<replier> asked;
    {
        const std::lock_guard lock(p.guard);
        if (p.source) return; // its plan is there, or being made
        p.planned = true;
        p.failed = why;
        waiting.swap(p.waiting);
        asked.swap(p.asked);
    }
    for (replier& a : asked) fail(a, why);
    for (const auto& r : waiting) start(r);
}

namespace {

// About what a program takes here: its bytes, the nodes that they become, and the plan of those. Its large arrays are counted by
// themselves.
std::size_t size_of_plan(const packed& program) { return 12 * program.body.size(); }

// What the edges bring that nobody but ops reads which keep it has memory of its own each time, or they would have to copy it.
void leave_what_is_kept(const runtime::program& p, received_memory& of) {
    std::vector<bool> is_kept(p.values.size(), true);
    for (const runtime::program_item& i : p.items)
        for (const int v : i.inputs)
            if (!i.op->is(op_flags::keeps)) is_kept[static_cast<std::size_t>(v)] = false;
    for (const runtime::program_item& i : p.items)
        if (i.op == &definition_of<receive_op>() && !i.outputs.empty() &&
            is_kept[static_cast<std::size_t>(i.outputs[0])])
            of.leave(decode<receive_op::attributes>(i.attributes).edge);
}

} // namespace

// In the session's turn. `is_sent`: the program has just come.
void worker::make_plan(const std::shared_ptr<session>& s, const std::shared_ptr<part>& p, bool is_sent) {
    std::shared_ptr<const packed> source;
    {
        const std::lock_guard lock(p->guard);
        source = p->source;
    }
    std::shared_ptr<program_part> program;
    std::shared_ptr<runtime::task_subgraph> plan;
    std::exception_ptr failed;
    bool is_short = false;
    std::uint64_t epoch = 0;
    std::optional<denormal_scope> flushed; // what is folded is computed as in its steps
    if (s->options.flush_denormals) flushed.emplace(flushed_denormals);
    const payer_scope pays(s->memory.get());
    memory_charge nodes;
    register_part::reply told{true, {}};
    try {
        nodes = memory_charge(s->memory.get(), size_of_plan(*source));
        if (is_sent) {
            if (hash_of(*source) != p->hash) throw data_loss_error("register_part: the program has another hash");
            source = programs_.enter(p->hash, std::move(source));
        }
        packed read = source->share();
        program = std::make_shared<program_part>(decode_program(read, static_cast<int>(task_->devices.size())));
        const auto edges = static_cast<std::int64_t>(p->edges->to.size());
        for (const std::vector<std::int64_t>* used : {&program->sends, &program->receives})
            if (!used->empty() && used->back() >= edges)
                throw data_loss_error("register_part: the program has edge " + std::to_string(used->back()) +
                                      ", and there are " + std::to_string(edges));
        runtime::plan_options o = runtime::planning_of(s->options, task_->pool->size(), false);
        epoch = o.epoch = task_->epoch();
        o.graph_seed = p->graph_seed;
        o.session_container = s->container;
        o.lender = task_;
        std::vector<device*> devices;
        for (const auto& d : task_->devices) devices.push_back(d.get());
        o.set_devices(std::move(devices));
        leave_what_is_kept(program->program, p->edges->memory);
        plan = runtime::make_local_subgraph(std::move(program->program), o, *task_->pool);
        const runtime::plan_summary sum = plan->summary();
        told.report.nodes = sum.operations;
        told.report.folded = sum.folded;
        told.report.fused = sum.fused;
        told.report.transfers = sum.transfers;
        told.report.peak_bytes = sum.peak_bytes();
        told.report.arena_bytes = sum.arena_bytes;
        told.report.lower_bound = sum.lower_bound;
        told.report.order = plan->order();
        for (std::size_t d = 0; d < sum.devices.size(); ++d)
            told.report.devices.push_back({to_string(task_->devices[d]->full_name()), sum.devices[d].bytes(),
                                           sum.devices[d].arena_bytes, sum.devices[d].lower_bound,
                                           task_->devices[d]->resources().bytes()});
    } catch (const resource_exhausted_error&) {
        failed = std::current_exception();
        is_short = true;
    } catch (...) {
        failed = std::current_exception();
    }
    std::vector<std::shared_ptr<running_part>> waiting;
    std::vector<replier> asked;
    std::vector<std::unique_ptr<runtime::task_run>> old; // ends after the lock does, before its plan
    std::shared_ptr<runtime::task_subgraph> old_plan = plan;
    {
        const std::lock_guard lock(p->guard);
        p->planned = true;
        p->failed = failed;
        p->was_short = is_short;
        if (source) p->source = std::move(source); // the one that others have
        p->epoch = epoch;
        std::swap(p->nodes, nodes);
        p->program.swap(program);
        old_plan.swap(p->plan);
        old.swap(p->spare);
        waiting.swap(p->waiting);
        asked.swap(p->asked);
    }
    for (replier& a : asked) {
        if (failed) fail(a, failed);
        else reply<register_part>(a, told);
    }
    for (const auto& r : waiting) start(r);
}

// Of the parts that nobody runs at this moment, what their next step would use again. Who is short of memory may hold any lock.
bool worker::give_back_memory() {
    if (programs_.give_back()) return true;
    const std::unique_lock lock(guard_, std::try_to_lock);
    if (!lock) return false;
    bool any = false;
    for (const auto& [number, s] : sessions_) {
        const std::unique_lock own(s->guard, std::try_to_lock);
        if (!own) continue;
        for (const auto& [n, p] : s->parts) {
            any = p->edges->memory.give_back() || any;
            worker::part::kept_memory dropped;
            const std::unique_lock of_part(p->guard, std::try_to_lock);
            if (!of_part || !p->planned || p->failed || !p->plan || p->plan->kept_bytes() == 0 ||
                p->plan.use_count() > 1)
                continue;
            p->give_up_plan(dropped);
            any = true;
        }
        if (any) return true;
    }
    return any;
}

} // namespace tenon::net
