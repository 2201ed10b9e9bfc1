"""math_special.inl: error functions and their inverses, the logarithm of gamma. Errors are relative ones of the function.

digamma has no fitted coefficients: its series is that of Abramowitz and Stegun 6.3.18.
"""

from minimax import finish, fit, fit_ratio, mp, mpf

header = "math_special.inl"

# erf a = a + a P(z), z = a^2, up to 1; beyond, 1 - e^P(a).
fit(
    "erf of float, near",
    header,
    "f32 erf_of(f32 x)",
    lambda a: mp.erf(a) / a - 1,
    0,
    1,
    lambda a: a / mp.erf(a),
    7,
    24,
    2.0**-24,
    argument=lambda a: a * a,
)
fit(
    "erf of float, far",
    header,
    "f32 erf_of(f32 x)",
    lambda a: mp.log(mp.erfc(a)),
    1,
    3.95,
    lambda a: mp.erfc(a) / mp.erf(a),
    8,
    24,
    2.0**-24,
    index=1,
)

# e^(x^2) erfc(x), 0 <= x <= 10.2, in t = (x - 2.5) / (x + 2.5).
fit(
    "erfc for float",
    header,
    "f64 erfc_of(for_float q, f64 x)",
    lambda x: mp.exp(x * x) * mp.erfc(x),
    0,
    10.2,
    lambda x: mp.exp(-x * x) / mp.erfc(x),
    12,
    53,
    2.0**-27,
    argument=lambda x: (x - mpf(2.5)) / (x + mpf(2.5)),
)


# erfinv x = x (sqrt(pi) / 2 + w R(w)) with w = -log(1 - x^2), up to 0.99.
def middle(w):
    x = mp.sqrt(-mp.expm1(-w))
    return (mp.erfinv(x) / x - mp.sqrt(mp.pi) / 2) / w


def middle_weight(w):
    x = mp.sqrt(-mp.expm1(-w))
    return w * x / mp.erfinv(x)


# Beyond, with z = 1 - |x| = e^(-s^2): erfinv x = s - R(s).
def inverse_erfc(z):
    y = mp.sqrt(-mp.log(z))
    for _ in range(100):  # Newton's iteration for log erfc(y) = log z
        e = mp.erfc(y)
        step = (mp.log(e) - mp.log(z)) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mpf(10) ** -45 * y:
            break
    return y


_outer = {}


def outer(s):
    if s not in _outer:
        _outer[s] = inverse_erfc(mp.exp(-s * s))
    return s - _outer[s]


def outer_weight(s):
    outer(s)
    return 1 / _outer[s]


place = "f64 inverse_erf(Q q, f64 x, f64 z)"
most = -mp.log(1 - mpf("0.99") ** 2)
least = mp.sqrt(-mp.log(mpf("0.01")))
fit_ratio("inverse of erf, double, to 0.99", header, place, middle, "1e-9", most, middle_weight, 8, 8, 2.0**-54)
fit_ratio("double, s to 6", header, place, outer, least, 6, outer_weight, 8, 8, 2.0**-54, index=2)
fit_ratio("double, s from 6", header, place, outer, 6, 27.5, outer_weight, 8, 8, 2.0**-54, index=4)
fit_ratio("for float, to 0.99", header, place, middle, "1e-9", most, middle_weight, 5, 5, 2.0**-30, index=6)
fit_ratio("for float, beyond", header, place, outer, least, 10.2, outer_weight, 5, 5, 2.0**-30, index=8)

# log gamma(y) = (y - 1) (y - 2) P(y - 2), 1 <= y <= 3.
place = "f64 lgamma_of_positive(for_float q, f64 x)"


def near(e):
    if abs(e) < 1e-12:
        return 1 - mp.euler
    if abs(e + 1) < 1e-12:
        return mp.euler
    return mp.loggamma(e + 2) / (e * (e + 1))


fit("lgamma for float, to 3", header, place, near, -1, 1, lambda e: 1 / near(e), 16, 53, 2.0**-28)

# Stirling's series in z = 1 / x^2, from 3 on.
def series(v):
    x = 1 / v
    return (mp.loggamma(x) - (x - mpf(1) / 2) * (mp.log(x) - 1) - (mp.log(2 * mp.pi) - 1) / 2) * x


fit(
    "lgamma for float, from 3",
    header,
    place,
    series,
    "0.001",
    mpf(1) / 3,
    lambda v: v / mp.loggamma(1 / v),
    5,
    53,
    2.0**-30,
    index=1,
    argument=lambda v: v * v,
)
finish()
