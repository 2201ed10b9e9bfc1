// The module `tenon` of Python: what a notebook needs to look at what C++ trains.

#include <nanobind/stl/string.h>

#include <net/python/array.hpp>
#include <net/python/errors.hpp>
#include <net/python/graph.hpp>
#include <net/python/server_view.hpp>
#include <net/python/session.hpp>
#include <net/python/weights.hpp>
#include <tenon/core/config.hpp>
#include <tenon/runtime/session/print_config.hpp>

NB_MODULE(tenon, m) {
    namespace python = tenon::python;
    nanobind::set_leak_warnings(false); // notebooks keep what they have shown until they end
    m.doc() =
        "Graphs, sessions and arrays of Tenon, a C++ library of typed tensors.\n\n"
        "read_graph, read_onnx: what C++ has written; Session: runs it, here or on a server; attach: the variables "
        "that a server's tasks "
        "hold now; read_weights: files; Array: numpy.from_dlpack and torch.from_dlpack see its memory, without a copy.";
    m.attr("__version__") = TENON_VERSION;
    python::add_errors(m);
    python::add_array(m);
    python::add_graph(m);
    python::add_session(m);
    python::add_weights(m);
    python::add_server_view(m);
    m.def("config", tenon::config_text, "What this build is and found, a line each.");
}
