// Seven points of a 3-D grid whose sizes no workgroup divides, through a tile with its halo, from an offset on.
#define X 8
#define Y 4
#define Z 2
kernel void stencil3d(global const int* in, global int* out, int w, int h, int d) {
  local int t[Z + 2][Y + 2][X + 2];
  int lx = get_local_id(0), ly = get_local_id(1), lz = get_local_id(2);
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  // A workgroup at the edge has fewer work-items.
  int sx = min(X, (int)(get_global_size(0) - get_group_id(0) * X)), sy = min(Y, (int)(get_global_size(1) - get_group_id(1) * Y));
  int sz = min(Z, (int)(get_global_size(2) - get_group_id(2) * Z));
  int ox = x - lx, oy = y - ly, oz = z - lz, all = sx * sy * sz;
  for (int k = lx + sx * (ly + sy * lz); k < (X + 2) * (Y + 2) * (Z + 2); k += all) {
    int tx = k % (X + 2), ty = k / (X + 2) % (Y + 2), tz = k / (X + 2) / (Y + 2);
    int gx = ox + tx - 1, gy = oy + ty - 1, gz = oz + tz - 1;
    bool inside = gx >= 0 && gy >= 0 && gz >= 0 && gx < w && gy < h && gz < d;
    t[tz][ty][tx] = inside ? in[(gz * h + gy) * w + gx] : -7;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x >= w || y >= h || z >= d) return;
  int c = t[lz + 1][ly + 1][lx + 1];
  int s = t[lz][ly + 1][lx + 1] + t[lz + 2][ly + 1][lx + 1] + t[lz + 1][ly][lx + 1] + t[lz + 1][ly + 2][lx + 1] + t[lz + 1][ly + 1][lx] + t[lz + 1][ly + 1][lx + 2];
  int at = (z * h + y) * w + x;
  out[2 * at] = 6 * c - s;
  out[2 * at + 1] = (int)(get_global_size(0) * 1000000 + get_num_groups(1) * 10000 + get_group_id(2) * 100 + get_num_groups(2) * 10 + get_global_offset(0));
}
