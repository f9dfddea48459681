// Steps of numerical programs: sparse solvers, cells with neighbours, graphs, clustering, factorisation.

// One step of a solver for a sparse matrix: the diagonal is found on the way.
kernel void sparse_solve(global const uint *starts, global const uint *columns, global const float *values,
                         global const float *x, global const float *right, global float *out, uint rows) {
  for (uint row = get_global_id(0); row < rows; row += get_global_size(0)) {
    float sum = 0, diagonal = 1;
    for (uint j = starts[row]; j < starts[row + 1]; j++) {
      uint column = columns[j];
      if (column == row)
        diagonal = values[j];
      else
        sum += values[j] * x[column];
    }
    out[row] = 0.7f * (right[row] - sum) / diagonal + 0.3f * x[row];
  }
}

kernel void sparse_solve_f64(global const uint *starts, global const uint *columns, global const double *values,
                             global const double *x, global double *out, uint rows) {
  uint row = get_global_id(0);
  double sum = 0, diagonal = 1;
  for (uint j = starts[row]; j < starts[row + 1]; j++) {
    uint column = columns[j];
    if (column == row)
      diagonal = values[j];
    else
      sum += values[j] * x[column];
  }
  out[row] = (1.0 - sum) / diagonal;
}

// The nodes of the next level of a graph.
kernel void next_level(global const uint *starts, global const uint *edges, global const uchar *now, global uchar *next,
                       global uint *level, uint number, uint nodes) {
  uint node = get_global_id(0);
  if (node >= nodes || !now[node])
    return;
  for (uint e = starts[node]; e < starts[node + 1]; e++) {
    uint other = edges[e];
    if (level[other] == 0) {
      level[other] = number;
      next[other] = 1;
    }
  }
}

kernel void nearest_centre(global const float *features, global const float *centres, global int *nearest, int points,
                           int count, int dimensions) {
  int point = get_global_id(0), best = 0;
  if (point >= points)
    return;
  float least = FLT_MAX;
  for (int c = 0; c < count; c++) {
    float sum = 0;
    for (int d = 0; d < dimensions; d++) {
      float by = features[d * points + point] - centres[c * dimensions + d];
      sum += by * by;
    }
    if (sum < least) {
      least = sum;
      best = c;
    }
  }
  nearest[point] = best;
}

// What each point would gain by a new centre; rows of points.
kernel void gain_of_centre(global const float *rows, global const float *weights, global const float *costs,
                           global float *gains, global uchar *switches, int dimensions, int centre) {
  int point = get_global_id(0);
  float sum = 0;
  for (int d = 0; d < dimensions; d++) {
    float by = rows[point * dimensions + d] - rows[centre * dimensions + d];
    sum += by * by;
  }
  float gain = costs[point] - sum * weights[point];
  if (gain > 0) {
    switches[point] = 1;
    gains[point] = gain;
  }
}

kernel void listed_forces(global const float4 *places, global const int *list, global float4 *forces, int each, int count) {
  int me = get_global_id(0);
  float4 at = places[me];
  float4 force = 0;
  for (int j = 0; j < each; j++) {
    float4 other = places[list[j * count + me]];
    float x = at.x - other.x, y = at.y - other.y, z = at.z - other.z;
    float r2 = x * x + y * y + z * z;
    if (r2 < 0.25f) {
      r2 = 1.0f / (r2 + 1e-3f);
      float r6 = r2 * r2 * r2;
      float f = r2 * r6 * (1.5f * r6 - 2.0f);
      force.x += x * f;
      force.y += y * f;
      force.z += z * f;
    }
  }
  forces[me] = force;
}

