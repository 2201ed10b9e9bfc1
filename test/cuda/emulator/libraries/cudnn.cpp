#if defined(TENON_WITH_CUDNN)

#include "cudnn.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "emulator/control.hpp"
#include "cudnn_graph.hpp"
#include "planned_faults.hpp"

struct cudnnContext {
    int card = 0;
    cudaStream_t stream = nullptr;
};

namespace tenon::emulator::cudnn {

namespace {

// Engines by their place in what heuristics give.
enum engine : int { rounds_float, nondeterministic, too_large, not_supported, exact };
constexpr std::size_t workspace_of[] = {0, 0, std::size_t{1} << 40, 0, 1000};

auto& faults = *new planned_faults<cudnnStatus_t>; // never destroyed: some is called when the program ends
struct library_state {
    std::mutex guard;
    std::map<cudnnBackendDescriptor_t, std::shared_ptr<descriptor>> descriptors;
    std::set<cudnnBackendDescriptorType_t> refused;
    std::vector<std::string> executed;
    bool is_direct = false;
};
library_state& state() {
    static auto& s = *new library_state;
    return s;
}
thread_local std::string last_complaint;

// Runs a function of the library: what it throws is what it answers.
template <class F> cudnnStatus_t answer(const char* function, F&& body) {
    if (const auto planned = faults.of_call(function)) {
        last_complaint = std::string(function) + " was told to fail";
        return *planned;
    }
    try {
        body();
        last_complaint.clear();
        return CUDNN_STATUS_SUCCESS;
    } catch (const complaint& c) {
        last_complaint = c.what();
        return c.status;
    }
}

std::vector<operation> operations_of(const descriptor& graph) {
    std::vector<operation> all;
    for (const cudnnBackendDescriptor_t raw : graph.list<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        const std::shared_ptr<descriptor> d = find(raw);
        require(d->final, "an operation of a graph is not final", CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
        all.push_back(operation_of(d));
    }
    return all;
}

// What is in memory when a graph is run, and what is only between its operations.
void check_graph(const std::vector<operation>& all) {
    require(!all.empty(), "a graph without operations");
    std::set<std::int64_t> written;
    std::map<std::int64_t, tensor> by_uid;
    for (const operation& o : all) {
        for (const tensor& t : o.inputs)
            require(!t.is_virtual || written.count(t.uid), "a virtual tensor is read before it is written");
        for (const tensor& t : o.outputs) require(written.insert(t.uid).second, "a tensor is written twice");
        for (const auto* list : {&o.inputs, &o.outputs})
            for (const tensor& t : *list) {
                const auto [at, is_new] = by_uid.emplace(t.uid, t);
                require(is_new || (at->second.sizes == t.sizes && at->second.strides == t.strides),
                        "two tensors of one number", CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
            }
    }
    require(!all.back().outputs[0].is_virtual, "a graph's result is virtual");
}

void finalize(descriptor& d) {
    require(!d.final, "a descriptor is finalized twice");
    for (const expectation& e : expected(d.type))
        require(!e.needed || d.has(e.name), "attribute " + std::to_string(e.name) + " of descriptor type " +
                                                std::to_string(d.type) + " is missing");
    switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: (void)tensor_of(d); break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: {
        require(d.value<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2,
                "convolutions of images have 2 dimensions");
        require(d.value<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION,
                "a flipped filter", CUDNN_STATUS_NOT_SUPPORTED);
        for (const auto n : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES}) {
            require(d.list<std::int64_t>(n).size() == 2, "2 dimensions");
            for (const std::int64_t v : d.list<std::int64_t>(n)) require(v > 0, "strides and dilations are positive");
        }
        for (const auto n : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
            require(d.list<std::int64_t>(n).size() == 2, "2 dimensions");
            for (const std::int64_t v : d.list<std::int64_t>(n)) require(v >= 0, "paddings are not negative");
        }
        break;
    }
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: (void)operation_of(std::make_shared<descriptor>(d)); break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        require(d.value<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) != nullptr, "a graph without a handle");
        check_graph(operations_of(d));
        break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: {
        const auto graph = d.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        for (const operation& o : operations_of(*graph))
            require(!state().refused.count(o.type), "no engine for an operation",
                    CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
        break;
    }
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
        require(d.value<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != nullptr, "a plan without a handle");
        const auto configuration = d.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        require(configuration->engine != not_supported, "this engine makes no plan", CUDNN_STATUS_NOT_SUPPORTED);
        d.engine = configuration->engine;
        d.attributes[CUDNN_ATTR_OPERATIONGRAPH_OPS] = configuration->attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
        break;
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        require(d.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count ==
                    d.attributes.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count,
                "as many pointers as tensors");
        break;
    default: break;
    }
    d.final = true;
}

template <class T> void put(std::int64_t room, std::int64_t* count, void* to, const std::vector<T>& values) {
    *count = static_cast<std::int64_t>(values.size());
    if (!to) return;
    const std::size_t n = std::min(values.size(), static_cast<std::size_t>(room));
    std::memcpy(to, values.data(), n * sizeof(T));
    *count = static_cast<std::int64_t>(n);
}

void give(const descriptor& d, cudnnBackendAttributeName_t name, std::int64_t room, std::int64_t* count, void* to) {
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
        require(d.final, "heuristics are not final", CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
        const bool fallback = d.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
        const std::vector<int> engines =
            fallback ? std::vector<int>{exact}
                     : std::vector<int>{rounds_float, nondeterministic, too_large, not_supported};
        *count = static_cast<std::int64_t>(engines.size());
        if (!to) return;
        const auto graph = d.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        auto* const raw = static_cast<cudnnBackendDescriptor_t*>(to);
        *count = std::min(*count, room);
        for (std::int64_t i = 0; i < *count; ++i) {
            const auto configuration = find(raw[i]);
            require(configuration->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                    "configurations are written to their descriptors");
            configuration->engine = engines[static_cast<std::size_t>(i)];
            configuration->attributes[CUDNN_ATTR_OPERATIONGRAPH_OPS] =
                graph->attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
            configuration->final = true;
        }
        return;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
        require(room == 1 && to, "one engine");
        const auto engine = find(*static_cast<cudnnBackendDescriptor_t*>(to));
        require(engine->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR, "an engine is written to its descriptor");
        engine->engine = d.engine;
        engine->final = true;
        *count = 1;
        return;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
        std::vector<cudnnBackendNumericalNote_t> notes;
        if (d.engine == rounds_float) notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
        if (d.engine == nondeterministic) notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
        return put(room, count, to, notes);
    }
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: {
        const std::lock_guard lock(state().guard);
        return put(room, count, to,
                   std::vector<std::int64_t>{state().is_direct && d.engine == exact ? 0 : d.engine + 1});
    }
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        require(d.final, "a plan is not final", CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
        return put(room, count, to, std::vector<std::int64_t>{static_cast<std::int64_t>(workspace_of[d.engine])});
    default: throw complaint(CUDNN_STATUS_NOT_SUPPORTED, "reading attribute " + std::to_string(name));
    }
}

void execute(cudnnHandle_t handle, const descriptor& plan, const descriptor& pack) {
    require(plan.final && pack.final && plan.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
                pack.type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
            "a final plan and a final variant pack", CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    int card = -1;
    require(cudaGetDevice(&card) == cudaSuccess && card == handle->card,
            "another GPU than the handle's is the current one");
    const auto uids = pack.list<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto pointers = pack.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    auto* const workspace = pack.value<std::byte*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    const std::size_t workspace_bytes = workspace_of[plan.engine];
    require(workspace_bytes == 0 || workspace, "no workspace is given", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    // What cudaMalloc gives: of less nothing is documented.
    require(reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0, "the workspace is not aligned to 256 bytes",
            CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    std::map<std::int64_t, std::byte*> data;
    for (std::size_t i = 0; i < uids.size(); ++i)
        require(data.emplace(uids[i], static_cast<std::byte*>(pointers[i])).second, "a tensor is given twice",
                CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);

    const std::vector<operation> operations = operations_of(plan);
    std::map<std::int64_t, tensor> in_memory;
    std::set<std::int64_t> results;
    for (const operation& o : operations) {
        for (const tensor& t : o.inputs)
            if (!t.is_virtual) in_memory.emplace(t.uid, t);
        for (const tensor& t : o.outputs) {
            if (!t.is_virtual) in_memory.emplace(t.uid, t);
            results.insert(t.uid);
        }
    }
    for (const auto& [uid, t] : in_memory) {
        require(data.count(uid) && data.at(uid), "tensor " + std::to_string(uid) + " is not given",
                CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
        require(t.is_by_value ||
                    reinterpret_cast<std::uintptr_t>(data.at(uid)) % static_cast<std::uintptr_t>(t.alignment) == 0,
                "tensor " + std::to_string(uid) + " lies less aligned than it was said to",
                CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    }
    {
        const std::lock_guard lock(state().guard);
        static const char* const names[] = {"rounds floats", "nondeterministic", "too large", "not supported", "exact"};
        state().executed.emplace_back(names[plan.engine]);
    }
    const cudaError_t queued = enqueue(handle->stream, "cudnn", [=] {
        const auto each_place = [](const tensor& t, auto f) {
            std::vector<std::int64_t> at(t.sizes.size());
            for (std::int64_t i = 0; i < t.elements(); ++i) {
                std::int64_t rest = i;
                for (std::size_t k = at.size(); k-- > 0; rest /= t.sizes[k]) at[k] = rest % t.sizes[k];
                f(static_cast<std::size_t>(i), t.offset(at) * static_cast<std::int64_t>(size_of(t.type)));
            }
        };
        values all;
        for (const auto& [uid, t] : in_memory) {
            if (results.count(uid)) continue;
            std::vector<double>& to = all[uid];
            to.resize(static_cast<std::size_t>(t.elements()));
            each_place(t, [&, from = data.at(uid), type = t.type](std::size_t i, std::int64_t at) {
                to[i] = load(from + at, type);
            });
        }
        if (workspace_bytes > 0) std::memset(workspace, 0x5a, workspace_bytes);
        for (const operation& o : operations) compute(o, all);
        for (const auto& [uid, t] : in_memory)
            if (results.count(uid))
                each_place(t, [&, to = data.at(uid), type = t.type, number = uid](std::size_t i, std::int64_t at) {
                    store(to + at, type, all[number][i]);
                });
        return true;
    });
    require(queued == cudaSuccess, "the stream takes no work", CUDNN_STATUS_EXECUTION_FAILED);
}

} // namespace

std::shared_ptr<descriptor> find(cudnnBackendDescriptor_t raw) {
    library_state& s = state();
    const std::lock_guard lock(s.guard);
    const auto at = s.descriptors.find(raw);
    require(at != s.descriptors.end(), "this is no descriptor", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    return at->second;
}

std::shared_ptr<descriptor> descriptor::refer(cudnnBackendAttributeName_t n, cudnnBackendDescriptorType_t to) const {
    auto d = find(value<cudnnBackendDescriptor_t>(n));
    require(d->type == to, "attribute " + std::to_string(n) + " names a descriptor of another type",
            CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
    require(d->final, "attribute " + std::to_string(n) + " names a descriptor that is not final",
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    return d;
}

void reset() {
    faults.clear();
    library_state& s = state();
    const std::lock_guard lock(s.guard);
    s.refused.clear();
    s.executed.clear();
    s.is_direct = false;
}
void fail(const std::string& function, cudnnStatus_t status, std::uint64_t after, std::uint64_t times) {
    faults.plan(function, status, after, times);
}
void refuse(cudnnBackendDescriptorType_t operation) {
    const std::lock_guard lock(state().guard);
    state().refused.insert(operation);
}
void make_direct() {
    const std::lock_guard lock(state().guard);
    state().is_direct = true;
}
std::vector<std::string> executed() {
    const std::lock_guard lock(state().guard);
    return state().executed;
}
std::size_t descriptors() {
    const std::lock_guard lock(state().guard);
    return state().descriptors.size();
}

} // namespace tenon::emulator::cudnn

using namespace tenon::emulator::cudnn;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
    switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED: return "CUDNN_STATUS_ALLOC_FAILED";
    default: return "CUDNN_STATUS_BAD_PARAM";
    }
}
void cudnnGetLastErrorString(char* message, size_t max_size) {
    if (max_size == 0) return;
    const std::size_t n = std::min(max_size - 1, last_complaint.size());
    std::memcpy(message, last_complaint.data(), n);
    message[n] = 0;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
    return answer("cudnnCreate", [&] {
        auto made = std::make_unique<cudnnContext>();
        require(cudaGetDevice(&made->card) == cudaSuccess, "there is no GPU", CUDNN_STATUS_NOT_INITIALIZED);
        *handle = made.release();
    });
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    return answer("cudnnSetStream", [&] { handle->stream = stream; });
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
    return answer("cudnnBackendCreateDescriptor", [&] {
        (void)expected(type);
        auto d = std::make_shared<descriptor>();
        d->type = type;
        const std::lock_guard lock(state().guard);
        *made = d.get();
        state().descriptors.emplace(*made, std::move(d));
    });
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t raw) {
    return answer("cudnnBackendDestroyDescriptor", [&] {
        const std::lock_guard lock(state().guard);
        require(state().descriptors.erase(raw) == 1, "this is no descriptor");
    });
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    return answer("cudnnBackendSetAttribute", [&] {
        const auto d = find(raw);
        require(!d->final, "a final descriptor is not changed");
        require(count > 0 && values, "an attribute without values");
        const std::vector<expectation>& known = expected(d->type);
        const auto e = std::find_if(known.begin(), known.end(), [&](const expectation& x) { return x.name == name; });
        require(e != known.end(),
                "descriptor type " + std::to_string(d->type) + " has no attribute " + std::to_string(name));
        require(e->type == type || (e->type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE),
                "attribute " + std::to_string(name) + " has another type", CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
        attribute& a = d->attributes[name];
        a.type = type;
        a.count = count;
        a.bytes.resize(static_cast<std::size_t>(count) * bytes_of(type));
        std::memcpy(a.bytes.data(), values, a.bytes.size());
    });
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const raw, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t room, int64_t* count, void* values) {
    return answer("cudnnBackendGetAttribute", [&] { give(*find(raw), name, room, count, values); });
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t raw) {
    return answer("cudnnBackendFinalize", [&] { finalize(*find(raw)); });
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
    return answer("cudnnBackendExecute", [&] { execute(handle, *find(plan), *find(pack)); });
}

} // extern "C"

#endif
