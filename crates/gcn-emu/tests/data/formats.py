#!/usr/bin/env python3
"""Vectors of the typed buffer and image formats, by exact fractions: formats.tsv's source, and a module for others.

A line is: kind (buffer or image), generation (6 or 9), data format, number format, then either
  load   element (hex)   the four components that registers get
  store  four registers  the element
Run it to rewrite formats.tsv beside it.
"""
from fractions import Fraction as Q
import random, struct, sys, os

SIZES = {1: [8], 2: [16], 3: [8, 8], 4: [32], 5: [16, 16], 6: [11, 11, 10], 7: [10, 11, 11],
         8: [2, 10, 10, 10], 9: [10, 10, 10, 2], 10: [8] * 4, 11: [32, 32], 12: [16] * 4,
         13: [32] * 3, 14: [32] * 4, 16: [5, 6, 5], 17: [5, 5, 5, 1], 18: [1, 5, 5, 5], 19: [4] * 4,
         20: [24, 8], 21: [8, 24], 22: [32, 8], 34: [9, 9, 9], 57: [4, 4], 58: [5, 5, 6]}
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, SNORM_OGL, FLOAT, SRGB = 0, 1, 2, 3, 4, 5, 6, 7, 9
FLOATS = {32: (8, 23, True), 16: (5, 10, True), 11: (5, 6, False), 10: (5, 5, False)}


def round_even(q):
    """The nearest integer, ties to even (Python's own rule for fractions)."""
    return round(q)


def value(bits, size=32):
    """A float's value: a fraction, or 'nan', 'inf', '-inf'."""
    e, m, signed = FLOATS[size]
    sign = -1 if signed and bits >> (e + m) else 1
    exp, man = bits >> m & (1 << e) - 1, bits & (1 << m) - 1
    bias = (1 << (e - 1)) - 1
    if exp == (1 << e) - 1:
        return 'nan' if man else ('inf' if sign > 0 else '-inf')
    if exp == 0:
        return sign * Q(man) * Q(2) ** (1 - bias - m)
    return sign * (Q(man) + 2 ** m) * Q(2) ** (exp - bias - m)


def nearest(q, size=32):
    """The bits of the nearest float to a fraction or special."""
    e, m, signed = FLOATS[size]
    top = (1 << e) - 1
    bias = (1 << (e - 1)) - 1
    sign = 0
    if q == 'nan':
        return top << m | 1 << (m - 1)
    if q in ('inf', '-inf'):
        if q == '-inf' and not signed:
            return 0
        return top << m | ((1 << (e + m)) if q == '-inf' else 0)
    if q < 0:
        if not signed:
            return 0
        sign, q = 1 << (e + m), -q
    if q == 0:
        return sign
    exp = 0
    while Q(2) ** (exp + 1) <= q:
        exp += 1
    while Q(2) ** exp > q:
        exp -= 1
    exp = max(exp, 1 - bias)
    steps = round_even(q / Q(2) ** (exp - m))
    bits = steps + ((exp + bias - 1) << m)
    return sign | min(bits, top << m)


def valid(data, num, gen, image=False):
    if data not in SIZES or not image and (data > 14 or num > 7):
        return False
    if num == FLOAT:
        return data in (2, 4, 5, 6, 7, 11, 12, 13, 14, 22, 34)
    if data == 34 or num == 8 or num > 9:
        return False
    if num == SNORM_OGL:
        return gen <= 7
    if num == SRGB:
        return data in (1, 3, 10)
    return True


def one(num):
    return 1 if num in (UINT, SINT) else 0x3f800000


def srgb(v):
    """sRGB's curve by decimals of forty digits."""
    from decimal import Decimal as D, getcontext
    getcontext().prec = 40
    c = D(v.numerator) / D(v.denominator)
    if c <= D('0.04045'):
        r = c / D('12.92')
    else:
        r = (((c + D('0.055')) / D('1.055')).ln() * D('2.4')).exp()
    return Q(r)


def component(data, num, element, k, image=True):
    """What is loaded of component k. An image's missing W is 1, a buffer's is 0."""
    sizes = SIZES[data]
    if k >= len(sizes):
        return one(num) if k == 3 and image else 0
    n, lo = sizes[k], sum(sizes[:k])
    raw = element >> lo & (1 << n) - 1
    if data == 34:
        return nearest(Q(raw) * Q(2) ** ((element >> 27 & 31) - 24))
    signed = raw - (1 << n) if raw >> (n - 1) else raw
    if num == SRGB:
        if k < 3:
            return nearest(srgb(Q(raw, 255)))
        num = UNORM
    if num == FLOAT and n == 8:
        num = UINT
    if num == UNORM:
        return nearest(Q(raw, (1 << n) - 1))
    if num == SNORM:
        return nearest(max(Q(signed, max((1 << (n - 1)) - 1, 1)), Q(-1)))
    if num == SNORM_OGL:
        return nearest(Q(2 * signed + 1, (1 << n) - 1))
    if num == USCALED:
        return nearest(Q(raw))
    if num == SSCALED:
        return nearest(Q(signed))
    if num == UINT:
        return raw
    if num == SINT:
        return signed & 0xffffffff
    if n == 32:
        return raw
    v = value(raw, n)
    if v == 'nan':
        # The payload stays at the top, and the NaN is quiet.
        e, m, _ = FLOATS[n]
        sign = (raw >> 15) << 31 if n == 16 else 0
        return sign | 0x7fc00000 | (raw & (1 << m) - 1) << (23 - m)
    if v == 0 and n == 16 and raw >> 15:
        return 0x80000000
    return nearest(v)


