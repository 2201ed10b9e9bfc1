// Steps: each instruction on each element type as a loop over packs. Read once per instruction set by
// steps.ipp.

namespace tenon::simd::TENON_SIMD_NS {

/// Types that are worth loops of their own on this instruction set; the others use the baseline's.
template <class T>
inline constexpr bool has_steps =
    TENON_SIMD_IS_BASELINE || std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>;

// An instruction of 1, 2, 3 operands as a function of packs loaded from A, B, C and stored as R.
template <opcode Op, class T> struct one_operand {
    using to = decltype(evaluate<Op>(pack<T>{}));
    using R = typename to::element;
    using A = T;
    TENON_SIMD_INLINE static to apply(pack<A> a) { return evaluate<Op>(a); }
};
template <opcode Op, class T> struct two_operands {
    using to = decltype(evaluate<Op>(pack<T>{}, pack<T>{}));
    using R = typename to::element;
    using A = T;
    using B = T;
    static constexpr bool is_short = Op == opcode::add || Op == opcode::subtract || Op == opcode::multiply ||
                                     Op == opcode::minimum || Op == opcode::maximum;
    TENON_SIMD_INLINE static to apply(pack<A> a, pack<B> b) { return evaluate<Op>(a, b); }
};
template <opcode Op, class T> struct three_operands {
    using R = T;
    using A = std::conditional_t<info_of(Op).group == opcode_group::choice, bool, T>;
    using B = T;
    using C = T;
    static constexpr bool is_short = true;
    TENON_SIMD_INLINE static pack<T> apply(pack<A> a, pack<T> b, pack<T> c) { return evaluate<Op>(a, b, c); }
};
template <class From, class To> struct cast_step {
    using R = compute_t<To>;
    using A = From;
    TENON_SIMD_INLINE static pack<R> apply(pack<From> a) { return evaluate_cast<To>(a); }
};
#if !TENON_SIMD_IS_BASELINE
// cast_step<std::uint8_t, float>, which images go through, by way of 16 and 32 bits: g++ 12 converts one by one at once.
struct pixel_step {
    using R = float;
    using A = std::uint8_t;
    TENON_SIMD_INLINE static pack<float> apply(pack<std::uint8_t> a) {
        return convert<float>(convert<std::int32_t>(convert<std::uint16_t>(a)));
    }
};
#endif
template <class Stored> struct load_step {
    using R = compute_t<Stored>;
    using A = Stored;
    TENON_SIMD_INLINE static pack<R> apply(pack<R> a) { return a; }
};
template <class Stored> struct store_step {
    using R = Stored;
    using A = compute_t<Stored>;
    TENON_SIMD_INLINE static pack<A> apply(pack<A> a) { return a; }
};

/// Four registers at a time where a step is a few machine instructions, fewer than the loop's own. Elements beyond whole packs are
/// the end of a last one, of which the others are computed again.
template <bool IsShort, class T, class F> TENON_SIMD_INLINE void over_packs(std::ptrdiff_t n, const F& f) {
    constexpr int packs = 4 / pack<compute_t<T>>::parts;
    std::ptrdiff_t i = 0;
    if constexpr (IsShort)
        for (; i + packs * lanes <= n; i += packs * lanes) {
            f(i);
            f(i + lanes);
            if constexpr (packs == 2) continue;
            f(i + 2 * lanes);
            f(i + 3 * lanes);
        }
    const std::ptrdiff_t last = n - lanes;
    for (; i < n; i += lanes) f(i < last ? i : last);
}
template <class Step>
void run_step_1(void* to, const void* a, const void*, const void*, const void*, std::ptrdiff_t n) {
    const auto* x = static_cast<const typename Step::A*>(a);
    auto* z = static_cast<typename Step::R*>(to);
    over_packs<false, typename Step::R>(n, [&](std::ptrdiff_t i) { store(z + i, Step::apply(load(x + i))); });
}
template <class Step>
void run_step_2(void* to, const void* a, const void* b, const void*, const void*, std::ptrdiff_t n) {
    const auto* x = static_cast<const typename Step::A*>(a);
    const auto* y = static_cast<const typename Step::B*>(b);
    auto* z = static_cast<typename Step::R*>(to);
    over_packs<Step::is_short, typename Step::B>(
        n, [&](std::ptrdiff_t i) { store(z + i, Step::apply(load(x + i), load(y + i))); });
}
template <class Step>
void run_step_3(void* to, const void* a, const void* b, const void* c, const void*, std::ptrdiff_t n) {
    const auto* x = static_cast<const typename Step::A*>(a);
    const auto* y = static_cast<const typename Step::B*>(b);
    const auto* u = static_cast<const typename Step::C*>(c);
    auto* z = static_cast<typename Step::R*>(to);
    over_packs<Step::is_short, typename Step::B>(
        n, [&](std::ptrdiff_t i) { store(z + i, Step::apply(load(x + i), load(y + i), load(u + i))); });
}

/// step_elements elements: the first n of `a`, 0 < n < step_elements, and in place of the others the first again.
template <class T> void fill_up(void* to, const void* a, const void*, const void*, const void*, std::ptrdiff_t n) {
    const T* x = static_cast<const T*>(a);
    T* z = static_cast<T*>(to);
    for (std::ptrdiff_t i = 0; i < tenon::detail::step_elements; i += lanes) {
        const std::ptrdiff_t left = n - i;
        store(z + i, left >= lanes ? load(x + i)
                     : left > 0    ? load_tail(x + i, static_cast<int>(left))
                                   : broadcast<T>(*x));
    }
}
inline tenon::detail::step_function fill_up_of(std::size_t bytes) {
    return bytes == 1   ? &fill_up<std::uint8_t>
           : bytes == 2 ? &fill_up<std::uint16_t>
           : bytes == 4 ? &fill_up<std::uint32_t>
                        : &fill_up<std::uint64_t>;
}

// Signed and unsigned integers have one loop where the bits of the result are the same: the unsigned one, if there is.
constexpr bool ignores_sign(opcode op) {
    switch (op) {
    case opcode::add:
    case opcode::subtract:
    case opcode::multiply:
    case opcode::fma:
    case opcode::negative:
    case opcode::bit_and:
    case opcode::bit_or:
    case opcode::bit_xor:
    case opcode::bit_not:
    case opcode::shift_left:
    case opcode::equal:
    case opcode::not_equal:
    case opcode::select: return true;
    default: return false;
    }
}
template <class T, bool IgnoresSign> constexpr auto without_sign() {
    if constexpr (IgnoresSign && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        using U = std::make_unsigned_t<T>;
        return std::conditional_t<has_steps<U>, std::type_identity<U>, std::type_identity<T>>{};
    } else return std::type_identity<T>{};
}
template <class T, bool IgnoresSign> using without_sign_t = typename decltype(without_sign<T, IgnoresSign>())::type;

template <opcode Op, class Element> constexpr tenon::detail::step_function step_of() {
    using T = without_sign_t<Element, ignores_sign(Op)>;
    constexpr opcode_info info = info_of(Op);
    if constexpr (!has_steps<T> || !accepts_element(Op, element_type_of<Element>) || info.operands == 0 ||
                  Op == opcode::cast)
        return nullptr;
    else if constexpr (info.operands == 1) return &run_step_1<one_operand<Op, T>>;
    else if constexpr (info.operands == 2) return &run_step_2<two_operands<Op, T>>;
    else return &run_step_3<three_operands<Op, T>>;
}
template <class From, class To> constexpr tenon::detail::step_function cast_of() {
    // What is cut off has no sign; what is added has that of `From`.
    constexpr bool whole = std::is_integral_v<From> && std::is_integral_v<To>;
    using A = without_sign_t<From, whole && sizeof(To) <= sizeof(From)>;
    if constexpr (has_steps<From> && has_steps<compute_t<To>>)
        return &run_step_1<cast_step<A, without_sign_t<To, whole>>>;
    else return nullptr;
}

// Indexed by element_type.
struct steps_of_type {
    tenon::detail::step_function ops[opcode_count];
    tenon::detail::step_function casts[16];
};
template <class T, int... Op> constexpr steps_of_type make_steps(std::integer_sequence<int, Op...>) {
    return {{step_of<static_cast<opcode>(Op), T>()...},
            {nullptr, cast_of<T, float>(), cast_of<T, double>(), cast_of<T, half>(), cast_of<T, bfloat16>(),
             cast_of<T, std::int8_t>(), cast_of<T, std::int16_t>(), cast_of<T, std::int32_t>(),
             cast_of<T, std::int64_t>(), cast_of<T, std::uint8_t>(), cast_of<T, std::uint16_t>(),
             cast_of<T, std::uint32_t>(), cast_of<T, std::uint64_t>(), cast_of<T, bool>(), nullptr, nullptr}};
}
template <class T>
inline constexpr steps_of_type steps_for = make_steps<T>(std::make_integer_sequence<int, opcode_count>{});

/// nullptr: none on this instruction set.
inline const steps_of_type* steps_of(element_type e) {
    switch (e) {
    case element_type::float32: return &steps_for<float>;
    case element_type::float64: return &steps_for<double>;
    case element_type::int32: return &steps_for<std::int32_t>;
    case element_type::int64: return &steps_for<std::int64_t>;
    case element_type::boolean: return &steps_for<bool>;
#if TENON_SIMD_IS_BASELINE
    case element_type::int8: return &steps_for<std::int8_t>;
    case element_type::int16: return &steps_for<std::int16_t>;
    case element_type::uint8: return &steps_for<std::uint8_t>;
    case element_type::uint16: return &steps_for<std::uint16_t>;
    case element_type::uint32: return &steps_for<std::uint32_t>;
    case element_type::uint64: return &steps_for<std::uint64_t>;
#endif
    default: return nullptr;
    }
}
inline tenon::detail::step_function step_for(opcode op, element_type e) {
    const steps_of_type* s = steps_of(e);
    return s ? s->ops[static_cast<int>(op)] : nullptr;
}
inline tenon::detail::step_function cast_for(element_type from, element_type to) {
#if !TENON_SIMD_IS_BASELINE
    if (from == element_type::uint8 && to == element_type::float32) return &run_step_1<pixel_step>;
#endif
    const steps_of_type* s = steps_of(tenon::compute_type(from));
    return s ? s->casts[static_cast<int>(to)] : nullptr;
}

inline tenon::detail::step_function load_of(element_type stored) {
    return stored == element_type::float16 ? &run_step_1<load_step<half>> : &run_step_1<load_step<bfloat16>>;
}
inline tenon::detail::step_function store_of(element_type stored) {
    return stored == element_type::float16 ? &run_step_1<store_step<half>> : &run_step_1<store_step<bfloat16>>;
}

#if TENON_SIMD_LEVEL > 0
/// Register R of a tree, whose operands are x.
template <int Tree, int R, class T> TENON_SIMD_INLINE auto value_in_tree(const pack<T>* x) {
    constexpr instruction i = tenon::detail::joined_trees[Tree].code[R];
    if constexpr (i.op == opcode::input) return x[i.a];
    else if constexpr (i.op == opcode::literal) return broadcast<T>(i.literal().template to<T>());
    else if constexpr (register_operands(i) == 1) return evaluate<i.op>(value_in_tree<Tree, i.a>(x));
    else if constexpr (register_operands(i) == 2)
        return evaluate<i.op>(value_in_tree<Tree, i.a>(x), value_in_tree<Tree, i.b>(x));
    else return evaluate<i.op>(value_in_tree<Tree, i.a>(x), value_in_tree<Tree, i.b>(x), value_in_tree<Tree, i.c>(x));
}
template <int Tree, class T>
void run_tree(void* to, const void* a, const void* b, const void* c, const void* d, std::ptrdiff_t n) {
    constexpr const tenon::detail::joined_tree& tree = tenon::detail::joined_trees[Tree];
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b), *u = static_cast<const T*>(c),
            *v = static_cast<const T*>(d);
    T* z = static_cast<T*>(to);
    over_packs<!tree.is_long(), T>(n, [&](std::ptrdiff_t i) {
        pack<T> operands[tree.operands];
        operands[0] = load(x + i);
        if constexpr (tree.operands > 1) operands[1] = load(y + i);
        if constexpr (tree.operands > 2) operands[2] = load(u + i);
        if constexpr (tree.operands > 3) operands[3] = load(v + i);
        store(z + i, value_in_tree<Tree, tree.root()>(operands));
    });
}
template <class T, int... Tree> tenon::detail::step_function tree_of(int which, std::integer_sequence<int, Tree...>) {
    static constexpr tenon::detail::step_function all[] = {&run_tree<Tree, T>...};
    return all[which];
}
#endif

