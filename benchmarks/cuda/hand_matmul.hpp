#pragma once

#include <cstdint>
#include <memory>

/// Products of square matrices by cuBLASLt called directly.

namespace baseline {

enum class numbers { exact_float, tf32, bfloat16, int8 };

/// c[i] = a[i] * b for i < products, one after another, in a CUDA graph; row-major, which cuBLASLt sees as c' = b' * a'. The first
/// algorithm of the heuristic, with 32 MiB of workspace, of those that sum in float. Of int8 b is transposed, as the library wants it,
/// and c is int32.
class hand_matmul {
public:
    hand_matmul(numbers n, std::int64_t size, int products);
    ~hand_matmul();
    void run();
    /// What is in c[i], a[i] or b's memory at `at`, as float.
    float c(int i, std::int64_t at) const;
    float a(int i, std::int64_t at) const;
    float b(std::int64_t at) const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace baseline
