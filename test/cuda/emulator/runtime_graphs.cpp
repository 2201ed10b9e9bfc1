#include <algorithm>

#include "machine.hpp"

using namespace tenon::emulator;

namespace {

graph* find_graph(machine& m, cudaGraph_t handle) {
    graph* const g = reinterpret_cast<graph*>(handle);
    return m.graphs.count(g) ? g : nullptr;
}
std::shared_ptr<executable> find_executable(machine& m, cudaGraphExec_t handle) {
    const auto found = m.executables.find(reinterpret_cast<executable*>(handle));
    return found == m.executables.end() ? nullptr : found->second;
}

/// Whether all nodes come before those where the stream that began the capture ends.
bool joined(const capture& c) {
    std::vector<bool> reached(c.nodes.size());
    std::vector<std::size_t> open = c.origin->last;
    while (!open.empty()) {
        const std::size_t n = open.back();
        open.pop_back();
        if (reached[n]) continue;
        reached[n] = true;
        open.insert(open.end(), c.nodes[n].after.begin(), c.nodes[n].after.end());
    }
    return std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
}

void forget_parts(machine& m, const graph_nodes& nodes) {
    for (const graph_node& n : nodes)
        if (n.parts)
            for (const auto& part : n.parts->parts) {
                forget_parts(m, part->nodes);
                m.graphs.erase(part.get());
            }
}

void leave(machine& m, std::shared_ptr<capture> c) {
    for (const auto& s : m.streams)
        if (s->recording == c) {
            s->recording.reset();
            s->last.clear();
        }
    m.captures.erase(c);
}
cudaError_t give_up(machine& m, const capture& c, cudaError_t answer) {
    forget_parts(m, c.nodes);
    return answer;
}

cudaGraphNodeType type_of(const graph_node& n) {
    switch (n.what.kind) {
    case work::branch: return cudaGraphNodeTypeConditional;
    case work::copy: return cudaGraphNodeTypeMemcpy;
    case work::fill: return cudaGraphNodeTypeMemset;
    case work::host: return cudaGraphNodeTypeHost;
    default: return cudaGraphNodeTypeKernel; // what libraries do is kernels
    }
}

} // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return stream_api("cudaStreamBeginCapture", handle, "", [&](machine& m, lock_type&, const auto& s) {
        if (s == m.all[static_cast<std::size_t>(s->card)].legacy) return cudaErrorStreamCaptureUnsupported;
        if (s->recording) return cudaErrorIllegalState;
        auto c = std::make_shared<capture>();
        c->origin = s.get();
        c->mode = mode;
        c->thread = std::this_thread::get_id();
        s->recording = c;
        s->last.clear();
        m.captures.insert(c);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* to) {
    machine& all = the_machine();
    bool asked = false;
    const cudaError_t answered = api("cudaStreamEndCapture", handle, "", [&](machine& m, lock_type&) {
        asked = true;
        *to = nullptr;
        const auto s = m.find_stream(handle);
        if (!s) return cudaErrorInvalidResourceHandle;
        const std::shared_ptr<capture> c = s->recording;
        if (!c) return cudaErrorIllegalState;
        if (c->origin != s.get()) return cudaErrorStreamCaptureUnmatched;
        if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id())
            return cudaErrorStreamCaptureWrongThread;
        const bool whole = joined(*c);
        leave(m, c);
        if (c->invalid != cudaSuccess) return give_up(m, *c, c->invalid);
        if (!whole) return give_up(m, *c, cudaErrorStreamCaptureUnjoined);
        if (c->into) { // which may hold what a conditional node's may
            const auto is_host = [](const graph_node& n) { return n.what.kind == work::host; };
            if (std::any_of(c->nodes.begin(), c->nodes.end(), is_host)) return give_up(m, *c, cudaErrorNotSupported);
            const std::size_t first = c->into->nodes.size();
            for (graph_node& n : c->nodes) {
                for (std::size_t& b : n.after) b += first;
                c->into->nodes.push_back(std::move(n));
            }
            *to = reinterpret_cast<cudaGraph_t>(c->into);
            return cudaSuccess;
        }
        graph* const g = new graph{std::move(c->nodes)};
        m.graphs.insert(g);
        *to = reinterpret_cast<cudaGraph_t>(g);
        return cudaSuccess;
    });
    if (asked) return answered;
    const lock_type lock(all.guard); // a test has it fail: it has ended all the same
    if (const auto s = all.find_stream(handle); s && s->recording) {
        forget_parts(all, s->recording->nodes);
        leave(all, s->recording);
    }
    return answered;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    return stream_api("cudaStreamIsCapturing", handle, "", [&](machine&, lock_type&, const auto& s) {
        *status = !s->recording                          ? cudaStreamCaptureStatusNone
                  : s->recording->invalid != cudaSuccess ? cudaStreamCaptureStatusInvalidated
                                                         : cudaStreamCaptureStatusActive;
        return cudaSuccess;
    });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return api("cudaThreadExchangeStreamCaptureMode", [&](machine&, lock_type&) {
        std::swap(capture_mode, *mode);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
    return api("cudaGraphDestroy", [&](machine& m, lock_type&) {
        graph* const g = find_graph(m, handle);
        if (!g) return cudaErrorInvalidValue;
        forget_parts(m, g->nodes);
        m.graphs.erase(g);
        delete g;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* n) {
    return api("cudaGraphGetNodes", [&](machine& m, lock_type&) {
        graph* const g = find_graph(m, handle);
        if (!g) return cudaErrorInvalidValue;
        if (nodes)
            for (std::size_t i = 0; i < *n; ++i)
                nodes[i] = i < g->nodes.size() ? reinterpret_cast<cudaGraphNode_t>(&g->nodes[i]) : nullptr;
        *n = nodes ? std::min(*n, g->nodes.size()) : g->nodes.size();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    return api("cudaGraphNodeGetType", [&](machine&, lock_type&) {
        *type = type_of(*reinterpret_cast<const graph_node*>(node));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* to) {
    return api("cudaGraphKernelNodeGetParams", [&](machine&, lock_type&) {
        const command& c = reinterpret_cast<const graph_node*>(node)->what;
        if (!c.function) return cudaErrorInvalidDeviceFunction; // a library's
        *to = {};
        to->func = const_cast<void*>(c.function);
        to->gridDim = c.grid;
        to->blockDim = c.block;
        to->sharedMemBytes = static_cast<unsigned>(c.shared_bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* to, cudaGraph_t handle, unsigned long long) {
    return api("cudaGraphInstantiate", [&](machine& m, lock_type&) {
        graph* const g = find_graph(m, handle);
        if (!g) return cudaErrorInvalidValue;
        const auto e = std::make_shared<executable>();
        e->nodes = std::make_shared<const graph_nodes>(g->nodes);
        m.executables[e.get()] = e;
        *to = reinterpret_cast<cudaGraphExec_t>(e.get());
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t from, cudaGraphExecUpdateResultInfo* result) {
    return api("cudaGraphExecUpdate", [&](machine& m, lock_type&) {
        const auto e = find_executable(m, handle);
        graph* const g = find_graph(m, from);
        if (!e || !g) return cudaErrorInvalidValue;
        *result = {};
        result->result = cudaGraphExecUpdateSuccess;
        const graph_nodes& old = *e->nodes;
        const auto branches = [](const graph_node& n) { return n.parts != nullptr; };
        if (std::any_of(old.begin(), old.end(), branches) || std::any_of(g->nodes.begin(), g->nodes.end(), branches)) {
            result->result = cudaGraphExecUpdateErrorNotSupported; // of other conditions
        } else if (old.size() != g->nodes.size()) {
            result->result = cudaGraphExecUpdateErrorTopologyChanged;
        } else {
            for (std::size_t i = 0; i < old.size(); ++i) {
                const graph_node &a = old[i], &b = g->nodes[i];
                if (a.after != b.after) result->result = cudaGraphExecUpdateErrorTopologyChanged;
                else if (type_of(a) != type_of(b)) result->result = cudaGraphExecUpdateErrorNodeTypeChanged;
                else continue;
                result->errorNode = reinterpret_cast<cudaGraphNode_t>(&g->nodes[i]);
                break;
            }
        }
        if (result->result != cudaGraphExecUpdateSuccess) return cudaErrorGraphExecUpdateFailure;
        e->nodes = std::make_shared<const graph_nodes>(g->nodes);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t in) {
    return api("cudaGraphLaunch", in, "", [&](machine& m, lock_type&) {
        const auto s = m.find_stream(in);
        const auto e = find_executable(m, handle);
        if (!s || !e) return cudaErrorInvalidResourceHandle;
        if (s->recording) { // its nodes become nodes of the graph that is recorded
            capture& c = *s->recording;
            const std::size_t first = c.nodes.size();
            std::vector<bool> followed(e->nodes->size());
            for (const graph_node& n : *e->nodes) {
                graph_node& copy = c.nodes.emplace_back(n);
                for (std::size_t& b : copy.after) {
                    followed[b] = true;
                    b += first;
                }
                if (copy.after.empty()) copy.after = s->last;
            }
            if (!e->nodes->empty()) s->last.clear();
            for (std::size_t i = 0; i < followed.size(); ++i)
                if (!followed[i]) s->last.push_back(first + i);
            return cudaSuccess;
        }
        auto r = std::make_shared<replay>();
        r->from = e;
        r->nodes = *e->nodes;
        r->done.resize(r->nodes.size());
        r->left = r->nodes.size();
        ++m.activity;
        s->queue.push_back({{"cudaGraphLaunch", work::kernel, s->card, nullptr}, std::move(r)});
        m.wake_worker.notify_all();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
    return api("cudaGraphExecDestroy", [&](machine& m, lock_type&) {
        return m.executables.erase(reinterpret_cast<executable*>(handle)) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

} // extern "C"
