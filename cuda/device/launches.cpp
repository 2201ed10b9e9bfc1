#include <cuda/device/launches.hpp>

#include <cuda/device/error.hpp>
#include <cuda/device/owned.hpp>
#include <tenon/concurrency/failure.hpp>

namespace tenon::cuda {

namespace {

// Of a kernel of another library it may not be told which it is.
launched_kernel about(const cudaKernelNodeParams& p, int threads_there) {
    launched_kernel k;
    k.blocks = std::int64_t{p.gridDim.x} * p.gridDim.y * p.gridDim.z;
    k.threads = static_cast<int>(p.blockDim.x * p.blockDim.y * p.blockDim.z);
    k.shared_bytes = p.sharedMemBytes;
    cudaFuncAttributes a{};
    int blocks = 0;
    const char* name = nullptr;
    if (cudaFuncGetAttributes(&a, p.func) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, p.func, k.threads, p.sharedMemBytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return k;
    }
    k.registers = a.numRegs;
    k.local_bytes = a.localSizeBytes;
    k.shared_bytes += a.sharedSizeBytes;
    k.occupancy = static_cast<double>(blocks) * k.threads / threads_there;
    if (cudaFuncGetName(&name, p.func) == cudaSuccess && name) k.name = name;
    else (void)cudaGetLastError();
    return k;
}

// Of the recording of launches_of() that this thread is at; nullptr: nobody asks.
thread_local std::vector<cudaGraph_t>* noted_parts = nullptr;

class notes_parts {
public:
    explicit notes_parts(std::vector<cudaGraph_t>& to) { noted_parts = &to; }
    ~notes_parts() { noted_parts = nullptr; }
    notes_parts(notes_parts&&) = delete;
};

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) check(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
    return nodes;
}

} // namespace

void note_part(cudaGraph_t part) {
    if (noted_parts) noted_parts->push_back(part);
}

std::vector<launched_kernel> launches_of(gpu_context& on, kernel& k, const kernel_run& r) {
    on.use();
    cudaStream_t native = nullptr;
    check(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    const owned<cudaStream_t, cudaStreamDestroy> stream(native);
    check(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    kernel_run here = r;
    here.stream = native;
    std::vector<cudaGraph_t> graphs;
    const std::exception_ptr failure = thrown_by([&] {
        const notes_parts noted(graphs);
        k.run(here);
    });
    cudaGraph_t made = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(native, &made);
    const owned<cudaGraph_t, cudaGraphDestroy> graph(made);
    if (failure) {
        (void)cudaGetLastError();
        std::rethrow_exception(failure);
    }
    check(ended, "cudaStreamEndCapture");
    graphs.insert(graphs.begin(), made);
    std::vector<cudaGraphNode_t> nodes;
    for (const cudaGraph_t g : graphs) {
        const std::vector<cudaGraphNode_t> own = nodes_of(g);
        nodes.insert(nodes.end(), own.begin(), own.end());
    }
    int threads_there = 0;
    check(cudaDeviceGetAttribute(&threads_there, cudaDevAttrMaxThreadsPerMultiProcessor, on.card),
          "cudaDeviceGetAttribute");
    std::vector<launched_kernel> all;
    for (const cudaGraphNode_t n : nodes) {
        cudaGraphNodeType type{};
        check(cudaGraphNodeGetType(n, &type), "cudaGraphNodeGetType");
        if (type != cudaGraphNodeTypeKernel) continue;
        cudaKernelNodeParams p{};
        if (cudaGraphKernelNodeGetParams(n, &p) == cudaSuccess) all.push_back(about(p, threads_there));
        else {
            (void)cudaGetLastError();
            all.emplace_back();
        }
    }
    return all;
}

} // namespace tenon::cuda
