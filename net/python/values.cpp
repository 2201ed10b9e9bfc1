#include <net/python/values.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <net/python/foreign.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/number.hpp>
#include <tenon/core/with_element.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

bool is_list(nb::handle v) { return PyList_Check(v.ptr()) || PyTuple_Check(v.ptr()); }
bool is_text(nb::handle v) { return PyUnicode_Check(v.ptr()) || PyBytes_Check(v.ptr()); }
bool is_number(nb::handle v) { return PyFloat_Check(v.ptr()) || PyLong_Check(v.ptr()); } // bool is an int

std::string python_type(nb::handle v) { return Py_TYPE(v.ptr())->tp_name; }

number number_of(nb::handle v, const std::string& who) {
    if (PyBool_Check(v.ptr())) return v.ptr() == Py_True ? 1 : 0;
    if (PyFloat_Check(v.ptr())) return PyFloat_AS_DOUBLE(v.ptr());
    int overflow = 0;
    const long long n = PyLong_AsLongLongAndOverflow(v.ptr(), &overflow);
    if (overflow == 0) return n;
    const unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(v.ptr()) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        throw invalid_argument_error(who + ": " + nb::str(v).c_str() + " has more than 64 bits");
    }
    return u;
}

std::string text_of(nb::handle v) {
    nb::object bytes = nb::borrow(v);
    if (PyUnicode_Check(v.ptr())) bytes = nb::steal(PyUnicode_AsEncodedString(v.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

// Numbers or texts in nested lists, read in two passes: sizes, kind and leaves first, since looking at what stands in a list may run
// Python's code, which may change it.
struct nested_lists {
    const std::string& who;
    extents sizes{};
    std::vector<nb::object> leaves{};
    bool texts = false, numbers = false, reals = false, only_bools = true;

    // A leaf that is no Python number: NumPy's scalars, tensors in lists.
    static nb::object plain(nb::handle v) {
        if (is_list(v) || is_text(v) || is_number(v) || !nb::hasattr(v, "tolist")) return nb::borrow(v);
        return v.attr("tolist")();
    }
    void measure(nb::handle given, int depth) {
        const nb::object v = plain(given);
        if (is_list(v)) {
            const auto n = static_cast<std::int64_t>(nb::len(v));
            if (depth == max_rank)
                throw invalid_argument_error(who + ": its lists are nested more than " + std::to_string(max_rank) +
                                             " deep, the most dimensions that there are");
            if (depth == sizes.rank() && !numbers && !texts) sizes.push_back(n);
            if (depth >= sizes.rank() || sizes[depth].size != n)
                throw invalid_argument_error(
                    who + ": its lists are ragged: along dimension " + std::to_string(depth) + " one has " +
                    std::to_string(n) + " values, " +
                    (depth < sizes.rank() ? "another " + std::to_string(sizes[depth].size) : "where others have none"));
            for (const nb::handle next : nb::borrow<nb::sequence>(v)) measure(next, depth + 1);
            return;
        }
        if (!is_text(v) && !is_number(v))
            throw nb::type_error((who + ": " + python_type(v) +
                                  " is no array: give a tenon.Array, what has __dlpack__ or a buffer, numbers, texts, "
                                  "or nested lists of those")
                                     .c_str());
        if (depth != sizes.rank())
            throw invalid_argument_error(who + ": its lists are ragged: a value stands where others have a list");
        (is_text(v) ? texts : numbers) = true;
        reals = reals || PyFloat_Check(v.ptr());
        only_bools = only_bools && PyBool_Check(v.ptr());
        leaves.push_back(v);
    }
    element_type kind() const {
        if (texts) return element_type::string;
        if (!numbers || reals) return element_type::float32;
        return only_bools ? element_type::boolean : element_type::int64;
    }
    void write(any_array& to) const {
        if (static_cast<std::int64_t>(leaves.size()) != to.elements())
            throw invalid_argument_error(who + ": its lists have changed while they were read");
        std::int64_t at = 0;
        for (const nb::object& v : leaves) write(v, to, at++);
    }
    void write(nb::handle v, any_array& to, std::int64_t at) const {
        if (to.element() == element_type::string) {
            if (!is_text(v)) throw invalid_argument_error(who + ": a number stands where texts are asked for");
            to.data<std::string>()[at] = text_of(v);
            return;
        }
        if (is_text(v)) throw invalid_argument_error(who + ": a text stands where numbers are asked for");
        const number n = number_of(v, who);
        detail::require_fits(n, to.element(), who.c_str());
        detail::with_element(to.element(), [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>) to.data<T>()[at] = n.to<T>();
        });
    }
};

any_array array_of_lists(nb::handle v, element_type type, const std::string& who) {
    nested_lists l{who};
    l.measure(v, 0);
    any_array a(type == element_type::none ? l.kind() : type, l.sizes);
    l.write(a);
    return a;
}

nb::object element_to_python(const void* at, element_type e, bool as_bytes) {
    return detail::with_element(e, [&]<class T>(const T&) -> nb::object {
        const T& v = *static_cast<const T*>(at);
        if constexpr (std::is_same_v<T, std::string>) {
            const auto n = static_cast<Py_ssize_t>(v.size());
            if (as_bytes) return nb::bytes(v.data(), v.size());
            return nb::steal(PyUnicode_DecodeUTF8(v.data(), n, "surrogateescape"));
        } else if constexpr (std::is_same_v<T, bool>) return nb::bool_(v);
        else if constexpr (std::is_integral_v<T>) return nb::int_(v);
        else return nb::float_(static_cast<double>(v));
    });
}

nb::object lists_from(const any_array& a, int axis, const std::byte*& at, bool as_bytes) {
    if (axis == a.rank()) {
        const std::byte* const here = at;
        at += size_of(a.element());
        return element_to_python(here, a.element(), as_bytes);
    }
    nb::list all;
    for (std::int64_t i = 0; i < a.extents()[axis].size; ++i) all.append(lists_from(a, axis + 1, at, as_bytes));
    return all;
}

} // namespace

nb::object to_python(any_array a) { return nb::cast(held_array{std::move(a)}); }

// NumPy's arrays of texts and of objects.
static bool has_objects(nb::handle v) {
    if (!nb::hasattr(v, "dtype") || !nb::hasattr(v.attr("dtype"), "kind")) return false;
    return std::string("OSTU").find(nb::str(v.attr("dtype").attr("kind")).c_str()) != std::string::npos;
}

// NumPy's arrays of the bfloat16 that JAX's ml_dtypes adds, which NumPy will not give to others: their bits are taken.
static bool take_bfloat16(nb::handle v, any_array& to) {
    if (!nb::hasattr(v, "dtype") || !nb::hasattr(v, "view") || !nb::str(v.attr("dtype")).equal(nb::str("bfloat16")))
        return false;
    any_array bits;
    if (!take_memory(v.attr("view")("uint16"), bits)) return false;
    auto held = std::make_unique<any_array>(std::move(bits));
    const auto end = [](void* context, void*) { delete static_cast<any_array*>(context); };
    to = any_array::adopt(held->data(), element_type::bfloat16, held->extents(), end, held.get());
    (void)held.release();
    return true;
}

any_array array_of(nb::handle value, element_type type, const std::string& who) {
    if (nb::isinstance<held_array>(value)) return nb::cast<const held_array&>(value).values.share();
    if (is_list(value) || is_text(value) || is_number(value)) return array_of_lists(value, type, who);
    // One number of NumPy's kinds is as Python's: an element of whatever type is asked for.
    if (nb::hasattr(value, "dtype") && nb::hasattr(value, "item") && !nb::hasattr(value, "__dlpack__"))
        return array_of_lists(value.attr("item")(), type, who);
    if (has_objects(value)) return array_of_lists(value, type, who);
    any_array a;
    if (take_bfloat16(value, a) || take_memory(value, a)) return a;
    if (nb::hasattr(value, "__array__")) return array_of(value.attr("__array__")(), type, who);
    return array_of_lists(value, type, who); // which says what is no array
}

nb::object to_lists(const any_array& a, bool as_bytes) {
    const auto* at = static_cast<const std::byte*>(a.data());
    return lists_from(a, 0, at, as_bytes);
}

nb::tuple shape_of(const extents& e) {
    nb::list sizes;
    for (const extent& size : e)
        if (size.is_number()) sizes.append(size.size);
        else if (size.is_named()) sizes.append(nb::str(size.name));
        else sizes.append(nb::none());
    return nb::tuple(sizes);
}

nb::str shown_text(std::string_view text) {
    PyObject* const s = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
    if (!s) throw nb::python_error();
    return nb::steal<nb::str>(s);
}

element_type element_of_name(const std::string& name) {
    std::string known;
    for (int e = 1; e <= static_cast<int>(element_type::string); ++e) {
        const auto type = static_cast<element_type>(e);
        if (name == tenon::name_of(type)) return type;
        known += std::string(e > 1 ? ", " : "") + tenon::name_of(type);
    }
    if (name == "float32") return element_type::float32;
    if (name == "float64") return element_type::float64;
    if (name == "float16") return element_type::float16;
    if (name == "str" || name == "bytes") return element_type::string;
    throw invalid_argument_error("\"" + name + "\" is no element type; there are " + known);
}

} // namespace tenon::python
