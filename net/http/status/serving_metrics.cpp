#include <net/http/status/serving_metrics.hpp>

#include <limits>

#include <net/http/status/metrics_writer.hpp>
#include <tenon/core/text/number_text.hpp>

namespace tenon::net {

std::string serving_metrics_text(const std::vector<std::pair<std::string, serving_metrics>>& models) {
    if (models.empty()) return {};
    metrics_writer w(std::numeric_limits<std::size_t>::max());

    w.begin("tenon_serving_requests_total", "counter", "Requests that have ended, by how.");
    for (const auto& [name, m] : models)
        for (const auto& [outcome, count] : {std::pair<const char*, std::uint64_t>{"ok", m.answered},
                                             {"failed", m.failed},
                                             {"late", m.late},
                                             {"cancelled", m.cancelled},
                                             {"refused", m.refused},
                                             {"invalid", m.invalid}})
            w.add({{"model", name}, {"outcome", outcome}}, count);
    const auto each = [&](const char* metric, const char* type, const char* help, auto&& of) {
        w.begin(metric, type, help);
        for (const auto& [name, m] : models) w.add({{"model", name}}, static_cast<std::uint64_t>(of(m)));
    };
    each("tenon_serving_batches_total", "counter", "Batches that were computed.",
         [](const serving_metrics& m) { return m.batches; });
    each("tenon_serving_rows_total", "counter", "Rows that were computed for requests.",
         [](const serving_metrics& m) { return m.rows; });
    each("tenon_serving_rerun_total", "counter", "Requests that were run again, since a device was lost.",
         [](const serving_metrics& m) { return m.rerun; });
    each("tenon_serving_waiting", "gauge", "Requests that wait for a device.",
         [](const serving_metrics& m) { return m.waiting; });
    each("tenon_serving_computing", "gauge", "Requests that are being computed.",
         [](const serving_metrics& m) { return m.computing; });
    each("tenon_serving_version", "gauge", "Of the weights.", [](const serving_metrics& m) { return m.version; });

    w.begin("tenon_serving_request_seconds", "histogram", "From when a request came to its answer.");
    for (const auto& [name, m] : models) {
        for (const double le :
             {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0})
            w.add({{"model", name}, {"le", tenon::detail::text_of_number(le)}}, m.latency.up_to(le), "_bucket");
        w.add({{"model", name}, {"le", "+Inf"}}, m.latency.count(), "_bucket");
        w.add({{"model", name}}, m.latency.sum(), "_sum");
        w.add({{"model", name}}, m.latency.count(), "_count");
    }
    const auto each_device = [&](const char* metric, const char* type, const char* help, auto&& of) {
        w.begin(metric, type, help);
        for (const auto& [name, m] : models)
            for (const serving_device_metrics& d : m.devices) w.add({{"model", name}, {"device", d.device}}, of(d));
    };
    each_device("tenon_serving_device_batches_total", "counter", "Batches, by device.",
                [](const serving_device_metrics& d) { return d.batches; });
    each_device("tenon_serving_device_busy_seconds_total", "counter", "Seconds that these took.",
                [](const serving_device_metrics& d) { return d.busy_seconds; });
    each_device("tenon_serving_device_lost", "gauge", "Whether the device is lost.",
                [](const serving_device_metrics& d) { return std::uint64_t{d.lost}; });
    return w.take();
}

} // namespace tenon::net
