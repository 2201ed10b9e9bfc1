"""math_trig.inl: sin, cos, atan and asin on reduced arguments. Errors are relative ones of the function."""

from minimax import finish, fit, mp, mpf

eighth = mp.pi / 4


def odd(name, place, function, high, first_term, cases, factor=1):
    """function(x) = x + x z P(z) with z = x^2."""

    def tail(x):
        return (function(x) / x - 1) / x**2 if x > 1e-9 else mpf(first_term)

    for index, (kind, count, bound) in enumerate(cases):
        fit(
            f"{name}, {kind}",
            "math_trig.inl",
            place,
            tail,
            0,
            high,
            lambda x: x**3 / function(x) if x else mpf(0),
            count,
            53,
            bound,
            index=index,
            argument=lambda x: x * x,
        )


odd("sin", "f64 sin_of_reduced", mp.sin, eighth, -mpf(1) / 6, [("double", 6, 2.0**-56), ("for float", 4, 2.0**-32)])
for i, (kind, count, bound) in enumerate([("double", 6, 2.0**-56), ("for float", 4, 2.0**-30)]):
    fit(  # cos x = 1 - z / 2 + z^2 P(z)
        f"cos, {kind}",
        "math_trig.inl",
        "f64 cos_of_reduced",
        lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4 if x > 1e-6 else mpf(1) / 24 - x * x / 720,
        0,
        eighth,
        lambda x: x**4 / mp.cos(x),
        count,
        53,
        bound,
        index=i,
        argument=lambda x: x * x,
    )
fit(  # sin x = x P(z) up to pi / 2
    "sin and cos of float",
    "math_trig.inl",
    "f64 sin_from_half_pi",
    lambda x: mp.sin(x) / x if x else mpf(1),
    0,
    mp.pi / 2,
    lambda x: x / mp.sin(x) if x else mpf(1),
    6,
    53,
    2.0**-28,
    first=1,
    argument=lambda x: x * x,
)
odd("atan", "f64 atan_tail", mp.atan, mp.tan(mp.pi / 8), -mpf(1) / 3, [("double", 12, 2.0**-56), ("for float", 6, 2.0**-30)])
odd("asin", "f64 asin_tail", mp.asin, mpf(1) / 2, mpf(1) / 6, [("double", 13, 2.0**-56), ("for float", 7, 2.0**-30)])
finish()
