#include <algorithm>
#include <optional>
#include <random>

#include <tenon/runtime/device/simulated_gpu.hpp>

#include "random_queues/program.hpp"
#include "random_queues/slow.hpp"
#include "reference/order.hpp"

namespace tn = tenon;
namespace u = tenon::untyped;
using reference::queue_kind;
using tn::element_type;

namespace random_queues {

namespace {

const tn::tensor_type number{element_type::int64, {}};
const tn::tensor_type pair{element_type::float32, tn::extents(2)};
const tn::tensor_type row{element_type::float32, tn::extents(tn::dynamic_extent)};

class drawing {
public:
    drawing(std::uint64_t seed, bool overlap, bool brief) :
        random_(seed * 2 + overlap), overlap_(overlap), brief_(brief) {
        made_.seed = seed;
        if (brief) made_.task.intra_op_threads = 1; // so that no threads are the process's, and outlive it
    }

    program run() {
        if (chance(0.2)) made_.task.cpu_devices = 2;
        if (chance(0.2)) {
            made_.task.gpus = tn::simulated_gpu(1, std::size_t{16} << 20);
            with_gpu_ = true;
        }
        for (int n = 1 + below(overlap_ ? 2 : 3); n > 0; --n) declare_queue();
        variables_ = 1 + below(2);
        for (int n = 1 + below(2); n > 0; --n) {
            made_.graphs.emplace_back();
            draw_graph(made_.graphs.back());
        }
        for (int n = std::max<int>(static_cast<int>(made_.graphs.size()), 1 + below(overlap_ ? 2 : 3)); n > 0; --n) {
            session_kind k{.graph = static_cast<int>(made_.sessions.size() % made_.graphs.size())};
            k.options.allow_soft_placement = true;
            k.options.fuse = chance(0.7);
            k.options.fold_constants = chance(0.7);
            k.options.inter_op_threads = chance(0.3) ? 1 : 0;
            k.options.use_per_session_threads = brief_;
            if (brief_) k.options.intra_op_threads = 2;
            made_.sessions.push_back(k);
        }
        initialise({});
        for (int n = brief_ ? 1 : overlap_ ? 2 + below(4) : 4 + below(8); n > 0; --n) draw_phase();
        return std::move(made_);
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
    bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
    template <class L> const auto& one_of(const L& list) {
        return list[static_cast<std::size_t>(below(static_cast<int>(std::size(list))))];
    }
    template <class T> T one_of(std::initializer_list<T> list) {
        return list.begin()[below(static_cast<int>(list.size()))];
    }

    void declare_queue() {
        declared_queue q;
        q.rules.kind = one_of(
            {queue_kind::fifo, queue_kind::fifo, queue_kind::priority, queue_kind::padding, queue_kind::shuffled});
        q.rules.capacity = static_cast<std::size_t>(1 + below(overlap_ ? 6 : 4));
        if (q.rules.kind == queue_kind::shuffled)
            q.rules.min_after_dequeue = static_cast<std::size_t>(below(static_cast<int>(q.rules.capacity)));
        q.rules.components = {number};
        if (chance(0.4)) q.rules.components.push_back(q.rules.kind == queue_kind::padding ? row : pair);
        else if (q.rules.kind == queue_kind::padding) q.rules.components = {row};
        if (chance(0.6)) {
            q.shared_name = "shared" + std::to_string(made_.queues.size());
            if (chance(0.4)) q.container = "box";
        }
        made_.queues.push_back(q);
    }

    tn::any_tensor constant(const tn::tensor_type& t) {
        tn::any_array a(t.element, t.extents.is_static() ? t.extents : tn::extents(below(4)));
        for (std::int64_t i = 0; i < a.elements(); ++i)
            if (t.element == element_type::int64) a.data<std::int64_t>()[i] = 1 + below(40);
            else a.data<float>()[i] = static_cast<float>(1 + below(40)) / 2;
        return u::constant(std::move(a));
    }

    void draw_graph(drawn_graph& d) {
        const tn::graph_scope in(d.graph);
        std::vector<tn::operation> initialisers;
        for (const declared_queue& q : made_.queues) {
            std::optional<tn::container_scope> there;
            if (!q.container.empty()) there.emplace(q.container);
            const auto capacity = static_cast<std::int64_t>(q.rules.capacity);
            const tn::queue_options o{.shared_name = q.shared_name};
            switch (q.rules.kind) {
            case queue_kind::fifo: d.queues.push_back(u::fifo_queue(q.rules.components, capacity, o)); break;
            case queue_kind::padding: d.queues.push_back(u::padding_fifo_queue(q.rules.components, capacity, o)); break;
            case queue_kind::priority: d.queues.push_back(u::priority_queue(q.rules.components, capacity, o)); break;
            case queue_kind::shuffled:
                d.queues.push_back(u::random_shuffle_queue(q.rules.components, capacity,
                                                           static_cast<std::int64_t>(q.rules.min_after_dequeue),
                                                           {.shared_name = q.shared_name}));
            }
        }
        for (int v = 0; v < variables_; ++v) {
            tn::any_array a(element_type::int64, {});
            *a.data<std::int64_t>() = 1000 * (v + 1);
            d.variables.push_back(u::variable("v" + std::to_string(v), u::constant(std::move(a))));
            initialisers.push_back(tn::detail::initializer_of(d.variables.back()));
        }
        d.initialisers = tn::group(initialisers);
        for (const u::queue& q : d.queues) {
            d.sizes.push_back(q.size());
            d.closed.push_back(q.is_closed());
            d.close.push_back(q.close());
            d.next.push_back(q.dequeue());
        }
        tensors_ = d.variables;
        operations_.clear();
        fetchable_.clear();
        for (int n = 8 + below(14); n > 0; --n) add_node(d);
        d.tensors = fetchable_;
        d.operations = operations_;
    }

    tn::any_tensor given(const tn::tensor_type& t) {
        std::vector<tn::any_tensor> fit;
        for (const tn::any_tensor& x : tensors_)
            if (x.type() == t) fit.push_back(x);
        return fit.empty() || chance(0.4) ? constant(t) : one_of(fit);
    }
    tn::any_tensor given_many(const tn::tensor_type& t, int n) {
        std::vector<tn::any_tensor> rows;
        const tn::any_tensor same = constant(t); // of one size
        for (int i = 0; i < n; ++i) rows.push_back(t.extents.is_static() ? given(t) : same);
        return u::stack(rows);
    }
    void keep(const tn::any_tensor& t) {
        fetchable_.push_back(t);
        tensors_.push_back(t);
    }

    void add_node(drawn_graph& d) {
        std::optional<tn::control_dependencies> after;
        if (chance(overlap_ ? 0.2 : 0.35)) {
            if (!operations_.empty() && chance(0.5)) after.emplace(one_of(operations_));
            else if (!fetchable_.empty()) after.emplace(one_of(fetchable_));
        }
        std::optional<tn::device_scope> device;
        const auto number_of_queue = static_cast<std::size_t>(below(static_cast<int>(d.queues.size())));
        const u::queue& q = d.queues[number_of_queue];
        const std::vector<tn::tensor_type>& parts = made_.queues[number_of_queue].rules.components;
        const auto keep_all = [&](const std::vector<tn::any_tensor>& all) {
            for (const tn::any_tensor& t : all) keep(t);
        };
        switch (below(16)) {
        case 0:
        case 1:
        case 2: {
            std::vector<tn::any_tensor> tuple;
            for (const tn::tensor_type& t : parts) tuple.push_back(given(t));
            operations_.push_back(q.enqueue(tuple));
            return;
        }
        case 3:
        case 4: {
            const int n = 1 + below(4);
            std::vector<tn::any_tensor> tuple;
            for (const tn::tensor_type& t : parts) tuple.push_back(given_many(t, n));
            operations_.push_back(q.enqueue_many(tuple));
            return;
        }
        case 5:
        case 6: return keep_all(q.dequeue());
        case 7:
        case 8: return keep_all(q.dequeue_many(below(6)));
        case 9: {
            if (chance(0.5)) return keep_all(q.dequeue_up_to(below(5)));
            const int least = below(4);
            return keep_all(q.dequeue_some(least, least + below(4)));
        }
        case 10: return keep(q.size());
        case 11:
            if (chance(0.6)) fetchable_.push_back(q.is_closed());
            else operations_.push_back(q.close(chance(0.5)));
            return;
        case 12:
        case 13: {
            const tn::any_tensor v = one_of(d.variables);
            tn::any_tensor by = given(number);
            if (overlap_ && chance(0.5)) by = tn::add<slow_op>({.microseconds = 50 + below(500)}, {by});
            return keep(chance(0.6) ? u::assign_add(v, by) : u::assign(v, by));
        }
        case 14: {
            for (int tries = 0; tries < 8; ++tries) {
                const tn::any_tensor x = one_of(tensors_);
                if (x.type() == number || x.rank() != 1 || x.element() != element_type::int64) continue;
                return keep(u::sum(x));
            }
            return;
        }
        default: {
            const tn::tensor_type& t = chance(0.7) ? number : pair;
            if (with_gpu_ && t == pair && chance(0.5)) device.emplace(tn::device_name("/gpu:0"));
            const tn::any_tensor a = given(t), b = given(t);
            return keep(chance(0.5) ? u::add(a, b) : chance(0.5) ? u::identity(a) : u::subtract(a, b));
        }
        }
    }

    step draw_step(int session) {
        const drawn_graph& d =
            made_.graphs[static_cast<std::size_t>(made_.sessions[static_cast<std::size_t>(session)].graph)];
        for (;;) {
            step s;
            s.session = session;
            for (int n = below(overlap_ ? 3 : 4); n > 0 && !d.tensors.empty(); --n)
                s.fetches.push_back(chance(0.15) ? one_of(d.variables) : one_of(d.tensors));
            for (int n = below(overlap_ ? 2 : 3) + s.fetches.empty(); n > 0; --n) {
                if (!d.operations.empty() && chance(0.8)) s.targets.push_back(one_of(d.operations));
                else if (!d.tensors.empty()) s.targets.push_back(one_of(d.tensors).operation());
            }
            if (!d.tensors.empty() && chance(0.15)) {
                const tn::any_tensor t = one_of(d.tensors);
                if (t.extents().is_static()) {
                    tn::any_array a(t.element(), t.extents());
                    for (std::int64_t i = 0; i < a.elements(); ++i)
                        if (t.element() == element_type::int64) a.data<std::int64_t>()[i] = 90 + i;
                        else if (t.element() == element_type::float32) a.data<float>()[i] = 90;
                        else *a.data<bool>() = true;
                    s.feeds.push_back({t, std::move(a)});
                }
            }
            const int choice = below(4);
            s.how = choice == 0 ? step::way::run : choice == 1 ? step::way::callable : step::way::kept_callable;
            if (overlap_ && s.feeds.empty() && chance(0.25)) s.how = step::way::started;
            if (chance(0.25)) s.cut_after = chance(0.2) ? 0 : 1 << (3 + below(7));
            if (s.fetches.empty() && s.targets.empty()) continue;
            const int most = overlap_ ? 3 : 6, effects = effects_of(s);
            if (effects > most || (effects == 0 && !chance(0.1))) continue;
            return s;
        }
    }

    static int effects_of(const step& s) {
        reference::request r;
        for (const tn::fed_value& f : s.feeds) r.feeds.push_back({f.tensor, f.value.share()});
        r.fetches = s.fetches;
        r.targets = s.targets;
        const reference::order o(r);
        int n = 0;
        for (const tn::node* x : o.nodes()) n += x->op->is(tn::op_flags::updates) || x->op->is(tn::op_flags::uses);
        return n;
    }

    void initialise(std::vector<std::string> reset) {
        step s;
        s.targets.push_back(made_.graphs[0].initialisers);
        made_.phases.push_back({.reset = std::move(reset), .threads = {{s}}});
        has_steps_ = false;
    }

    int any_session() { return below(static_cast<int>(made_.sessions.size())); }

    void draw_phase() {
        phase p;
        if (!overlap_) {
            if (chance(0.06))
                return initialise(chance(0.5) ? std::vector<std::string>{""} : std::vector<std::string>{"box", ""});
            if (chance(0.08)) p.reset = {"box"};
            if (has_steps_ && chance(0.2)) p.threads = made_.phases.back().threads; // once more
            else p.threads.push_back({draw_step(any_session())});
            has_steps_ = true;
            made_.phases.push_back(std::move(p));
            return;
        }
        // Something to begin with.
        for (int n = below(3); n > 0; --n) {
            phase before;
            before.threads.push_back({draw_step(any_session())});
            before.threads[0][0].how = step::way::run;
            before.threads[0][0].cut_after = -1;
            made_.phases.push_back(std::move(before));
        }
        for (int n = 2 + below(2); n > 0; --n) {
            const int session = any_session();
            std::vector<step> list;
            for (int k = 1 + below(brief_ ? 2 : 3); k > 0; --k) list.push_back(draw_step(session));
            p.threads.push_back(std::move(list));
        }
        // What is planned already overlaps more.
        for (int n = brief_ ? 1 : 3; n > 0; --n) made_.phases.push_back(p);
    }

    std::mt19937_64 random_;
    const bool overlap_, brief_;
    program made_;
    bool with_gpu_ = false;
    bool has_steps_ = false; // the last phase is a drawn one
    int variables_ = 0;
    std::vector<tn::any_tensor> tensors_, fetchable_;
    std::vector<tn::operation> operations_;
};

} // namespace

program generate(std::uint64_t seed, bool overlap, bool brief) { return drawing(seed, overlap, brief).run(); }

std::string to_string(const step& s) {
    std::string text = "session " + std::to_string(s.session) + ":";
    for (const tn::fed_value& f : s.feeds) text += " feed " + f.tensor.name();
    for (const tn::any_tensor& t : s.fetches) text += " fetch " + t.name();
    for (const tn::operation& t : s.targets) text += " run " + t.name();
    const char* ways[] = {"", " (callable)", " (kept callable)", " (started)"};
    text += ways[static_cast<int>(s.how)];
    if (s.cut_after >= 0)
        text +=
            (s.how == step::way::started ? ", stopped after " : ", limited to ") + std::to_string(s.cut_after) + " us";
    return text;
}

std::string to_string(const program& p) {
    std::string text = "seed " + std::to_string(p.seed) + ", " + std::to_string(p.task.cpu_devices) + " CPUs" +
                       (p.task.gpus ? ", a GPU" : "") + "\n";
    for (std::size_t g = 0; g < p.graphs.size(); ++g)
        text += "graph " + std::to_string(g) + ": " + tn::to_json(p.graphs[g].graph) + "\n";
    for (std::size_t s = 0; s < p.sessions.size(); ++s)
        text += "session " + std::to_string(s) + ": graph " + std::to_string(p.sessions[s].graph) +
                (p.sessions[s].options.fuse ? "" : ", not fused") +
                (p.sessions[s].options.fold_constants ? "" : ", not folded") +
                (p.sessions[s].options.inter_op_threads == 1 ? ", one after another" : "") + "\n";
    for (const phase& f : p.phases) {
        for (const std::string& c : f.reset) text += "reset \"" + c + "\"\n";
        for (std::size_t t = 0; t < f.threads.size(); ++t)
            for (const step& s : f.threads[t])
                text += (f.threads.size() > 1 ? "thread " + std::to_string(t) + ", " : "") + to_string(s) + "\n";
        text += "--\n";
    }
    return text;
}

} // namespace random_queues