def clamp(q, lo, hi):
    if q == 'nan':
        return Q(0)
    if q == 'inf':
        return Q(hi)
    if q == '-inf':
        return Q(lo)
    return min(max(q, Q(lo)), Q(hi))


def field(num, n, reg):
    m = (1 << n) - 1
    x = value(reg)
    half = (1 << (n - 1)) - 1
    if num == UNORM:
        return round_even(clamp(x, 0, 1) * m)
    if num == SNORM:
        return round_even(clamp(x, -1, 1) * half) & m
    if num == SNORM_OGL:
        return round_even((clamp(x, -1, 1) * m - 1) / 2) & m
    if num == USCALED:
        return round_even(clamp(x, 0, m))
    if num == SSCALED:
        return round_even(clamp(x, -half - 1, half)) & m
    if num == UINT:
        return min(reg, m)
    if num == SINT:
        s = reg - (1 << 32) if reg >> 31 else reg
        return min(max(s, -half - 1), half) & m
    if n == 32:
        return reg
    if x == 'nan' and n == 16:
        return (reg >> 31) << 15 | 0x7e00 | reg >> 13 & 0x3ff
    if x == 0 and n == 16:
        return (reg >> 31) << 15
    return nearest(x, n)


def element(data, num, regs):
    if data == 34:
        xs = [clamp(value(r), 0, 65408) for r in regs[:3]]
        big = max(xs)
        e = -16
        while e < 16 and Q(2) ** (e + 1) <= big:
            e += 1
        exp = max(-16, e) + 16
        step = lambda x: int(x / Q(2) ** (exp - 24) + Q(1, 2))
        if step(big) == 512:
            exp += 1
        return step(xs[0]) | step(xs[1]) << 9 | step(xs[2]) << 18 | exp << 27
    out, lo = 0, 0
    for k, n in enumerate(SIZES[data]):
        use = num
        if num == SRGB and k < 3:
            x = clamp(value(regs[k]), 0, 1)
            v = 0
            while v < 255 and srgb((Q(v) + Q(1, 2)) / 255) <= x:
                v += 1
            raw = v
        else:
            if num == SRGB:
                use = UNORM
            if num == FLOAT and n == 8:
                use = UINT
            raw = field(use, n, regs[k])
        out |= raw << lo
        lo += n
    return out


def size(data):
    return {22: 8, 34: 4}.get(data, sum(SIZES[data]) // 8)


def main():
    rng = random.Random(1)
    reals = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.25, 2.0, -3.0, 1e-8, 0.0019569471, 0.99999994, 300.5,
             -129.5, 65504.0, 65520.0, 1e6, -1e9, 3e38, 6.1e-5, 5.9e-8, 2.9e-8, 1.5 / 255, 2.5 / 255, 127.5, 64512.0, 65536.0]
    specials = [0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345, 1, 0x80000001, 0x33000000, 0x33000001]
    ints = [0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 127, 128, 255, 256, 0xffffff80, 0xffffff7f, 511, 512, 1023,
            1024, 32767, 32768, 65535, 65536, 3, 4, 0xfffffffe]
    pick = lambda: rng.choice([lambda: struct.unpack('<I', struct.pack('<f', rng.choice(reals)))[0],
                               lambda: struct.unpack('<I', struct.pack('<f', rng.uniform(-1.2, 1.2)))[0],
                               lambda: rng.choice(specials), lambda: rng.choice(ints),
                               lambda: rng.getrandbits(32)])()
    out = open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), 'formats.tsv'), 'w')
    out.write('# Made by formats.py. kind, generation, data format, number format, direction, then elements or registers.\n')
    for image in (False, True):
        for gen in (6, 9):
            for data in range(64):
                for num in range(16):
                    if image and (data <= 14 and num <= 7 or num == 9 and gen == 6):
                        continue
                    if not image and (data > 15 or num > 7):
                        continue
                    # Most formats are the same in every generation.
                    if gen == 6 and num != 6:
                        continue
                    head = f"{'image' if image else 'buffer'}\t{gen}\t{data}\t{num}\t"
                    if not valid(data, num, gen, image):
                        out.write(head + 'invalid\n')
                        continue
                    bits = 8 * size(data)
                    es = [0, (1 << bits) - 1, sum(1 << (sum(SIZES[data][:k + 1]) - 1) for k in range(len(SIZES[data])))]
                    es += [rng.getrandbits(bits) for _ in range(5)]
                    for e in es:
                        comps = ' '.join(f'{component(data, num, e, k, image):08x}' for k in range(4))
                        out.write(f'{head}load\t{e:x}\t{comps}\n')
                    for _ in range(8):
                        regs = [pick() for _ in range(4)]
                        out.write(f"{head}store\t{' '.join(f'{r:08x}' for r in regs)}\t{element(data, num, regs):x}\n")


if __name__ == '__main__':
    main()
