#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/kernel/simd/isa.hpp>

namespace tenon::dense::detail {

/// One term of the sums of a product: the left matrix's column `a`, an offset from the beginning of its row,
/// times the right one's row `b`.
struct term {
    std::int32_t a;
    std::int32_t b;
};

/// Terms of a product that are added up in registers: `count` terms from `first` on, with `a` and `b` added
/// to theirs. A pass is short, so that what it reads stays in the cache; it adds to what the pass before it
/// left in c.
struct product_pass {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// Rows that share their terms.
struct row_class {
    std::int64_t row_begin = 0;
    std::int64_t row_end = 0;
    std::vector<term> terms;
    std::vector<product_pass> passes; // at least one, perhaps without terms

    std::int64_t pass_count() const noexcept { return static_cast<std::int64_t>(passes.size()); }
};

/// Most terms of a pass: a panel of b, up to 192 bytes wide, is to take no more than a part of the L2 cache.
template <class T> inline constexpr std::int64_t pass_terms = 4096 / static_cast<std::int64_t>(sizeof(T));

/// Cuts terms 0 .. count into passes of at most `most`, as even as can be.
inline std::vector<product_pass> even_passes(std::int64_t count, std::int64_t most) {
    const std::int64_t passes = count <= most ? 1 : (count + most - 1) / most;
    std::vector<product_pass> cut;
    for (std::int64_t i = 0; i < passes; ++i) {
        const std::int64_t first = count * i / passes;
        cut.push_back({0, 0, first, count * (i + 1) / passes - first});
    }
    return cut;
}

/// What the builtin gemm and convolution are made of: c = f(scale * a * b (+ c) + bias), planned for fixed
/// sizes.
///
/// The left matrix is any memory whose rows begin at a + a_rows[i], with columns that terms name, so that it
/// can be a transposed matrix or the windows of an image. Element (p, j) of b is b[p * b_row + j * b_column].
/// Row i of c begins at c + c_rows[i].
template <class T> struct product {
    std::vector<std::int64_t> a_rows;
    std::vector<std::int64_t> c_rows;
    std::vector<row_class> classes;
    std::int64_t n = 0;
    std::int64_t k = 0; // rows of b
    std::int64_t b_row = 0;
    std::int64_t b_column = 1;
    T scale = T(1);
    bool clip = false; // max(., 0)

    // Set by plan(): b is taken a panel at a time, columns panels[q] .. panels[q + 1], each as wide as a tile
    // of c.
    simd::isa isa = simd::isa::baseline;
    std::vector<std::int64_t> panels;
    bool copy_b = false; // copy all panels, not just a ragged last one

    std::int64_t rows() const noexcept { return static_cast<std::int64_t>(a_rows.size()); }
    std::int64_t panel_count() const noexcept { return static_cast<std::int64_t>(panels.size()) - 1; }
};

/// Fills what comes after `clip`.
TENON_INLINE void plan(product<float>& p);
TENON_INLINE void plan(product<double>& p);

/// A part of b that is copied at once: rows k_begin .. k_end of panels first .. end.
struct packed_part {
    std::int64_t k_begin = 0;
    std::int64_t k_end = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
};

/// Elements of memory for the copy.
TENON_INLINE std::int64_t packed_elements(const product<float>& p, const packed_part& part);
TENON_INLINE std::int64_t packed_elements(const product<double>& p, const packed_part& part);

/// Copies panels `first` .. `end` of the part, as far as they are copied at all.
TENON_INLINE void pack(const product<float>& p, const packed_part& part, const float* b, float* packed,
                       std::int64_t first, std::int64_t end);
TENON_INLINE void pack(const product<double>& p, const packed_part& part, const double* b, double* packed,
                       std::int64_t first, std::int64_t end);

/// What a product is run on. `packed` is the copy of `part`, `bias` null for none; `add`: to what c holds.
template <class T> struct operands {
    const T* a;
    const T* b;
    const T* packed;
    packed_part part;
    const T* bias;
    T* c;
    bool add;
};

/// Some rows of one class, and some of its passes.
struct row_range {
    const row_class* of;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t first_pass;
    std::int64_t end_pass;
};

/// Panels `first` .. `end` of those rows of c. Takes no memory.
TENON_INLINE void multiply(const product<float>& p, const operands<float>& o, const row_range& rows,
                           std::int64_t first, std::int64_t end);
TENON_INLINE void multiply(const product<double>& p, const operands<double>& o, const row_range& rows,
                           std::int64_t first, std::int64_t end);

/// to[i * to_row + j] = from[i + j * from_row] for i < rows, j < columns.
TENON_INLINE void transpose(simd::isa isa, const float* from, std::int64_t from_row, float* to,
                            std::int64_t to_row, std::int64_t rows, std::int64_t columns);
TENON_INLINE void transpose(simd::isa isa, const double* from, std::int64_t from_row, double* to,
                            std::int64_t to_row, std::int64_t rows, std::int64_t columns);

/// sums[j] = sum over i < rows of from[i * columns + j].
TENON_INLINE void add_rows(simd::isa isa, const float* from, std::int64_t rows, std::int64_t columns,
                           float* sums);
TENON_INLINE void add_rows(simd::isa isa, const double* from, std::int64_t rows, std::int64_t columns,
                           double* sums);

} // namespace tenon::dense::detail

#if TENON_HEADER_ONLY
#include <tenon/kernel/dense/product.ipp>
#endif
