#pragma once

#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/debug/summary_hook.hpp>

namespace tenon {

namespace detail {

inline double only_element(const any_array& a) {
    double value = 0;
    with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>) value = static_cast<double>(*static_cast<const T*>(a.data()));
    });
    return value;
}

struct summaries_hook final : session_hook {
    summaries_hook(std::shared_ptr<summary_writer> w, summary_hook_options o) :
        to(std::move(w)), options(std::move(o)), timer(checked_period(options.every, "summary_hook")) {
        if (!to) throw invalid_argument_error("summary_hook: it is given no summary_writer");
        for (const tagged_tensor& one : options.scalars) {
            const any_tensor& t = one.tensor;
            require_node(t.node(), "summary_hook: a scalar");
            if (t.element() == element_type::string || !t.extents().is_static() || t.extents().elements() != 1)
                throw invalid_argument_error(
                    "summary_hook: " + t.name() + " is " + to_string(t.type()) +
                    "; a scalar is a number of one element. Give it as a histogram, or its mean");
        }
        for (const tagged_tensor& one : options.histograms) {
            const any_tensor& t = one.tensor;
            require_node(t.node(), "summary_hook: a histogram");
            if (t.element() == element_type::string)
                throw invalid_argument_error("summary_hook: " + t.name() + " is " + to_string(t.type()) +
                                             ", of which there is no histogram; give it numbers");
        }
        for (const auto* list : {&options.scalars, &options.histograms})
            for (const tagged_tensor& t : *list) {
                fetched.push_back(t.tensor);
                tags.push_back(t.tag.empty() ? t.tensor.name() : t.tag);
            }
    }
    void begin() override { graph = tenon::graph::current(); }
    void opened(hook_context& c, bool rebuilt) override {
        if (options.graph && !std::exchange(graph_is_written, true)) to->graph(graph);
        if (rebuilt && timer.was_set() && c.step() < timer.step()) {
            to->restarted(c.step() + 1);
            timer.set(c.step(), c.now());
        }
        rate.emplace(c.now(), c.step());
    }
    std::vector<any_tensor> before_run(hook_context& c) override {
        is_due = timer.due(c.step() + 1, c.now()) && detail::can_compute_all(c, fetched);
        return is_due ? fetched : std::vector<any_tensor>();
    }
    void after_run(hook_context& c, const std::vector<any_array>& values) override {
        if (!is_due) return;
        const std::int64_t step = c.step();
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i < options.scalars.size()) to->scalar(tags[i], only_element(values[i]), step);
            else to->histogram(tags[i], values[i], step);
        }
        if (options.steps_per_second && rate && c.now() > rate->first && step > rate->second)
            to->scalar("steps_per_second", static_cast<double>(step - rate->second) / (c.now() - rate->first), step);
        rate.emplace(c.now(), step);
        timer.set(step, c.now());
    }
    void end(hook_context&) override { to->flush(); }

    const std::shared_ptr<summary_writer> to;
    const summary_hook_options options;
    std::vector<any_tensor> fetched;
    std::vector<std::string> tags;
    tenon::graph graph;
    hook_timer timer;
    std::optional<std::pair<double, std::int64_t>> rate; // when, and which step
    bool is_due = false, graph_is_written = false;
};

} // namespace detail

TENON_INLINE std::shared_ptr<session_hook> summary_hook(std::shared_ptr<summary_writer> to, summary_hook_options o) {
    return std::make_shared<detail::summaries_hook>(std::move(to), std::move(o));
}

} // namespace tenon