/// nullptr: no function runs them at once.
inline tenon::detail::step_function joined_of([[maybe_unused]] int tree, [[maybe_unused]] element_type e) {
#if TENON_SIMD_LEVEL > 0
    constexpr std::make_integer_sequence<int, tenon::detail::joined_trees.size()> all{};
    if (e == element_type::float32) return tree_of<float>(tree, all);
    if (e == element_type::float64) return tree_of<double>(tree, all);
#endif
    return nullptr;
}

using tenon::detail::combining;
template <combining How, class T> TENON_SIMD_INLINE pack<T> combine_packs(pack<T> a, pack<T> b) {
    if constexpr (How == combining::sum) return a + b;
    else if constexpr (How == combining::least) return min(a, b);
    else return max(a, b);
}
template <combining How, class T> TENON_SIMD_INLINE pack<T> no_elements() {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return broadcast<T>(How == combining::sum ? T{} : How == combining::least ? infinity : -infinity);
}

// found[k] combined with x[k], for k < n.
template <combining How, class T> TENON_SIMD_INLINE void combine_row(double* found, const T* x, std::ptrdiff_t n) {
    std::ptrdiff_t i = 0;
    for (; i + lanes <= n; i += lanes)
        store(found + i, combine_packs<How>(load(static_cast<const double*>(found + i)), convert<double>(load(x + i))));
    if (i == n) return;
    const int left = static_cast<int>(n - i);
    store_partial(found + i,
                  combine_packs<How>(load_partial(static_cast<const double*>(found + i), left),
                                     convert<double>(load_partial(x + i, left))),
                  left);
}
template <combining How, int Packs, class T>
TENON_SIMD_INLINE void combine_column_packs(const T* x, std::ptrdiff_t rows, std::ptrdiff_t stride, T* to) {
    pack<T> all[Packs];
    for (int k = 0; k < Packs; ++k) all[k] = load(x + k * lanes);
    for (std::ptrdiff_t r = 1; r < rows; ++r)
#pragma GCC unroll 8
        for (int k = 0; k < Packs; ++k) all[k] = combine_packs<How>(all[k], load(x + r * stride + k * lanes));
    for (int k = 0; k < Packs; ++k) store(to + k * lanes, all[k]);
}
/// A stretch's rows are combined in T, and that in double.
template <combining How, class T>
void combine_columns(double* found, const void* from, std::ptrdiff_t rows, std::ptrdiff_t n) {
    constexpr std::ptrdiff_t most = 8 * lanes;
    const T* x = static_cast<const T*>(from);
    while (rows > 0) {
        std::ptrdiff_t joined = 1; // narrow rows that follow each other are one wide row
        while (2 * joined * n <= most && 2 * joined <= rows) joined *= 2;
        const std::ptrdiff_t wide = joined * n, lines = rows / joined;
        for (std::ptrdiff_t j = 0; j < wide; j += most) {
            const std::ptrdiff_t width = wide - j < most ? wide - j : most;
            alignas(64) T part[most];
            const T* line = x + j;
            if (lines > 1) {
                std::ptrdiff_t i = 0;
                if (width == most) combine_column_packs<How, 8>(line, lines, wide, part), i = most;
                for (; i + 4 * lanes <= width; i += 4 * lanes)
                    combine_column_packs<How, 4>(line + i, lines, wide, part + i);
                for (; i + lanes <= width; i += lanes) combine_column_packs<How, 1>(line + i, lines, wide, part + i);
                if (i < width) {
                    const int left = static_cast<int>(width - i);
                    pack<T> all = load_partial(line + i, left);
                    for (std::ptrdiff_t r = 1; r < lines; ++r)
                        all = combine_packs<How>(all, load_partial(line + i + r * wide, left));
                    store_partial(part + i, all, left);
                }
                line = part;
            }
            if (joined == 1) combine_row<How>(found + j, line, width);
            else
                for (std::ptrdiff_t k = 0; k < joined; ++k) combine_row<How>(found, line + k * n, n);
        }
        x += lines * wide;
        rows -= lines * joined;
    }
}

