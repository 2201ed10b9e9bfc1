#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/rows/attention.hpp>
#include <cuda/kernels/rows/exponentials.hpp>

namespace tenon::cuda {

namespace {

constexpr int side = 16;       // a block's threads are side x side
constexpr int tall = 4 * side; // its own queries or keys, and the columns of its result
constexpr int wide = 2 * side; // keys or queries that it takes at a time
constexpr int depth = 16;      // of a sum at a time
static_assert(side * side == block_threads);

template <class C> struct tile_room {
    C a[depth][tall + 1]; // of the block's own rows; then of what is summed up with weights
    C b[depth][wide + 1]; // of the rows that it takes
    C weights[tall][wide + 1];
    C factors[tall];
};

__device__ inline int across() { return static_cast<int>(threadIdx.x) % side; }
__device__ inline int down() { return static_cast<int>(threadIdx.x) / side; }
__device__ inline int at_most(std::int64_t n, int most) { return n < most ? static_cast<int>(n) : most; }

// Rows that are so many elements apart.
template <class T> struct rows_of {
    T* first;
    std::int64_t step;
    __device__ T* operator[](std::int64_t row) const { return first + row * step; }
    __device__ rows_of from(std::int64_t row) const { return {first + row * step, step}; }
};

// sums[i][j] = row down() + i * side of a times row across() + j * side of b. What is not there is 0. All threads call it.
template <class T>
__device__ void multiply_rows(tile_room<compute_t<T>>& room, rows_of<const T> a, int rows_a, rows_of<const T> b,
                              int rows_b, std::int64_t size, compute_t<T> (&sums)[4][2]) {
    using C = compute_t<T>;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) sums[i][j] = 0;
    for (std::int64_t begin = 0; begin < size; begin += depth) {
        for (int e = static_cast<int>(threadIdx.x); e < (tall + wide) * depth; e += block_threads) {
            const int i = e / depth, l = e % depth;
            const bool own = i < tall;
            const int row = own ? i : i - tall;
            const bool there = begin + l < size && row < (own ? rows_a : rows_b);
            const C x = there ? widen((own ? a : b)[row][begin + l]) : C(0);
            if (own) room.a[l][row] = x;
            else room.b[l][row] = x;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < depth; ++l)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) sums[i][j] += room.a[l][down() + i * side] * room.b[l][across() + j * side];
        __syncthreads();
    }
}

// sums[i][j] += the weights of row down() + i * side times column across() + j * side of x, whose rows are `size` long and whose first
// column is `column`.
template <class T>
__device__ void add_weighted(tile_room<compute_t<T>>& room, rows_of<const T> x, int rows, std::int64_t size,
                             std::int64_t column, compute_t<T> (&sums)[4][4]) {
    using C = compute_t<T>;
    for (int begin = 0; begin < rows; begin += depth) {
        for (int e = static_cast<int>(threadIdx.x); e < depth * tall; e += block_threads) {
            const int l = e / tall, j = e % tall;
            const bool there = begin + l < rows && column + j < size;
            room.a[l][j] = there ? widen(x[begin + l][column + j]) : C(0);
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < depth; ++l)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    sums[i][j] += room.weights[down() + i * side][begin + l] * room.a[l][across() + j * side];
        __syncthreads();
    }
}

template <class T>
__device__ void store_tile(const compute_t<T> (&sums)[4][4], rows_of<T> y, int rows, std::int64_t size,
                           std::int64_t column) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = down() + i * side;
            const std::int64_t x = column + across() + j * side;
            if (row < rows && x < size) y[row][x] = narrow<T>(sums[i][j]);
        }
}

__device__ inline std::int64_t keys_of(const attention_layout& l, const void* lengths, std::int64_t sequence) {
    if (!l.has_lengths) return l.keys;
    const std::int64_t n = l.wide_lengths ? static_cast<const std::int64_t*>(lengths)[sequence]
                                          : static_cast<const std::int32_t*>(lengths)[sequence];
    return n < 0 || n > l.keys ? 0 : n;
}

