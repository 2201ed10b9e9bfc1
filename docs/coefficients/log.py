"""math_log.inl: log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2). Errors are relative ones of log(1 + f)."""

from minimax import finish, fit, mp, mpf

low, high = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1


def tail(f):  # (log(1 + f) - f + f^2 / 2) / f^3
    if abs(f) < 1e-9:
        return mpf(1) / 3 - f / 4
    return (mp.log1p(f) - f + f * f / 2) / f**3


def relative(f):
    return abs(f) ** 3 / abs(mp.log1p(f)) if f else mpf(0)


fit("float", "math_log.inl", "f32 log_tail(f32 f)", tail, low, high, relative, 9, 24, 2.0**-24)


# With s = f / (2 + f) and z = s^2: log(1 + f) = 2 atanh s = s (2 + z R(z)).
def atanh_tail(s):
    return (2 * mp.atanh(s) / s - 2) / s**2 if s > 1e-9 else mpf(2) / 3 + 2 * s * s / 5


largest = 3 - 2 * mp.sqrt(2)
common = dict(
    header="math_log.inl",
    place="f64 log_rest(Q, f64 f, f64 half_square)",
    f=atanh_tail,
    low=0,
    high=largest,
    weight=lambda s: s**3 / (2 * mp.atanh(s)) if s else mpf(0),
    argument=lambda s: s * s,
    bits=53,
)
fit("double", count=8, bound=2.0**-56, **common)
fit("double, for float", index=1, count=5, bound=2.0**-36, **common)
finish()
