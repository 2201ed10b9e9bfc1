#pragma once

#include <string>

#include <nanobind/nanobind.h>

namespace tenon::python {

/// Has later questions to this server, and sessions on it, show the token of the run that `tenon launch` has there, where it has one and
/// nothing else says which.
void use_token_of(const std::string& target);

/// status, attach, reset and connect_with: what servers hold, without a graph.
void add_server_view(nanobind::module_& m);

} // namespace tenon::python
