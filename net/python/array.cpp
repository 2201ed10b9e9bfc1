#include <net/python/array.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <net/python/values.hpp>
#include <tenon/core/array/dlpack.hpp>
#include <tenon/core/array/print.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

template <class M> void end_unused(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) return; // who took it ends it
    auto* const m = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
    m->deleter(m);
}

template <class M> nb::object capsule_of(any_array a, const char* name, PyCapsule_Destructor end) {
    M* const m = to_dlpack<M>(std::move(a));
    PyObject* const c = PyCapsule_New(m, name, end);
    if (c) return nb::steal(c);
    m->deleter(m);
    throw nb::python_error();
}

[[noreturn]] void refuse(const std::string& why) { throw nb::buffer_error(why.c_str()); }

nb::object to_capsule(const held_array& h, nb::object stream, nb::object max_version, nb::object dl_device,
                      std::optional<bool> copy) {
    const any_array& a = h.values;
    if (a.element() == element_type::string)
        refuse("DLPack has no texts; tolist() and numpy() give those of " + to_string(a.type()));
    if (!stream.is_none()) refuse("a tenon.Array lies in the host's memory, where there are no streams");
    if (!dl_device.is_none() && !nb::tuple(dl_device).equal(nb::make_tuple(1, 0)))
        refuse("a tenon.Array lies in the host's memory, device (1, 0): copy it from there");
    any_array given = copy.value_or(false) ? a.copy() : a.share();
    if (!max_version.is_none() && nb::cast<int>(max_version[nb::int_(0)]) >= 1)
        return capsule_of<dlpack::managed_tensor_versioned>(std::move(given), "dltensor_versioned", [](PyObject* c) {
            end_unused<dlpack::managed_tensor_versioned>(c, "dltensor_versioned");
        });
    return capsule_of<dlpack::managed_tensor>(std::move(given), "dltensor",
                                              [](PyObject* c) { end_unused<dlpack::managed_tensor>(c, "dltensor"); });
}

// The same memory as NumPy's; of what NumPy has no elements for, a copy.
nb::object to_numpy(nb::handle self) {
    const any_array& a = nb::cast<const held_array&>(self).values;
    const nb::module_ numpy = nb::module_::import_("numpy");
    if (a.element() == element_type::string) {
        nb::object all = numpy.attr("empty")(shape_of(a.extents()), nb::arg("dtype") = "object");
        if (a.elements() > 0) all[nb::ellipsis()] = numpy.attr("array")(to_lists(a), nb::arg("dtype") = "object");
        return all;
    }
    if (a.element() != element_type::bfloat16) return numpy.attr("from_dlpack")(self);
    any_array wide(element_type::float32, a.extents());
    for (std::int64_t i = 0; i < a.elements(); ++i) wide.data<float>()[i] = static_cast<float>(a.data<bfloat16>()[i]);
    return numpy.attr("from_dlpack")(to_python(std::move(wide)));
}

nb::object as_array(nb::handle self, nb::object dtype, nb::object copy) {
    const nb::object a = to_numpy(self);
    const bool is_copied = !copy.is_none() && nb::cast<bool>(copy), may_copy = copy.is_none() || is_copied;
    const element_type e = nb::cast<const held_array&>(self).values.element();
    const nb::object as_asked =
        dtype.is_none() && !is_copied
            ? a
            : a.attr("astype")(dtype.is_none() ? nb::object(a.attr("dtype")) : dtype, nb::arg("copy") = is_copied);
    if (!may_copy && (e == element_type::string || e == element_type::bfloat16 || !as_asked.is(a)))
        throw nb::value_error(("a tenon.Array of " + std::string(tenon::name_of(e)) +
                               " becomes such an array of NumPy by a copy alone, which copy=False forbids")
                                  .c_str());
    return as_asked;
}

// Its one element as Python has it.
nb::object item(const held_array& h) {
    if (h.values.elements() != 1)
        throw invalid_argument_error(to_string(h.values.type()) + " has " + std::to_string(h.values.elements()) +
                                     " elements, not one; tolist() gives them all");
    nb::object v = to_lists(h.values);
    for (int i = 0; i < h.values.rank(); ++i) v = v[nb::int_(0)];
    return v;
}

// Element by element: that two arrays are not one object would say nothing.
nb::object compared(nb::handle a, nb::handle b, const char* how) {
    return to_numpy(a).attr(how)(nb::isinstance<held_array>(b) ? to_numpy(b) : nb::borrow(b));
}

// For pickle and copy: element type, sizes, and the bytes, or the texts one after another.
nb::tuple state_of(const held_array& h) {
    const any_array& a = h.values;
    nb::object values;
    if (a.element() == element_type::string) {
        nb::list texts;
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            const std::string& text = a.data<std::string>()[i];
            texts.append(nb::bytes(text.data(), text.size()));
        }
        values = std::move(texts);
    } else values = nb::bytes(static_cast<const char*>(a.data()), a.bytes());
    return nb::make_tuple(tenon::name_of(a.element()), shape_of(a.extents()), values);
}
any_array array_of_state(const std::string& dtype, const std::vector<std::int64_t>& shape, nb::handle values) {
    const element_type e = element_of_name(dtype);
    extents sizes;
    for (const std::int64_t n : shape) sizes.push_back(n);
    bool fits = !sizes.overfull() && std::all_of(shape.begin(), shape.end(), [](std::int64_t n) { return n >= 0; }) &&
                is_countable({e, sizes});
    const bool are_texts = e == element_type::string;
    if (fits)
        fits = are_texts ? PyList_Check(values.ptr()) && nb::len(values) == static_cast<std::size_t>(sizes.elements())
                         : PyBytes_Check(values.ptr()) &&
                               nb::len(values) == static_cast<std::size_t>(sizes.elements()) * size_of(e);
    if (!fits) throw invalid_argument_error("Array: what was pickled is none of " + dtype + to_string(sizes));
    any_array a(e, sizes);
    if (!are_texts && a.bytes() > 0) std::memcpy(a.data(), nb::cast<nb::bytes>(values).data(), a.bytes());
    for (std::int64_t i = 0; are_texts && i < a.elements(); ++i) {
        const auto text = nb::cast<nb::bytes>(values[nb::int_(i)]);
        a.data<std::string>()[i].assign(static_cast<const char*>(text.data()), text.size());
    }
    return a;
}

