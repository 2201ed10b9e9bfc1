#pragma once

#include <nanobind/nanobind.h>

#include <tenon/core/array/any_array.hpp>

/// Memory of Python's objects as arrays. The thread that lets go of such an array may be any, and may hold the interpreter's lock or
/// not: what it frees is put aside for the interpreter, which nobody waits for.

namespace tenon::python {

/// The object's elements, without a copy where they lie as an array's do and may be written; else a copy. Of objects with __dlpack__,
/// and of those with a buffer. False where the object has neither, or will not give its elements so: BufferError.
bool take_memory(nanobind::handle object, any_array& to);

/// Frees what was put aside. With the interpreter's lock.
void free_put_aside();

} // namespace tenon::python
