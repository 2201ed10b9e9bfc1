#include <net/http/serving_metrics.hpp>

#include <tenon/core/number_text.hpp>

namespace tenon::net {

namespace {

std::string label(const std::string& text) {
    std::string all;
    for (const char c : text) {
        if (c == '\n') {
            all += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') all += '\\';
        all += c;
    }
    return all;
}

} // namespace

std::string serving_metrics_text(const std::vector<std::pair<std::string, serving_metrics>>& models) {
    std::string text;
    if (models.empty()) return text;
    const auto head = [&](const char* name, const char* type, const char* help) {
        text += "# HELP " + std::string(name) + " " + help + "\n# TYPE " + name + " " + type + "\n";
    };
    const auto line = [&](const std::string& name, const std::string& labels, const std::string& number) {
        text += name + "{" + labels + "} " + number + "\n";
    };
    const auto model_label = [](const std::string& name) { return "model=\"" + label(name) + "\""; };

    head("tenon_serving_requests_total", "counter", "Requests that have ended, by how.");
    for (const auto& [name, m] : models)
        for (const auto& [outcome, count] : {std::pair<const char*, std::uint64_t>{"ok", m.answered},
                                             {"failed", m.failed},
                                             {"late", m.late},
                                             {"cancelled", m.cancelled},
                                             {"refused", m.refused},
                                             {"invalid", m.invalid}})
            line("tenon_serving_requests_total", model_label(name) + ",outcome=\"" + outcome + "\"",
                 std::to_string(count));
    const auto each = [&](const char* metric, const char* type, const char* help, auto&& of) {
        head(metric, type, help);
        for (const auto& [name, m] : models) line(metric, model_label(name), of(m));
    };
    each("tenon_serving_batches_total", "counter", "Batches that were computed.",
         [](const serving_metrics& m) { return std::to_string(m.batches); });
    each("tenon_serving_rows_total", "counter", "Rows that were computed for requests.",
         [](const serving_metrics& m) { return std::to_string(m.rows); });
    each("tenon_serving_rerun_total", "counter", "Requests that were run again, since a device was lost.",
         [](const serving_metrics& m) { return std::to_string(m.rerun); });
    each("tenon_serving_waiting", "gauge", "Requests that wait for a device.",
         [](const serving_metrics& m) { return std::to_string(m.waiting); });
    each("tenon_serving_computing", "gauge", "Requests that are being computed.",
         [](const serving_metrics& m) { return std::to_string(m.computing); });
    each("tenon_serving_version", "gauge", "Of the weights.",
         [](const serving_metrics& m) { return std::to_string(m.version); });

    head("tenon_serving_request_seconds", "histogram", "From when a request came to its answer.");
    for (const auto& [name, m] : models) {
        for (const double le :
             {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0})
            line("tenon_serving_request_seconds_bucket",
                 model_label(name) + ",le=\"" + tenon::detail::text_of_number(le) + "\"",
                 std::to_string(m.latency.up_to(le)));
        line("tenon_serving_request_seconds_bucket", model_label(name) + ",le=\"+Inf\"",
             std::to_string(m.latency.count()));
        line("tenon_serving_request_seconds_sum", model_label(name), tenon::detail::text_of_number(m.latency.sum()));
        line("tenon_serving_request_seconds_count", model_label(name), std::to_string(m.latency.count()));
    }
    const auto each_device = [&](const char* metric, const char* type, const char* help, auto&& of) {
        head(metric, type, help);
        for (const auto& [name, m] : models)
            for (const serving_device_metrics& d : m.devices)
                line(metric, model_label(name) + ",device=\"" + label(d.device) + "\"", of(d));
    };
    each_device("tenon_serving_device_batches_total", "counter", "Batches, by device.",
                [](const serving_device_metrics& d) { return std::to_string(d.batches); });
    each_device("tenon_serving_device_busy_seconds_total", "counter", "Seconds that these took.",
                [](const serving_device_metrics& d) { return tenon::detail::text_of_number(d.busy_seconds); });
    each_device("tenon_serving_device_lost", "gauge", "Whether the device is lost.",
                [](const serving_device_metrics& d) { return std::string(d.lost ? "1" : "0"); });
    return text;
}

} // namespace tenon::net
