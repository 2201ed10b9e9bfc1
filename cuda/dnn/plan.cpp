#include <cuda/dnn/graph.hpp>

#include <cstdio>
#include <map>
#include <mutex>
#include <optional>

#include <cuda/device/context.hpp>
#include <tenon/core/error.hpp>

#if defined(TENON_WITH_CUDNN)
#include <cuda/dnn/operations.hpp>
#endif

namespace tenon::cuda::dnn {

namespace {

void say_once(const std::string& why) {
    static std::once_flag said;
    std::call_once(said, [&] {
        std::fprintf(stderr, "tenon: %s. Convolutions and attention on GPUs run without it, several times slower.\n",
                     why.c_str());
    });
}

} // namespace

#if defined(TENON_WITH_CUDNN)

namespace {

// What a plan is made for: a GPU by its handle, or by its description.
struct target {
    const functions& f;
    cudnnHandle_t handle = nullptr;
    const descriptor* description = nullptr;
};

bool multiplies(operation_kind k) {
    return k == operation_kind::convolution || k == operation_kind::convolution_backward_input ||
           k == operation_kind::convolution_backward_filter || k == operation_kind::product;
}

// True where an engine computes what `g` asks for, and gives the same in every run.
bool is_exact(const descriptor& engine, const graph& g) {
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    const std::int64_t count =
        engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
    bool is_float = false; // what is multiplied
    for (const operation& o : g.operations)
        for (std::size_t i = 0; i + 1 < o.operands.size() && multiplies(o.kind); ++i) {
            const tensor& t = g.tensors[static_cast<std::size_t>(o.operands[i])];
            is_float = is_float || (t.element == element_type::float32 && !t.between);
        }
    for (std::int64_t i = 0; i < count; ++i) switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return false;
        // Tensor cores round float to 10 bits of fraction.
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            if (is_float && !g.tf32) return false;
            break;
        default: break;
        }
    return true;
}

// A plan, and what it was made of, which lives as long.
struct made_plan {
    std::optional<described_graph> described;
    std::optional<descriptor> graph, configuration, raw;
    std::size_t workspace = 0;
    std::int64_t engine = -1; ///< its number
    std::string why;          ///< there is none
};

// The first engine that heuristics name, makes a plan, and keeps to what the graph asks; `why` tells what was wrong with others.
void choose_engine(const target& to, const graph& g, made_plan& m) {
    std::string& why = m.why;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        std::vector<descriptor> found;
        try {
            descriptor heuristics(to.f, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
            heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *m.graph);
            heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
#if CUDNN_VERSION >= 90800
            if (to.description) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *to.description);
#endif
            heuristics.finalize();
            const std::int64_t count =
                heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
            std::vector<cudnnBackendDescriptor_t> raw;
            for (std::int64_t i = 0; i < count; ++i)
                raw.push_back(found.emplace_back(to.f, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).raw());
            const std::int64_t given = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                      static_cast<std::int64_t>(raw.size()), raw.data());
            while (static_cast<std::int64_t>(found.size()) > given) found.pop_back();
        } catch (const refused& r) {
            why += (why.empty() ? "" : "; ") + r.why;
            continue;
        }
        for (descriptor& configuration : found) try {
                descriptor engine(to.f, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
                cudnnBackendDescriptor_t raw = engine.raw();
                (void)configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
                if (!is_exact(engine, g)) continue;
                descriptor made(to.f, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
                if (to.handle) made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &to.handle);
#if CUDNN_VERSION >= 90800
                if (to.description) made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *to.description);
#endif
                made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
                made.finalize();
                std::int64_t bytes = 0;
                (void)made.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
                if (bytes < 0 || static_cast<std::size_t>(bytes) > g.most_workspace_bytes) continue;
                m.workspace = static_cast<std::size_t>(bytes);
                (void)engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &m.engine);
                m.configuration.emplace(std::move(configuration));
                m.raw.emplace(std::move(made));
                why.clear();
                return;
            } catch (const refused& r) {
                why += (why.empty() ? "" : "; ") + r.why;
            } catch (const internal_error& e) { // an engine that could not be compiled, say
                why += (why.empty() ? "" : "; ") + std::string(e.what());
            }
    }
    if (why.empty()) why = "no engine is exact enough, and within " + std::to_string(g.most_workspace_bytes) + " bytes";
}

made_plan make_plan(const target& to, const graph& g) {
    made_plan m;
    try {
        const described_graph& described = m.described.emplace(to.f, g);
        std::vector<cudnnBackendDescriptor_t> all;
        for (const descriptor& d : described.operations) all.push_back(d.raw());
        descriptor& operations = m.graph.emplace(to.f, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        if (to.handle) operations.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &to.handle);
        operations.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                       static_cast<std::int64_t>(all.size()), all.data());
        operations.finalize();
        choose_engine(to, g, m);
    } catch (const refused& r) {
        m.why = r.why;
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error(text_of(g) + ": " + e.what());
    }
    return m;
}

