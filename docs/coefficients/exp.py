"""math_exp.inl, and rows: (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, or / 16. Errors are relative ones of e^r = 1 + r + r^2 P(r)."""

from minimax import finish, fit, mp, mpf


def tail(r):
    return mp.expm1(r) / r**2 - 1 / r if abs(r) > 1e-12 else mpf(1) / 2 + r / 6


edge = mp.log(2) / 2
common = dict(header="math_exp.inl", f=tail, low=-edge, high=edge, weight=lambda r: r * r / mp.exp(r))
fit("float", place="f32 small_expm1(f32 r)", count=5, bits=24, bound=2.0**-26, **common)
fit("double", place="f64 exp_tail(Q, f64 r)", count=10, bits=53, bound=2.0**-56, **common)
fit("double, for float", place="f64 exp_tail(Q, f64 r)", index=1, count=6, bits=24, bound=2.0**-29, **common)
rows = dict(header="../ops/reduce/row_packs.inl", place="f32 exp_beside(f32 x, f32 base, f32 shifted)", bits=24)
fit("of rows, baseline", low=-edge, high=edge, count=5, bound=2.0**-26, first=0.5, f=tail, weight=common["weight"], **rows)
fit(
    "of rows, beside a power of 2^(1/8): (2^f - 1) / f",
    f=lambda f: mp.expm1(f * mp.log(2)) / f if abs(f) > 1e-12 else mp.log(2),
    low=-mpf(1) / 16,
    high=mpf(1) / 16,
    weight=lambda f: abs(f) / mpf(2) ** f,
    index=1,
    count=3,
    bound=2.0**-25,
    **rows,
)
finish()
