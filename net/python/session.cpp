#include <net/python/session.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include <nanobind/stl/string.h>

#include <net/python/foreign.hpp>
#include <net/python/server_view.hpp>
#include <tenon/core/array/print.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/checkpoint/checkpoint.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

constexpr std::size_t most_kept_steps = 64;
constexpr double between_signals = 0.05; // seconds

// f(), without the interpreter's lock: others go on.
template <class F> auto apart(F&& f) {
    const nb::gil_scoped_release others_go_on;
    return f();
}

// Python handles signals on its main thread alone.
bool is_main_thread() {
    const nb::object threading = nb::module_::import_("threading");
    return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

// RecursionError where a list has itself in it.
struct one_deeper {
    one_deeper() {
        if (Py_EnterRecursiveCall(" in what is fetched")) throw nb::python_error();
    }
    ~one_deeper() { Py_LeaveRecursiveCall(); }
    one_deeper(one_deeper&&) = delete;
};

nb::list names(const std::vector<std::string>& all) {
    nb::list l;
    for (const std::string& s : all) l.append(s);
    return l;
}

} // namespace

held_session::held_session(held_graph g, std::string target, const session_options& o) :
    graph_(std::move(g)), target_(std::move(target)), session_(apart([&] {
        if (!target_.empty()) use_token_of(target_);
        return std::make_shared<session>(target_, graph_.of, o);
    })) {}

held_session::~held_session() {
    apart([&] { // it waits for steps
        steps_.clear();
        session_.reset();
    });
}

std::shared_ptr<session> held_session::live() const {
    free_put_aside();
    if (closed_) throw failed_precondition_error("Session is closed.");
    return session_;
}

std::string held_session::shown() const {
    return "tenon.Session " + (target_.empty() ? std::string("in this process") : "on " + target_) +
           (closed_ ? ", closed" : "") + ", of " + std::to_string(graph_.of.size()) + " nodes" +
           (graph_.origin.empty() ? "" : " of " + graph_.origin);
}

// What is fed, as arrays: numbers and lists take their tensor's element type.
held_session::fed held_session::feeds_of(nb::handle feeds) const {
    fed all;
    if (feeds.is_none()) return all;
    if (!PyDict_Check(feeds.ptr()))
        throw nb::type_error("feeds is a dict: from names, or tenon.Tensors, to their values");
    const auto find = [&](nb::handle what) {
        try {
            return find_in(graph_, what);
        } catch (const not_found_error& e) {
            std::string known;
            for (const auto& [name, t] : graph_.inputs)
                known += (known.empty() ? "" : ", ") + name + ": " + to_string(t.type());
            throw not_found_error(std::string("feeds: ") + e.what() + "; its placeholders are " +
                                  (known.empty() ? "none" : known));
        }
    };
    for (const auto [what, value] : nb::borrow<nb::dict>(feeds)) {
        const auto [t, o] = find(what);
        if (!t.node()) throw invalid_argument_error("feeds: \"" + o.name() + "\" is an operation without a tensor");
        all.push_back({t, array_of(value, t.element(), "feed of " + t.name())});
    }
    return all;
}

// Enters what is fetched, and gives the same with numbers in its place: that of a tensor among fetches, None for an operation.
nb::object held_session::ask(nb::handle fetches, asked& to) const {
    const one_deeper here;
    if (PyDict_Check(fetches.ptr())) {
        nb::dict d;
        for (const auto [key, what] : nb::borrow<nb::dict>(fetches)) d[key] = ask(what, to);
        return d;
    }
    if (PyList_Check(fetches.ptr()) || PyTuple_Check(fetches.ptr())) {
        nb::list l;
        for (const nb::handle what : nb::borrow<nb::sequence>(fetches)) l.append(ask(what, to));
        return PyTuple_Check(fetches.ptr()) ? nb::object(nb::tuple(l)) : nb::object(l);
    }
    const auto [t, o] = find_in(graph_, fetches);
    if (o) {
        to.targets.push_back(o);
        return nb::none();
    }
    to.fetches.push_back(t);
    return nb::int_(to.fetches.size() - 1);
}

