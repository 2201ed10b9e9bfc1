"""math_exp.inl: (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. Errors are relative ones of e^r = 1 + r + r^2 P(r)."""

from minimax import finish, fit, mp, mpf


def tail(r):
    return mp.expm1(r) / r**2 - 1 / r if abs(r) > 1e-12 else mpf(1) / 2 + r / 6


edge = mp.log(2) / 2
common = dict(header="math_exp.inl", f=tail, low=-edge, high=edge, weight=lambda r: r * r / mp.exp(r))
fit("float", place="f32 exp_tail(f32 r)", count=5, bits=24, bound=2.0**-26, **common)
fit("double", place="f64 exp_tail(Q, f64 r)", count=10, bits=53, bound=2.0**-56, **common)
fit("double, for float", place="f64 exp_tail(Q, f64 r)", index=1, count=6, bits=24, bound=2.0**-29, **common)
finish()
