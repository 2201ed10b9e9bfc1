#include <net/python/errors.hpp>

#include <exception>
#include <iterator>
#include <string>

#include <net/python/values.hpp>
#include <tenon/core/error.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

struct error_class {
    error_code code;
    const char* name;
    PyObject* const* like; ///< what Python raises for such a thing; nullptr: nothing of its own
};

const error_class classes[] = {
    {error_code::cancelled, "CancelledError", nullptr},
    {error_code::unknown, "UnknownError", nullptr},
    {error_code::invalid_argument, "InvalidArgumentError", &PyExc_ValueError},
    {error_code::deadline_exceeded, "DeadlineExceededError", &PyExc_TimeoutError},
    {error_code::not_found, "NotFoundError", &PyExc_KeyError},
    {error_code::already_exists, "AlreadyExistsError", nullptr},
    {error_code::permission_denied, "PermissionDeniedError", &PyExc_PermissionError},
    {error_code::resource_exhausted, "ResourceExhaustedError", &PyExc_MemoryError},
    {error_code::failed_precondition, "FailedPreconditionError", &PyExc_RuntimeError},
    {error_code::aborted, "AbortedError", nullptr},
    {error_code::out_of_range, "OutOfRangeError", &PyExc_IndexError},
    {error_code::unimplemented, "UnimplementedError", &PyExc_NotImplementedError},
    {error_code::internal, "InternalError", nullptr},
    {error_code::unavailable, "UnavailableError", &PyExc_ConnectionError},
    {error_code::data_loss, "DataLossError", nullptr},
};

// By code, then the end of data. They live as long as the process.
PyObject* made[std::size(classes) + 1];

const char* name_of(error_reason r) {
    switch (r) {
    case error_reason::none: break;
    case error_reason::end_of_data: return "end_of_data";
    case error_reason::lost_task: return "lost_task";
    case error_reason::other_shard: return "other_shard";
    }
    return "";
}

PyObject* new_class(nb::module_& m, const char* name, const char* doc, nb::handle bases, nb::dict members) {
    const std::string full = std::string("tenon.") + name;
    PyObject* const c = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), members.ptr());
    if (!c) throw nb::python_error();
    m.attr(name) = nb::handle(c);
    return c;
}

void translate(const std::exception_ptr& p, void*) {
    try {
        std::rethrow_exception(p);
    } catch (const error& e) {
        const std::size_t at = e.reason() == error_reason::end_of_data ? std::size(classes) : std::size_t(e.code());
        const nb::object raised = nb::handle(made[at])(shown_text(e.what()));
        raised.attr("reason") = name_of(e.reason());
        PyErr_SetObject(made[at], raised.ptr());
    }
}

} // namespace

void add_errors(nb::module_& m) {
    nb::dict members;
    members["code"] = "unknown";
    members["reason"] = "";
    // KeyError's own would show the message in quotes.
    members["__str__"] = nb::handle(PyExc_Exception).attr("__str__");
    PyObject* const base =
        new_class(m, "Error",
                  "What Tenon raises: str() says what was wrong, where, and what to do.\n\ncode: \"invalid_argument\", "
                  "\"not_found\", ...; reason: \"end_of_data\", \"lost_task\", or \"\".",
                  PyExc_Exception, members);
    for (const error_class& c : classes) {
        nb::dict own;
        own["code"] = tenon::name_of(c.code);
        const nb::tuple bases =
            c.like ? nb::make_tuple(nb::handle(base), nb::handle(*c.like)) : nb::make_tuple(nb::handle(base));
        made[std::size_t(c.code)] = new_class(m, c.name, nullptr, bases, own);
    }
    made[std::size(classes)] =
        new_class(m, "EndOfDataError", "There is nothing more to read: training that meets it has ended well.",
                  nb::make_tuple(nb::handle(made[std::size_t(error_code::out_of_range)])), nb::dict());
    nb::register_exception_translator(translate);
}

} // namespace tenon::python
