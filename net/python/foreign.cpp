#include <net/python/foreign.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <nanobind/stl/string.h>

#include <tenon/core/array/dlpack.hpp>
#include <tenon/core/error.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

// What Python has lent. Ended with the interpreter's lock.
struct lent {
    virtual ~lent() = default;
    lent* next = nullptr;
};
std::atomic<lent*> put_aside{nullptr};

int free_pending(void*) {
    free_put_aside();
    return 0;
}

void give_back(lent* l) noexcept {
    if (!Py_IsInitialized()) return; // the interpreter has gone, and its memory with it
    if (PyGILState_Check()) {
        delete l;
        return;
    }
    l->next = put_aside.load(std::memory_order_relaxed);
    while (!put_aside.compare_exchange_weak(l->next, l, std::memory_order_release, std::memory_order_relaxed)) {
    }
    (void)Py_AddPendingCall(free_pending, nullptr); // where there are too many of those, who calls next frees it
}

// A tensor that gives back what was lent for it.
template <class M> struct lent_tensor : lent {
    M shown;
    static void end(M* m) noexcept { give_back(static_cast<lent_tensor*>(m->manager_ctx)); }
    void show(const M& as) {
        shown = as;
        shown.manager_ctx = this;
        shown.deleter = [](M* m) { end(m); };
    }
};

template <class M> struct lent_by_dlpack final : lent_tensor<M> {
    M* const theirs;
    explicit lent_by_dlpack(M* m) : theirs(m) { this->show(*m); }
    ~lent_by_dlpack() override {
        if (theirs->deleter) theirs->deleter(theirs);
    }
};

// The array of what was lent, which `l` ends; `l` is not ended where this throws.
template <class L> any_array array_lent_by(std::unique_ptr<L> l) {
    any_array a = from_dlpack_or_copy(&l->shown);
    (void)l.release();
    return a;
}

// A capsule that was taken is renamed, so that it does not end what it held.
template <class M> any_array taken_from(nb::handle capsule, const char* name, const char* used) {
    auto* const m = static_cast<M*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (!m) throw nb::python_error();
    auto l = std::make_unique<lent_by_dlpack<M>>(m);
    if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
    return array_lent_by(std::move(l));
}

bool take_by_dlpack(nb::handle object, any_array& to) {
    nb::object capsule;
    const nb::object give = object.attr("__dlpack__");
    try {
        capsule = give(nb::arg("max_version") = nb::make_tuple(1, 0));
    } catch (nb::python_error& e) {
        if (e.matches(PyExc_BufferError)) return false;
        if (!e.matches(PyExc_TypeError)) throw;
        try { // who knows no versions
            capsule = give();
        } catch (nb::python_error& again) {
            if (again.matches(PyExc_BufferError)) return false;
            throw;
        }
    }
    to = PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")
             ? taken_from<dlpack::managed_tensor_versioned>(capsule, "dltensor_versioned", "used_dltensor_versioned")
             : taken_from<dlpack::managed_tensor>(capsule, "dltensor", "used_dltensor");
    return true;
}

// The elements that struct's letters stand for, in this machine's order of bytes.
dlpack::data_type type_of_format(const Py_buffer& b) {
    std::string f = b.format ? b.format : "B";
    if (f.size() > 1 && (f[0] == '@' || f[0] == '=' || f[0] == '<')) f.erase(0, 1); // little-endian, as the library is
    std::uint8_t code = 255;
    if (f == "?") code = 6;
    else if (f == "e" || f == "f" || f == "d") code = 2;
    else if (f.size() == 1 && std::string("bhilqn").find(f[0]) != std::string::npos) code = 0;
    else if (f.size() == 1 && std::string("BHILQN").find(f[0]) != std::string::npos) code = 1;
    if (f.size() == 2 && (f[0] == '>' || f[0] == '!'))
        throw unimplemented_error("a buffer of the other byte order (\"" + f +
                                  "\"): NumPy's x.astype(x.dtype.newbyteorder('=')) is of this one");
    if (code == 255)
        throw unimplemented_error(
            "a buffer of elements \"" + std::string(b.format ? b.format : "B") +
            "\" (struct's letters): arrays have bools, integers and floating numbers of one type");
    return {code, static_cast<std::uint8_t>(8 * b.itemsize), 1};
}

struct lent_by_buffer final : lent_tensor<dlpack::managed_tensor_versioned> {
    Py_buffer buffer{};
    std::int64_t sizes[PyBUF_MAX_NDIM]{}, strides[PyBUF_MAX_NDIM]{};
    ~lent_by_buffer() override {
        if (buffer.obj) PyBuffer_Release(&buffer);
    }
};

bool take_by_buffer(nb::handle object, any_array& to) {
    auto l = std::make_unique<lent_by_buffer>();
    Py_buffer& b = l->buffer;
    if (PyObject_GetBuffer(object.ptr(), &b, PyBUF_RECORDS_RO) != 0) {
        if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError))
            throw nb::python_error();
        const bool of_elements = PyErr_ExceptionMatches(PyExc_ValueError); // as dates, that no buffer has
        PyErr_Clear();
        if (of_elements) {
            const nb::object type = nb::getattr(object, "dtype", nb::handle(Py_TYPE(object.ptr())));
            throw unimplemented_error("elements of type " + nb::cast<std::string>(nb::str(type)) +
                                      ": arrays have bools, integers, floating numbers and texts; convert them "
                                      "first, as by astype");
        }
        return false;
    }
    dlpack::managed_tensor_versioned m;
    m.flags = b.readonly ? 1 : 0;
    m.dl_tensor.data = b.buf;
    m.dl_tensor.ndim = b.ndim;
    m.dl_tensor.dtype = type_of_format(b);
    for (int i = 0; i < b.ndim; ++i) {
        l->sizes[i] = b.shape[i];
        if (b.strides[i] % b.itemsize != 0)
            throw unimplemented_error("a buffer whose strides are no multiples of its elements' size: copy it first");
        l->strides[i] = b.strides[i] / b.itemsize;
    }
    m.dl_tensor.shape = l->sizes;
    m.dl_tensor.strides = l->strides;
    l->show(m);
    to = array_lent_by(std::move(l));
    return true;
}

} // namespace

bool take_memory(nb::handle object, any_array& to) {
    if (nb::hasattr(object, "__dlpack__") && take_by_dlpack(object, to)) return true;
    return PyObject_CheckBuffer(object.ptr()) && take_by_buffer(object, to);
}

void free_put_aside() {
    for (lent* l = put_aside.exchange(nullptr, std::memory_order_acquire); l;) {
        lent* const next = l->next;
        delete l;
        l = next;
    }
}

} // namespace tenon::python
