#include "cufft.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "emulator/control.hpp"
#include "held.hpp"
#include "planned_faults.hpp"

namespace {

using number = std::complex<double>;

struct plan {
    int card = 0;
    bool allocates = true, made = false;
    std::int64_t n = 0, batch = 0;
    cufftType type = CUFFT_C2C;
    std::size_t bytes = 0;
    void* area = nullptr;
    cudaStream_t stream = nullptr;
};

auto& faults =
    *new tenon::emulator::planned_faults<cufftResult>; // never destroyed: some is called when the program ends
struct library_state {
    std::mutex guard;
    std::map<cufftHandle, plan> plans;
    cufftHandle next = 1;
};
std::atomic<std::uint64_t> transforms_begun;
tenon::emulator::held<library_state> the_library() {
    static auto& s = *new library_state;
    return s;
}
// What f does with a plan that there is.
template <class F> cufftResult with_plan(cufftHandle handle, const F& f) {
    const auto s = the_library();
    const auto at = s->plans.find(handle);
    return at == s->plans.end() ? CUFFT_INVALID_PLAN : f(at->second);
}

// Complex or real numbers of a row, and as many of them as the library has there.
template <class T> number read(const T* from, std::int64_t i) { return number(static_cast<double>(from[i])); }
template <class T> number read(const std::complex<T>* from, std::int64_t i) { return number(from[i]); }
template <class T> void write(T* to, std::int64_t i, number x) { to[i] = static_cast<T>(x.real()); }
template <class T> void write(std::complex<T>* to, std::int64_t i, number x) { to[i] = std::complex<T>(x); }

template <class In, class Out>
cufftResult execute(const char* name, cufftHandle handle, cufftType type, void* from, void* to, int direction) {
    return with_plan(handle, [&](plan& p) {
        int card = -1;
        if (cudaGetDevice(&card) != cudaSuccess || card != p.card) return CUFFT_INVALID_DEVICE;
        if (!p.made || p.type != type) return CUFFT_INVALID_PLAN;
        if (!from || !to || (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)) return CUFFT_INVALID_VALUE;
        // As complex numbers are aligned, of which one side is at least: it would be the card that finds the address wrong.
        if ((reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to)) %
                std::max(sizeof(In), sizeof(Out)) !=
            0)
            return CUFFT_UNALIGNED_DATA;
        if (!p.area) return CUFFT_NO_WORKSPACE;
        ++transforms_begun;
        const auto work = [p, from, to, direction] {
            std::memset(p.area, 0xee, p.bytes);
            const std::int64_t half = p.n / 2 + 1;
            const bool from_half = p.type == CUFFT_C2R || p.type == CUFFT_Z2D,
                       to_half = p.type == CUFFT_R2C || p.type == CUFFT_D2Z;
            const double turn = 2 * std::acos(-1.0) * direction / static_cast<double>(p.n);
            for (std::int64_t row = 0; row < p.batch; ++row) {
                auto* const x = static_cast<In*>(from) + row * (from_half ? half : p.n);
                auto* const y = static_cast<Out*>(to) + row * (to_half ? half : p.n);
                std::vector<number> in;
                for (std::int64_t j = 0; j < p.n; ++j)
                    in.push_back(!from_half ? read(x, j) : j < half ? read(x, j) : std::conj(read(x, p.n - j)));
                for (std::int64_t k = 0; k < (to_half ? half : p.n); ++k) {
                    number sum = 0;
                    for (std::int64_t j = 0; j < p.n; ++j)
                        sum +=
                            in[static_cast<std::size_t>(j)] * std::polar(1.0, turn * static_cast<double>(j * k % p.n));
                    write(y, k, sum);
                }
                if (from_half) std::memset(static_cast<void*>(x), 0xee, static_cast<std::size_t>(half) * sizeof(In));
            }
            return true;
        };
        return tenon::emulator::enqueue(p.stream, name, work) == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
    });
}

} // namespace

