// A sparse matrix, its rows one behind the other, times a vector: a work-item a row.
kernel void spmv(global const uint* rows, global const uint* columns, global const float* values, global const float* x, global float* y) {
  uint i = get_global_id(0);
  float sum = 0;
  for (uint k = rows[i]; k < rows[i + 1]; k++) sum += values[k] * x[columns[k]];
  y[i] = sum;
}