template <combining How, class T> TENON_SIMD_INLINE double combined_lanes(pack<T> a) {
    if constexpr (How == combining::sum) return reduce_add(convert<double>(a));
    else if constexpr (How == combining::least) return reduce_min(convert<double>(a));
    else return reduce_max(convert<double>(a));
}
// Combined in T over short stretches, then in double.
template <combining How, class T> TENON_SIMD_INLINE double combine_one_row(double found, const T* x, std::ptrdiff_t n) {
    constexpr std::ptrdiff_t stretch = 64 * lanes;
    const auto take = [&](double next) {
        if constexpr (How == combining::sum) found += next;
        else if constexpr (How == combining::least) found = found < next || found != found ? found : next;
        else found = found > next || found != found ? found : next;
    };
    std::ptrdiff_t i = 0;
    while (i + 4 * lanes <= n) {
        const std::ptrdiff_t end = i + stretch < n ? i + stretch : n;
        pack<T> s[4];
        for (int k = 0; k < 4; ++k) s[k] = load(x + i + k * lanes);
        for (i += 4 * lanes; i + 4 * lanes <= end; i += 4 * lanes)
            for (int k = 0; k < 4; ++k) s[k] = combine_packs<How>(s[k], load(x + i + k * lanes));
        take(combined_lanes<How>(combine_packs<How>(combine_packs<How>(s[0], s[1]), combine_packs<How>(s[2], s[3]))));
    }
    if (i < n) {
        pack<T> s = no_elements<How, T>();
        for (; i + lanes <= n; i += lanes) s = combine_packs<How>(s, load(x + i));
        if (i < n) {
            const int left = static_cast<int>(n - i);
            s = combine_packs<How>(s, select(iota<std::int32_t>() < broadcast<std::int32_t>(left),
                                             load_partial(x + i, left), no_elements<How, T>()));
        }
        take(combined_lanes<How>(s));
    }
    return found;
}
template <combining How, class T>
void combine_rows(double* found, std::ptrdiff_t step, const void* from, std::ptrdiff_t rows, std::ptrdiff_t n) {
    const T* x = static_cast<const T*>(from);
    for (std::ptrdiff_t r = 0; r < rows; ++r) found[r * step] = combine_one_row<How>(found[r * step], x + r * n, n);
}
// The sums of so many rows' packs, and of the squares of their distances from the mean, joined with what was found.
template <class T, class Load>
TENON_SIMD_INLINE void join_column_pack(double* found, std::ptrdiff_t apart, double before, const T* x,
                                        std::ptrdiff_t rows, std::ptrdiff_t stride, int width, const Load& load_pack) {
    const double count = static_cast<double>(rows);
    pack<T> sum = {}, squares = {};
    for (std::ptrdiff_t r = 0; r < rows; ++r) sum = sum + load_pack(x + r * stride);
    const pack<T> mean = sum * broadcast<T>(static_cast<T>(1 / count));
    for (std::ptrdiff_t r = 0; r < rows; ++r) {
        const pack<T> distance = load_pack(x + r * stride) - mean;
        squares = squares + distance * distance;
    }
    double* const sums = found + apart;
    const pack<double> wide = convert<double>(sum), all = load_partial(static_cast<const double*>(sums), width);
    double* const squared = found + 2 * apart;
    pack<double> more = convert<double>(squares);
    if (before > 0) {
        const pack<double> distance = wide * broadcast<double>(1 / count) - all * broadcast<double>(1 / before);
        more = more + distance * distance * broadcast<double>(before * count / (before + count));
    }
    store_partial(squared, load_partial(static_cast<const double*>(squared), width) + more, width);
    store_partial(sums, all + wide, width);
}
template <class T>
void join_columns(double* found, std::ptrdiff_t apart, const void* from, std::ptrdiff_t rows, std::ptrdiff_t n) {
    const T* x = static_cast<const T*>(from);
    const double before = found[0];
    for (std::ptrdiff_t j = 0; j < n; j += lanes) {
        const int width = static_cast<int>(n - j < lanes ? n - j : lanes);
        if (width == lanes)
            join_column_pack(found + j, apart, before, x + j, rows, n, width, [](const T* at) { return load(at); });
        else
            join_column_pack(found + j, apart, before, x + j, rows, n, width,
                             [&](const T* at) { return load_partial(at, width); });
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) found[j] += static_cast<double>(rows);
}
template <class T>
void join_rows(double* found, std::ptrdiff_t apart, std::ptrdiff_t step, const void* from, std::ptrdiff_t rows,
               std::ptrdiff_t n) {
    const T* x = static_cast<const T*>(from);
    for (std::ptrdiff_t r = 0; r < rows; ++r, x += n) {
        const double sum = combine_one_row<combining::sum>(0, x, n), count = static_cast<double>(n);
        const pack<T> mean = broadcast<T>(static_cast<T>(sum / count));
        pack<T> s[2] = {};
        std::ptrdiff_t i = 0;
        for (; i + 2 * lanes <= n; i += 2 * lanes)
            for (int k = 0; k < 2; ++k) {
                const pack<T> distance = load(x + i + k * lanes) - mean;
                s[k] = s[k] + distance * distance;
            }
        for (; i < n; i += lanes) {
            const int left = static_cast<int>(n - i < lanes ? n - i : lanes);
            const pack<T> distance = load_partial(x + i, left) - mean;
            s[0] = s[0] + select(iota<std::int32_t>() < broadcast<std::int32_t>(left), distance * distance, pack<T>{});
        }
        tenon::detail::join_moments(found + r * step, apart, count, sum, reduce_add(convert<double>(s[0] + s[1])));
    }
}
template <class T> inline constexpr tenon::detail::moment_steps moments{&join_columns<T>, &join_rows<T>};

template <class T> void finish_sums(void* to, const double* sums, std::ptrdiff_t n) {
    T* values = static_cast<T*>(to);
    std::ptrdiff_t i = 0;
    for (; i + lanes <= n; i += lanes) store(values + i, convert<T>(load(sums + i)));
    for (; i < n; ++i) values[i] = static_cast<T>(sums[i]);
}

template <combining How, class T>
inline constexpr tenon::detail::reduction_steps reductions{&combine_columns<How, T>, &combine_rows<How, T>,
                                                           &finish_sums<T>};
template <class T> const tenon::detail::reduction_steps& reductions_by(combining how) {
    return how == combining::sum     ? reductions<combining::sum, T>
           : how == combining::least ? reductions<combining::least, T>
                                     : reductions<combining::largest, T>;
}
inline const tenon::detail::reduction_steps& reductions_of(element_type e, combining how) {
    return e == element_type::float32 ? reductions_by<float>(how) : reductions_by<double>(how);
}

} // namespace tenon::simd::TENON_SIMD_NS
