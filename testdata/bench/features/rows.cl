// Rows and columns of matrices: each lane walks its own row, so that lanes are a row apart; or its own column.

kernel void row_dot(global const float *m, global const float *v, global float *out, int columns) {
  int row = get_global_id(0);
  float sum = 0;
  for (int j = 0; j < columns; j++)
    sum += m[row * columns + j] * v[j];
  out[row] = sum;
}

kernel void row_argmax(global const float *m, global uint *out, uint columns) {
  uint row = get_global_id(0), at = 0;
  global const float *p = m + row * columns;
  float best = p[0];
  for (uint j = 1; j < columns; j++)
    if (p[j] > best) {
      best = p[j];
      at = j;
    }
  out[row] = at;
}

// A sum that is written at each element.
kernel void row_running_sum(global const float *in, global float *out, int columns) {
  int row = get_global_id(0);
  float sum = 0;
  for (int j = 0; j < columns; j++) {
    sum += in[row * columns + j];
    out[row * columns + j] = sum;
  }
}

// A recursive filter forth and back, in place.
kernel void row_recursive(global float *m, int columns, float a) {
  int row = get_global_id(0);
  global float *p = m + (size_t)row * columns;
  float y = p[0];
  for (int j = 1; j < columns; j++) {
    y = p[j] + a * (y - p[j]);
    p[j] = y;
  }
  for (int j = columns - 2; j >= 0; j--) {
    y = p[j] + a * (y - p[j]);
    p[j] = y;
  }
}

// A window that slides along the row.
kernel void row_window(global const float *in, global float *out, int columns, int radius) {
  int row = get_global_id(0);
  global const float *p = in + row * columns;
  float sum = 0;
  for (int j = 0; j < radius; j++)
    sum += p[j];
  for (int j = 0; j < columns; j++) {
    if (j + radius < columns)
      sum += p[j + radius];
    if (j - radius - 1 >= 0)
      sum -= p[j - radius - 1];
    out[row * columns + j] = sum / (2 * radius + 1);
  }
}

// Two floats an element along the row.
kernel void row_vectors(global const float4 *in, global float4 *out, int columns) {
  int row = get_global_id(0);
  float4 most = in[row * columns];
  for (int j = 0; j < columns; j++) {
    most = fmax(most * 0.99f, in[row * columns + j]);
    out[row * columns + j] = most;
  }
}

kernel void row_bytes(global const uchar *in, global uint *out, int columns) {
  int row = get_global_id(0);
  uint sum = 0, most = 0;
  for (int j = 0; j < columns; j++) {
    uint v = in[row * columns + j];
    sum += v * v;
    most = max(most, v);
  }
  out[row] = sum ^ most << 24;
}

kernel void column_sum(global const float *m, global float *out, int rows, int columns) {
  int column = get_global_id(0);
  float sum = 0;
  for (int i = 0; i < rows; i++)
    sum += m[i * columns + column];
  out[column] = sum;
}

kernel void column_recursive(global const float *in, global float *out, int rows, int columns, float a) {
  int column = get_global_id(0);
  float y = in[column];
  for (int i = 0; i < rows; i++) {
    y = y * a + in[i * columns + column] * (1 - a);
    out[i * columns + column] = y;
  }
}

// Row i is reduced by row k: elements of two rows in the same columns.
kernel void eliminate(global float *m, int n, int k) {
  int i = get_global_id(0);
  if (i <= k)
    return;
  float factor = m[i * n + k] / m[k * n + k];
  for (int j = k + 1; j < n; j++)
    m[i * n + j] -= factor * m[k * n + j];
}

kernel void softmax_rows(global const float *in, global float *out, int columns) {
  int row = get_global_id(0);
  float most = -1e30f, sum = 0;
  for (int j = 0; j < columns; j++)
    most = fmax(most, in[row * columns + j]);
  for (int j = 0; j < columns; j++)
    sum += exp(in[row * columns + j] - most);
  for (int j = 0; j < columns; j++)
    out[row * columns + j] = exp(in[row * columns + j] - most) / sum;
}

// The distances between all rows of two sets of short rows.
kernel void row_distances(global const float *a, global const float *b, global float *out, int columns) {
  int i = get_global_id(0), j = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < columns; k++) {
    float d = a[i * columns + k] - b[j * columns + k];
    sum += d * d;
  }
  out[j * get_global_size(0) + i] = sqrt(sum);
}