nb::object held_session::answer(nb::handle plan, const std::vector<nb::object>& values) {
    if (PyDict_Check(plan.ptr())) {
        nb::dict d;
        for (const auto [key, what] : nb::borrow<nb::dict>(plan)) d[key] = answer(what, values);
        return d;
    }
    if (PyList_Check(plan.ptr()) || PyTuple_Check(plan.ptr())) {
        nb::list l;
        for (const nb::handle what : nb::borrow<nb::sequence>(plan)) l.append(answer(what, values));
        return PyTuple_Check(plan.ptr()) ? nb::object(nb::tuple(l)) : nb::object(l);
    }
    return plan.is_none() ? nb::none() : values[nb::cast<std::size_t>(plan)];
}

// A step that was asked for before is there.
const untyped_callable& held_session::step_of(const fed& feeds, const asked& what) {
    step_key key;
    for (const fed_value& f : feeds) key.emplace_back(f.tensor.node(), f.tensor.index());
    key.emplace_back(nullptr, 0);
    for (const any_tensor& t : what.fetches) key.emplace_back(t.node(), t.index());
    key.emplace_back(nullptr, 0);
    for (const operation& o : what.targets) key.emplace_back(o.node(), 0);
    if (const auto at = steps_.find(key); at != steps_.end()) return at->second;
    std::vector<any_tensor> fed_tensors;
    for (const fed_value& f : feeds) fed_tensors.push_back(f.tensor);
    const std::shared_ptr<session> s = live();
    untyped_callable made = apart([&] { return s->callable_untyped(fed_tensors, what.fetches, what.targets); });
    if (steps_.size() >= most_kept_steps) apart([gone = std::exchange(steps_, {})] {});
    return steps_.insert_or_assign(std::move(key), std::move(made)).first->second;
}

// Waits for it; the main thread, between whiles, for Ctrl-C, which stops it.
std::vector<any_array> held_session::run_step(const fed& feeds, const asked& what, double timeout) {
    const std::shared_ptr<session> s = live(); // closing it meanwhile ends the step, and not what it stands on
    const untyped_callable step = step_of(feeds, what);
    std::vector<any_array> values;
    for (const fed_value& f : feeds) values.push_back(f.value.share());
    if (!is_main_thread()) return apart([&] { return step.run_for(timeout, values); });
    const untyped_pending_step started = apart([&] { return step.start_for(timeout, values); });
    while (!apart([&] { return started.wait_for(between_signals); })) {
        if (PyErr_CheckSignals() == 0) continue;
        apart([&] {
            started.stop();
            try {
                (void)started.get();
            } catch (const error&) { // that it was stopped
            }
        });
        throw nb::python_error();
    }
    return apart([&] { return started.get(); });
}

nb::object held_session::run(nb::handle fetches, nb::handle feeds, double timeout) {
    asked what;
    const nb::object plan = ask(fetches, what);
    std::vector<nb::object> values;
    {
        const fed all = feeds_of(feeds);
        for (any_array& a : run_step(all, what, timeout)) values.push_back(to_python(std::move(a)));
    }
    free_put_aside();
    return answer(plan, values);
}

nb::dict held_session::report(nb::handle fetches, nb::handle feeds) {
    asked what;
    (void)ask(fetches, what);
    fed all = feeds_of(feeds);
    const std::shared_ptr<session> s = live();
    const step_report r = apart([&] { return s->report_untyped(std::move(all), what.fetches, what.targets); });
    nb::dict d;
    d["nodes"] = r.nodes;
    d["folded"] = r.folded;
    d["fused"] = r.fused;
    d["transfers"] = r.transfers;
    d["peak_bytes"] = r.peak_bytes;
    d["arena_bytes"] = r.arena_bytes;
    d["variable_bytes"] = r.variable_bytes;
    d["order"] = names(r.order);
    return d;
}

std::string held_session::explain(nb::handle fetches, nb::handle feeds) {
    asked what;
    (void)ask(fetches, what);
    fed all = feeds_of(feeds);
    const std::shared_ptr<session> s = live();
    return apart([&] { return s->explain_placement_untyped(std::move(all), what.fetches, what.targets).to_text(); });
}

