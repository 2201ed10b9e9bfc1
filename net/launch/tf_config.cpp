// TensorFlow's way: TF_CONFIG={"cluster": {"chief": [...], "worker": [...], "ps": [...]}, "task": {"type": "worker", "index": 1}}
//
// A chief (in older programs: a master) is one task. An evaluator stands beside the cluster: it is a task of no job of it, and
// so a client here.

#include <net/launch/launchers.hpp>

#include <tenon/core/error.hpp>
#include <tenon/io/json/json_parse.hpp>

namespace tenon::net {

using tenon::detail::json_value;

namespace {

// What `f` answers; a mistake that it tells of is one of TF_CONFIG.
template <class F> auto of_tf_config(const named_value& v, F f) {
    try {
        return f();
    } catch (const error& e) {
        v.refuse(e.what());
    }
}

json_value parsed(const named_value& v) {
    json_value root = of_tf_config(v, [&] { return tenon::detail::parse_json(v.value, "JSON", 8); });
    if (!root.get<json_value::object>())
        v.refuse("it must be an object with \"cluster\" and \"task\", not " + root.described());
    return root;
}

bool empty_cluster(const json_value& root) {
    const json_value* jobs = root.find("cluster");
    const auto* members = jobs ? jobs->get<json_value::object>() : nullptr;
    return !jobs || jobs->is_null() || (members && members->empty());
}

int index_of(const named_value& v, const json_value& index) {
    std::string text;
    if (const auto* number = index.get<std::int64_t>()) text = std::to_string(*number);
    else if (const auto* number_above = index.get<std::uint64_t>()) text = std::to_string(*number_above);
    else if (const auto* quoted = index.get<std::string>()) text = *quoted;
    else v.refuse("\"task\": \"index\" must be a number, not " + index.described());
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
        v.refuse("\"task\": \"index\" must be a number from 0 to 999999999, not " + text);
    return std::stoi(text);
}

} // namespace

sighting see_tf_config(const settings& s) {
    const auto v = s.variable("TF_CONFIG");
    if (!v) return {};
    if (empty_cluster(parsed(*v))) return {v->text(), "it describes no cluster"};
    return {v->text(), ""};
}

described_task read_tf_config(const settings& s) {
    const named_value v = s.needed("TF_CONFIG", "it describes the cluster");
    const json_value root = parsed(v);
    described_task d;
    d.tasks = of_tf_config(v, [&] { return cluster::from_json(tenon::detail::json_text(*root.find("cluster"))); });
    for (const char* leader : {"chief", "master"})
        if (d.tasks.has(leader) && d.tasks.tasks(leader).size() > 1)
            v.refuse(std::string("job \"") + leader + "\" has " + std::to_string(d.tasks.tasks(leader).size()) +
                     " tasks; there is one, the others are workers");
    if (d.tasks.has("chief") && d.tasks.has("master"))
        v.refuse("there are a job \"chief\" and a job \"master\", which are the same; keep the chief");

    const json_value* task = root.find("task");
    if (!task || task->is_null()) {
        if (s.job() || s.task()) return d; // told elsewhere
        v.refuse("it describes a cluster, but no \"task\"; add \"task\": {\"type\": \"worker\", \"index\": 0}, or set "
                 "TENON_JOB "
                 "and TENON_TASK");
    }
    if (!task->get<json_value::object>())
        v.refuse("\"task\" must be an object with \"type\" and \"index\", not " + task->described());
    const json_value* type = task->find("type");
    const auto* job = type ? type->get<std::string>() : nullptr;
    if (!job || job->empty()) v.refuse("\"task\" has no text \"type\", the name of its job");
    const json_value* index = task->find("index");
    d.job = *job;
    d.task = index ? index_of(v, *index) : 0;
    const bool evaluates = d.job == "evaluator" && !d.tasks.has("evaluator");
    if (evaluates && d.task != 0)
        v.refuse("its task is evaluator " + std::to_string(d.task) +
                 "; there is one evaluator beside a cluster, of index 0");
    return d;
}

} // namespace tenon::net
