// Functions of floats, and physics.

kernel void exp_log(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = in[i];
  out[i] = log(1.0f + exp(x)) + exp2(-x);
}

kernel void sines(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = in[i];
  out[i] = sin(x) * cos(3 * x) + sin(0.1f * x);
}

kernel void polar(global const float2 *in, global float2 *out) {
  int i = get_global_id(0);
  float2 v = in[i];
  out[i] = (float2)(hypot(v.x, v.y), atan2(v.y, v.x));
}

kernel void powers(global const float *in, global const float *exponents, global float *out) {
  int i = get_global_id(0);
  out[i] = pow(in[i], exponents[i]) + cbrt(in[i]);
}

kernel void activations(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = in[i];
  out[i] = tanh(x) + 1.0f / (1.0f + exp(-x)) + 0.5f * x * (1 + erf(x * 0.70710678f));
}

kernel void normal_numbers(global uint2 *seeds, global float2 *out) {
  int i = get_global_id(0);
  uint2 s = seeds[i];
  s.x = 36969 * (s.x & 65535) + (s.x >> 16);
  s.y = 18000 * (s.y & 65535) + (s.y >> 16);
  float u = ((s.x & 0xffffff) + 1) * (1.0f / 16777216), v = (s.y & 0xffffff) * (1.0f / 16777216);
  float r = sqrt(-2 * log(u)), t = 6.2831853f * v;
  out[i] = (float2)(r * cos(t), r * sin(t));
  seeds[i] = s;
}

kernel void native_functions(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = in[i];
  out[i] = native_exp(x) * native_rsqrt(x + 1) + native_log(x + 2) * native_recip(x + 3) + native_sqrt(x);
}

kernel void double_functions(global const double *in, global double *out) {
  int i = get_global_id(0);
  double x = in[i];
  out[i] = exp(-x * x) + log(x + 1.0);
}

kernel void gravity(global const float4 *bodies, global float4 *out, int n) {
  int i = get_global_id(0);
  float4 me = bodies[i];
  float3 force = 0;
  for (int j = 0; j < n; j++) {
    float4 b = bodies[j];
    float3 d = b.xyz - me.xyz;
    float inverse = rsqrt(dot(d, d) + 0.01f);
    force += d * (b.w * inverse * inverse * inverse);
  }
  out[i] = (float4)(force, 0);
}

// Pairs beyond a distance are skipped.
kernel void cutoff_forces(global const float4 *places, global float4 *out, int n, float cutoff) {
  int i = get_global_id(0);
  float4 me = places[i];
  float4 force = 0;
  for (int j = 0; j < n; j++) {
    float4 d = places[j] - me;
    float r2 = d.x * d.x + d.y * d.y + d.z * d.z;
    if (j != i && r2 < cutoff) {
      float s = 1.0f / (r2 + 0.05f), s3 = s * s * s;
      force += d * (s3 * (2 * s3 - 1) * s);
    }
  }
  out[i] = force;
}

// The nearest of some spheres, and light on it.
kernel void spheres(global float *out, int width, global const float4 *list, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float dx = x / (float)width - 0.5f, dy = y / (float)width - 0.5f, dz = 1;
  float length = rsqrt(dx * dx + dy * dy + 1), nearest = 1e9f;
  dx *= length, dy *= length, dz *= length;
  int hit = -1;
  for (int k = 0; k < n; k++) {
    float4 s = list[k];
    float b = s.x * dx + s.y * dy + s.z * dz;
    float c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w;
    float d = b * b - c;
    if (d > 0) {
      float t = b - sqrt(d);
      if (t > 0 && t < nearest) {
        nearest = t;
        hit = k;
      }
    }
  }
  float light = 0.1f;
  if (hit >= 0) {
    float4 s = list[hit];
    float nx = dx * nearest - s.x, ny = dy * nearest - s.y, nz = dz * nearest - s.z;
    light += fmax(0.0f, (nx - ny - nz) / (1.8f * s.w));
  }
  out[y * width + x] = light;
}

// Complex numbers, four at a time, in registers.
kernel void fourier4(global const float2 *in, global float2 *out, int n) {
  int i = get_global_id(0);
  float2 a = in[i], b = in[i + n], c = in[i + 2 * n], d = in[i + 3 * n];
  float2 e = a + c, f = a - c, g = b + d, h = b - d;
  float angle = -6.2831853f * i / (4 * n), s, co;
  s = sincos(angle, &co);
  float2 h2 = (float2)(h.y, -h.x);
  float2 r1 = f + h2, r2 = e - g, r3 = f - h2;
  float co2 = co * co - s * s, s2 = 2 * co * s, co3 = co2 * co - s2 * s, s3 = s2 * co + co2 * s;
  out[4 * i] = e + g;
  out[4 * i + 1] = (float2)(r1.x * co - r1.y * s, r1.x * s + r1.y * co);
  out[4 * i + 2] = (float2)(r2.x * co2 - r2.y * s2, r2.x * s2 + r2.y * co2);
  out[4 * i + 3] = (float2)(r3.x * co3 - r3.y * s3, r3.x * s3 + r3.y * co3);
}

kernel void runge_kutta(global const float2 *in, global float2 *out, int steps, float h) {
  int i = get_global_id(0);
  float x = in[i].x, v = in[i].y;
  for (int k = 0; k < steps; k++) {
    float a1 = -x - 0.1f * v * v * v;
    float x2 = x + 0.5f * h * v, v2 = v + 0.5f * h * a1;
    float a2 = -x2 - 0.1f * v2 * v2 * v2;
    x += h * v2;
    v += h * a2;
  }
  out[i] = (float2)(x, v);
}
