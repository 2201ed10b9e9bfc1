#include <net/http/status/status_json.hpp>

#include <algorithm>
#include <cstdint>

#include <net/http/status/stalls.hpp>
#include <tenon/io/json/json_value.hpp>
#include <tenon/resources/queue.hpp>

namespace tenon::net {

namespace {

using value = tenon::detail::json_value;
using list = value::list;
using object = value::object;

constexpr std::size_t most_sessions = 1000, most_steps = 200, most_waits = 20, most_resources = 4000,
                      most_clients = 1000, most_peers = 4096;

value text(const std::string& t) { return as_utf8(t); }
value number(std::uint64_t n) { return n; }
value number(std::int64_t n) { return n; }
/// Beyond 2^53 a reader may have no such number.
value name_of_number(std::uint64_t n) { return std::to_string(n); }
value seconds_or_null(double s) { return s < 0 ? value() : value(s); }

template <class Rows, class F>
void put(object& to, const char* name, const Rows& rows, std::size_t most, F&& as_object) {
    list all;
    for (const auto& row : rows) {
        if (all.size() == most) break;
        all.push_back(value(as_object(row)));
    }
    to.push_back({name, std::move(all)});
    if (rows.size() > most) to.push_back({std::string(name) + "_left_out", number(std::uint64_t{rows.size() - most})});
}

object device_of(const device_row& d) {
    return {{"device", text(to_string(d.device.name))},
            {"description", text(d.device.description)},
            {"memory_in_use", number(static_cast<std::uint64_t>(d.memory.in_use))},
            {"memory_peak", number(static_cast<std::uint64_t>(d.memory.peak))},
            {"memory_limit", number(static_cast<std::uint64_t>(d.memory.limit))}};
}

object session_of(const session_row& s) {
    return {{"session", name_of_number(s.session)},
            {"client", text(s.client)},
            {"peer", text(s.peer)},
            {"seconds", s.seconds},
            {"idle_seconds", s.idle},
            {"nodes", number(s.nodes)},
            {"callables", number(s.callables)},
            {"steps", number(s.steps)}};
}

object wait_of(const wait_row& w) {
    const std::string from = w.edge >= 0 ? awaited_task(w.what) : std::string();
    return {{"node", text(w.node)},
            {"op", text(w.op)},
            {"what", text(w.what)},
            {"from", from.empty() ? value() : text(from)},
            {"seconds", w.seconds}};
}

object step_of(const step_row& s) {
    object o{{"session", name_of_number(s.session)},
             {"step", name_of_number(s.step)},
             {"seconds", s.seconds},
             {"limit_seconds", s.limit > 0 ? value(s.limit) : value()}};
    put(o, "waits", s.waits, most_waits, wait_of);
    return o;
}

object place_of(const resource_row& r) {
    return {{"name", text(r.name)}, {"container", text(r.container)}, {"device", text(r.device)}};
}

object variable_of(const resource_row& r) {
    object o = place_of(r);
    o.push_back({"type", text(r.description)});
    o.push_back({"bytes", number(r.bytes)});
    o.push_back({"updates", number(r.updates)});
    return o;
}

object queue_of(const resource_row& r) {
    object o = place_of(r);
    const queue_fill f = queue_fill::of(r.description).value_or(queue_fill());
    o.push_back({"elements", number(f.elements)});
    o.push_back({"capacity", number(f.capacity)});
    o.push_back({"description", text(r.description)});
    return o;
}

object other_of(const resource_row& r) {
    object o = place_of(r);
    o.push_back({"kind", text(r.kind)});
    o.push_back({"description", text(r.description)});
    return o;
}

object peer_of(const heard_row& h) {
    return {{"task", h.task.empty() ? value() : text(h.task)},
            {"links", number(h.links)},
            {"silence_seconds", seconds_or_null(h.silence)},
            {"bytes_sent", number(h.sent)},
            {"bytes_received", number(h.received)}};
}

object task_of(const task_row& t) {
    object o{{"task", text(t.task)}, {"address", text(t.address)}, {"reached", t.reached}};
    if (!t.reached) {
        o.push_back({"trouble", text(t.trouble)});
        return o;
    }
    o.push_back({"version", text(t.version)});
    o.push_back({"incarnation", name_of_number(t.incarnation)});
    o.push_back({"seconds", t.seconds});
    o.push_back({"stopping", t.stopping});
    o.push_back({"steps_ended", number(t.steps_ended)});
    o.push_back({"steps_failed", number(t.steps_failed)});
    o.push_back({"parts_ended", number(t.parts_ended)});
    put(o, "devices", t.devices, most_clients, device_of);
    put(o, "memory", t.holders, most_clients, [](const holder_row& h) {
        return object{{"client", text(h.client)}, {"bytes", number(h.bytes)}};
    });
    put(o, "peers", t.heard, most_peers, peer_of);
    put(o, "sessions", t.sessions, most_sessions, session_of);
    std::vector<step_row> steps = t.steps;
    std::stable_sort(steps.begin(), steps.end(),
                     [](const step_row& a, const step_row& b) { return a.seconds > b.seconds; });
    put(o, "steps", steps, most_steps, step_of);
    std::vector<resource_row> variables, queues, others;
    for (const resource_row& r : t.resources)
        (r.kind == "variable" ? variables : r.kind == "queue" ? queues : others).push_back(r);
    put(o, "variables", variables, most_resources, variable_of);
    put(o, "queues", queues, most_resources, queue_of);
    std::erase_if(others, [](const resource_row& r) { return r.kind == "counter"; }); // of random ops
    put(o, "resources", others, most_resources, other_of);
    return o;
}

object stall_of(const stall& s) {
    return {{"task", text(s.task)},
            {"session", name_of_number(s.session)},
            {"step", name_of_number(s.step)},
            {"what", text(s.what)},
            {"from", s.from.empty() ? value() : text(s.from)},
            {"seconds", s.seconds},
            {"silence_seconds", seconds_or_null(s.silence)},
            {"words", text(s.words)}};
}

} // namespace

std::string as_utf8(std::string text) {
    if (!tenon::detail::is_utf8(text))
        for (char& c : text)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    return text;
}

std::string status_json(const std::vector<task_row>& tasks, double age) {
    object o{{"format", "tenon status"}, {"version", 1}, {"age_seconds", age}};
    put(o, "stalls", stalls_of(tasks), most_steps, stall_of);
    put(o, "tasks", tasks, std::size_t{1} << 16, task_of);
    return tenon::detail::json_text(value(std::move(o))) + "\n";
}

} // namespace tenon::net