// Where a head begins in a tensor of this many heads, all counted through; its rows.
__device__ inline std::int64_t begin_of(const tenon::detail::attention_steps& by, std::int64_t head,
                                        std::int64_t heads) {
    return head / heads * by.batch + head % heads * by.head;
}
template <class T>
__device__ rows_of<T> rows_of_head(T* all, const tenon::detail::attention_steps& by, std::int64_t head,
                                   std::int64_t heads) {
    return {all + begin_of(by, head, heads), by.row};
}
// The number of the head of keys that a head of queries reads.
__device__ inline std::int64_t key_head_of(const attention_layout& l, std::int64_t head) {
    return head / (l.heads / l.key_heads);
}

constexpr std::int64_t tiles_of(std::int64_t n) { return (n + tall - 1) / tall; }

// A block makes `tall` queries' results, `tall` columns of them.
template <class T>
__global__ void __launch_bounds__(block_threads)
    attend(attention_layout l, const T* all_q, const T* all_k, const T* all_v, const void* lengths, T* out,
           compute_t<T>* logs, std::int64_t parts, std::int64_t tiles) {
    using C = compute_t<T>;
    __shared__ tile_room<C> room;
    const std::int64_t of_head = tiles_of(l.queries);
    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const std::int64_t column = tile % parts * tall, head = tile / parts / of_head;
        const std::int64_t first = tile / parts % of_head * tall, of = key_head_of(l, head);
        const rows_of<const T> q = rows_of_head(all_q, l.q, head, l.heads).from(first);
        const rows_of<const T> k = rows_of_head(all_k, l.k, of, l.key_heads);
        const rows_of<const T> v = rows_of_head(all_v, l.v, of, l.key_heads);
        const int rows = at_most(l.queries - first, tall);
        std::int64_t keys = keys_of(l, lengths, head / l.heads);
        if (l.causal && keys > first + rows) keys = first + rows;
        const int own = static_cast<int>(threadIdx.x) / 4, quarter = static_cast<int>(threadIdx.x) % 4; // of weights
        C largest = no_largest<C>, sum = 0, results[4][4] = {};
        for (std::int64_t key = 0; key < keys; key += wide) {
            const int some = at_most(keys - key, wide);
            C scores[4][2];
            multiply_rows(room, q, rows, k.from(key), some, l.size, scores);
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 2; ++j) {
                    const int y = down() + i * side, x = across() + j * side;
                    const bool seen = x < some && (!l.causal || key + x <= first + y);
                    room.weights[y][x] = seen ? scores[i][j] * static_cast<C>(l.scale) : no_largest<C>;
                }
            __syncthreads();
            C most = largest;
            for (int x = quarter; x < wide; x += 4) {
                const C s = room.weights[own][x];
                most = s > most ? s : most;
            }
            for (int with = 1; with < 4; with *= 2) {
                const C other = __shfl_xor_sync(0xffffffffu, most, with);
                most = other > most ? other : most;
            }
            const C base = most == no_largest<C> ? C(0) : most; // where there is nothing but -inf yet, e^x is 0
            const C factor = exp_of(largest - base);
            C some_sum = 0;
            for (int x = quarter; x < wide; x += 4) {
                const C e = exp_of(room.weights[own][x] - base);
                room.weights[own][x] = e;
                some_sum += e;
            }
            for (int with = 1; with < 4; with *= 2) some_sum += __shfl_xor_sync(0xffffffffu, some_sum, with);
            sum = sum * factor + some_sum;
            largest = most;
            if (quarter == 0) room.factors[own] = factor;
            __syncthreads();
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) results[i][j] *= room.factors[down() + i * side];
            add_weighted(room, v.from(key), some, l.value_size, column, results);
        }
        if (quarter == 0) {
            room.factors[own] = keys > 0 ? C(1) / sum : C(0);
            if (logs && column == 0 && own < rows)
                logs[head * l.queries + first + own] = keys > 0 ? largest + log_of(sum) : no_largest<C>;
        }
        __syncthreads();
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) results[i][j] *= room.factors[down() + i * side];
        if (out) store_tile(results, rows_of_head(out, l.y, head, l.heads).from(first), rows, l.value_size, column);
        __syncthreads();
    }
}

