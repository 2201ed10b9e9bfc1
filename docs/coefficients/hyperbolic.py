"""math_hyperbolic.inl: tanh a = a + a z P(z) with z = a^2, a <= 0.625; and with a permute tanh a = P(a - c) for each of eight
intervals of a, whose c is chosen so that the first coefficient is nearly a float. Errors are relative ones of tanh a."""

from minimax import SIMD, best_combination, finish, fit, grid, hexadecimal, horner, mp, mpf, numbers, report, rounded

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

places = [0.5, 0.75, 1, 1.5, 2, 3, 4, 6]
rows = [numbers(call) for call in (SIMD / "math_hyperbolic.inl").read_text().split("one_of_eight(which,")[1:]]
rows = [row[:8] for row in rows]
scale = mpf(float.fromhex("0x1.d1eb86p-1"))
for k in range(8):
    column = (k + 4) % 8  # the bits of 0.5 say 4
    centre, *stated = [row[column] for row in rows]
    low = (places[k] - mpf(1) / 2) / scale
    high = (places[k + 1] - mpf(1) / 2) / scale if k < 7 else centre
    t = grid(low - centre, high - centre, 300)
    exact = [mp.tanh(centre + x) for x in t]
    weight = [1 / y for y in exact]
    # tanh a is a near 0, and 1 at the end of the last interval.
    given = {0: [mpf(0), mpf(1)], 7: [mpf(1)]}.get(k, [])
    rest = [y - horner(given, x) for x, y in zip(t, exact)]
    c, best = best_combination([[x**j for x in t] for j in range(len(given), 8)], rest, weight)
    error = max(w * abs(y - horner(stated, x)) for x, y, w in zip(t, exact, weight))
    shown = ", ".join(hexadecimal(rounded(x, 24), 24) for x in given + c)
    report(
        f"tanh of float from {mp.nstr(low, 4)} on",
        "math_hyperbolic.inl",
        best,
        error,
        mpf(2) ** -25.9,
        shown,
    )
finish()
