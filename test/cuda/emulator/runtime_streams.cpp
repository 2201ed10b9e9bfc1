#include <algorithm>

#include "machine.hpp"

using namespace tenon::emulator;

namespace {

cudaStream_t handle_of(stream* s) { return reinterpret_cast<cudaStream_t>(s); }

event* find_event(machine& m, cudaEvent_t handle) {
    event* const e = reinterpret_cast<event*>(handle);
    return m.events.count(e) ? e : nullptr;
}

cudaError_t lost(machine& m, int card) { return m.all[static_cast<std::size_t>(card)].lost; }

/// What a stream that records a capture may not be asked, and what asking does to the capture.
cudaError_t refused_while_recording(stream& s) {
    if (!s.recording) return cudaSuccess;
    s.recording->invalid = cudaErrorStreamCaptureInvalidated;
    return cudaErrorStreamCaptureUnsupported;
}

/// Of asking for an event.
cudaError_t refused_by_capture(machine& m, event& e) {
    if (!e.recording) return tenon::emulator::refused_by_capture(m);
    e.recording->invalid = cudaErrorStreamCaptureInvalidated;
    return cudaErrorCapturedEvent;
}

} // namespace

extern "C" {
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* to, unsigned flags) {
    return api("cudaStreamCreateWithFlags", [&](machine& m, lock_type&) {
        if (flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        m.streams.push_back(std::make_shared<stream>(stream{current_card, flags}));
        *to = handle_of(m.streams.back().get());
        return cudaSuccess;
    });
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    return api("cudaStreamDestroy", handle, "", [&](machine& m, lock_type&) {
        const auto s = m.find_stream(handle);
        if (!s || handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
            return cudaErrorInvalidResourceHandle;
        if (s->recording) s->recording->invalid = cudaErrorStreamCaptureInvalidated;
        s->destroyed = true;
        if (s->queue.empty()) m.streams.remove(s);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    return stream_api("cudaStreamSynchronize", handle, "", [&](machine& m, lock_type& lock, const auto& s) {
        if (const cudaError_t e = refused_while_recording(*s)) return e;
        const int card = s->card;
        m.wait(lock, [&] { return s->queue.empty(); });
        return lost(m, card);
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    return stream_api("cudaStreamQuery", handle, "", [&](machine& m, lock_type& lock, const auto& s) {
        if (const cudaError_t e = refused_while_recording(*s)) return e;
        m.nudge(lock);
        if (const cudaError_t e = lost(m, s->card)) return e;
        return s->queue.empty() ? cudaSuccess : cudaErrorNotReady;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t for_what, unsigned) {
    return api("cudaStreamWaitEvent", handle, "", [&](machine& m, lock_type&) {
        const auto s = m.find_stream(handle);
        event* const e = find_event(m, for_what);
        if (!s || !e) return cudaErrorInvalidResourceHandle;
        if (e->recording) {
            if (m.captures.count(e->recording) == 0) return cudaErrorCapturedEvent; // that capture has ended
            if (e->recording->invalid != cudaSuccess) return e->recording->invalid;
            if (s->recording && s->recording != e->recording) {
                s->recording->invalid = e->recording->invalid = cudaErrorStreamCaptureInvalidated;
                return cudaErrorStreamCaptureMerge;
            }
            if (!s->recording) {
                if (s.get() == m.all[static_cast<std::size_t>(s->card)].legacy.get())
                    return cudaErrorStreamCaptureImplicit;
                s->recording = e->recording;
                s->last.clear();
            }
            for (const std::size_t n : e->nodes)
                if (std::find(s->last.begin(), s->last.end(), n) == s->last.end()) s->last.push_back(n);
            return cudaSuccess;
        }
        if (s->recording) {
            s->recording->invalid = cudaErrorStreamCaptureInvalidated;
            return cudaErrorStreamCaptureIsolation;
        }
        if (!e->last) return cudaSuccess;
        m.put(*s, {"cudaStreamWaitEvent", work::wait, s->card, [reached = e->last] { return reached->reached; }});
        return cudaSuccess;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
    return stream_api("cudaLaunchHostFunc", handle, "", [&](machine& m, lock_type&, const auto& s) {
        m.put(*s, {"cudaLaunchHostFunc", work::host, s->card, [function, data] {
                       function(data);
                       return true;
                   }});
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* to, unsigned flags) {
    return api("cudaEventCreateWithFlags", [&](machine& m, lock_type&) {
        event* const e = new event{current_card, flags, nullptr, nullptr};
        m.events.insert(e);
        *to = reinterpret_cast<cudaEvent_t>(e);
        return cudaSuccess;
    });
}
cudaError_t cudaEventCreate(cudaEvent_t* to) { return cudaEventCreateWithFlags(to, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
    return api("cudaEventDestroy", [&](machine& m, lock_type&) {
        event* const e = find_event(m, handle);
        if (!e) return cudaErrorInvalidResourceHandle;
        m.events.erase(e);
        delete e;
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t in) {
    return api("cudaEventRecord", in, "", [&](machine& m, lock_type&) {
        const auto s = m.find_stream(in);
        event* const e = find_event(m, handle);
        if (!s || !e || s->card != e->card) return cudaErrorInvalidResourceHandle;
        if (s->recording) {
            e->recording = s->recording;
            e->nodes = s->last;
            return cudaSuccess;
        }
        e->recording.reset();
        e->last = std::make_shared<marker>();
        m.put(*s, {"cudaEventRecord", work::event, s->card, [reached = e->last] {
                       reached->reached = true;
                       reached->at = clock_type::now();
                       return true;
                   }});
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
    return api("cudaEventQuery", [&](machine& m, lock_type& lock) {
        event* e = find_event(m, handle);
        if (!e) return cudaErrorInvalidResourceHandle;
        if (const cudaError_t r = refused_by_capture(m, *e)) return r;
        const auto reached = e->last;
        const int card = e->card;
        if (reached && !reached->reached) m.nudge(lock);
        if (const cudaError_t l = lost(m, card)) return l;
        return !reached || reached->reached ? cudaSuccess : cudaErrorNotReady;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    return api("cudaEventSynchronize", [&](machine& m, lock_type& lock) {
        event* e = find_event(m, handle);
        if (!e) return cudaErrorInvalidResourceHandle;
        if (const cudaError_t r = refused_by_capture(m, *e)) return r;
        const auto reached = e->last;
        const int card = e->card;
        if (reached) m.wait(lock, [&] { return reached->reached; });
        return lost(m, card);
    });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return api("cudaEventElapsedTime", [&](machine& m, lock_type&) {
        event *a = find_event(m, from), *b = find_event(m, to);
        if (!a || !b || !a->last || !b->last || (a->flags | b->flags) & cudaEventDisableTiming)
            return cudaErrorInvalidResourceHandle;
        if (!a->last->reached || !b->last->reached) return cudaErrorNotReady;
        *milliseconds = std::chrono::duration<float, std::milli>(b->last->at - a->last->at).count();
        return cudaSuccess;
    });
}

} // extern "C"
