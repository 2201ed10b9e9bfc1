#pragma once

#include "tests.hpp"

/// Calls f with sessions that differ in what must not matter.
inline void in_every_session(const std::function<void(tenon::session&)>& f) {
    const tenon::session_options kinds[] = {
        {},
        {.fuse = false},
        {.fold_constants = false},
        {.inter_op_threads = 1, .fold_constants = false, .fuse = false},
        {.gpus = tenon::simulated_gpu(1, 1 << 20)},
        {.cpu_devices = 2},
    };
    int kind = 0;
    for (const tenon::session_options& o : kinds) {
        CAPTURE(kind++);
        tenon::session s(o);
        f(s);
    }
}