// cuDNN for one GPU.
class cudnn_state {
public:
    explicit cudnn_state(gpu_context& on) : on_(on) {
        try {
            functions_.emplace();
            on.use();
            check(*functions_, functions_->create(&handle_), "cudnnCreate");
        } catch (const unavailable_error& e) {
            why_not_ = e.what();
        } catch (const internal_error& e) {
            why_not_ = std::string("cuDNN cannot be used: ") + e.what();
        } catch (const refused& r) {
            why_not_ = "cuDNN cannot be used: " + r.why;
        }
        if (!why_not_.empty()) say_once(why_not_);
    }
    ~cudnn_state() {
        plans_.clear();
        if (handle_) (void)functions_->destroy(handle_);
    }

    struct answer {
        std::shared_ptr<const plan> made = {};
        std::string why;
    };
    answer find(const graph& g);

    // One run at a time: they share the handle.
    void run(const graph& g, const descriptor& made, void* stream, const std::vector<void*>& data, void* workspace);

private:
    gpu_context& on_;
    std::optional<functions> functions_;
    cudnnHandle_t handle_ = nullptr;
    std::string why_not_;
    std::mutex guard_;                              // of what follows
    static constexpr std::size_t most_plans = 1024; // beside those that kernels hold
    std::map<std::string, answer> plans_;
    void* stream_ = nullptr;
};

class kept_plan final : public plan {
public:
    kept_plan(cudnn_state& s, const graph& g, made_plan made) : state_(s), graph_(g), made_(std::move(made)) {}
    std::size_t workspace_bytes() const override { return made_.workspace; }
    bool is_direct() const override { return made_.engine == 0; }
    void run(void* stream, const std::vector<void*>& data, void* workspace) const override {
        state_.run(graph_, *made_.raw, stream, data, workspace);
    }

private:
    cudnn_state& state_;
    const graph graph_;
    const made_plan made_;
};

cudnn_state::answer cudnn_state::find(const graph& g) {
    if (!handle_) return {nullptr, why_not_};
    const std::string key = text_of(g);
    const std::lock_guard lock(guard_);
    if (const auto at = plans_.find(key); at != plans_.end()) return at->second;
    if (plans_.size() >= most_plans) plans_.clear(); // batches of ever other sizes
    on_.use();
    made_plan m = make_plan({*functions_, handle_}, g);
    answer a{.why = m.why};
    if (m.raw) a.made = std::make_shared<kept_plan>(*this, g, std::move(m));
    return plans_.emplace(key, std::move(a)).first->second;
}

void cudnn_state::run(const graph& g, const descriptor& made, void* stream, const std::vector<void*>& data,
                      void* workspace) {
    try {
        std::vector<std::int64_t> numbers;
        std::vector<void*> pointers;
        for (std::size_t i = 0; i < g.tensors.size(); ++i) {
            if (g.tensors[i].between) continue;
            numbers.push_back(static_cast<std::int64_t>(i) + 1);
            pointers.push_back(g.tensors[i].is_number ? const_cast<float*>(&g.tensors[i].number) : data[i]);
        }
        descriptor pack(*functions_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
        pack.set_list(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, numbers);
        pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
                 pointers.data());
        pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
        pack.finalize();
        on_.use();
        const std::lock_guard lock(guard_);
        if (stream != stream_) {
            check(*functions_, functions_->set_stream(handle_, static_cast<cudaStream_t>(stream)), "cudnnSetStream");
            stream_ = stream;
        }
        check(*functions_, functions_->execute(handle_, made.raw(), pack.raw()), "cudnnBackendExecute");
    } catch (const refused& r) {
        throw internal_error(text_of(g) + ": " + r.why);
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error(text_of(g) + ": " + e.what());
    } catch (const internal_error& e) {
        throw internal_error(text_of(g) + ": " + e.what());
    }
}

} // namespace

std::shared_ptr<const plan> find_plan(gpu_context& on, const graph& g) { return on.state<cudnn_state>().find(g).made; }

#if CUDNN_VERSION >= 90800
std::string why_no_plan_for(const std::string& gpu_as_json, const graph& g) {
    const functions f;
    descriptor description(f, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    description.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                    static_cast<std::int64_t>(gpu_as_json.size()), gpu_as_json.data());
    description.finalize();
    return make_plan({f, nullptr, &description}, g).why;
}
#else
std::string why_no_plan_for(const std::string&, const graph&) { return "cuDNN 9.8 or later is needed to build this"; }
#endif

#else

namespace {
const char* const why_none = "this build has no cuDNN: configure it where cudnn.h can be found";
}
std::shared_ptr<const plan> find_plan(gpu_context&, const graph&) {
    say_once(why_none);
    return nullptr;
}
std::string why_no_plan_for(const std::string&, const graph&) { return why_none; }

#endif

} // namespace tenon::cuda::dnn