std::int64_t length(const held_array& h) {
    if (h.values.rank() == 0) throw nb::type_error("an array without dimensions has no length");
    return h.values.extents()[0].size;
}

} // namespace

void add_array(nb::module_& m) {
    nb::class_<held_array>(
        m, "Array",
        "A tensor in the host's memory, dense and by rows.\n\nnumpy(), numpy.from_dlpack, "
        "torch.from_dlpack and their like see the same memory, which lives as long as anybody does who "
        "sees it.")
        .def(
            "__init__",
            [](held_array* self, nb::handle values, nb::handle wanted) {
                std::optional<std::string> dtype;
                if (PyUnicode_Check(wanted.ptr())) dtype = nb::cast<std::string>(wanted);
                else if (!wanted.is_none()) // numpy.float32, numpy.dtype("int8"), float
                    dtype = nb::cast<std::string>(nb::module_::import_("numpy").attr("dtype")(wanted).attr("name"));
                const element_type type = dtype ? element_of_name(*dtype) : element_type::none;
                any_array a = array_of(values, type, "Array");
                if (dtype && a.element() != type)
                    throw invalid_argument_error("Array: the values are " + to_string(a.type()) + ", not of type " +
                                                 *dtype + "; convert them where they are from");
                new (self) held_array{std::move(a)};
            },
            nb::arg("values").none(), nb::arg("dtype").none() = nb::none(),
            "Of whatever has __dlpack__ or a buffer, without a copy where it is dense and may be written; of numbers, "
            "texts and "
            "nested lists of these: bool, int64, float or string, or dtype, a name or one of NumPy's.")
        .def_prop_ro(
            "dtype", [](const held_array& h) { return tenon::name_of(h.values.element()); },
            "\"float\", \"int64\", \"bool\", \"string\", ...")
        .def_prop_ro("shape", [](const held_array& h) { return shape_of(h.values.extents()); })
        .def_prop_ro("ndim", [](const held_array& h) { return h.values.rank(); })
        .def_prop_ro(
            "size", [](const held_array& h) { return h.values.elements(); }, "How many elements it has.")
        .def_prop_ro("nbytes", [](const held_array& h) { return h.values.bytes(); })
        .def("copy", [](const held_array& h) { return held_array{h.values.copy()}; })
        .def("numpy", to_numpy,
             "The same memory as a NumPy array; of bfloat16, which NumPy lacks, a copy as float32, and of texts one of "
             "objects.")
        .def(
            "tolist", [](const held_array& h, bool as_bytes) { return to_lists(h.values, as_bytes); },
            nb::arg("as_bytes") = false,
            "Nested lists of numbers; of texts str (bytes that are no UTF-8 are surrogates, as in os.fsdecode), or "
            "bytes.")
        .def("item", item, "Its one element.")
        .def("__dlpack__", to_capsule, nb::kw_only(), nb::arg("stream") = nb::none(),
             nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
        .def("__dlpack_device__", [](const held_array&) { return nb::make_tuple(1, 0); })
        .def("__getstate__", state_of)
        .def("__setstate__",
             [](held_array& to, const std::tuple<std::string, std::vector<std::int64_t>, nb::object>& state) {
                 new (&to) held_array{array_of_state(std::get<0>(state), std::get<1>(state), std::get<2>(state))};
             })
        .def("__array__", as_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
        .def("__float__", [](const held_array& h) { return nb::float_(item(h)); })
        .def("__int__", [](const held_array& h) { return nb::int_(item(h)); })
        .def("__bool__", [](const held_array& h) { return nb::cast<bool>(nb::bool_(item(h))); })
        .def("__format__",
             [](nb::handle self, nb::str how) {
                 const held_array& h = nb::cast<const held_array&>(self);
                 return nb::len(how) == 0 ? nb::str(self) : nb::str(item(h).attr("__format__")(how));
             })
        .def("__len__", length)
        .def(
            "__getitem__",
            [](const held_array& h, std::int64_t i) {
                const std::int64_t n = length(h);
                if (i < -n || i >= n)
                    throw nb::index_error(
                        ("there is no row " + std::to_string(i) + " of " + to_string(h.values.type())).c_str());
                any_array all = h.values.share();
                return held_array{all.row(i < 0 ? i + n : i)};
            },
            "Row i, which shares the memory. Of other parts ask numpy().")
        .def("__getitem__",
             [](const held_array&, nb::handle) -> held_array {
                 throw nb::type_error("a tenon.Array gives rows, a[i]; of other parts ask NumPy: a.numpy()[..]");
             })
        .def(
            "__eq__", [](nb::handle a, nb::handle b) { return compared(a, b, "__eq__"); }, "As NumPy: each element.")
        .def("__ne__", [](nb::handle a, nb::handle b) { return compared(a, b, "__ne__"); })
        .def("__repr__", [](const held_array& h) { return shown_text("tenon.Array " + to_string(h.values)); })
        .attr("__hash__") = nb::none();
}

} // namespace tenon::python
