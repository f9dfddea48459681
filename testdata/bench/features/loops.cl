// Loops: trip counts that differ between lanes, several exits, nests, switches.

kernel void trip_counts(global const uint *counts, global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  uint n = counts[i], v = in[i];
  for (uint k = 0; k < n; k++)
    v = v * 1664525u + 1013904223u;
  out[i] = v;
}

// A loop in a loop; both trip counts differ, and the inner loop breaks.
kernel void nested_trips(global const uint *counts, global const float *in, global float *out) {
  int i = get_global_id(0);
  uint n = counts[i];
  float x = in[i], sum = 0;
  for (uint j = 0; j < n; j++) {
    float t = x;
    for (uint k = 0; k <= j; k++) {
      t = t * 0.75f + 0.125f * (float)k;
      if (t > 3.0f)
        break;
    }
    sum += t;
  }
  out[i] = sum;
}

kernel void collatz(global uint *out, uint first) {
  uint i = get_global_id(0), n = i + first, steps = 0;
  while (n != 1 && steps < 200) {
    n = n & 1 ? 3 * n + 1 : n >> 1;
    steps++;
  }
  out[i] = steps;
}

kernel void gcd(global const uint *a, global const uint *b, global uint *out) {
  size_t i = get_global_id(0);
  uint x = a[i], y = b[i];
  while (y != 0) {
    uint r = x % y;
    x = y;
    y = r;
  }
  out[i] = x;
}

// Elements that are skipped with continue, and an end that a lane finds itself.
kernel void skip_some(global const int *in, global int *out, int stride, int limit) {
  int i = get_global_id(0), sum = 0;
  for (int k = 0; k < limit; k++) {
    int v = in[i + k * stride];
    if (v < 0)
      continue;
    if (v > 1000)
      break;
    sum += v & 3 ? v : -v;
  }
  out[i] = sum;
}

// Each lane's operations are its own.
kernel void switch_lanes(global const uint *programs, global const int *in, global int *out, int length) {
  int i = get_global_id(0);
  int a = in[i], b = i;
  uint word = programs[i];
  for (int k = 0; k < length; k++) {
    switch (word & 7) {
    case 0: a += b; break;
    case 1: a ^= b << 3; break;
    case 2: b = a - b; break;
    case 3: a = a * 5 + 1; break;
    case 4: b = min(a, b); break;
    case 5: if (a > b) a -= b; else b -= a; break;
    case 6: a = rotate((uint)a, 7u); break;
    default: b = ~b; break;
    }
    word = rotate(word, 29u);
  }
  out[i] = a ^ b;
}

// All lanes' operations are the same, read from a program.
kernel void switch_uniform(constant uint *program, int length, global const float *in, global float *out) {
  int i = get_global_id(0);
  float a = in[i], b = 1.0f, c = 0.5f;
  for (int k = 0; k < length; k++) {
    switch (program[k] % 6) {
    case 0: a = a * b + c; break;
    case 1: b = c - a; break;
    case 2: c = a * 0.25f; break;
    case 3: a = fmin(a, b); break;
    case 4: b = fmax(b, -c); break;
    default: a = a * 0.5f + b * 0.5f; break;
    }
  }
  out[i] = a + b + c;
}

kernel void horner(constant float *coefficients, int n, global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = in[i], y = 0;
  for (int k = 0; k < n; k++)
    y = y * x + coefficients[k];
  out[i] = y;
}

kernel void bisection(global const float *target, global float *out) {
  int i = get_global_id(0);
  float t = target[i], low = 0, high = 4;
  int steps = 0;
  do {
    float mid = 0.5f * (low + high);
    if (mid * mid * mid + mid < t)
      low = mid;
    else
      high = mid;
  } while (high - low > 1e-4f && ++steps < 60);
  out[i] = low;
}

kernel void burning_ship(global int *out, int width, float scale, int most) {
  int x = get_global_id(0), y = get_global_id(1);
  float cr = x * scale - 2.2f, ci = y * scale - 1.8f, zr = 0, zi = 0;
  int n = 0;
  while (n < most && zr * zr + zi * zi <= 4.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = fabs(2 * zr * zi) + ci;
    zr = t;
    n++;
  }
  out[y * width + x] = n;
}

kernel void linked_list(global const uint *next, global const uint *value, global uint *out, uint hops) {
  uint at = get_global_id(0), sum = 0;
  for (uint k = 0; k < hops && at != 0xffffffffu; k++) {
    sum += value[at];
    at = next[at];
  }
  out[get_global_id(0)] = sum;
}

// The loop begins at the lane's own number.
kernel void triangle_pairs(global const float *x, global float *out, int n) {
  int i = get_global_id(0);
  float mine = x[i], sum = 0;
  for (int j = i + 1; j < n; j++)
    sum += fabs(mine - x[j]);
  out[i] = sum;
}

// The place of each number in the order of all.
kernel void rank_values(global const float *in, global float *out, int n) {
  local float tile[64];
  int i = get_global_id(0), l = get_local_id(0);
  float mine = in[i];
  int rank = 0;
  for (int base = 0; base < n; base += 64) {
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 64; j++)
      rank += tile[j] < mine || (tile[j] == mine && base + j < i);
  }
  out[rank] = mine;
}

// The same for pairs, by their second numbers, with a last part that may be shorter.
kernel void rank_pairs(global const float2 *in, global float2 *out, int n) {
  local float2 tile[64];
  int i = get_global_id(0), l = get_local_id(0);
  float2 mine = in[i];
  int rank = 0;
  for (int base = 0; base < n; base += 64) {
    int m = min(64, n - base);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < m)
      tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < m; j++) {
      float other = tile[j].y;
      if (other < mine.y || (other == mine.y && base + j < i))
        rank++;
    }
  }
  out[rank] = mine;
}

// Points in gaps of rows become a mixture of the points beside the gap.
kernel void fill_gaps(global const float *in, global const float *gaps, global float *out) {
  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
  int row = y * w;
  if (gaps[row + x] == 0.0f) {
    out[row + x] = in[row + x];
    return;
  }
  int l = x, r = x;
  while (l > 0 && gaps[row + l] != 0.0f)
    l--;
  while (r < w - 1 && gaps[row + r] != 0.0f)
    r++;
  float a = in[row + l], b = in[row + r];
  out[row + x] = a + (b - a) * (float)(x - l) / (float)(r - l);
}

// One to three iterations.
kernel void short_loops(global const uchar *counts, global const float *in, global float *out) {
  int i = get_global_id(0), n = counts[i];
  float v = in[i];
  for (int k = 0; k < n; k++)
    v = v * 1.5f - 0.25f;
  out[i] = v;
}

// Random points; those outside of a circle are drawn again.
kernel void rejection(global const uint *seeds, global float *out, int points) {
  int i = get_global_id(0);
  uint s = seeds[i] | 1;
  float sum = 0;
  for (int k = 0; k < points; k++) {
    float x, y;
    do {
      s ^= s << 13, s ^= s >> 17, s ^= s << 5;
      x = (float)(s & 0xffff) * (1.0f / 32768) - 1;
      y = (float)(s >> 16) * (1.0f / 32768) - 1;
    } while (x * x + y * y > 1.0f);
    sum += x * y;
  }
  out[i] = sum;
}