// along[row] = sum over c of dout[row, c] out[row, c]: a warp a row.
template <class T>
__global__ void __launch_bounds__(block_threads)
    sum_along(attention_layout l, const T* out, const T* dout, compute_t<T>* along, std::int64_t rows) {
    using C = compute_t<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    constexpr int warps = block_threads / 32;
    for (std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; row < rows;
         row += std::int64_t{gridDim.x} * warps) {
        const std::int64_t head = row / l.queries, query = row % l.queries;
        const T *const y = rows_of_head(out, l.y, head, l.heads)[query], *const dy = rows_of_head(dout, l.dy, head,
                                                                                                  l.heads)[query];
        C sum = 0;
        for (std::int64_t c = lane; c < l.value_size; c += 32) sum += widen(y[c]) * widen(dy[c]);
        for (int with = 1; with < 32; with *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, with);
        if (lane == 0) along[row] = sum;
    }
}

// Queries and keys of one head, and what their gradients are made of.
template <class T> struct gradient_operands {
    const T *q, *k, *v, *dout;       // whose steps are the layout's, which takes no registers
    const compute_t<T>*logs, *along; // a number a query
};

// The weights of a block's own rows, the queries if Own is `queries`, with those that it takes: p, or the scores' gradients.
enum class own_rows { queries, keys };
template <class T, own_rows Own>
__device__ void make_weights(tile_room<compute_t<T>>& room, const attention_layout& l, const gradient_operands<T>& in,
                             std::int64_t query, int queries, std::int64_t key, int keys, bool of_scores) {
    using C = compute_t<T>;
    constexpr bool by_query = Own == own_rows::queries;
    const rows_of<const T> q{in.q + query * l.q.row, l.q.row}, k{in.k + key * l.k.row, l.k.row};
    const rows_of<const T> dy{in.dout + query * l.dy.row, l.dy.row}, v{in.v + key * l.v.row, l.v.row};
    const int rows = by_query ? queries : keys, others = by_query ? keys : queries;
    C scores[4][2], slopes[4][2] = {};
    multiply_rows(room, by_query ? q : k, rows, by_query ? k : q, others, l.size, scores);
    if (of_scores) multiply_rows(room, by_query ? dy : v, rows, by_query ? v : dy, others, l.value_size, slopes);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) {
            const int y = down() + i * side, x = across() + j * side, a = by_query ? y : x, b = by_query ? x : y;
            C weight = 0;
            if (y < rows && x < others && (!l.causal || key + b <= query + a)) {
                weight = exp_of(scores[i][j] * static_cast<C>(l.scale) - in.logs[query + a]);
                if (of_scores) weight *= (slopes[i][j] - in.along[query + a]) * static_cast<C>(l.scale);
            }
            room.weights[y][x] = weight;
        }
    __syncthreads();
}

template <class T>
__device__ gradient_operands<T> operands_of(const attention_layout& l, const gradient_operands<T>& in,
                                            std::int64_t head) {
    const std::int64_t of = key_head_of(l, head), row = head * l.queries;
    return {in.q + begin_of(l.q, head, l.heads),
            in.k + begin_of(l.k, of, l.key_heads),
            in.v + begin_of(l.v, of, l.key_heads),
            in.dout + begin_of(l.dy, head, l.heads),
            in.logs + row,
            in.along + row};
}

