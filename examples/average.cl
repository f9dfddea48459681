// The mean of each element and its two neighbours; the outermost elements have one. `gcn run examples/average.toml`.
kernel void average(global const float *in, global float *out, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  float sum = in[i];
  int count = 1;
  if (i > 0) {
    sum += in[i - 1];
    count++;
  }
  if (i + 1 < n) {
    sum += in[i + 1];
    count++;
  }
  out[i] = sum / count;
}
