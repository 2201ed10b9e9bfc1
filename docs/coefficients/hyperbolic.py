"""math_hyperbolic.inl: tanh a = a + a z P(z) with z = a^2, a <= 0.625. Errors are relative ones of tanh a."""

from minimax import finish, fit, mp, mpf

fit(
    "tanh of float",
    "math_hyperbolic.inl",
    "f32 tanh_of(f32 x)",
    lambda a: (mp.tanh(a) / a - 1) / a**2 if a > 1e-9 else -mpf(1) / 3,
    0,
    0.625,
    lambda a: a**3 / mp.tanh(a) if a else mpf(0),
    5,
    24,
    2.0**-26,
    argument=lambda a: a * a,
)
finish()
