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
    TENON_SIMD_INLINE static to apply(pack<A> a, pack<B> b) { return evaluate<Op>(a, b); }
};
template <opcode Op, class T> struct three_operands {
    using R = T;
    using A = std::conditional_t<info_of(Op).group == opcode_group::choice, bool, T>;
    using B = T;
    using C = T;
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

// Two instructions as one: see find_pair.
template <opcode First, opcode Second, tenon::detail::joint How, class T> struct pair_step {
    using R = T;
    using A = T;
    using B = T;
    using C = T;
    TENON_SIMD_INLINE static pack<T> apply(pack<T> a, pack<T> b) { return evaluate<Second>(evaluate<First>(a, b)); }
    TENON_SIMD_INLINE static pack<T> apply(pack<T> a, pack<T> b, pack<T> c) {
        if constexpr (How == tenon::detail::joint::only_operand) return evaluate<Second>(fma(a, b, c));
        else if constexpr (How == tenon::detail::joint::first_operand)
            return evaluate<Second>(evaluate<First>(a, b), c);
        else return evaluate<Second>(c, evaluate<First>(a, b));
    }
};
template <opcode Comparison, class T>
void run_choice(void* to, const void* a, const void* b, const void* c, const void* d, std::ptrdiff_t n) {
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b), *u = static_cast<const T*>(c),
            *v = static_cast<const T*>(d);
    T* z = static_cast<T*>(to);
    for (std::ptrdiff_t i = 0; i < n; i += lanes)
        store(z + i, select(evaluate<Comparison>(load(x + i), load(y + i)), load(u + i), load(v + i)));
}

