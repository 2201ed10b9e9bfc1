#include <algorithm>

#include "machine.hpp"

using namespace tenon::emulator;

// Conditional nodes, which streams that record are given, and what decides them.

namespace {

// A recording's graph is its capture until that ends.
std::shared_ptr<capture> find_capture(machine& m, cudaGraph_t handle) {
    for (const auto& c : m.captures)
        if (reinterpret_cast<cudaGraph_t>(c.get()) == handle) return c;
    return nullptr;
}
cudaGraphNode_t handle_of(std::size_t node) { return reinterpret_cast<cudaGraphNode_t>(node + 1); }
std::size_t node_of(cudaGraphNode_t handle) { return reinterpret_cast<std::size_t>(handle) - 1; }

} // namespace

namespace tenon::emulator {

void set_condition(cudaGraphConditionalHandle condition, unsigned value) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    const auto found = m.conditions.find(condition);
    if (found == m.conditions.end()) m.violations.push_back("a condition is set that no graph has");
    else found->second = value;
}

} // namespace tenon::emulator

extern "C" {

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t into, const cudaGraphNode_t*,
                                          const cudaGraphEdgeData*, std::size_t before, cudaStreamCaptureMode mode) {
    return stream_api("cudaStreamBeginCaptureToGraph", handle, "", [&](machine& m, lock_type&, const auto& s) {
        graph* const g = reinterpret_cast<graph*>(into);
        if (!m.graphs.count(g) || before) return cudaErrorInvalidValue;
        if (s == m.all[static_cast<std::size_t>(s->card)].legacy) return cudaErrorStreamCaptureUnsupported;
        if (s->recording) return cudaErrorIllegalState;
        auto c = std::make_shared<capture>();
        c->origin = s.get();
        c->mode = mode;
        c->thread = std::this_thread::get_id();
        c->into = g;
        s->recording = c;
        s->last.clear();
        m.captures.insert(c);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* of, const cudaGraphNode_t** before, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
    return stream_api("cudaStreamGetCaptureInfo", handle, "", [&](machine&, lock_type&, const auto& s) {
        *status = s->recording ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
        if (!s->recording) return cudaSuccess;
        capture& c = *s->recording;
        if (id) *id = reinterpret_cast<unsigned long long>(&c);
        if (of) *of = reinterpret_cast<cudaGraph_t>(&c);
        c.told.clear();
        for (const std::size_t n : s->last) c.told.push_back(handle_of(n));
        if (before) *before = c.told.data();
        if (edges) *edges = nullptr;
        if (count) *count = c.told.size();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* nodes, const cudaGraphEdgeData*,
                                                std::size_t count, unsigned flags) {
    return stream_api("cudaStreamUpdateCaptureDependencies", handle, "", [&](machine&, lock_type&, const auto& s) {
        if (!s->recording) return cudaErrorIllegalState;
        if (flags == cudaStreamSetCaptureDependencies) s->last.clear();
        for (std::size_t n = 0; n < count; ++n) {
            if (node_of(nodes[n]) >= s->recording->nodes.size()) return cudaErrorInvalidValue;
            s->last.push_back(node_of(nodes[n]));
        }
        return cudaSuccess;
    });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* to, cudaGraph_t in, unsigned first,
                                             unsigned flags) {
    return api("cudaGraphConditionalHandleCreate", [&](machine& m, lock_type&) {
        if (flags || !find_capture(m, in)) return cudaErrorInvalidValue;
        static cudaGraphConditionalHandle last = 0; // under the guard
        *to = ++last;
        m.conditions[last] = first;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* to, cudaGraph_t in, const cudaGraphNode_t* before,
                             const cudaGraphEdgeData*, std::size_t count, cudaGraphNodeParams* of) {
    return api("cudaGraphAddNode", [&](machine& m, lock_type&) {
        const auto c = find_capture(m, in);
        if (!c || of->type != cudaGraphNodeTypeConditional) return cudaErrorNotSupported; // nothing else is asked for
        const cudaConditionalNodeParams& p = of->conditional;
        const unsigned most = p.type == cudaGraphCondTypeWhile ? 1 : p.type == cudaGraphCondTypeIf ? 2 : ~0u;
        if (!m.conditions.count(p.handle) || p.size < 1 || p.size > most) return cudaErrorInvalidValue;
        graph_node node{{"a conditional node", work::branch, current_card, [] { return true; }}, {}};
        node.parts = std::make_shared<branch>(branch{p.handle, p.type});
        for (unsigned k = 0; k < p.size; ++k) {
            node.parts->parts.push_back(std::make_shared<graph>());
            m.graphs.insert(node.parts->parts.back().get());
            node.parts->handles.push_back(reinterpret_cast<cudaGraph_t>(node.parts->parts.back().get()));
        }
        for (std::size_t n = 0; n < count; ++n) {
            if (node_of(before[n]) >= c->nodes.size()) return cudaErrorInvalidValue;
            node.after.push_back(node_of(before[n]));
        }
        of->conditional.phGraph_out = node.parts->handles.data();
        *to = handle_of(c->nodes.size());
        c->nodes.push_back(std::move(node));
        return cudaSuccess;
    });
}

} // extern "C"