// A block makes the gradients of `tall` queries, `tall` columns of them.
template <class T>
__global__ void __launch_bounds__(block_threads)
    query_gradients(attention_layout l, gradient_operands<T> all, const void* lengths, T* dq, std::int64_t parts,
                    std::int64_t tiles) {
    using C = compute_t<T>;
    __shared__ tile_room<C> room;
    const std::int64_t of_head = tiles_of(l.queries);
    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const std::int64_t column = tile % parts * tall, head = tile / parts / of_head;
        const std::int64_t first = tile / parts % of_head * tall;
        const gradient_operands<T> in = operands_of(l, all, head);
        const int rows = at_most(l.queries - first, tall);
        std::int64_t keys = keys_of(l, lengths, head / l.heads);
        if (l.causal && keys > first + rows) keys = first + rows;
        C sums[4][4] = {};
        for (std::int64_t key = 0; key < keys; key += wide) {
            const int some = at_most(keys - key, wide);
            make_weights<T, own_rows::queries>(room, l, in, first, rows, key, some, true);
            add_weighted(room, rows_of<const T>{in.k + key * l.k.row, l.k.row}, some, l.size, column, sums);
        }
        store_tile(sums, rows_of_head(dq, l.dq, head, l.heads).from(first), rows, l.size, column);
    }
}

// A block makes the gradients of `tall` keys or, if `of_values`, of their values, `tall` columns of them.
template <class T>
__global__ void __launch_bounds__(block_threads)
    key_gradients(attention_layout l, gradient_operands<T> all, const void* lengths, T* gradient, bool of_values,
                  std::int64_t parts, std::int64_t tiles) {
    using C = compute_t<T>;
    __shared__ tile_room<C> room;
    const std::int64_t of_head = tiles_of(l.keys), size = of_values ? l.value_size : l.size;
    const std::int64_t group = l.heads / l.key_heads;
    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const std::int64_t column = tile % parts * tall, of = tile / parts / of_head;
        const std::int64_t first = tile / parts % of_head * tall;
        const std::int64_t keys = keys_of(l, lengths, of / l.key_heads);
        C sums[4][4] = {};
        for (std::int64_t head = of * group; first < keys && head < (of + 1) * group; ++head) {
            const gradient_operands<T> in = operands_of(l, all, head);
            for (std::int64_t query = l.causal ? first : 0; query < l.queries; query += wide) {
                const int some = at_most(l.queries - query, wide);
                make_weights<T, own_rows::keys>(room, l, in, query, some, first, at_most(keys - first, tall),
                                                !of_values);
                add_weighted(room,
                             of_values ? rows_of<const T>{in.dout + query * l.dy.row, l.dy.row}
                                       : rows_of<const T>{in.q + query * l.q.row, l.q.row},
                             some, size, column, sums);
            }
        }
        const rows_of<T> to = rows_of_head(gradient, of_values ? l.dv : l.dk, of, l.key_heads);
        store_tile(sums, to.from(first), at_most(l.keys - first, tall), size, column);
    }
}

__global__ void narrow_all(attention_layout l, const void* lengths, std::int32_t* to) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t b = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; b < l.batch; b += all) {
        to[b] = static_cast<std::int32_t>(keys_of(l, lengths, b));
        to[l.batch + b] = static_cast<std::int32_t>(l.queries);
    }
}

struct cleared_tensors {
    attention_tensor of[3];
    int count;
};
// A block has a head of a sequence.
__global__ void clear_heads(attention_layout l, const void* lengths, cleared_tensors all, float* logs) {
    for (std::int64_t at = blockIdx.x; at < l.batch * l.heads; at += gridDim.x) {
        const std::int64_t sequence = at / l.heads, head = at % l.heads;
        if (keys_of(l, lengths, sequence) > 0) continue;
        for (int k = 0; k < all.count; ++k) {
            const attention_tensor& t = all.of[k];
            if (head >= t.heads) continue;
            std::uint16_t* const to = static_cast<std::uint16_t*>(t.data) + sequence * t.by.batch + head * t.by.head;
            for (std::int64_t i = threadIdx.x; i < t.rows * t.size; i += blockDim.x)
                to[i / t.size * t.by.row + i % t.size] = 0;
        }
        if (!logs) continue;
        for (std::int64_t i = threadIdx.x; i < l.queries; i += blockDim.x) logs[at * l.queries + i] = no_largest<float>;
    }
}