// n is a multiple of step_elements, and so of the lanes.
template <class Step>
void run_step_1(void* to, const void* a, const void*, const void*, const void*, std::ptrdiff_t n) {
    const auto* x = static_cast<const typename Step::A*>(a);
    auto* z = static_cast<typename Step::R*>(to);
    for (std::ptrdiff_t i = 0; i < n; i += lanes) store(z + i, Step::apply(load(x + i)));
}
template <class Step>
void run_step_2(void* to, const void* a, const void* b, const void*, const void*, std::ptrdiff_t n) {
    const auto* x = static_cast<const typename Step::A*>(a);
    const auto* y = static_cast<const typename Step::B*>(b);
    auto* z = static_cast<typename Step::R*>(to);
    for (std::ptrdiff_t i = 0; i < n; i += lanes) store(z + i, Step::apply(load(x + i), load(y + i)));
}
template <class Step>
void run_step_3(void* to, const void* a, const void* b, const void* c, const void*, std::ptrdiff_t n) {
    const auto* x = static_cast<const typename Step::A*>(a);
    const auto* y = static_cast<const typename Step::B*>(b);
    const auto* u = static_cast<const typename Step::C*>(c);
    auto* z = static_cast<typename Step::R*>(to);
    for (std::ptrdiff_t i = 0; i < n; i += lanes) store(z + i, Step::apply(load(x + i), load(y + i), load(u + i)));
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

template <opcode First, tenon::detail::joint How, class T> tenon::detail::step_function pair_after(opcode second) {
    switch (second) {
    case opcode::add: return &run_step_3<pair_step<First, opcode::add, How, T>>;
    case opcode::subtract: return &run_step_3<pair_step<First, opcode::subtract, How, T>>;
    case opcode::multiply: return &run_step_3<pair_step<First, opcode::multiply, How, T>>;
    default: return nullptr;
    }
}
template <class T> tenon::detail::step_function pair_of(opcode first, opcode second, tenon::detail::joint how) {
    using tenon::detail::joint;
    if (second == opcode::select) {
        switch (first) {
        case opcode::equal: return &run_choice<opcode::equal, T>;
        case opcode::not_equal: return &run_choice<opcode::not_equal, T>;
        case opcode::less: return &run_choice<opcode::less, T>;
        case opcode::less_equal: return &run_choice<opcode::less_equal, T>;
        case opcode::greater: return &run_choice<opcode::greater, T>;
        case opcode::greater_equal: return &run_choice<opcode::greater_equal, T>;
        default: return nullptr;
        }
    }
    if (how == joint::only_operand) {
        if (second == opcode::negative && first == opcode::multiply)
            return &run_step_2<pair_step<opcode::multiply, opcode::negative, joint::only_operand, T>>;
        if (second != opcode::relu) return nullptr;
        if (first == opcode::add) return &run_step_2<pair_step<opcode::add, opcode::relu, joint::only_operand, T>>;
        if (first == opcode::fma) return &run_step_3<pair_step<opcode::fma, opcode::relu, joint::only_operand, T>>;
        return nullptr;
    }
    // The operands of + and * may change places.
    if (how == joint::second_operand && second == opcode::subtract) {
        switch (first) {
        case opcode::add: return &run_step_3<pair_step<opcode::add, opcode::subtract, joint::second_operand, T>>;
        case opcode::subtract:
            return &run_step_3<pair_step<opcode::subtract, opcode::subtract, joint::second_operand, T>>;
        case opcode::multiply:
            return &run_step_3<pair_step<opcode::multiply, opcode::subtract, joint::second_operand, T>>;
        default: return nullptr;
        }
    }
    switch (first) {
    case opcode::add: return pair_after<opcode::add, joint::first_operand, T>(second);
    case opcode::subtract: return pair_after<opcode::subtract, joint::first_operand, T>(second);
    case opcode::multiply: return pair_after<opcode::multiply, joint::first_operand, T>(second);
    default: return nullptr;
    }
}

/// nullptr: no function runs both at once.
inline tenon::detail::step_function pair_of([[maybe_unused]] opcode first, [[maybe_unused]] opcode second,
                                            [[maybe_unused]] tenon::detail::joint how,
                                            [[maybe_unused]] element_type e) {
#if TENON_SIMD_LEVEL > 0
    if (e == element_type::float32) return pair_of<float>(first, second, how);
    if (e == element_type::float64) return pair_of<double>(first, second, how);
#endif
    return nullptr;
}

template <class T> void add_rows(double* sums, const void* from, std::ptrdiff_t n) {
    const T* values = static_cast<const T*>(from);
    std::ptrdiff_t i = 0;
    for (; i + lanes <= n; i += lanes) store(sums + i, load(sums + i) + convert<double>(load(values + i)));
    for (; i < n; ++i) sums[i] += static_cast<double>(values[i]);
}
/// Summed in T over short stretches, then in double.
template <class T> double sum_values(const void* from, std::ptrdiff_t n) {
    const T* values = static_cast<const T*>(from);
    constexpr std::ptrdiff_t stretch = 64 * lanes;
    double sum = 0;
    std::ptrdiff_t i = 0;
    while (i + 4 * lanes <= n) {
        const std::ptrdiff_t end = i + stretch < n ? i + stretch : n;
        pack<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
        for (; i + 4 * lanes <= end; i += 4 * lanes) {
            s0 = s0 + load(values + i);
            s1 = s1 + load(values + i + lanes);
            s2 = s2 + load(values + i + 2 * lanes);
            s3 = s3 + load(values + i + 3 * lanes);
        }
        sum += reduce_add(convert<double>(s0 + s1) + convert<double>(s2 + s3));
    }
    if (i < n) {
        pack<T> s = {};
        for (; i + lanes <= n; i += lanes) s = s + load(values + i);
        if (i < n) s = s + load_partial(values + i, static_cast<int>(n - i));
        sum += reduce_add(convert<double>(s));
    }
    return sum;
}
template <class T> void finish_sums(void* to, const double* sums, std::ptrdiff_t n) {
    T* values = static_cast<T*>(to);
    std::ptrdiff_t i = 0;
    for (; i + lanes <= n; i += lanes) store(values + i, convert<T>(load(sums + i)));
    for (; i < n; ++i) values[i] = static_cast<T>(sums[i]);
}

template <class T>
inline constexpr tenon::detail::reduction_steps reductions{&add_rows<T>, &sum_values<T>, &finish_sums<T>};

} // namespace tenon::simd::TENON_SIMD_NS
