#include <net/http/status/metrics.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <net/http/status/metrics_writer.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/resources/queue.hpp>

namespace tenon::net {

namespace {

using labels = metric_labels;

// With what a task counts, and how much of it was left out.
class writer : public metrics_writer {
public:
    writer() : metrics_writer(most_series) {}
    template <class V> void one(const char* name, const char* type, const char* help, V v) {
        begin(name, type, help);
        add({}, v);
    }
    template <std::size_t N>
    void histogram(const char* name, const char* help, const std::array<double, N>& bounds,
                   const std::array<std::uint64_t, N + 1>& within, double sum) {
        begin(name, "histogram", help);
        std::uint64_t count = 0;
        for (std::size_t i = 0; i <= N; ++i) {
            count += within[i];
            add({{"le", i < N ? tenon::detail::text_of_number(bounds[i], 6) : "+Inf"}}, count, "_bucket");
        }
        add({}, sum, "_sum");
        add({}, count, "_count");
    }
    void seconds(const char* name, const char* help, const step_counts::totals& t) {
        histogram(name, help, step_counts::bounds, t.within, t.seconds);
    }
    void outcomes(const char* name, const char* help, const step_counts::totals& t) {
        begin(name, "counter", help);
        for (std::size_t i = 0; i < t.ended.size(); ++i) add({{"outcome", step_counts::outcomes[i]}}, t.ended[i]);
    }
    std::string take() {
        const std::uint64_t all = left_out();
        one("tenon_series_left_out", "gauge", "Series that are not told, as there are too many of one name.", all);
        return metrics_writer::take();
    }
};

std::uint64_t whole(std::size_t n) { return n; }

void tell_steps(writer& w, const task_row& own, const task_totals& t) {
    w.outcomes("tenon_steps_total", "Steps of this task's sessions that have ended, by how.", t.steps);
    w.seconds("tenon_step_seconds", "Seconds that steps of this task's sessions took.", t.steps);
    w.outcomes("tenon_step_parts_total", "Parts of other tasks' steps that have ended here, by how.", t.parts);
    w.seconds("tenon_step_part_seconds", "Seconds that parts of other tasks' steps took here.", t.parts);
    w.one("tenon_steps_in_flight", "gauge", "Steps of this task's sessions that have not ended.",
          whole(t.steps_in_flight));
    w.histogram("tenon_step_staleness",
                "Updates of others between what a step read and its own, of steps that fetch it.",
                staleness_counts::bounds, t.stale.within, static_cast<double>(t.stale.sum));
    double longest = 0;
    for (const step_row& s : own.steps)
        for (const wait_row& wait : s.waits) longest = std::max(longest, wait.seconds);
    w.one("tenon_longest_wait_seconds", "gauge", "For how long a step here has waited for something, the longest.",
          longest);
    w.one("tenon_sessions", "gauge", "Sessions that are open on this task.", whole(own.sessions.size()));
}

void tell_links(writer& w, const task_row& own, const task_totals& t) {
    const auto who = [](const heard_row& h) { return labels{{"peer", h.task.empty() ? "clients" : h.task}}; };
    w.begin("tenon_peer_sent_bytes_total", "counter", "Bytes of messages sent, by the task or all clients together.");
    for (const heard_row& h : own.heard) w.add(who(h), h.sent);
    w.begin("tenon_peer_received_bytes_total", "counter",
            "Bytes of messages received, by the task or all clients together.");
    for (const heard_row& h : own.heard) w.add(who(h), h.received);
    w.begin("tenon_peer_silence_seconds", "gauge", "Seconds since a task was last heard of.");
    for (const heard_row& h : own.heard)
        if (!h.task.empty() && h.silence >= 0) w.add(who(h), h.silence);
    w.begin("tenon_peer_links", "gauge", "Links at present, by the task or all clients together.");
    for (const heard_row& h : own.heard) w.add(who(h), h.links);
    w.one("tenon_handshakes_refused_total", "counter", "Connections that were not taken.", t.called.refused);
    w.one("tenon_calls_in_flight", "gauge", "Calls of others that are being answered.", whole(t.called.calls));
    w.one("tenon_unsent_bytes", "gauge", "Bytes that wait to be sent to other tasks, or for their acknowledgement.",
          whole(t.calling.waiting_bytes + t.calling.kept_bytes + t.called.kept_bytes));
}

void tell_resources(writer& w, const task_row& own) {
    const auto of = [](const char* kind, const resource_row& r) {
        return labels{{kind, r.name}, {"container", r.container}, {"device", r.device}};
    };
    w.begin("tenon_variable_updates_total", "counter", "How often a variable was assigned or updated.");
    for (const resource_row& r : own.resources)
        if (r.kind == "variable") w.add(of("variable", r), r.updates);
    const auto queues = [&](auto&& f) {
        for (const resource_row& r : own.resources)
            if (const auto fill = r.kind == "queue" ? queue_fill::of(r.description) : std::nullopt)
                w.add(of("queue", r), static_cast<std::uint64_t>(f(*fill)));
    };
    w.begin("tenon_queue_elements", "gauge", "Elements in a queue.");
    queues([](const queue_fill& f) { return f.elements; });
    w.begin("tenon_queue_capacity_elements", "gauge", "Elements that a queue can hold.");
    queues([](const queue_fill& f) { return f.capacity; });
}

void tell_memory(writer& w, const task_row& own, const task_totals& t) {
    w.one("tenon_memory_bytes", "gauge", "Bytes of the host's memory that the task has taken.", whole(t.memory.in_use));
    if (t.memory.limit) // else there is none
        w.one("tenon_memory_limit_bytes", "gauge", "Bytes of the host's memory that it may take.",
              whole(t.memory.limit));
    w.begin("tenon_client_memory_bytes", "gauge", "Of these, in the name of a client.");
    for (const holder_row& h : own.holders) w.add({{"client", h.client}}, h.bytes);
    const auto device = [](const device_row& d) { return labels{{"device", to_string(d.device.name)}}; };
    w.begin("tenon_device_memory_bytes", "gauge", "Bytes of a device's memory in use.");
    for (const device_row& d : own.devices) w.add(device(d), whole(d.memory.in_use));
    w.begin("tenon_device_memory_limit_bytes", "gauge", "Bytes of a device's memory that may be used.");
    for (const device_row& d : own.devices)
        if (d.memory.limit) w.add(device(d), whole(d.memory.limit));
}

} // namespace

std::string metrics_text(const task_row& own, const task_totals& totals) {
    writer w;
    w.begin("tenon_build_info", "gauge", "1, of this version and task.");
    w.add({{"version", own.version}, {"task", own.task}}, std::uint64_t{1});
    w.one("tenon_uptime_seconds", "gauge", "Seconds since the task began.", own.seconds);
    w.one("tenon_stopping", "gauge", "1 where it is stopping.", std::uint64_t{own.stopping});
    tell_steps(w, own, totals);
    tell_links(w, own, totals);
    tell_resources(w, own);
    tell_memory(w, own, totals);
    return w.take();
}

} // namespace tenon::net
