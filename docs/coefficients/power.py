"""math_power.inl: the cube root of m for 1 <= m < 8, before Halley's step, which makes the error e about e^3 * 2/3."""

from minimax import finish, fit, mp

fit("start", "math_power.inl", "f64 cbrt_of(Q, f64 x)", mp.cbrt, 1, 8, lambda m: 1 / mp.cbrt(m), 6, 53, 2.0**-10)
finish()