// Flows between cells and their four neighbours, some of which are walls.
kernel void cell_flows(global const int *neighbours, global const float *normals, global const float *state,
                       global float *flows, int cells) {
  int cell = get_global_id(0);
  float density = state[cell], px = state[cells + cell], py = state[2 * cells + cell], energy = state[3 * cells + cell];
  float pressure = 0.4f * (energy - 0.5f * (px * px + py * py) / density);
  float sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  for (int k = 0; k < 4; k++) {
    int other = neighbours[k * cells + cell];
    float nx = normals[2 * k * cells + cell], ny = normals[(2 * k + 1) * cells + cell];
    if (other >= 0) {
      float d = state[other], x = state[cells + other], y = state[2 * cells + other], e = state[3 * cells + other];
      float p = 0.4f * (e - 0.5f * (x * x + y * y) / d);
      float speed = sqrt(1.4f * (p + pressure) / (d + density));
      float factor = -0.2f * sqrt(nx * nx + ny * ny) * speed;
      sum0 += factor * (density - d) + nx * (px + x) + ny * (py + y);
      sum1 += factor * (px - x) + nx * (p + pressure);
      sum2 += factor * (py - y) + ny * (p + pressure);
      sum3 += factor * (energy - e) + nx * x * (e + p) / d + ny * y * (e + p) / d;
    } else if (other == -1) {
      sum1 += nx * pressure;
      sum2 += ny * pressure;
    } else {
      sum0 += 0.3f * nx;
      sum3 += 0.3f * ny;
    }
  }
  flows[cell] = sum0;
  flows[cells + cell] = sum1;
  flows[2 * cells + cell] = sum2;
  flows[3 * cells + cell] = sum3;
}

// A lattice of cells with nine directions, each in a plane of its own.
kernel void lattice_step(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0) + 1, y = get_global_id(1) + 1, n = width * height, at = y * width + x;
  const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float w[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
  float f[9], density = 0, u = 0, v = 0;
  for (int k = 0; k < 9; k++) {
    f[k] = in[k * n + at - dy[k] * width - dx[k]];
    density += f[k];
    u += dx[k] * f[k];
    v += dy[k] * f[k];
  }
  u /= density;
  v /= density;
  float square = 1.5f * (u * u + v * v);
  for (int k = 0; k < 9; k++) {
    float along = 3 * (dx[k] * u + dy[k] * v);
    out[k * n + at] = f[k] + 0.6f * (w[k] * density * (1 + along + 0.5f * along * along - square) - f[k]);
  }
}

// Heat in a volume: each work-item walks through the layers.
kernel void heat_layers(global const float *in, global const float *source, global float *out, int width, int height, int depth) {
  int x = get_global_id(0), y = get_global_id(1), layer = width * height, at = y * width + x;
  int w = x == 0 ? at : at - 1, e = x == width - 1 ? at : at + 1;
  int n = y == 0 ? at : at - width, s = y == height - 1 ? at : at + width;
  float below, here = in[at], above = here;
  for (int z = 0; z < depth; z++) {
    below = here;
    here = above;
    above = z + 1 < depth ? in[at + layer] : here;
    out[at] = 0.4f * here + 0.1f * (in[w] + in[e] + in[n] + in[s] + below + above) + 0.01f * source[at];
    at += layer, w += layer, e += layer, n += layer, s += layer;
  }
}

// A step of diffusion whose neighbours are in tables.
kernel void diffuse_table(global const float *image, global const int *up, global const int *down, global const int *left,
                          global const int *right, global float *gradient, global float *rate, int rows, int columns) {
  int at = get_global_id(0), row = at % rows, column = at / rows;
  if (column >= columns)
    return;
  float here = image[at];
  float n = image[up[row] + rows * column] - here, s = image[down[row] + rows * column] - here;
  float w = image[row + rows * left[column]] - here, e = image[row + rows * right[column]] - here;
  float g = (n * n + s * s + w * w + e * e) / (here * here), l = (n + s + w + e) / here;
  float num = 0.5f * g - (1 / 16.f) * l * l, den = 1 + 0.25f * l;
  float q = num / (den * den);
  den = (q - 0.05f) / (0.05f * 1.05f);
  float c = 1 / (1 + den);
  gradient[at] = n + e;
  rate[at] = c < 0 ? 0 : c > 1 ? 1 : c;
}

