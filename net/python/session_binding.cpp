#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <net/python/session.hpp>
#include <tenon/core/array/print.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

nb::list devices_of(const held_session& s) {
    nb::list all;
    for (const device_attributes& d : s.devices()) {
        nb::dict one;
        one["name"] = to_string(d.name);
        one["memory"] = d.memory;
        one["description"] = d.description;
        all.append(one);
    }
    return all;
}

} // namespace

void add_session(nb::module_& m) {
    nb::class_<held_session>(
        m, "Session",
        "Runs a graph: in this process, or on a server and the tasks of its cluster, whose variables outlive it.\n\n"
        "    with tenon.Session(tenon.read_graph(\"model.json\")) as sess:\n"
        "        sess.restore(\"weights.safetensors\")\n"
        "        scores = sess.run(\"scores\", {\"images\": images}).numpy()\n\n"
        "Several threads may use it; none holds the interpreter's lock while its step runs.")
        .def(
            "__init__",
            [](held_session* self, const held_graph& g, const std::string& target, double timeout, double open_timeout,
               int threads, std::vector<std::string> device_filters, std::size_t memory_limit, int cpu_devices,
               bool allow_soft_placement, bool check_numerics) {
                session_options o;
                o.operation_timeout = timeout;
                o.open_timeout = open_timeout;
                o.intra_op_threads = threads;
                o.use_per_session_threads = threads > 0;
                o.device_filters = std::move(device_filters);
                o.memory_limit = memory_limit;
                o.cpu_devices = cpu_devices;
                o.allow_soft_placement = allow_soft_placement;
                o.check_numerics = check_numerics;
                new (self) held_session(g, target, o);
            },
            nb::arg("graph"), nb::arg("target") = "", nb::kw_only(), nb::arg("timeout") = 0.0,
            nb::arg("open_timeout") = 0.0, nb::arg("threads") = 0,
            nb::arg("device_filters") = std::vector<std::string>(), nb::arg("memory_limit") = 0,
            nb::arg("cpu_devices") = 1, nb::arg("allow_soft_placement") = false, nb::arg("check_numerics") = false,
            "target: \"\", in this process, or \"tenon://host:port\". timeout: seconds that a step may take, 0: no "
            "limit; open_timeout: "
            "within which a server's tasks must answer, 0: ten. threads, memory_limit, cpu_devices: of this process. "
            "device_filters: the "
            "tasks of a server's cluster that it uses. check_numerics: a step stops at the first number that is not "
            "finite, and names it.")
        .def_prop_ro("graph", [](const held_session& s) { return s.graph(); })
        .def_prop_ro("target", [](const held_session& s) { return s.target(); })
        .def("run", &held_session::run, nb::arg("fetches"), nb::arg("feeds") = nb::none(), nb::arg("timeout") = 0.0,
             "Runs what is fetched, and what that needs: a name, a tenon.Tensor or tenon.Node, or lists, tuples and "
             "dicts of these. An Array "
             "stands for each tensor in what it gives, None for an operation.\n\nfeeds: a dict, from names or Tensors "
             "to Arrays, whatever has "
             "__dlpack__ or a buffer (without a copy where it is dense and may be written; it is not to be written "
             "meanwhile), numbers, "
             "texts, or lists. Numbers and lists take the tensor's element type, others must have it.\n\nCtrl-C stops "
             "the step.")
        .def("initialize", &held_session::initialize, "Gives the variables their initial values.")
        .def("variables", &held_session::variables, nb::arg("names") = nb::none(),
             "A dict of the values of all variables, or of those named: what a task has is of one moment.")
        .def("assign", &held_session::assign, nb::arg("values"), "Gives variables values, by name, all in one step.")
        .def("save", &held_session::save, nb::arg("path"), nb::arg("step") = -1,
             "The variables' values, as \"NAME.safetensors\", or, by another name, as a checkpoint with that prefix: "
             "tn::saver. Gives the "
             "path of what was written.")
        .def("restore", &held_session::restore, nb::arg("path"), nb::arg("partial") = false,
             "Gives variables the values of a .safetensors file, of a checkpoint (its .json), or of the last one with "
             "a prefix. Not partial, "
             "all or none. A dict says what was loaded, missing, mismatched and unused.")
        .def("report", &held_session::report, nb::arg("fetches"), nb::arg("feeds") = nb::none(),
             "What such a run will do and take, without running it.")
        .def("explain_placement", &held_session::explain, nb::arg("fetches"), nb::arg("feeds") = nb::none(),
             "Where each node of such a run is placed, and why, and what crosses between devices: a text.")
        .def_prop_ro("devices", devices_of)
        .def("close", &held_session::close,
             "Steps that wait are ended, and later ones refused. Arrays that were fetched stay.")
        .def_prop_ro("closed", &held_session::is_closed)
        .def("__enter__", [](nb::object self) { return self; })
        .def("__exit__", [](held_session& s, nb::args) { s.close(); })
        .def("__repr__", &held_session::shown);
}

} // namespace tenon::python
