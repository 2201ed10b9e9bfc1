#include <net/python/server_view.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <net/client/ask_once.hpp>
#include <net/http/status/status_json.hpp>
#include <net/launch/run_files.hpp>
#include <net/python/session.hpp>
#include <net/client/shown_type.hpp>
#include <tenon/net/server.hpp>
#include <tenon/ops/state/state.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

std::vector<net::task_row> tasks_of(const std::string& target, double seconds) {
    const nb::gil_scoped_release others_go_on;
    return net::ask_once(target, net::ask_status{true, seconds}, seconds + 1).tasks;
}

nb::object status(const std::string& target, double seconds) {
    const std::string text = net::status_json(tasks_of(target, seconds));
    return nb::module_::import_("json").attr("loads")(text);
}

struct seen_variables {
    held_graph graph;
    std::vector<std::string> tasks; // that hold them
};

// The variables of one container, each a node where its task says that it is: reading it is reading what they train. They have no
// initialisers, so that nothing begins anew.
seen_variables variables_of(const std::string& target, const std::string& container, const std::string& device,
                            double seconds) {
    const device_name wanted = device.empty() ? device_name() : device_name(std::string_view(device));
    seen_variables seen{{graph(), {}, {}, target}, {}};
    const graph_scope there(seen.graph.of);
    const container_scope in(container);
    std::map<std::string, std::string> devices; // by name
    std::string others;
    const auto is_there = [&](const std::string& what) { others += (others.empty() ? "" : "; ") + what; };
    for (const net::task_row& t : tasks_of(target, seconds)) {
        if (!t.reached) is_there(t.task + " at " + t.address + " does not answer: " + t.trouble);
        const std::size_t before = devices.size();
        for (const net::resource_row& r : t.resources) {
            if (r.kind != "variable") continue;
            const device_name at{std::string_view(r.device)};
            if (r.container != container || !wanted.allows(at)) {
                is_there(r.name + " in \"" + r.container + "\" on " + r.device);
                continue;
            }
            if (const auto [other, is_new] = devices.emplace(r.name, r.device); !is_new)
                throw invalid_argument_error("attach: there is a variable " + r.name + " on " + other->second +
                                             " and one on " + r.device + "; say which, as device=\"" + r.device + "\"");
            const auto placed = on(at);
            variable_options o{.trainable = false};
            (void)tenon::detail::enter_variable(r.name, net::type_of_text(r.description), o);
        }
        if (devices.size() > before) seen.tasks.push_back(t.task);
    }
    if (devices.empty())
        throw not_found_error("attach: no variable is in container \"" + container + "\"" +
                              (device.empty() ? "" : " on " + device) + " of " + target + "; " +
                              (others.empty() ? "its tasks have none" : "there are: " + others));
    return seen;
}

} // namespace

void use_token_of(const std::string& target) {
    if (const auto run = net::find_run(net::address_of_target(target))) net::set_token_of_run(run->token);
}

void add_server_view(nb::module_& m) {
    m.def(
        "status",
        [](const std::string& target, double seconds) {
            use_token_of(target);
            return status(target, seconds);
        },
        nb::arg("target"), nb::arg("seconds") = 5.0,
        "What the tasks of a server's cluster hold and do, as `tenon status --json` says it.");
    m.def(
        "attach",
        [](const std::string& target, const std::string& container, const std::string& device, double seconds) {
            use_token_of(target);
            seen_variables seen = variables_of(target, container, device, seconds);
            session_options o{.open_timeout = seconds};
            o.device_filters = std::move(seen.tasks); // others may be gone
            return std::make_unique<held_session>(
                std::move(seen.graph), target.find("://") == std::string::npos ? "tenon://" + target : target, o);
        },
        nb::arg("target"), nb::arg("container") = "", nb::arg("device") = "", nb::arg("seconds") = 10.0,
        "A Session on the variables that the tasks of a server's cluster hold now, whoever trains them: their names "
        "are those of nodes. "
        "Of one container; device: of those on such devices, as \"/job:ps\".");
    m.def(
        "reset",
        [](const std::string& target, const std::vector<std::string>& containers) {
            use_token_of(target);
            const nb::gil_scoped_release others_go_on;
            session::reset(target, containers);
        },
        nb::arg("target"), nb::arg("containers"),
        "Forgets what these containers hold, on all tasks of a server's cluster; \"\" is the default one.");
    m.def(
        "connect_with",
        [](const std::string& token, const std::string& authorities, const std::string& certificate,
           const std::string& key, bool insecure) {
            client_options o{.token = token};
            o.tls.authorities = authorities;
            o.tls.certificate_chain = certificate;
            o.tls.private_key = key;
            o.insecure = insecure;
            set_client_options(o);
        },
        nb::kw_only(), nb::arg("token") = "", nb::arg("authorities") = "", nb::arg("certificate") = "",
        nb::arg("key") = "", nb::arg("insecure") = false,
        "What later sessions show to servers, and files (PEM) of certificates. What is not said is taken from "
        "TENON_TOKEN, "
        "TENON_AUTHORITIES, TENON_CERTIFICATE, TENON_KEY and TENON_INSECURE.");
}

} // namespace tenon::python
