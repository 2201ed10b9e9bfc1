"""Minimax fits, and the comparison of what is fitted with what stands in a header.

Needs mpmath (pip install mpmath). The scripts beside this one call `fit` and `fit_ratio` for each polynomial of a header of
include/tenon/simd/: they find the best coefficients by Remez' algorithm, round them as the header does, and measure
the largest weighted error of both in exact arithmetic. A script fails when a header's coefficients are worse than the bound
that it states.
"""

import pathlib
import re
import sys

from mpmath import mp, mpf

mp.dps = 50
SIMD = pathlib.Path(__file__).resolve().parents[2] / "include/tenon/simd"
_number = re.compile(r"-?0x[0-9a-fA-F.]+p[-+]?\d+F?|-?\d+\.\d*(?:e-?\d+)?F?")


def numbers(text):
    """The numbers in C++ text, exactly."""
    values = []
    for word in _number.findall(text):
        digits = word.rstrip("F")
        values.append(mpf(float.fromhex(digits)) if "0x" in digits else mpf(digits))
    return values


def coefficients_after(header, place, index=0):
    """The numbers in the index-th polynomial(...) after the text `place` of a header, as exact numbers."""
    text = (SIMD / header).read_text()
    at = text.index(place)
    for _ in range(index + 1):
        at = text.index("polynomial(", at) + len("polynomial(")
    end = at
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return numbers(text[at : end - 1])


def rounded(x, bits):
    """x to so many bits, halves to even."""
    if x == 0:
        return mpf(0)
    scale = mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(x), 2)))
    return mp.nint(x * scale) / scale


def hexadecimal(x, bits):
    digits = float(x).hex()
    sign, rest = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
    head, exponent = rest.split("p")
    return sign + head.rstrip("0").rstrip(".") + "p" + exponent.lstrip("+") + ("F" if bits == 24 else "")


def horner(c, x):
    result = mpf(0)
    for value in reversed(c):
        result = result * x + value
    return result


def grid(low, high, points):
    """Chebyshev points between low and high: dense at the ends, where extremes are close to each other."""
    low, high = mpf(low), mpf(high)
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + 0.5) / points) for k in range(points)]


def best_combination(basis, f, w):
    """Coefficients c with the least maximum of w |f - sum c[j] basis[j]| over a grid, and that maximum. basis[j], f and w
    are lists of values on the grid. Remez' exchange of one set of alternating extremes for the next."""
    n, points = len(basis), len(f)
    chosen = [round((points - 1) * k / n) for k in range(n + 1)]  # the grid is one of Chebyshev points
    best = None
    for _ in range(60):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for row, k in enumerate(chosen):
            for j in range(n):
                a[row, j] = basis[j][k] * w[k]
            a[row, n] = (-1) ** row
            b[row] = f[k] * w[k]
        solved = mp.lu_solve(a, b)
        c = [solved[j] for j in range(n)]
        errors = [w[k] * (f[k] - sum(c[j] * basis[j][k] for j in range(n))) for k in range(points)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = (c, worst)
        if worst <= abs(solved[n]) * mpf("1.001"):
            break
        # The extremes between changes of sign; of more than are needed, those that are left at the ends are the largest.
        extremes = []
        for k, e in enumerate(errors):
            if extremes and (e > 0) == (errors[extremes[-1]] > 0):
                if abs(e) > abs(errors[extremes[-1]]):
                    extremes[-1] = k
            else:
                extremes.append(k)
        while len(extremes) > n + 1:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        if len(extremes) < n + 1:
            break
        chosen = extremes
    return best


def report(name, header, error, stated, limit, shown):
    ok = stated <= limit
    print(f"{header}: {name}")
    print(f"  {shown}")
    print(
        f"  error of the fit {mp.nstr(error, 3)}, of the header {mp.nstr(stated, 3)}"
        f" = 2^{mp.nstr(mp.log(stated, 2), 4)}; bound {mp.nstr(limit, 3)}{'' if ok else '   TOO LARGE'}"
    )
    if not ok:
        report.failed = True


report.failed = False


def fit(name, header, place, f, low, high, weight, count, bits, bound, index=0, first=None, argument=lambda x: x, together=False):
    """A polynomial of `count` coefficients in argument(x) for f(x), low <= x <= high, whose error counts weight(x) times:
    with the slope of the result in the polynomial over the result, the error is the result's relative one. `first`: the
    first coefficient, where that is given. `bits`: to which the coefficients are rounded; `together`: at once, as doubles are."""
    xs = grid(low, high, 40 * (count + 2))
    z = [argument(x) for x in xs]
    values, w = [f(x) for x in xs], [weight(x) for x in xs]
    # Short coefficients are rounded one after another, and the others fitted again to what that leaves.
    given = [] if first is None else [mpf(first)]
    while len(given) < count:
        target = [v - horner(given, t) for v, t in zip(values, z)]
        c, _ = best_combination([[t**j for t in z] for j in range(len(given), count)], target, w)
        given += [rounded(x, bits) for x in (c if bits == 53 or together else c[:1])]
    c = given
    in_header = coefficients_after(header, place, index)
    assert len(in_header) == count, f"{name}: {len(in_header)} coefficients in {header}"

    def error(k):
        return max(abs(w[i] * (values[i] - horner(k, z[i]))) for i in range(len(xs)))

    report(name, header, error(c), error(in_header), mpf(bound), ", ".join(hexadecimal(x, bits) for x in c))


def fit_ratio(name, header, place, f, low, high, weight, above, below, bound, index=0):
    """A ratio of polynomials of `above` and `below` coefficients, the first of those below being 1, by Loeb's iteration:
    the best combination for f q = p, weighted with 1 / q of the last turn."""
    xs = grid(low, high, 12 * (above + below + 2))
    values, w = [f(x) for x in xs], [weight(x) for x in xs]
    q = [mpf(1)] * len(xs)
    best = None
    for _ in range(12):
        basis = [[x**j for x in xs] for j in range(above)]
        basis += [[-v * x**j for x, v in zip(xs, values)] for j in range(1, below)]
        c, _ = best_combination(basis, values, [a / abs(b) for a, b in zip(w, q)])
        p, d = c[:above], [mpf(1)] + c[above:]
        q = [horner(d, x) for x in xs]
        p, d = [rounded(x, 53) for x in p], [rounded(x, 53) for x in d]
        worst = max(abs(w[i] * (values[i] - horner(p, xs[i]) / horner(d, xs[i]))) for i in range(len(xs)))
        if best is None or worst < best[0]:
            best = (worst, p, d)
    p, d = coefficients_after(header, place, index), coefficients_after(header, place, index + 1)
    assert (len(p), len(d)) == (above, below), f"{name}: {len(p)} and {len(d)} coefficients in {header}"
    stated = max(abs(w[i] * (values[i] - horner(p, xs[i]) / horner(d, xs[i]))) for i in range(len(xs)))
    shown = " / ".join(", ".join(hexadecimal(x, 53) for x in k) for k in best[1:])
    report(name, header, best[0], stated, mpf(bound), shown)


def finish():
    sys.exit(1 if report.failed else 0)