// The part of a block of a factorisation below and to the right of its diagonal block.
kernel void factor_inside(global float *m, int size) {
  local float rows[16][16], columns[16][16];
  int x = get_local_id(0), y = get_local_id(1);
  int top = (get_group_id(1) + 1) * 16, left = (get_group_id(0) + 1) * 16;
  rows[y][x] = m[y * size + left + x];
  columns[y][x] = m[(top + y) * size + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int k = 0; k < 16; k++)
    sum += columns[y][k] * rows[k][x];
  m[(top + y) * size + left + x] -= sum;
}

kernel void factor_diagonal(global float *blocks) {
  local float m[16][16];
  int x = get_local_id(0);
  global float *block = blocks + get_group_id(0) * 256;
  for (int k = 0; k < 16; k++)
    m[k][x] = block[k * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 15; k++) {
    if (x > k) {
      for (int j = 0; j < k; j++)
        m[x][k] -= m[x][j] * m[j][k];
      m[x][k] /= m[k][k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x > k)
      for (int j = 0; j < k + 1; j++)
        m[k + 1][x] -= m[k + 1][j] * m[j][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int k = 0; k < 16; k++)
    block[k * 16 + x] = m[k][x];
}

// Sums of weighted inputs by a tree over the workgroup's rows.
kernel void layer_sums(global const float *inputs, global const float *weights, global float *sums, int outputs) {
  local float node[16], matrix[16][16];
  int x = get_local_id(0), y = get_local_id(1), block = get_group_id(1);
  if (x == 0)
    node[y] = inputs[block * 16 + y];
  barrier(CLK_LOCAL_MEM_FENCE);
  matrix[y][x] = weights[(block * 16 + y) * outputs + get_global_id(0)] * node[y];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 1; i <= 4; i++) {
    int power = 1 << i;
    if (y % power == 0)
      matrix[y][x] += matrix[y + power / 2][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (y == 0)
    sums[block * outputs + get_global_id(0)] = matrix[0][x];
}

// The first element of a rising row that is not less than each work-item's number.
kernel void first_above(global const float *rising, global const float *wanted, global const float *values, global float *out, int n) {
  int me = get_global_id(0), found = -1;
  for (int j = 0; j < n; j++)
    if (rising[j] >= wanted[me]) {
      found = j;
      break;
    }
  out[me] = values[found < 0 ? n - 1 : found];
}

kernel void block_differences(global const uchar *now, global const uchar *before, global ushort *out, int width, int span) {
  int bx = get_global_id(0), by = get_global_id(1);
  for (int dy = 0; dy < span; dy++)
    for (int dx = 0; dx < span; dx++) {
      uint sum = 0;
      for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
          int a = now[(by * 4 + y) * width + bx * 4 + x];
          int b = before[(by * 4 + y + dy) * width + bx * 4 + x + dx];
          sum += abs_diff(a, b);
        }
      out[((by * get_global_size(0) + bx) * span + dy) * span + dx] = sum;
    }
}

// Products of all pairs of columns.
kernel void column_pairs(global const float *m, global float *products, int rows, int columns) {
  int a = get_global_id(0);
  for (int b = a; b < columns; b++) {
    float sum = 0;
    for (int i = 0; i < rows; i++)
      sum += m[i * columns + a] * m[i * columns + b];
    products[a * columns + b] = sum;
    products[b * columns + a] = sum;
  }
}

// Three matrices walked by rows, each element from the one before it.
kernel void row_sweep(global float *x, global const float *a, global float *b, int n) {
  int row = get_global_id(0);
  for (int j = 1; j < n; j++) {
    x[row * n + j] -= x[row * n + j - 1] * a[row * n + j] / b[row * n + j - 1];
    b[row * n + j] -= a[row * n + j] * a[row * n + j] / b[row * n + j - 1];
  }
}

// A column made orthogonal to one that is given.
kernel void project_columns(global float *m, global const float *unit, int rows, int columns) {
  int j = get_global_id(0);
  float product = 0;
  for (int i = 0; i < rows; i++)
    product += unit[i] * m[i * columns + j];
  for (int i = 0; i < rows; i++)
    m[i * columns + j] -= unit[i] * product;
}

kernel void merge_runs(global const uint *in, global uint *out, int length) {
  int me = get_global_id(0), from = 2 * length * me, a = from, b = from + length, to = from;
  while (a < from + length && b < from + 2 * length)
    out[to++] = in[a] <= in[b] ? in[a++] : in[b++];
  while (a < from + length)
    out[to++] = in[a++];
  while (b < from + 2 * length)
    out[to++] = in[b++];
}

// Each workgroup descends in a tree: its work-items compare one key of the node each.
kernel void tree_descend(global const int *keys, global const int *children, global const int *wanted, global int *out, int levels) {
  local int node, next;
  int me = get_local_id(0), order = get_local_size(0), key = wanted[get_group_id(0)];
  if (me == 0)
    node = next = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < levels; i++) {
    int at = node * order + me;
    int low = me == 0 ? INT_MIN : keys[at - 1], high = me == order - 1 ? INT_MAX : keys[at];
    if (low <= key && key < high)
      next = children[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me == 0)
      node = next;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me == 0)
    out[get_group_id(0)] = node;
}

// The cheapest ways through some rows of a wall, in local memory.
kernel void cheapest_ways(global const int *wall, global const int *first, global int *out, int columns, int rows) {
  local int now[256], next[256];
  int me = get_local_id(0), x = get_group_id(0) * (256 - 2 * rows) + me - rows;
  bool inside = x >= 0 && x < columns;
  int at = clamp(x, 0, columns - 1);
  now[me] = first[at];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < rows; i++) {
    bool valid = me >= i + 1 && me <= 254 - i && inside;
    if (valid) {
      int l = now[x == 0 ? me : me - 1], r = now[x == columns - 1 ? me : me + 1];
      next[me] = min(now[me], min(l, r)) + wall[i * columns + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (valid)
      now[me] = next[me];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me >= rows && me < 256 - rows && inside)
    out[x] = now[me];
}

// A tile of a table of alignments, along its diagonals, by few work-items.
kernel void align_tile(global const int *scores, global const int *above, global const int *left, global int *out, int penalty) {
  local int m[17][17], score[16][16];
  int x = get_local_id(0), tile = get_group_id(0);
  for (int y = 0; y < 16; y++)
    score[y][x] = scores[tile * 256 + y * 16 + x];
  if (x == 0)
    m[0][0] = 0;
  m[0][x + 1] = above[tile * 16 + x];
  m[x + 1][0] = left[tile * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 0; d < 31; d++) {
    int y = d - x;
    if (y >= 0 && y < 16)
      m[y + 1][x + 1] = max(m[y][x] + score[y][x], max(m[y + 1][x], m[y][x + 1]) - penalty);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int y = 0; y < 16; y++)
    out[tile * 256 + y * 16 + x] = m[y + 1][x + 1];
}

// A histogram of angles between all pairs of directions.
kernel void angle_bins(global const float *x, global const float *y, global const float *z, constant float *limits,
                       global uint *bins, int n, int count) {
  local uint own[64];
  int me = get_local_id(0);
  if (me < 64)
    own[me] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int i = get_global_id(0);
  float a = x[i], b = y[i], c = z[i];
  for (int j = 0; j < n; j++) {
    float dot = a * x[j] + b * y[j] + c * z[j];
    int low = 0, high = count;
    while (high > low + 1) {
      int k = (low + high) / 2;
      if (dot >= limits[k])
        high = k;
      else
        low = k;
    }
    atomic_inc(&own[low]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me < 64)
    atomic_add(&bins[me], own[me]);
}