void held_session::initialize() {
    if (!initializer_) {
        const std::vector<any_tensor> all = graph_.of.collection(global_variables);
        if (all.empty()) throw invalid_argument_error("initialize: the graph has no variables");
        const graph_scope there(graph_.of);
        initializer_ = untyped::initialize_variables(all);
    }
    (void)run_step({}, {{}, {initializer_}}, 0);
}

nb::typed<nb::dict, nb::str, held_array> held_session::variables(nb::handle wanted) {
    asked what;
    std::vector<std::string> shown;
    if (wanted.is_none()) {
        for (const any_tensor& v : graph_.of.collection(global_variables)) {
            shown.push_back(v.name());
            what.fetches.push_back(v);
        }
    } else {
        if (PyUnicode_Check(wanted.ptr())) throw nb::type_error("variables: give a list of names");
        for (const nb::handle name : nb::borrow<nb::sequence>(wanted)) {
            shown.push_back(nb::cast<std::string>(nb::str(name)));
            what.fetches.push_back(graph_.tensor(shown.back()));
        }
    }
    std::vector<any_array> values = run_step({}, what, 0);
    nb::dict d;
    for (std::size_t i = 0; i < values.size(); ++i) d[shown[i].c_str()] = to_python(std::move(values[i]));
    return d;
}

const std::pair<any_tensor, operation>& held_session::assignment_of(const std::string& name) {
    if (const auto at = assignments_.find(name); at != assignments_.end()) return at->second;
    const any_tensor v = graph_.tensor(name);
    if (!v.node()->op->is(op_flags::variable))
        throw invalid_argument_error("assign: " + v.name() + " is no variable but made by " + shown_op(*v.node()));
    const graph_scope there(graph_.of);
    const any_tensor value = untyped::placeholder(v.element(), v.extents(), v.name() + "/given");
    return assignments_.emplace(name, std::pair(value, untyped::assign(v, value).operation())).first->second;
}

// All of them in one step.
void held_session::assign(nb::dict values) {
    asked what;
    fed all;
    for (const auto [name, value] : values) {
        const auto& [fed_tensor, run] = assignment_of(nb::cast<std::string>(name));
        all.push_back({fed_tensor, array_of(value, fed_tensor.element(), "assign to " + nb::cast<std::string>(name))});
        what.targets.push_back(run);
    }
    if (!what.targets.empty()) (void)run_step(all, what, 0);
    all.clear();
    free_put_aside();
}

std::string held_session::save(const std::filesystem::path& file, std::int64_t step) {
    const std::string path = file.string();
    if (path.ends_with(".json"))
        throw invalid_argument_error("save: '" + path +
                                     "': a checkpoint is called PREFIX-STEP.json; give the prefix, '" +
                                     path.substr(0, path.size() - 5) + "', or a name with .safetensors");
    const std::shared_ptr<session> s = live();
    if (!path.ends_with(".safetensors")) {
        saver& to = saver_of(path);
        return apart([&] { return to.save(*s, step).path; });
    }
    apart([&] { save_variables(*s, path); });
    return path;
}

nb::dict held_session::restore(const std::filesystem::path& file, bool partial) {
    const std::string path = file.string();
    const std::shared_ptr<session> s = live();
    restored_checkpoint r;
    r.path = path;
    r.step = -1;
    if (path.ends_with(".safetensors")) {
        const load_options o{.variables = {}, .partial = partial, .prefix = {}};
        apart([&] { static_cast<load_report&>(r) = load_variables(*s, path, o); });
    } else {
        const bool is_one = path.ends_with(".json"); // of whatever prefix
        saver& from = saver_of(path);
        apart([&] { r = from.restore(*s, {.checkpoint = is_one ? path : "", .partial = partial}); });
    }
    nb::dict d;
    d["path"] = r.path;
    if (r.step >= 0) d["step"] = r.step;
    d["loaded"] = names(r.loaded);
    d["missing"] = names(r.missing);
    d["mismatched"] = names(r.mismatched);
    d["unused"] = names(r.unused);
    return d;
}

std::vector<device_attributes> held_session::devices() const {
    const std::shared_ptr<session> s = live();
    return apart([&] { return s->list_logical_devices(); });
}

void held_session::close() {
    if (std::exchange(closed_, true)) return;
    apart([&, gone = std::move(steps_)] { session_->close(); });
    free_put_aside();
}

} // namespace tenon::python
