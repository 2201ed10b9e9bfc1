#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <net/python/graph.hpp>
#include <net/python/values.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/checkpoint/saver.hpp>

namespace tenon::python {

/// tenon.Session. What it has beside the session is changed with the interpreter's lock alone. What may wait, and so what may free what
/// Python has lent, runs without it.
class held_session {
public:
    held_session(held_graph g, std::string target, const session_options& o);
    ~held_session();
    held_session(held_session&&) = delete;

    const held_graph& graph() const noexcept { return graph_; }
    const std::string& target() const noexcept { return target_; }
    std::string shown() const;

    /// What session.run of Python does.
    nanobind::object run(nanobind::handle fetches, nanobind::handle feeds, double timeout);
    nanobind::dict report(nanobind::handle fetches, nanobind::handle feeds);
    std::string explain(nanobind::handle fetches, nanobind::handle feeds);
    void initialize();
    /// The values of variables, of one moment on each task.
    nanobind::typed<nanobind::dict, nanobind::str, held_array> variables(nanobind::handle names);
    void assign(nanobind::dict values);
    std::string save(const std::filesystem::path& file, std::int64_t step);
    nanobind::dict restore(const std::filesystem::path& file, bool partial);
    std::vector<device_attributes> devices() const;
    void close();
    bool is_closed() const noexcept { return closed_; }

private:
    using fed = std::vector<fed_value>;
    // What a step is asked for, in order; each that is fetched is known by where it stands among tensors, or is an operation.
    struct asked {
        std::vector<any_tensor> fetches;
        std::vector<operation> targets;
    };
    using step_key = std::vector<std::pair<const node*, int>>;

    std::shared_ptr<session> live() const;
    fed feeds_of(nanobind::handle feeds) const;
    nanobind::object ask(nanobind::handle fetches, asked& to) const;
    static nanobind::object answer(nanobind::handle plan, const std::vector<nanobind::object>& values);
    std::vector<any_array> run_step(const fed& feeds, const asked& what, double timeout);
    const untyped_callable& step_of(const fed& feeds, const asked& what);
    saver& saver_of(const std::string& prefix) { return savers_.try_emplace(prefix, prefix).first->second; }
    const std::pair<any_tensor, operation>& assignment_of(const std::string& name);

    held_graph graph_;
    std::string target_;
    std::shared_ptr<session> session_;
    bool closed_ = false;
    std::map<step_key, untyped_callable> steps_;
    std::map<std::string, saver> savers_; // by prefix
    operation initializer_;
    std::map<std::string, std::pair<any_tensor, operation>> assignments_; // what is fed, and what is run, by variable
};

/// tenon.Session.
void add_session(nanobind::module_& m);

} // namespace tenon::python