constexpr std::int64_t most_blocks = 1 << 20;
unsigned grid_of(std::int64_t tiles) { return static_cast<unsigned>(tiles < most_blocks ? tiles : most_blocks); }

} // namespace

void attention(element_type element, const attention_layout& l, const void* q, const void* k, const void* v,
               const void* lengths, void* out, void* logs, void* stream) {
    const std::int64_t parts = l.value_size == 0 || !out ? 1 : tiles_of(l.value_size);
    const std::int64_t tiles = l.batch * l.heads * tiles_of(l.queries) * parts;
    if (tiles == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        launch(attend<T>, grid_of(tiles), block_threads, 0, stream, l, static_cast<const T*>(q),
               static_cast<const T*>(k), static_cast<const T*>(v), lengths, static_cast<T*>(out),
               static_cast<compute_t<T>*>(logs), parts, tiles);
    });
}

void narrow_lengths(const attention_layout& l, const void* lengths, std::int32_t* to, void* stream) {
    launch(narrow_all, blocks_for(l.batch), block_threads, 0, stream, l, lengths, to);
}
void clear_without_keys(const attention_layout& l, const void* lengths, std::initializer_list<attention_tensor> tensors,
                        float* logs, void* stream) {
    cleared_tensors all{};
    for (const attention_tensor& t : tensors) all.of[all.count++] = t;
    launch(clear_heads, grid_of(l.batch * l.heads), block_threads, 0, stream, l, lengths, all, logs);
}

std::size_t attention_scratch_bytes(element_type element, const attention_layout& l) {
    return static_cast<std::size_t>(l.rows()) * (element == element_type::float64 ? sizeof(double) : sizeof(float));
}

void attention_gradient(element_type element, const attention_layout& l, const void* q, const void* k, const void* v,
                        const void* out, const void* logs, const void* dout, const void* lengths, void* dq, void* dk,
                        void* dv, std::byte* scratch, void* stream) {
    with_floating_type(element, [&]<class T>(T) {
        using C = compute_t<T>;
        C* const along = reinterpret_cast<C*>(scratch);
        const gradient_operands<T> in{static_cast<const T*>(q),    static_cast<const T*>(k),
                                      static_cast<const T*>(v),    static_cast<const T*>(dout),
                                      static_cast<const C*>(logs), along};
        if (l.rows() > 0 && (dq || dk))
            launch(sum_along<T>, blocks_for(32 * l.rows(), 1, most_blocks), block_threads, 0, stream, l,
                   static_cast<const T*>(out), static_cast<const T*>(dout), along, l.rows());
        const std::int64_t parts = tiles_of(l.size), of_queries = l.batch * l.heads * tiles_of(l.queries) * parts;
        if (dq && of_queries > 0)
            launch(query_gradients<T>, grid_of(of_queries), block_threads, 0, stream, l, in, lengths,
                   static_cast<T*>(dq), parts, of_queries);
        const auto of_keys = [&](void* gradient, bool of_values, std::int64_t size) {
            const std::int64_t columns = tiles_of(size);
            const std::int64_t tiles = l.batch * l.key_heads * tiles_of(l.keys) * columns;
            if (gradient && tiles > 0)
                launch(key_gradients<T>, grid_of(tiles), block_threads, 0, stream, l, in, lengths,
                       static_cast<T*>(gradient), of_values, columns, tiles);
        };
        of_keys(dk, false, l.size);
        of_keys(dv, true, l.value_size);
    });
}

} // namespace tenon::cuda