namespace tenon::emulator::cufft {

void reset() {
    faults.clear();
    transforms_begun = 0;
}
void fail(const std::string& function, cufftResult status, std::uint64_t after, std::uint64_t times) {
    faults.plan(function, status, after, times);
}
std::uint64_t transforms() { return transforms_begun; }
std::size_t plans() { return the_library()->plans.size(); }

} // namespace tenon::emulator::cufft

extern "C" {

cufftResult cufftGetVersion(int* version) {
    *version = CUFFT_VERSION;
    return CUFFT_SUCCESS;
}

cufftResult cufftCreate(cufftHandle* handle) {
    TENON_REFUSE(cufftCreate);
    plan p;
    if (cudaGetDevice(&p.card) != cudaSuccess) return CUFFT_SETUP_FAILED;
    const auto s = the_library();
    *handle = s->next++;
    s->plans[*handle] = p;
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
    return the_library()->plans.erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocates) {
    TENON_REFUSE(cufftSetAutoAllocation);
    return with_plan(handle, [&](plan& p) {
        if (p.made) return CUFFT_INVALID_PLAN;
        p.allocates = allocates != 0;
        return CUFFT_SUCCESS;
    });
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* inembed, long long, long long,
                                long long* onembed, long long, long long, cufftType type, long long batch,
                                size_t* bytes) {
    TENON_REFUSE(cufftMakePlanMany64);
    return with_plan(handle, [&](plan& p) {
        if (p.made || p.allocates) return CUFFT_INVALID_PLAN; // nobody here has it allocate
        if (rank != 1 || inembed || onembed || !bytes) return CUFFT_NOT_SUPPORTED;
        if (*n < 1 || batch < 1) return CUFFT_INVALID_SIZE;
        p.n = *n;
        p.batch = batch;
        p.type = type;
        p.bytes = *bytes = static_cast<std::size_t>(16 * p.n + 24);
        p.made = true;
        return CUFFT_SUCCESS;
    });
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* area) {
    TENON_REFUSE(cufftSetWorkArea);
    if (reinterpret_cast<std::uintptr_t>(area) % 256 != 0) return CUFFT_INVALID_VALUE; // what cudaMalloc gives
    return with_plan(handle, [&](plan& p) {
        p.area = area;
        return CUFFT_SUCCESS;
    });
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
    TENON_REFUSE(cufftSetStream);
    return with_plan(handle, [&](plan& p) {
        p.stream = stream;
        return CUFFT_SUCCESS;
    });
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* x, cufftComplex* y, int direction) {
    TENON_REFUSE(cufftExecC2C);
    using complex = std::complex<float>;
    return execute<complex, complex>("cufftExecC2C", plan, CUFFT_C2C, x, y, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* x, cufftComplex* y) {
    TENON_REFUSE(cufftExecR2C);
    return execute<float, std::complex<float>>("cufftExecR2C", plan, CUFFT_R2C, x, y, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* x, cufftReal* y) {
    TENON_REFUSE(cufftExecC2R);
    return execute<std::complex<float>, float>("cufftExecC2R", plan, CUFFT_C2R, x, y, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* x, cufftDoubleComplex* y, int direction) {
    TENON_REFUSE(cufftExecZ2Z);
    using complex = std::complex<double>;
    return execute<complex, complex>("cufftExecZ2Z", plan, CUFFT_Z2Z, x, y, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* x, cufftDoubleComplex* y) {
    TENON_REFUSE(cufftExecD2Z);
    return execute<double, std::complex<double>>("cufftExecD2Z", plan, CUFFT_D2Z, x, y, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* x, cufftDoubleReal* y) {
    TENON_REFUSE(cufftExecZ2D);
    return execute<std::complex<double>, double>("cufftExecZ2D", plan, CUFFT_Z2D, x, y, CUFFT_INVERSE);
}

} // extern "C"
